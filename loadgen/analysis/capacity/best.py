"""Which variant does most at each concurrency, of those that keep the limits there and may be recommended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import Any

from loadgen.analysis.capacity.rates import Rates
from loadgen.analysis.estimators.comparison import Call, compare, log_ratios
from loadgen.analysis.estimators.intervals import ALPHA

_TURNED = {Call.PAYS: Call.COSTS, Call.COSTS: Call.PAYS}
_NO_LESS = (Call.PAYS, Call.SAME)


class Stands(StrEnum):
    """How the best one of several was found."""

    BEST = "best"
    """It surely does more than each of the others."""
    ALIKE = "alike"
    """No other does more by as much as is worth acting on."""
    ALONE = "alone"
    """No other keeps the limits, or may be recommended."""
    UNRESOLVED = "unresolved"
    NONE = "none"


@dataclass(frozen=True)
class Pick:
    """The variant to keep of several (null: none), and among which it is open or alike."""

    keep: str | None
    stands: Stands
    among: tuple[str, ...] = ()


class Rivals:
    """What is known of any two variants at a level: the run's own calls against the baseline, and ours of the others.

    Variants other than the baseline are compared with each other as the run compares them with the baseline, paired by
    round. Each in turn is what the later ones are held against, and the error of 5 % is divided by how many are
    (Bonferroni), so that all these comparisons have it together.
    """

    def __init__(self, summary: Mapping[str, Any], rates: Mapping[str, Rates], min_effect: float) -> None:
        self._calls = {
            (one["variant"], one["baseline"], one["concurrency"]): Call(one["call"])
            for one in summary["comparisons"]
            if one["metric"] == "tasks_per_hour" and one["call"] is not None
        }
        others = [name for name in rates if name != summary["run"]["baseline"]]
        for place, against in enumerate(others[:-1]):
            pairs = {
                (name, level): log_ratios(rates[name].curve.by_level[level], rates[against].curve.by_level[level])
                for name in others[place + 1 :]
                for level in sorted(set(rates[name].curve.by_level) & set(rates[against].curve.by_level))
            }
            found = compare(pairs, baseline=against, min_effect=min_effect, alpha=ALPHA / (len(others) - 1))
            self._calls |= {(one.variant, against, one.level): one.call for one in found if one.call is not None}

    def call(self, one: str, other: str, level: int) -> Call:
        """What is said of `one` against `other`; unresolved where they weren't, or can't be, compared."""
        found = self._calls.get((one, other, level))
        if found is not None:
            return found
        turned = self._calls.get((other, one, level), Call.UNRESOLVED)
        return _TURNED.get(turned, turned)


def pick(names: Sequence[str], baseline: str, calls: Mapping[tuple[str, str], Call]) -> Pick:
    """The best of several by the calls between any two (each pair once, in either order).

    Of those that are alike the baseline is kept, else the first: what is simpler needs no reason.
    """
    if not names:
        return Pick(None, Stands.NONE)
    if len(names) == 1:
        return Pick(names[0], Stands.ALONE)
    both = {**calls, **{(b, a): _TURNED.get(call, call) for (a, b), call in calls.items()}}
    beaten = {a for a in names for b in names if a != b and both[a, b] is Call.COSTS}
    open_ones = {a for a in names for b in names if a != b and both[a, b] is Call.UNRESOLVED}
    first = [name for name in names if name not in beaten | open_ones]
    if not first:
        return Pick(None, Stands.UNRESOLVED, tuple(name for name in names if name not in beaten) or tuple(names))
    keep = baseline if baseline in first else first[0]
    if all(both[keep, name] is Call.PAYS for name in names if name != keep):
        return Pick(keep, Stands.BEST)
    alike = (name for name in names if name == keep or both[keep, name] is Call.SAME)
    return Pick(keep, Stands.ALIKE, tuple(alike))


def best_by_level(
    within: Mapping[int, Mapping[str, bool | None]], rivals: Rivals, baseline: str
) -> list[dict[str, Any]]:
    """One entry a level: `{"concurrency", "keep", "call", "among", "not_told", "most"}`.

    `keep` is null where a variant of which it can't be told whether it keeps the limits (`not_told`) may do more.
    `most` is what does most of all that aren't known to miss them, null where that is open.

    Args:
        within: of the variants that may be recommended, whether they keep every limit at a level; null where that can't
            be told.
        rivals: how any two of them compare.
        baseline: the name of the baseline.
    """
    return [{"concurrency": level, **_best(level, of, rivals, baseline)} for level, of in sorted(within.items())]


def _best(level: int, of: Mapping[str, bool | None], rivals: Rivals, baseline: str) -> dict[str, Any]:
    kept = [name for name, held in of.items() if held]
    unknown = [name for name, held in of.items() if held is None]

    def among(names: Sequence[str]) -> Pick:
        return pick(names, baseline, {(a, b): rivals.call(a, b, level) for a, b in combinations(names, 2)})

    found = among(kept)
    rival = [name for name in unknown if found.keep is None or rivals.call(found.keep, name, level) not in _NO_LESS]
    if rival:
        named = [found.keep] if found.keep is not None else list(found.among)
        found = Pick(None, Stands.UNRESOLVED, (*named, *rival))
    return {
        "keep": found.keep,
        "call": found.stands.value,
        "among": list(found.among),
        "not_told": unknown,
        "most": among([*kept, *unknown]).keep,
    }
