"""The section on why a speed-up is what it is."""

import io
from typing import Any

from rich.console import Console

from loadgen.report.why_lines import print_why, why_rows

NOTHING: dict[str, Any] = {"value": None, "low": None, "high": None, "n": 0}


def about(value: float) -> dict[str, Any]:
    """An estimate with a narrow interval."""
    return {"value": value, "low": value * 0.99, "high": value * 1.01, "n": 3}


def entry(variant: str, level: int, **known: Any) -> dict[str, Any]:
    """An entry of a variant that drafts, or of one that doesn't."""
    drafts = variant not in ("off", "mtp-overhead")
    step: dict[str, Any] = {
        "ratio": about(1.25) if variant != "off" else NOTHING, "verify_width": 10.4 if drafts else None,
        "overhead": NOTHING, "drafting_and_verifying": NOTHING, "overhead_variant": None, "drafting_at_least": None,
    }  # fmt: skip
    acceptance = {
        "drafted": 100, "rate": about(0.8), "by_position": [], "by_turn_kind": [],
        "differences": {"turn_kind": None, "depth": None},
    }  # fmt: skip
    return {
        "variant": variant, "concurrency": level, "diagnostic": "overhead" if variant == "mtp-overhead" else None,
        "tokens_per_step": about(2.6 if drafts else 1.0), "promised": NOTHING if variant == "off" else about(2.6),
        "step_time": step, "decode_speedup": about(2.08), "beyond_decode": NOTHING,
        "realised": {"output_tokens_per_s": about(1.9), "tasks_per_hour": about(1.9), "tpot": NOTHING},
        "wasted_drafts_per_hour": about(43_200.0) if drafts else NOTHING,
        "acceptance": acceptance if drafts else None, "acceptance_by_slots": None, "stalls": None,
        "redone_prefill": None, "cache": None, **known,
    }  # fmt: skip


def summary(*entries: dict[str, Any], void: tuple[str, ...] = ()) -> dict[str, Any]:
    """A summary with these reasons."""
    return {
        "run": {"baseline": "off"},
        "why": list(entries),
        "comparisons": [{"variant": one["variant"], "void": one["variant"] in void} for one in entries],
        "output_check": [],
    }


def printed(document: dict[str, Any], width: int = 100) -> str:
    """The section on a terminal."""
    console = Console(width=width, file=io.StringIO(), color_system=None, force_terminal=True)
    print_why(document, console)
    return str(console.file.getvalue())  # type: ignore[attr-defined] # it is the StringIO above


def test_a_row_holds_the_chain_from_promise_to_what_came_of_it() -> None:
    """Tokens per step, promised, step time, decoding, output tokens per second and wasted drafts."""
    assert why_rows(summary(entry("off", 4), entry("mtp", 4))) == [
        ("4", "mtp", "2.60", "2.60", "1.25", "2.08", "1.90", "43,200")
    ]


def test_rows_are_of_what_drafted_or_was_kept_from_it() -> None:
    """Nothing of variants that don't speculate, that answer wrongly, or of which nothing is known."""
    unknown = entry("url", 4, promised=NOTHING, tokens_per_step=NOTHING)
    rows = why_rows(
        summary(entry("off", 4), entry("mtp", 4), entry("mtp-overhead", 4), entry("bad", 4), unknown, void=("bad",))
    )
    assert [row[:2] for row in rows] == [("4", "mtp"), ("4", "mtp-overhead")]


def test_the_section_fits_80_columns() -> None:
    """No row is cut; a level is named once."""
    text = printed(summary(entry("mtp", 4), entry("mtp-overhead", 4), entry("mtp", 8)), width=80)
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "…" not in text
    lines = text.splitlines()
    assert lines[1] == "Why"
    assert [line.split()[0] for line in lines[3:6]] == ["4", "mtp-overhead", "8"]
    assert "promised (by tokens per step) ÷ step time = decoding" in " ".join(text.split())


def test_where_nothing_drafted_there_is_no_section() -> None:
    """Nothing is printed; sentences alone are."""
    assert printed(summary(entry("off", 4))) == ""
    redone = {"of_cached": 0.5, "cause": None, "try": None, "seconds_per_task": NOTHING}
    text = printed(summary(entry("off", 4, redone_prefill=redone)))
    assert text.splitlines()[1:] == [
        "Why",
        "  - Prompt tokens that were in the cache are evaluated again (off at 4 agents): 50 % of them with",
        "    off at 4 agents.",
    ]
