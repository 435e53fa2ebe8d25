"""Rules of the servers' differences in the summary."""

from typing import Any

from loadgen.analysis.server_differences import server_differences


def test_differences_are_told_and_those_that_are_meant_are_marked(make: Any) -> None:
    """Slots are under test, the context was allowed, threads are neither and void nothing."""
    starts = [
        make.start("off", settings={"threads": 8, "batch": 2048}),
        make.start("mtp", slots=6, context_per_slot=2048, settings={"threads": 4, "batch": 2048}),
    ]
    run = make.run(
        {("off", 1): [10.0], ("mtp", 1): [10.0]}, starts=starts, under_test=["slots"],
        allow_different=["context_per_slot"],
    )  # fmt: skip
    assert server_differences(run, "off") == [
        {
            "variant": "mtp",
            "baseline": "off",
            "differences": [
                {"field": "slots", "baseline": 4, "variant": 6, "voids": True, "allowed": True},
                {"field": "context_per_slot", "baseline": 4096, "variant": 2048, "voids": True, "allowed": True},
                {
                    "field": "threads", "baseline": {"threads": 8}, "variant": {"threads": 4}, "voids": False,
                    "allowed": False,
                },
            ],
        }
    ]  # fmt: skip


def test_the_first_start_of_each_variant_is_compared(make: Any) -> None:
    """Later starts of the same command add nothing; equal servers have no differences."""
    starts = [make.start("mtp"), make.start("off"), make.start("mtp", slots=9)]
    run = make.run({("off", 1): [10.0], ("mtp", 1): [10.0], ("late", 1): [10.0]}, starts=starts)
    assert server_differences(run, "off") == [{"variant": "mtp", "baseline": "off", "differences": []}]


def test_without_the_baselines_server_nothing_is_compared(make: Any) -> None:
    """An unknown server differs from nothing."""
    assert server_differences(make.run({("off", 1): [10.0]}, starts=[make.start("mtp")]), "off") == []
