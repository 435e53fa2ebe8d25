"""Which of AMD's GPUs a server uses, by the variables of ROCm and by its `--device` (case C71 for AMD)."""

import pytest

from loadgen.telemetry.amd_devices import seen, taken
from loadgen.telemetry.cuda_devices import Device

FOUR = [Device(place, f"GPU-{letter}0FFEE", None, None) for place, letter in enumerate("ABCD")]


def letters(devices: list[Device] | None) -> str | None:
    """The devices by the letter in their UUIDs."""
    return None if devices is None else "".join((one.uuid or "?")[4] for one in devices)


@pytest.mark.parametrize(
    ("variables", "left"),
    [
        ({}, None),
        ({"ROCR_VISIBLE_DEVICES": "1,2"}, "BC"),
        ({"ROCR_VISIBLE_DEVICES": "2,1"}, "CB"),
        ({"ROCR_VISIBLE_DEVICES": "GPU-b0ffee,3"}, "BD"),
        ({"ROCR_VISIBLE_DEVICES": ""}, ""),
        ({"HIP_VISIBLE_DEVICES": "3"}, "D"),
        ({"HIP_VISIBLE_DEVICES": ""}, None),
        ({"HIP_VISIBLE_DEVICES": "1,9,2"}, "B"),
        ({"CUDA_VISIBLE_DEVICES": "0"}, "A"),
        ({"HIP_VISIBLE_DEVICES": "2", "CUDA_VISIBLE_DEVICES": "0"}, "C"),
        ({"ROCR_VISIBLE_DEVICES": "1,2", "HIP_VISIBLE_DEVICES": "1"}, "C"),
        ({"ROCR_VISIBLE_DEVICES": "3,1", "HIP_VISIBLE_DEVICES": "0"}, "D"),
        ({"ROCR_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": "0"}, ""),
        ({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "", "CUDA_VISIBLE_DEVICES": "0"}, "B"),
    ],
)
def test_hip_counts_among_what_rocr_leaves(variables: dict[str, str], left: str | None) -> None:
    """Each list ends at its first entry that names none; an empty one hides all from ROCr and nothing from HIP."""
    assert letters(seen(FOUR, variables)) == left


@pytest.mark.parametrize(
    ("variables", "argument", "used"),
    [
        ({}, None, None),
        ({}, "ROCm2", "C"),
        ({"ROCR_VISIBLE_DEVICES": "2,3"}, "rocm1", "D"),
        ({"HIP_VISIBLE_DEVICES": "1,2"}, "Vulkan0", "BC"),
        ({"HIP_VISIBLE_DEVICES": "1,2"}, "CUDA0", "BC"),
        ({"HIP_VISIBLE_DEVICES": "1,2"}, "none", ""),
        ({}, "Vulkan0", None),
    ],
)
def test_the_device_argument_counts_the_visible_ones(
    variables: dict[str, str], argument: str | None, used: str | None
) -> None:
    """Names of another back end's devices leave all of these."""
    assert letters(taken(FOUR, variables, argument)) == used
