"""A comparison of a variant with itself, as sentences: whatever it calls is a false alarm."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from loadgen.analysis.at_depth import ASKED, deep
from loadgen.analysis.estimators.comparison import Call, Comparison
from loadgen.analysis.estimators.intervals import MIN_ROUNDS
from loadgen.analysis.wording import agents, factor, interval


def false_alarms(
    comparisons: Sequence[Comparison], noise: Sequence[Mapping[str, Any]], baseline: str, variants: Sequence[str]
) -> list[str]:
    """How many calls were false, the largest difference seen, and the noise floor."""
    tested = [c for c in comparisons if c.p_value is not None]
    alarms = sum(c.call in (Call.PAYS, Call.COSTS) for c in tested)
    found = f"{alarms or 'none'} in {len(tested)} comparison{'' if len(tested) == 1 else 's'}"
    if not tested:
        found = f"none could come up, for it takes {MIN_ROUNDS} rounds with a valid trial on both sides"
    out = [f"{' and '.join(variants)} are the same, so every call of pays or costs is a false alarm: {found}."]
    seen = [c for c in comparisons if c.rounds]
    if seen:
        out.append(_largest(max(seen, key=lambda c: abs(fmean(c.rounds)))))
    floors = [
        f"{factor(entry['smallest_speedup'])} at {agents(entry['concurrency'])}{deep(entry.get(ASKED))}"
        for entry in noise
        if entry["smallest_speedup"] is not None
    ]
    if floors:
        out.append(f"By the noise of {baseline} alone, the smallest speed-up to be called is {', '.join(floors)}.")
    return out


def _largest(c: Comparison) -> str:
    value = factor(c.speedup.value) if c.speedup.value is not None else "n/a"
    rounds = f"{c.speedup.n} round{'' if c.speedup.n == 1 else 's'}"
    bounds = "" if c.speedup.low is None else f"95 % interval {interval(c.speedup.low, c.speedup.high)}, "
    return (
        f"The largest difference seen: {c.variant} at {agents(c.level)}{deep(c.depth)} did {value} times the tasks per "
        f"hour of {c.baseline} ({bounds}{rounds})."
    )
