"""What one user waits for: described by its interval, and kept only where tokens come sooner."""

from typing import Any

import pytest

from loadgen.analysis.decision.choice import choose
from loadgen.analysis.decision.user_view import Says, best_view, view, view_text
from tests.analysis.decision_grounds import COSTS, PAYS, check, grounds, latencies, latency, memory, objective


def seen(*entries: dict[str, Any], level: int = 4, **known: Any) -> dict[str, Any] | None:
    """The view of `mtp` at a level."""
    return view(grounds({("mtp", 4): PAYS}, latencies=entries, **known), "mtp", level)


@pytest.mark.parametrize(
    ("tpot", "ttft", "says", "keep"),
    [
        (0.7, 1.0, (Says.FASTER, Says.NO_DIFFERENCE), "mtp"),
        (0.7, 0.8, (Says.FASTER, Says.FASTER), "mtp"),
        (0.7, 1.2, (Says.FASTER, Says.SLOWER), None),
        (1.3, 1.0, (Says.SLOWER, Says.NO_DIFFERENCE), "off"),
        (1.3, 0.8, (Says.SLOWER, Says.FASTER), None),
        (1.0, 1.0, (Says.NO_DIFFERENCE, Says.NO_DIFFERENCE), None),
    ],
)
def test_intervals_say_what_is_shown(tpot: float, ttft: float, says: Any, keep: str | None) -> None:
    """Below 1 is faster; the first token must not come later for it."""
    found = seen(*latencies("mtp", 4, tpot, ttft))
    assert found is not None
    assert (found["tpot_says"], found["ttft_says"]) == says
    assert (found["keep"], found["agents"]) == (keep, 4)


def test_what_was_not_measured_says_nothing() -> None:
    """Nothing at the level, or of a variant that answers wrongly: no view; one of the two: that one."""
    assert seen() is None
    assert seen(*latencies("mtp", 4, 0.7), level=1) is None
    assert seen(latency("mtp", 4, "median_tpot_s", None)) is None
    for wrong in ("mtp", "off"):
        assert seen(*latencies("mtp", 4, 0.7), output_check=[check(wrong, "failed", "r")]) is None
    one = seen(latency("mtp", 4, "median_tpot_s", 0.7))
    assert one is not None
    assert (one["tpot"]["value"], one["ttft"], one["ttft_says"], one["keep"]) == (0.7, None, Says.NOT_MEASURED, "mtp")
    assert view_text(one, "off") == (
        "mtp takes 0.70 times the time a token of off (95 % interval 0.65 to 0.75: faster)"
    )


def test_without_an_interval_nothing_is_kept() -> None:
    """One round shows no difference, however large."""
    found = seen(latency("mtp", 4, "median_tpot_s", 0.5, half=None))
    assert found is not None
    assert (found["tpot_says"], found["keep"]) == (Says.NO_INTERVAL, None)
    assert view_text(found, "off") == "mtp takes 0.50 times the time a token of off (without an interval)"


def test_memory_and_objective_go_before_speed() -> None:
    """Unsafe, or an objective missed at that level: the baseline; unknown memory: open."""
    faster = latencies("mtp", 4, 0.7)

    def keep(**known: Any) -> Any:
        found = seen(*faster, **known)
        return None if found is None else found["keep"]

    assert keep(memory=[memory("mtp", "unsafe")]) == "off"
    assert keep(memory=[memory("mtp", "unknown")]) is None
    assert keep(goodput=[objective("mtp", 4, "no", 0.8, binds="ttft_s")]) == "off"
    assert keep(goodput=[objective("mtp", 8, "no", 0.8, binds="ttft_s")]) == "mtp"


def test_one_user_alone_gets_the_variant_that_is_fastest_for_one() -> None:
    """Whatever is in focus for the others; where none is to be kept, that in focus."""
    logs = {("a", 4): PAYS, ("b", 4): COSTS}
    entries = [*latencies("a", 1, 0.8), *latencies("b", 1, 0.6), *latencies("b", 4, 1.4)]
    known = grounds(logs, latencies=entries)
    choice = choose(known)
    alone, at = best_view(known, choice, 1), best_view(known, choice, 4)
    assert choice.focus == "a"
    assert alone is not None
    assert at is not None
    assert (alone["variant"], alone["keep"]) == ("b", "b")
    assert (at["variant"], at["keep"]) == ("b", "off")
    worse = grounds(logs, latencies=[*latencies("b", 1, 1.2), *latencies("a", 1, 1.1)])
    found = best_view(worse, choice, 1)
    assert found is not None
    assert found["variant"] == "a"
    assert best_view(grounds(logs), choice, 1) is None
