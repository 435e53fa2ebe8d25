"""How tasks per hour grow with agents: the Universal Scalability Law, where a run has levels enough to tell.

    X(N) = gamma · N ÷ (1 + alpha · (N − 1) + beta · N · (N − 1))

Gamma is the rate of one agent, alpha what agents wait for in turn (contention), beta what they cost each other pairwise
(coherency); X is largest at N* = √((1 − alpha) ÷ beta). Source: N. Gunther, Guerrilla Capacity Planning, 2007; arXiv
0808.1431.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from loadgen.analysis.estimators.intervals import MIN_ROUNDS, Estimate
from loadgen.analysis.estimators.jackknife import jackknife_interval
from loadgen.analysis.speed.rate_curve import curve
from loadgen.analysis.speed.step_model import Cells

MIN_LEVELS = 6
"""Three coefficients go through any three points: half of the levels must be left to contradict them."""
_ALPHA = 0.05
_COEFFICIENTS = 3
_LEAST_ERROR = 1e-3
"""No rate is known better than to 0.1 %: rounds that happen to be equal don't make any other curve a poor fit."""
_NOTHING = 1e-4
"""A coefficient that takes less than this share of the rate at the largest level came out at its bound of 0."""
_MANY_TRIES = 10_000

GOOD, POOR = "good", "poor"
BEYOND, BEFORE = "beyond what was measured", "before what was measured"

Rates = Mapping[int, Mapping[int, float]]
"""Tasks per hour by level and round."""


@dataclass(frozen=True)
class Law:
    """The coefficients: tasks per hour of one agent, contention and coherency, none below 0 and alpha not above 1."""

    gamma: float
    alpha: float
    beta: float

    def rate(self, level: float) -> float:
        """Tasks per hour of so many agents."""
        return self.gamma * level / (1 + self.alpha * (level - 1) + self.beta * level * (level - 1))

    @property
    def inverse_square_peak(self) -> float:
        """1 ÷ N*²: 0 where the rate grows without end."""
        return self.beta / max(1 - self.alpha, _NOTHING)


def scaling(valid: Cells, names: Sequence[str], slots: Mapping[str, int | None]) -> list[dict[str, Any]]:
    """The law fitted to each variant's tasks per hour, one entry a variant that has valid trials.

    Levels beyond the slots of its server are left out: there slots set the pace. An entry holds `levels`, `fit` (*good*
    or *poor*; null where nothing was fitted, with its `reason`), `p_value` of the fit, and where it is good `gamma`,
    `alpha`, `beta` and `peak` (N*) as estimates. `peak` is null where N* lies outside of the levels that were fitted,
    and `peak_reason` says on which side. `at_bound` names the coefficients that came out at 0, their bound: the rounds
    would rather have them negative, or can't tell them from 0.

    Each level weighs by its own standard error. A few rounds tell that only roughly, so the relative spread between
    rounds is pooled over the levels. A fit is poor where the means of the levels lie farther from the curve than their
    errors explain (χ² of the residuals over the pooled variance, by the F distribution, at 5 %). Intervals are by
    jackknife over the rounds.
    """
    out = []
    for name in names:
        rates = curve(valid, name, slots.get(name)).by_level
        if any(variant == name and trials for (variant, _), trials in valid.items()):
            out.append({"variant": name, **_entry(rates, slots.get(name))})
    return out


def fit(rates: Rates, error: float) -> Law | None:
    """The law nearest to the means of the levels, each with the relative `error` of one of its rounds.

    Null where the search finds no end.
    """
    import numpy as np  # noqa: PLC0415 - the command line starts without numpy
    from scipy.optimize import curve_fit  # noqa: PLC0415 - the command line starts without scipy

    levels = np.array(sorted(rates), dtype=float)
    means = np.array([fmean(rates[level].values()) for level in sorted(rates)])
    rounds = np.array([len(rates[level]) for level in sorted(rates)])
    # By the rate of one agent, so that every coefficient is of the order of 1 or below.
    unit = float(means[0] / levels[0])
    try:
        found, _ = curve_fit(
            lambda n, gamma, alpha, beta: gamma * n / (1 + alpha * (n - 1) + beta * n * (n - 1)),
            levels,
            means / unit,
            p0=(1.0, 0.1, 0.01),
            sigma=means / unit * error / np.sqrt(rounds),
            absolute_sigma=True,
            bounds=((0, 0, 0), (np.inf, 1, np.inf)),
            x_scale=(1.0, 0.1, 0.01),
            xtol=1e-12,
            ftol=1e-12,
            gtol=1e-12,
            max_nfev=_MANY_TRIES,
        )
    except RuntimeError:
        return None
    gamma, alpha, beta = (float(one) for one in found)
    largest = float(levels[-1])
    law = Law(gamma * unit, alpha, beta)
    whole = law.gamma * largest / law.rate(largest) if law.rate(largest) > 0 else math.inf
    return Law(
        law.gamma,
        0.0 if alpha * (largest - 1) < _NOTHING * whole else alpha,
        0.0 if beta * largest * (largest - 1) < _NOTHING * whole else beta,
    )


def relative_error(rates: Rates) -> float:
    """Standard deviation of a round around the mean of its level, as a share of it, pooled over the levels."""
    squares, freedom = 0.0, 0
    for rounds in rates.values():
        mean = fmean(rounds.values())
        squares += sum((rate / mean - 1) ** 2 for rate in rounds.values())
        freedom += len(rounds) - 1
    return max(math.sqrt(squares / freedom), _LEAST_ERROR)


def _entry(rates: Rates, slots: int | None) -> dict[str, Any]:
    nothing: dict[str, Any] = {
        "levels": list(rates), "fit": None, "p_value": None, "gamma": None, "alpha": None, "beta": None, "peak": None,
        "peak_reason": None, "at_bound": [],
    }  # fmt: skip
    missing = _missing(rates, slots)
    if missing is not None:
        return {**nothing, "reason": missing}
    error = relative_error(rates)
    law = fit(rates, error)
    if law is None:
        return {**nothing, "fit": POOR, "reason": "no curve of the law comes near its rates"}
    p_value = _p_value(rates, law, error)
    if p_value < _ALPHA:
        reason = f"its rates lie farther from the law than their own spread explains (p = {p_value:.2g})"
        return {**nothing, "fit": POOR, "p_value": p_value, "reason": reason}
    return {**nothing, "fit": GOOD, "p_value": p_value, **_coefficients(rates, law, error), "reason": None}


def _missing(rates: Rates, slots: int | None) -> str | None:
    within = "" if slots is None else f" within its {slots} slots"
    if len(rates) < MIN_LEVELS:
        return f"it takes {MIN_LEVELS} levels{within}, and there are {len(rates)}"
    fewest = min(len(rounds) for rounds in rates.values())
    if fewest < MIN_ROUNDS:
        return f"it takes {MIN_ROUNDS} rounds at every level, and at one there are {fewest}"
    return None


def _p_value(rates: Rates, law: Law, error: float) -> float:
    """How often means would lie at least as far from the curve if it were the true one."""
    from scipy.special import fdtrc  # noqa: PLC0415 - the command line starts without scipy

    squares = 0.0
    for level, rounds in rates.items():
        mean = fmean(rounds.values())
        squares += len(rounds) * ((mean - law.rate(level)) / (mean * error)) ** 2
    free = len(rates) - _COEFFICIENTS
    return float(fdtrc(free, sum(len(rounds) - 1 for rounds in rates.values()), squares / free))


def _coefficients(rates: Rates, law: Law, error: float) -> dict[str, Any]:
    numbers = sorted({number for rounds in rates.values() for number in rounds})
    without = [_without(rates, number, error) for number in numbers]

    def estimate(name: str) -> Estimate:
        points = [None if one is None else getattr(one, name) for one in without]
        interval = jackknife_interval(getattr(law, name), points)
        if interval is None:
            return Estimate(getattr(law, name), n=len(numbers), estimable=False)
        return Estimate(getattr(law, name), max(interval[0], 0.0), interval[1], len(numbers))

    squared = estimate("inverse_square_peak")
    return {
        "gamma": estimate("gamma").as_json(),
        "alpha": estimate("alpha").as_json(),
        "beta": estimate("beta").as_json(),
        "at_bound": [name for name in ("alpha", "beta") if getattr(law, name) == 0],
        **_peak(squared, min(rates), max(rates)),
    }


def _without(rates: Rates, number: int, error: float) -> Law | None:
    left = {level: {one: rate for one, rate in rounds.items() if one != number} for level, rounds in rates.items()}
    return fit(left, error) if all(left.values()) else None


def _peak(squared: Estimate, smallest: int, largest: int) -> dict[str, Any]:
    """N* from 1 ÷ N*², whose interval may reach 0: then there may be no peak at all. An end outside is null."""

    def inside(value: float | None) -> float | None:
        if value is None or value <= 0:
            return None
        at = 1 / math.sqrt(value)
        return at if smallest <= at <= largest else None

    at = inside(squared.value)
    if at is None:
        grows = squared.value is None or squared.value * largest**2 < 1
        return {"peak": None, "peak_reason": BEYOND if grows else BEFORE}
    peak = Estimate(at, inside(squared.high), inside(squared.low), squared.n, squared.estimable)
    return {"peak": peak.as_json(), "peak_reason": None}
