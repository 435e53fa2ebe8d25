"""Does a variant pay against the baseline? Paired by round, decided for a whole family of comparisons at once."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import fmean, stdev
from typing import Any, TypeVar

from loadgen.analysis.estimators.intervals import (
    ALPHA,
    CONFIDENCE,
    MIN_ROUNDS,
    Estimate,
    equivalent,
    exp_capped,
    holm,
    rounds_to_settle,
    t_interval,
    t_p_value,
    t_quantile,
)
from loadgen.cell_key import CellKey

Named = TypeVar("Named", CellKey, tuple[str, int])
"""What one comparison is about: a cell that is compared with the baseline's; (variant, level) names one as well."""


class Call(StrEnum):
    """What a comparison says."""

    PAYS = "pays"
    COSTS = "costs"
    SAME = "same"
    UNRESOLVED = "unresolved"


@dataclass(frozen=True)
class Refusal:
    """Why nothing is called of two cells although they have pairs of trials: `reason` in a word, `text` as a clause."""

    reason: str
    text: str

    def as_json(self) -> dict[str, str]:
        """The form of `summary.json`."""
        return {"reason": self.reason, "text": self.text}


@dataclass(frozen=True)
class Strictness:
    """At which level a comparison is called.

    `alpha` is the chance of a false call of `pays` or `costs` anywhere among `family` comparisons, and of a false
    `same` in this one: that rests on the 1 − 2·alpha interval.
    """

    alpha: float
    family: int

    @property
    def alone(self) -> float:
        """The level of this comparison by itself (Bonferroni)."""
        return self.alpha / max(self.family, 1)

    @property
    def same_confidence(self) -> float:
        """Of the interval on which `same` rests."""
        return 1 - 2 * self.alpha


@dataclass(frozen=True)
class Comparison:
    """One variant against the baseline at one level (and, in a run with fixed depths, one depth).

    `rounds` are the paired log ratios dᵣ in the order of the rounds `of_rounds`. `sim_low` and `sim_high` hold for all
    comparisons of the family at once; `same_low` and `same_high` are the interval that `same` rests on, 90 % unless
    looks took their share of the error. `more_rounds` would settle an unresolved one; null where that is more than 999.
    `closed_after`: the round after which a look found it known, and it was measured no further; null where none did.
    Where `refusals` say that the two can't be compared, nothing is tested, and `call` is null; `speedup` and `rounds`
    are what they would be.
    """

    variant: str
    baseline: str
    level: int
    of_rounds: tuple[int, ...]
    rounds: tuple[float, ...]
    speedup: Estimate
    sim_low: float | None
    sim_high: float | None
    same_low: float | None
    same_high: float | None
    p_value: float | None
    p_adjusted: float | None
    call: Call | None
    more_rounds: int | None
    min_effect: float
    strictness: Strictness = Strictness(ALPHA, 1)
    closed_after: int | None = None
    depth: int | None = None
    refusals: tuple[Refusal, ...] = ()

    @property
    def key(self) -> CellKey:
        """The cell that is compared."""
        return CellKey(self.variant, self.level, self.depth)

    def as_json(self) -> dict[str, Any]:
        """The form of `summary.json`."""
        return {
            "variant": self.variant,
            "baseline": self.baseline,
            "concurrency": self.level,
            "depth_asked": self.depth,
            "metric": "tasks_per_hour",
            "speedup": self.speedup.as_json(),
            "sim_low": self.sim_low,
            "sim_high": self.sim_high,
            "same_low": self.same_low,
            "same_high": self.same_high,
            "rounds": list(self.rounds),
            "of_rounds": list(self.of_rounds),
            "p_value": self.p_value,
            "p_adjusted": self.p_adjusted,
            "call": None if self.call is None else self.call.value,
            "not_comparable": [one.as_json() for one in self.refusals],
            "more_rounds": self.more_rounds,
            "min_effect": self.min_effect,
            "alpha": self.strictness.alpha,
            "closed_after": self.closed_after,
        }


def log_ratios(variant: Mapping[int, float | None], baseline: Mapping[int, float | None]) -> dict[int, float]:
    """dᵣ = ln(X_variant / X_baseline) by round, over the rounds where both are above 0."""
    out = {}
    for round_number in sorted(set(variant) & set(baseline)):
        top, bottom = variant[round_number], baseline[round_number]
        if top is not None and bottom is not None and top > 0 and bottom > 0:
            out[round_number] = math.log(top / bottom)
    return out


def compare(
    pairs: Mapping[Named, Mapping[int, float]],
    *,
    baseline: str,
    min_effect: float,
    alpha: float = ALPHA,
    at_looks: Mapping[Named, Strictness] | None = None,
    refused: Mapping[Named, Sequence[Refusal]] | None = None,
) -> list[Comparison]:
    """All comparisons of a run: `pairs` holds dᵣ by round of each.

    One family: the calls `pays` and `costs` are adjusted by Holm over every comparison that has an interval, the
    simultaneous intervals by Bonferroni over the same.

    Args:
        pairs: dᵣ by comparison and round.
        baseline: the name of the other side.
        min_effect: the smallest difference worth acting on, as a share.
        alpha: chance of a false call over all comparisons that `at_looks` doesn't name, and of a false `same` in one.
        at_looks: how strictly those are called that a look closed: by Bonferroni over the family that was planned.
            One that was called there leaves the Holm family of the others, since it was rejected under a stricter
            level; one that wasn't stays in it as a test that failed, for what chance closed must not ease the rest.
        refused: why some of them can't be called: they are no part of the family.
    """
    refusals = refused or {}
    looks = {key: strict for key, strict in (at_looks or {}).items() if key in pairs and key not in refusals}
    values = {key: [logs[number] for number in sorted(logs)] for key, logs in pairs.items()}
    plain = {key: p for key in pairs if key not in refusals and (p := t_p_value(values[key])) is not None}
    adjusted = _adjusted(plain, looks)
    rest = Strictness(alpha, len(set(plain) | set(looks)))
    found = {
        key: _comparison(
            key if isinstance(key, CellKey) else CellKey(*key),
            baseline=baseline,
            rounds=tuple(sorted(pairs[key])),
            logs=values[key],
            p=(plain.get(key), adjusted.get(key)),
            strict=looks.get(key, rest),
            min_effect=min_effect,
        )
        for key in pairs
    }
    return [_refused(one, refusals[key]) if key in refusals else one for key, one in found.items()]


def _refused(c: Comparison, why: Sequence[Refusal]) -> Comparison:
    """What is left of a comparison that can't be called."""
    return replace(
        c, sim_low=None, sim_high=None, same_low=None, same_high=None, call=None, more_rounds=None, refusals=tuple(why)
    )


def _adjusted(plain: Mapping[Named, float], looks: Mapping[Named, Strictness]) -> dict[Named, float]:
    """Adjusted p values: by Bonferroni for those that looks closed, by Holm for the others."""
    at_look = {key: min(1.0, strict.family * plain[key]) for key, strict in looks.items() if key in plain}
    uncalled: int = sum(at_look.get(key, 1.0) > strict.alpha for key, strict in looks.items())
    others: list[Named] = [key for key in plain if key not in looks]
    adjusted = holm([*(plain[key] for key in others), *[1.0] * uncalled])
    return at_look | dict(zip(others, adjusted, strict=False))


def speedup(logs: Sequence[float]) -> Estimate:
    """exp(mean dᵣ) with its 95 % t interval; no interval below 3 rounds."""
    interval = t_interval(logs)
    if not logs or interval is None:
        return Estimate(exp_capped(fmean(logs)) if logs else None, n=len(logs), estimable=False)
    return Estimate(exp_capped(fmean(logs)), exp_capped(interval[0]), exp_capped(interval[1]), len(logs))


def noise_floor(baseline: Mapping[int, float | None]) -> dict[str, Any]:
    """The baseline's own spread between rounds, and the smallest speed-up that as many rounds could have called.

    `s_ln` is the standard deviation of ln X; a difference of two such values has √2 times that. Null below 3 rounds.
    """
    logs = [math.log(x) for x in baseline.values() if x is not None and x > 0]
    if len(logs) < MIN_ROUNDS:
        return {"s_ln": None, "smallest_speedup": None, "n": len(logs)}
    spread = stdev(logs)
    half = t_quantile((1 + CONFIDENCE) / 2, len(logs) - 1) * math.sqrt(2) * spread / math.sqrt(len(logs))
    return {"s_ln": spread, "smallest_speedup": exp_capped(half), "n": len(logs)}


def _comparison(
    key: CellKey,
    *,
    baseline: str,
    rounds: tuple[int, ...],
    logs: Sequence[float],
    p: tuple[float | None, float | None],
    strict: Strictness,
    min_effect: float,
) -> Comparison:
    bound = math.log1p(min_effect)
    call = _call(logs, p[1], bound, strict.alpha)
    sim, same = t_interval(logs, 1 - strict.alone), t_interval(logs, strict.same_confidence)
    return Comparison(
        variant=key.variant,
        baseline=baseline,
        level=key.level,
        of_rounds=rounds,
        rounds=tuple(logs),
        speedup=speedup(logs),
        sim_low=None if sim is None else exp_capped(sim[0]),
        sim_high=None if sim is None else exp_capped(sim[1]),
        same_low=None if same is None else exp_capped(same[0]),
        same_high=None if same is None else exp_capped(same[1]),
        p_value=p[0],
        p_adjusted=p[1],
        call=call,
        more_rounds=rounds_to_settle(logs, bound=bound, alpha=strict.alone, same_alpha=strict.alpha)
        if call is Call.UNRESOLVED
        else None,
        min_effect=min_effect,
        strictness=strict,
        depth=key.depth,
    )


def _call(logs: Sequence[float], p_adjusted: float | None, bound: float, alpha: float) -> Call:
    """`same` goes first: a difference too small to act on is settled, even where it is surely there."""
    if p_adjusted is None:
        return Call.UNRESOLVED
    if equivalent(logs, bound, alpha=alpha):
        return Call.SAME
    if p_adjusted <= alpha:
        return Call.PAYS if fmean(logs) > 0 else Call.COSTS
    return Call.UNRESOLVED
