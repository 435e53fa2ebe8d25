"""How many tokens a step speculation must give to pay: read off runs with set acceptance, or out of step times."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from statistics import covariance, fmean, variance
from typing import Any

from loadgen.analysis.estimators.intervals import CONFIDENCE, MIN_ROUNDS, t_quantile
from loadgen.analysis.estimators.jackknife import jackknife_interval
from loadgen.analysis.speed.step_model import Work

_LEAST = 1.0
"""A step gives one token at least, whatever becomes of its draft."""
_LONGEST = 10_000
"""No draft is longer: a length beyond is none at all."""
_SMALLEST_S = 1e-9
"""Less than a nanosecond of decoding was none."""
_ROUNDING = 1e-9
"""Relative error of sums and squares of a few floating-point numbers, and more."""


class Side(StrEnum):
    """Where the length lies that was not met within what can be told."""

    MORE_THAN = "more_than"
    LESS_THAN = "less_than"


@dataclass(frozen=True)
class Needed:
    """Tokens a step at which a variant does as many tasks per hour as the baseline.

    `low` and `high` are its 95 % interval; null where it is open or there are fewer than 3 rounds. Where the length
    lies beyond what can be told, `value` is null and `beyond` says on which side of `bound` it lies; `bound` is null
    where no length would do. `rounds` are those that it rests on, `reason` why nothing is known.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    rounds: int = 0
    beyond: Side | None = None
    bound: float | None = None
    reason: str | None = None

    @property
    def known(self) -> bool:
        """Whether it says anything."""
        return self.value is not None or self.beyond is not None

    def as_json(self) -> dict[str, Any]:
        """An estimate in the form of `summary.json`."""
        return {"value": self.value, "low": self.low, "high": self.high, "n": self.rounds}


def from_lengths(points: Sequence[tuple[float, Mapping[int, float]]]) -> Needed:
    """The length at which the speed-up is 1, from variants of equal settings at several set lengths.

    The mean dᵣ is linear in tokens a step between neighbouring lengths; the interval holds every length whose
    interpolated dᵣ have a 95 % t interval that contains 0, as for the crossover. Nothing is extrapolated: where the
    speed-up doesn't rise through 1, the length is less than the shortest or more than the longest that was measured.

    Args:
        points: measured tokens a step, and dᵣ = ln(X_variant / X_baseline) by round. In any order.
    """
    known = sorted((length, logs) for length, logs in _merged(points).items() if logs)
    if len(known) < 2:  # noqa: PLR2004 - a line has two ends
        return Needed(reason="acceptance was set to one length only")
    means = [fmean(logs.values()) for _, logs in known]
    rounds = min(len(logs) for _, logs in known)
    signs = [mean >= 0 for mean in means]
    changes = [index for index, (before, after) in enumerate(pairwise(signs)) if before != after]
    if len(changes) > 1 or (changes and signs[0]):
        return Needed(
            rounds=rounds, reason="the speed-up does not rise through 1 with acceptance, but goes up and down"
        )
    low, high = _plausible(known)
    first, last = known[0][0], known[-1][0]
    if not changes:
        if signs[0]:
            return Needed(None, None, _upper(high, first, rounds), rounds, Side.LESS_THAN, first)
        return Needed(None, _lower(low, last, rounds), None, rounds, Side.MORE_THAN, last)
    at = changes[0]
    share = means[at] / (means[at] - means[at + 1])
    value = known[at][0] + share * (known[at + 1][0] - known[at][0])
    if low is not None and high is not None:
        # The value is of all rounds, the interval of those that two neighbours share.
        low, high = min(low, value), max(high, value)
    return Needed(value, None if low == first else low, None if high == last else high, rounds)


def from_steps(
    variant: Mapping[int, Work],
    variant_pace: Mapping[int, tuple[float, float]],
    baseline_pace: Mapping[int, tuple[float, float]],
    most: float | None,
) -> Needed:
    """The length at which the variant would do as many tasks per hour as the baseline, from the times of its steps.

    Tasks per hour are N · C ÷ T, with credits C and agents' time T = R + n/L · s: the rest R that isn't decoding, and n
    tokens at L a step of s seconds. With L alone changed, X_variant = X_baseline where

        L* = L · D ÷ (T_b · C ÷ C_b − R)        D = n/L · s, the variant's time of decoding

    so that L* = s ÷ s_b where rest, tokens and credits of the two are equal. Rest and step time are taken as
    independent of acceptance: a step verifies as many tokens whatever becomes of them. Where queue and prefill take
    longer than decoding that fails (agents that decode faster only meet at the prefill), and nothing is said. The
    interval is a jackknife over the rounds that both have, on 1 ÷ L*, which is linear in the times and may reach 0,
    where no length would do.

    Args:
        variant: the variant's work by round.
        variant_pace: its agents' time (s) and credits by round.
        baseline_pace: the same of the baseline.
        most: the most tokens that a step of the variant can give; null where that isn't known.
    """
    numbers = sorted(set(variant) & set(variant_pace) & set(baseline_pace))
    rounds = [(variant[number], variant_pace[number][1], baseline_pace[number]) for number in numbers]
    inverse = _inverse(rounds)
    if inverse is None:
        return Needed(rounds=len(rounds), reason="no round tells decoding times on one side and tasks on both")
    if sum(work.agent_s - work.waited_s - work.decode_s for work, _, _ in rounds) > sum(
        work.decode_s for work, _, _ in rounds
    ):
        reason = "queue and prefill take longer than decoding, and how they go with acceptance is not modelled"
        return Needed(rounds=len(rounds), reason=reason)
    without = [_inverse([*rounds[:index], *rounds[index + 1 :]]) for index in range(len(rounds))]
    interval = jackknife_interval(inverse, without)
    value = _length(inverse)
    low, high = (None, None) if interval is None else (_length(interval[1]), _length(interval[0]))
    if low is not None and low < _LEAST:
        low = None
    if value is None or (most is not None and value > most):
        return Needed(None, _smaller(low, most), None, len(rounds), Side.MORE_THAN, most)
    if value < _LEAST:
        return Needed(None, None, None if high is None else max(high, _LEAST), len(rounds), Side.LESS_THAN, _LEAST)
    if high is not None and most is not None and high > most:
        high = None
    return Needed(value, low, high, len(rounds))


def _merged(points: Sequence[tuple[float, Mapping[int, float]]]) -> dict[float, Mapping[int, float]]:
    """Points by their length; of several at one length, the one with most rounds."""
    out: dict[float, Mapping[int, float]] = {}
    for length, logs in points:
        if length not in out or len(logs) > len(out[length]):
            out[length] = logs
    return out


def _plausible(known: Sequence[tuple[float, Mapping[int, float]]]) -> tuple[float | None, float | None]:
    """The smallest and the largest length that the rounds can't tell from the one where the speed-up is 1."""
    found = [
        a * (1 - share) + b * share
        for (a, at_a), (b, at_b) in pairwise(known)
        for share in _shares_at_zero(
            *zip(*((at_a[number], at_b[number]) for number in set(at_a) & set(at_b)), strict=True)
        )
    ]
    return (min(found), max(found)) if found else (None, None)


def _shares_at_zero(*ends: tuple[float, ...]) -> list[float]:
    """Where between two lengths, as shares of the way, the t interval of the interpolated dᵣ begins and ends to hold 0.

    At a share w the mean is m + w·n and its squared half-width q·(u + 2·w·c + w²·v), so the interval holds 0 where a
    quadratic in w isn't above 0. `ends` are the dᵣ of both lengths in the same order of rounds.
    """
    if len(ends) < 2 or len(ends[0]) < MIN_ROUNDS:  # noqa: PLR2004 - both ends, where they have a round in common
        return []
    rise = [b - a for a, b in zip(*ends, strict=True)]
    q = t_quantile((1 + CONFIDENCE) / 2, len(rise) - 1) ** 2 / len(rise)
    m, n = fmean(ends[0]), fmean(rise)
    square = n**2 - q * variance(rise)
    middle = m * n - q * covariance(ends[0], rise)
    start = m**2 - q * variance(ends[0])
    shares = [0.0] if start <= 0 else []
    shares += [1.0] if square + 2 * middle + start <= 0 else []
    # Equal rounds make it a square, whose discriminant is 0 but for rounding.
    root = middle**2 - square * start
    if square != 0 and root >= -_ROUNDING * middle**2:
        half = math.sqrt(max(root, 0.0))
        shares += [share for share in ((-middle - half) / square, (-middle + half) / square) if 0 <= share <= 1]
    return shares


def _lower(low: float | None, last: float, rounds: int) -> float | None:
    """Where the interval of a length beyond the longest begins: there, unless shorter ones can't be excluded."""
    if rounds < MIN_ROUNDS:
        return None
    return last if low is None else low


def _upper(high: float | None, first: float, rounds: int) -> float | None:
    if rounds < MIN_ROUNDS:
        return None
    return first if high is None else high


def _inverse(rounds: Sequence[tuple[Work, float, tuple[float, float]]]) -> float | None:
    """1 ÷ L* from sums over rounds of (work, credits, (agents' time, credits) of the baseline)."""
    decode = sum(work.decode_s for work, _, _ in rounds)
    rest = sum(work.agent_s for work, _, _ in rounds) - decode
    earned, base_earned = sum(earned for _, earned, _ in rounds), sum(base[1] for _, _, base in rounds)
    if decode < _SMALLEST_S or earned <= 0 or base_earned <= 0:
        return None
    length = sum(work.tokens for work, _, _ in rounds) / sum(work.steps for work, _, _ in rounds)
    spare = sum(base[0] for _, _, base in rounds) * earned / base_earned - rest
    return spare / (length * decode)


def _length(inverse: float) -> float | None:
    """The length, or null where none would do."""
    return 1 / inverse if inverse * _LONGEST > 1 else None


def _smaller(low: float | None, most: float | None) -> float | None:
    return low if low is None or most is None else min(low, most)
