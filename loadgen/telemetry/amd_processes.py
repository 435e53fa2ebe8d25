"""What compute processes use of AMD's GPUs, as the kernel's driver for compute (KFD) lists them.

Servers on Vulkan are not among them: their memory is that of graphics.
"""

import re
from collections.abc import Collection
from pathlib import Path

_PROPERTY = re.compile(r"^(domain|location_id) (\d+)$", re.MULTILINE)
_KFD = "sys/class/kfd/kfd"


def used_by(root: Path, pids: Collection[int]) -> dict[str, int]:
    """Bytes by PCI address of the GPU, for these processes together; empty where none of them is listed."""
    known = addresses(root)
    found: dict[str, int] = {}
    for pid in pids:
        for path in _entries(root / _KFD / "proc" / str(pid)):
            address = known.get(path.name.removeprefix("vram_"))
            told = _text(path) if address is not None and path.name.startswith("vram_") else ""
            if address is not None and told.isascii() and told.isdecimal():
                found[address] = found.get(address, 0) + int(told)
    return found


def addresses(root: Path) -> dict[str, str]:
    """PCI addresses by the driver's number of a GPU, in the order of its nodes: that in which ROCm counts."""
    found = {}
    nodes = [one for one in _entries(root / _KFD / "topology/nodes") if one.name.isascii() and one.name.isdecimal()]
    for node in sorted(nodes, key=lambda one: int(one.name)):
        told = dict(_PROPERTY.findall(_text(node / "properties")))
        number = _text(node / "gpu_id")
        if number.strip("0") and "location_id" in told:
            place = int(told["location_id"])
            bus, slot, function = place >> 8 & 0xFF, place >> 3 & 0x1F, place & 7
            found[number] = f"{int(told.get('domain', '0')):04x}:{bus:02x}:{slot:02x}.{function}"
    return found


def _entries(path: Path) -> list[Path]:
    try:
        return sorted(path.iterdir())
    except OSError:
        return []


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
