"""Which of NVIDIA's devices a server may use, by its environment."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_PLACE = re.compile(r"\d{1,3}")


@dataclass(frozen=True)
class Device:
    """A GPU, or an instance of one that is split by MIG."""

    index: int
    """Of the GPU, in NVML's order."""
    uuid: str | None
    pci: str | None
    name: str | None
    instance: bool = False


def visible(devices: Sequence[Device], setting: str | None) -> list[Device] | None:
    """Those that `CUDA_VISIBLE_DEVICES` lets a program see; null where it is not set.

    It holds indices, UUIDs or their beginnings (`GPU-8f1`, `MIG-5a2`), and ends at the first entry that names none, as
    CUDA reads it. An index means NVML's order, which is CUDA's with `CUDA_DEVICE_ORDER=PCI_BUS_ID` or equal cards; that
    of a split GPU means its first instance.
    """
    if setting is None:
        return None
    chosen: list[Device] = []
    for entry in (part.strip() for part in setting.split(",")):
        found = _named(devices, entry)
        if found is None:
            break
        if found not in chosen:
            chosen.append(found)
    return chosen


def picked(devices: Sequence[Device], setting: str | None, prefix: str = "CUDA") -> list[Device] | None:
    """Those of `devices` that llama-server's `--device` takes, such as `CUDA1,CUDA0`; null where it takes all.

    `prefix` is what llama.cpp calls such devices, `ROCm` in place of `CUDA` for AMD's.

    `none` takes none. Names of another back end's devices (`Vulkan0`) don't tell which of ours they are: null.
    """
    if setting is None:
        return None
    if setting.strip().lower() == "none":
        return []
    names = [part.strip().lower() for part in setting.split(",")]
    numbers = [name.removeprefix(prefix.lower()) for name in names if name.startswith(prefix.lower())]
    places = [int(number) for number in numbers if _PLACE.fullmatch(number)]
    if len(places) < len(names) or any(place >= len(devices) for place in places):
        return None
    return [devices[place] for place in dict.fromkeys(places)]


def _named(devices: Sequence[Device], entry: str) -> Device | None:
    if entry.isascii() and entry.isdecimal():
        own = [one for one in devices if one.index == int(entry)]
        return next((one for one in own if one.instance), own[0] if own else None)
    if not entry.startswith(("GPU-", "MIG-")):
        return None
    found = [one for one in devices if one.uuid is not None and one.uuid.startswith(entry)]
    exact = [one for one in found if one.uuid == entry]
    return (exact or found)[0] if exact or len(found) == 1 else None
