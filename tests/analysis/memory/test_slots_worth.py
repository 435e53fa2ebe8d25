"""Rules of what a slot takes and what memory would buy."""

from typing import Any

import pytest

from loadgen.analysis.memory.slots_worth import on_host, scarce, slot_bytes, slots_worth


def _line(component: str, size: int, device: str | None = "CUDA0") -> dict[str, Any]:
    return {"component": component, "bytes": size, "device": device}


BASE = [_line("model", 1000), _line("kv", 400), _line("kv_swa", 80), _line("recurrent_state", 40), _line("compute", 70)]
HOST = [_line("output", 9, "CUDA_Host"), _line("prompt_cache", 5000, "Host"), _line("checkpoints", 300, "Host")]


def test_a_slot_takes_its_part_of_caches_and_state() -> None:
    """(400 + 80 + 40) ÷ 4; weights and compute don't grow with slots, and drafts have caches of their own."""
    assert slot_bytes(BASE, 4) == 130
    assert slot_bytes([*BASE, *HOST, _line("mtp_kv", 40), _line("draft_recurrent_state", 4)], 4) == 141


@pytest.mark.parametrize(("ledger", "slots"), [([], 4), (BASE, None), (BASE, 0), ([_line("model", 9)], 4)])
def test_without_caches_or_slots_it_is_not_known(ledger: list[dict[str, Any]], slots: int | None) -> None:
    """Null, never 0: nothing divides by it."""
    assert slot_bytes(ledger, slots) is None


def test_what_a_variant_takes_more_is_told_in_slots_of_the_baseline() -> None:
    """260 more are two slots of 130; less is negative. Host memory doesn't count beside a device."""
    assert slots_worth([*BASE, *HOST, _line("mtp_kv", 260)], BASE, 130) == 2.0
    assert slots_worth(BASE[1:], BASE, 130) == pytest.approx(-1000 / 130)
    assert slots_worth([], BASE, 130) is None
    assert slots_worth(BASE, [], 130) is None
    assert slots_worth(BASE, BASE, None) is None


def test_on_a_cpu_everything_loaded_counts() -> None:
    """Without a device in the ledger host memory is what runs out; caches with limits of their own are left out."""
    cpu = [_line("model", 10, "CPU_Mapped"), _line("kv", 4, "CPU"), _line("prompt_cache", 99, "Host")]
    assert [line["component"] for line in scarce(cpu)] == ["model", "kv"]
    assert [line["component"] for line in scarce([*cpu, *BASE])] == [line["component"] for line in BASE]


@pytest.mark.parametrize(
    ("device", "host"),
    [
        ("CPU", True), ("CPU_Mapped", True), ("CPU_REPACK", True), ("CUDA_Host", True), ("Vulkan_Host", True),
        ("Host", True), (None, True), ("CUDA0", False), ("ROCm1", False), ("MTL0", False), ("HTP0-REPACK", False),
    ],
)  # fmt: skip
def test_buffers_are_on_the_host_by_their_name(device: str | None, host: bool) -> None:
    """As llama.cpp names its buffer types."""
    assert on_host(device) is host
