"""Did the machine change during the run? The first trial is repeated at the end and held against itself."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from loadgen.analysis.at_depth import ASKED, asked, deep
from loadgen.analysis.estimators.intervals import exp_capped
from loadgen.analysis.measured.trial import Trial
from loadgen.analysis.wording import interval

_SPREADS = 3 * math.sqrt(2)
"""Two trials of one cell differ by √2·s; three times that happens by chance about once in 400 runs."""


def drift(
    repeated: Trial | None, valid: Mapping[tuple[str, int], Sequence[Trial]], noise: Sequence[Mapping[str, Any]]
) -> dict[str, Any] | None:
    """`ratio`: tasks/hour of the repetition ÷ those of the same trial in round 1; `limit`: what noise explains.

    `repeated` is the valid repetition, `valid` the valid trials by (variant, level), `noise` the noise floor by level.
    It `exceeds` where the ratio lies above the limit or below 1/limit. Null without a valid pair of trials, or where
    fewer than 3 rounds tell the noise.
    """
    if repeated is None:
        return None
    variant, level = repeated.record.variant, repeated.record.level
    first = next((trial for trial in valid.get((variant, level), ()) if trial.record.round == 1), None)
    spread = next((entry["s_ln"] for entry in noise if entry["concurrency"] == level), None)
    if first is None or spread is None:
        return None
    before, after = first.tasks_per_hour, repeated.tasks_per_hour
    if before is None or after is None or before <= 0 or after <= 0:
        return None
    logarithm = math.log(after / before)
    return {
        "variant": variant,
        "concurrency": level,
        "ratio": exp_capped(logarithm),
        "limit": exp_capped(_SPREADS * spread),
        "exceeds": abs(logarithm) > _SPREADS * spread,
    }


def drift_warning(found: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The warning of a drift beyond the noise, in the form of `caveats`; null where there is none."""
    if found is None or not found["exceeds"]:
        return None
    variant, level, depth = found["variant"], found["concurrency"], found.get(ASKED)
    text = (
        f"{variant} at {level}{deep(depth)}: the first trial, repeated at the end, did {found['ratio']:.2f} times its "
        f"tasks per hour, and noise explains {interval(1 / found['limit'], found['limit'])}: the machine changed "
        "meanwhile (heat, clocks, other load). Comparisons are paired by round, so drift widens their intervals and "
        "seldom favours one side."
    )
    return {"kind": "drift", "variant": variant, "concurrency": level, **asked(depth), "text": text}
