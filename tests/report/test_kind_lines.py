"""The line on acceptance by what turns ask for."""

from typing import Any

from loadgen.report.kind_lines import kinds_text


def entry(variant: str, level: int, **kinds: tuple[int, float | None]) -> dict[str, Any]:
    """A cell that drafted so many tokens in turns of a kind, and the share that was accepted."""
    found = [
        {"turn_kind": name, "drafted": drafted, "rate": {"value": rate}} for name, (drafted, rate) in kinds.items()
    ]
    return {"variant": variant, "concurrency": level, "acceptance": {"by_turn_kind": found} if kinds else None}


def test_kinds_are_told_by_variant_and_concurrency() -> None:
    """The share and of how many; kinds and variants that drafted nothing are left out, and variants that are void."""
    summary = {
        "why": [
            entry("off", 1),
            entry("ngram", 1, edit=(420, 0.81), prose=(0, None)),
            entry("ngram", 2, edit=(1800, 0.79), prose=(96, 0.125)),
            entry("wrong", 2, edit=(100, 1.0)),
        ]
    }
    assert kinds_text(summary, void={"wrong"}) == (
        "ngram: edit 81.0 % of 420 (1 agent); edit 79.0 % of 1,800, prose 12.5 % of 96 (2 agents)"
    )


def test_where_nothing_drafted_there_is_no_line() -> None:
    """Null."""
    assert kinds_text({"why": [entry("off", 1), entry("mtp", 1, prose=(0, None))]}) is None
