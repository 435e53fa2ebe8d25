"""Increases of the server's own counters over a trial."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from loadgen.records.model import TrialRecord

ACCEPTED = "llamacpp:spec_decode_num_accepted_tokens"
DRAFTS = "llamacpp:spec_decode_num_drafts"
_PAIR = 2


def increase(readings: Sequence[float]) -> tuple[float | None, int]:
    """How much a counter grew over readings in time order, and how often it restarted.

    After a restart it counts from 0. Null where two readings are all there is and it restarted between them: what it
    counted before the restart is lost.
    """
    steps = [(after if after < before else after - before) for before, after in pairwise(readings)]
    resets = sum(after < before for before, after in pairwise(readings))
    if len(readings) < _PAIR or (resets and len(readings) == _PAIR):
        return None, resets
    return sum(steps), resets


def grown(trial: TrialRecord, name: str) -> float | None:
    """The increase of one counter over a trial, its name with or without `_total` (builds differ).

    Null without readings, without the counter, or where the server restarted.
    """
    if trial.counters_before is None or trial.counters_after is None:
        return None
    before, after = _counter(trial.counters_before.values, name), _counter(trial.counters_after.values, name)
    return None if before is None or after is None else increase([before, after])[0]


def restarted(trial: TrialRecord) -> bool:
    """Whether a counter (a name with `_total`) fell during the trial: the server was started anew."""
    if trial.counters_before is None or trial.counters_after is None:
        return False
    after = trial.counters_after.values
    return any(
        after[name] < value
        for name, value in trial.counters_before.values.items()
        if name.partition("{")[0].endswith("_total") and name in after
    )


def _counter(values: Mapping[str, float], name: str) -> float | None:
    return values.get(f"{name}_total", values.get(name))
