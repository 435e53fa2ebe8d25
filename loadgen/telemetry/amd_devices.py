"""Which of AMD's GPUs a server may use, by its environment and its `--device`.

ROCm's runtime (ROCr) shows its programs what `ROCR_VISIBLE_DEVICES` lists, in that order; HIP, in which llama.cpp
computes, then counts among these and shows what `HIP_VISIBLE_DEVICES` lists, or where that is empty
`CUDA_VISIBLE_DEVICES` (`Device::init` in ROCm's `clr`). Servers on Vulkan heed none of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from loadgen.telemetry.cuda_devices import Device, picked, visible

ROCR, HIP, CUDA = "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"
PREFIX = "ROCm"
"""What llama.cpp calls its devices there."""


def seen(devices: Sequence[Device], variables: Mapping[str, str]) -> list[Device] | None:
    """Those that a program sees, in its order; null where no variable chooses. An empty ROCr list hides all.

    `devices` are in ROCr's order, which is that of the driver's nodes; their UUIDs are `GPU-` and the unique id in
    capitals.
    """
    settings = [variables.get(ROCR), variables.get(HIP) or variables.get(CUDA) or None]
    if settings == [None, None]:
        return None
    left = list(devices)
    for setting in settings:
        numbered = [replace(one, index=place) for place, one in enumerate(left)]
        chosen = visible(numbered, setting.upper() if setting is not None else None)
        if chosen is not None:
            left = [left[one.index] for one in chosen]
    return left


def taken(devices: Sequence[Device], variables: Mapping[str, str], device_argument: str | None) -> list[Device] | None:
    """Those of what it sees that its `--device` takes; null where neither variables nor argument choose."""
    found = seen(devices, variables)
    chosen = picked(found if found is not None else devices, device_argument, PREFIX)
    return chosen if chosen is not None else found
