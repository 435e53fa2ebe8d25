"""Rules of the sentences on crossovers of the rarer kinds, and on intervals beside other levels than 95 %."""

from loadgen.analysis.comparison_text import crossing, unresolved
from loadgen.analysis.diagnostic import Diagnostic
from loadgen.analysis.estimators.comparison import compare
from loadgen.analysis.estimators.crossover import crossover

NOISE = (0.01, -0.01, 0.005, -0.005)


def _said(*means: float, diagnostic: Diagnostic | None = None, called: bool = True) -> str | None:
    """The sentence on levels 1, 2, 4, … with these mean d; `called`: with the calls of all levels."""
    by_level = {2**k: {r: mean + e for r, e in enumerate(NOISE, start=1)} for k, mean in enumerate(means)}
    entry = crossover("mtp", by_level)
    assert entry is not None
    pairs = {("mtp", level): logs if called else {} for level, logs in by_level.items()}
    comparisons = compare(pairs, baseline="off", min_effect=0.05)
    return crossing(entry, "off", comparisons[::-1], diagnostic)


def test_a_step_is_said_with_both_its_sides() -> None:
    """Down and up; without a call on any level nothing is said."""
    assert _said(0.3, 0.3, -0.2, -0.2) == (
        "mtp drops in a step between 2 and 4 agents, from 1.35 to 0.82 times the tasks per hour of off."
    )
    assert _said(-0.2, 0.3, 0.3, 0.3, diagnostic=Diagnostic.SYNTHETIC) == (
        "mtp rises in a step between 1 and 2 agents, from 0.82 to 1.35 times the tasks per hour of off at the "
        "acceptance that was set."
    )
    assert _said(0.3, 0.3, -0.2, -0.2, called=False) is None


def test_several_crossings_are_said_where_the_calls_alternate() -> None:
    """Pays, costs, pays; without calls nothing is said."""
    assert _said(0.2, -0.2, 0.2) == "mtp crosses 1 more than once, near 1.41 and 2.83 agents."
    assert _said(0.2, -0.2, 0.2, called=False) is None


def test_one_comparison_is_no_family() -> None:
    """Called at 4 %, one with p = 0.045 is open though its 95 % interval excludes 1: the 96 % one is shown."""
    logs = {1: 0.093, 2: 0.150, 3: 0.207}
    (found,) = compare({("mtp", 1): logs}, baseline="off", min_effect=0.05, alpha=0.04)
    assert unresolved(found, 1) == (
        "Whether mtp pays at 1 agent: 1.16 times off (96 % interval 0.99 to 1.36) is unresolved; about 1 more round "
        "would settle it."
    )
