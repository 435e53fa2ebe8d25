"""Rules of what is said of levels that nobody asked for."""

from loadgen.analysis.sequential.added_levels import added_levels, added_text
from loadgen.records.manifest import AddedLevels, Plan


def test_added_levels_are_named_with_their_width() -> None:
    """Both sides, or the one that was missing."""
    added = [AddedLevels(width=16, drafted=4, levels=[3, 4]), AddedLevels(width=32, drafted=4, levels=[7])]
    plan = Plan(rounds=4, trials=[], dropped_levels=[], estimated_s=1, turn_s={}, added_levels=added)
    assert [added_text(entry) for entry in added_levels(plan)] == [
        "added: 3 and 4 agents, on both sides of the width 16 at which kernels switch (4 drafted)",
        "added: 7 agents, next to the width 32 at which kernels switch (4 drafted)",
    ]


def test_without_a_plan_nothing_was_added() -> None:
    """Nor where a plan adds nothing."""
    assert added_levels(None) == []
    assert added_levels(Plan(rounds=4, trials=[], dropped_levels=[], estimated_s=1, turn_s={})) == []
