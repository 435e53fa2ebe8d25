"""Which GPUs this machine has, and how they are set: for the record of a run, not for its measurements.

NVIDIA's are read through the package nvidia-ml-py where it is installed, else what the driver shows in `/proc`; AMD's
from `/sys`. Null where a card doesn't tell, never 0.
"""

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loadgen.units import microwatts_to_watts, milliwatts_to_watts

_AMD = "0x1002"
_CARD = re.compile(r"card\d+")
_STEP = re.compile(r"\d+: *(\d+)Mhz *(\*?)", re.IGNORECASE)

ROOT = Path("/")


def import_nvml() -> Any | None:
    """The module of nvidia-ml-py, or null where it isn't installed."""
    try:
        return importlib.import_module("pynvml")
    except ImportError:
        return None


def gpus(root: Path = ROOT, nvml: Any | None = None) -> list[dict[str, Any]] | None:
    """Every GPU that can be seen; `[]` when there is none, null when there is nothing to look with.

    `root` is where `proc` and `sys` lie, `nvml` the module `pynvml`.
    """
    drm, driver = root / "sys/class/drm", root / "proc/driver/nvidia"
    found = nvidia_by_nvml(nvml) if nvml is not None else None
    if found is None:
        found = nvidia_by_proc(driver)
    if found is None and not drm.is_dir() and nvml is None:
        return None
    return [*(found or []), *amd(root)]


def nvidia_by_nvml(nvml: Any) -> list[dict[str, Any]] | None:
    """NVIDIA's GPUs as `pynvml` tells them, in its order; null where the driver doesn't answer."""
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return None
    try:
        driver = _told(nvml, nvml.nvmlSystemGetDriverVersion)
        return [_nvidia(nvml, index, driver) for index in range(_told(nvml, nvml.nvmlDeviceGetCount) or 0)]
    finally:
        nvml.nvmlShutdown()


def _nvidia(nvml: Any, index: int, driver: Any) -> dict[str, Any]:
    handle = _told(nvml, nvml.nvmlDeviceGetHandleByIndex, index)
    memory = _told(nvml, nvml.nvmlDeviceGetMemoryInfo, handle)
    pci = _told(nvml, nvml.nvmlDeviceGetPciInfo, handle)
    power = _told(nvml, nvml.nvmlDeviceGetEnforcedPowerLimit, handle)
    mig = _told(nvml, nvml.nvmlDeviceGetMigMode, handle)
    persistence = _told(nvml, nvml.nvmlDeviceGetPersistenceMode, handle)
    return {
        "vendor": "nvidia",
        "index": index,
        "name": _text(_told(nvml, nvml.nvmlDeviceGetName, handle)),
        "uuid": _text(_told(nvml, nvml.nvmlDeviceGetUUID, handle)),
        "pci": _text(getattr(pci, "busId", None)),
        "driver": _text(driver),
        # A card that shares the machine's memory has none of its own to tell.
        "memory_bytes": getattr(memory, "total", None) or None,
        "power_limit_w": milliwatts_to_watts(power) if power else None,
        "sm_mhz": _told(nvml, nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_SM),
        "sm_max_mhz": _told(nvml, nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_SM),
        "memory_mhz": _told(nvml, nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_MEM),
        "memory_max_mhz": _told(nvml, nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_MEM),
        "persistence": None if persistence is None else bool(persistence),
        "mig": None if mig is None else bool(mig[0]),
    }


def _told(nvml: Any, ask: Callable[..., Any], *args: Any) -> Any:
    """What one call answers; null where the card doesn't support it, or where what it is asked about is unknown."""
    if None in args:
        return None
    try:
        return ask(*args)
    except nvml.NVMLError:
        return None


def nvidia_by_proc(driver: Path) -> list[dict[str, Any]] | None:
    """What NVIDIA's kernel driver shows under `/proc/driver/nvidia`; null without the driver."""
    version = re.search(r"Module +(\d[\d.]*)", _read(driver / "version") or "")
    try:
        cards = sorted((driver / "gpus").iterdir())
    except OSError:
        return None
    found = []
    for index, card in enumerate(cards):
        facts = dict(re.findall(r"^([^:\n]+):[ \t]*(.*?)[ \t]*$", _read(card / "information") or "", re.MULTILINE))
        found.append(
            {
                "vendor": "nvidia",
                "index": index,
                "name": facts.get("Model"),
                "uuid": facts.get("GPU UUID"),
                "pci": card.name,
                "driver": version.group(1) if version else None,
            }
        )
    return found


def amd(root: Path) -> list[dict[str, Any]]:
    """AMD's GPUs as the kernel shows them under `/sys/class/drm`."""
    try:
        cards = sorted(path for path in (root / "sys/class/drm").iterdir() if _CARD.fullmatch(path.name))
    except OSError:
        return []
    own = [card for card in cards if _read(card / "device/vendor") == _AMD]
    return [_amd(root, index, card) for index, card in enumerate(own)]


def _amd(root: Path, index: int, card: Path) -> dict[str, Any]:
    device = card / "device"
    power = next((cap for hwmon in _folders(device / "hwmon") if (cap := _number(hwmon / "power1_cap"))), None)
    core, core_max = _clocks(device / "pp_dpm_sclk")
    memory, memory_max = _clocks(device / "pp_dpm_mclk")
    return {
        "vendor": "amd",
        "index": index,
        "name": _read(device / "product_name") or f"PCI device {_read(device / 'device') or 'unknown'}",
        "uuid": _unique(_read(device / "unique_id")),
        "pci": device.resolve().name if device.is_symlink() else None,
        # In-tree drivers carry no version of their own: the kernel's is theirs.
        "driver": _read(root / "sys/module/amdgpu/version"),
        "memory_bytes": _number(device / "mem_info_vram_total"),
        "shared_memory_bytes": _number(device / "mem_info_gtt_total"),
        "power_limit_w": microwatts_to_watts(power) if power else None,
        "sm_mhz": core,
        "sm_max_mhz": core_max,
        "memory_mhz": memory,
        "memory_max_mhz": memory_max,
        "performance_level": _read(device / "power_dpm_force_performance_level"),
    }


def _unique(text: str | None) -> str | None:
    """Virtual cards all carry zeros: no identity."""
    return text if text is not None and text.strip("0x-") else None


def _clocks(path: Path) -> tuple[int | None, int | None]:
    """The present clock (the starred step) and the highest one, in MHz."""
    steps = _STEP.findall(_read(path) or "")
    present = [int(mhz) for mhz, star in steps if star]
    return (present[0] if present else None, max(int(mhz) for mhz, _ in steps) if steps else None)


def _folders(path: Path) -> list[Path]:
    try:
        return sorted(path.iterdir())
    except OSError:
        return []


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def _number(path: Path) -> int | None:
    text = _read(path)
    return int(text) if text is not None and text.isascii() and text.isdecimal() else None


def _text(value: Any) -> str | None:
    """Older bindings answer with bytes."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value
