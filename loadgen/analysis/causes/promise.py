"""The speed-up that tokens per step promise, and where the time of a step goes that eats it."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from loadgen.analysis.causes.acceptance import drafted_tokens
from loadgen.analysis.estimators.comparison import speedup
from loadgen.analysis.measured.trial import Trial
from loadgen.analysis.speed.step_model import Work, work_by_round

Works = Mapping[int, Work]
"""Decode work by round."""

_SHORTEST_S = 1e-6
"""A server that says that it decoded for less than a microsecond measured nothing."""


class Promise:
    """The decode work of a variant at one level beside the baseline's, paired by round.

    Rounds in which no time passed on one side are left out. Where tokens per step aren't known, the work is empty.
    """

    def __init__(self, work: Works, base: Works) -> None:
        self._work, self._base = _timed(work), _timed(base)
        self._rounds = sorted(set(self._work) & set(self._base))

    def as_json(self) -> dict[str, Any]:
        """`promised` ÷ `step_time.ratio` = `decode_speedup`: all three are means of logs over the same rounds.

        `promised` is the ratio of tokens per step, `step_time.ratio` that of the seconds a step takes (with drafting
        and verifying, and with waiting for prompts that the server reads in between), `decode_speedup` that of tokens
        per second of decoding.
        """
        return {
            "promised": _mean(self._logs(_tokens_per_step)),
            "step_time": {
                "s": _step_s(self._work),
                "baseline_s": _step_s(self._base),
                "ratio": _mean(self._logs(_step_time)),
            },
            "decode_speedup": _mean(self.decoding),
        }

    @property
    def decoding(self) -> dict[int, float]:
        """The log ratio of tokens per second of decoding, by round."""
        return self._logs(lambda work: work.tokens / work.decode_s)

    def overhead(self, idle: Works) -> dict[str, Any]:
        """The step time's ratio split at `idle`, the work of the same server that was kept from drafting.

        `overhead` × `drafting_and_verifying` is the ratio of step times over the rounds that all three have.
        """
        loaded, working = self._split(idle)
        return {"overhead": _mean(loaded), "drafting_and_verifying": _mean(working)}

    def drafting(self, wide: Works) -> dict[str, Any] | None:
        """The step time's ratio split at `wide`, the baseline's work with at least as many agents as a step has tokens.

        A batch that wide costs the target model no more than the baseline's steps there: `verification_at_most`. What
        is left of the ratio is drafting: `drafting_at_least`. Null where nothing is left, so that drafting can't be
        told from verifying.
        """
        verifying, rest = self._split(wide)
        if not rest or math.fsum(rest.values()) <= 0:
            return None
        return {"verification_at_most": _mean(verifying), "drafting_at_least": _mean(rest)}

    def _split(self, between: Works) -> tuple[dict[int, float], dict[int, float]]:
        """The log ratios of step times between ÷ baseline and variant ÷ between, over the rounds that all have."""
        there = _timed(between)
        rounds = [number for number in self._rounds if number in there]
        above = {number: math.log(there[number].step_s / self._base[number].step_s) for number in rounds}
        below = {number: math.log(self._work[number].step_s / there[number].step_s) for number in rounds}
        return above, below

    def _logs(self, quantity: Callable[[Work], float]) -> dict[int, float]:
        return {
            number: math.log(quantity(self._work[number]) / quantity(self._base[number])) for number in self._rounds
        }


def verify_width(trials: Sequence[Trial], work: Works, *, level: int, slots: int | None) -> float | None:
    """Tokens that the target model evaluates in one step: answers at once × (1 + tokens drafted a step).

    No more answers than slots share a step. Null where nothing was drafted, or the steps aren't known.
    """
    drafted, steps = drafted_tokens(trials), sum(one.steps for one in work.values())
    if not drafted or not steps:
        return None
    return (level if slots is None else min(level, slots)) * (1 + drafted / steps)


def wide_enough(
    width: float | None, base: Mapping[int, Sequence[Trial]], slots: int | None
) -> tuple[int | None, Works]:
    """The baseline's lowest level with at least `width` agents, all in a slot of their own, and its decode work.

    (None, nothing) where there is none, or where the slots aren't known.
    """
    if width is None or slots is None:
        return None, {}
    level = min((level for level, trials in base.items() if trials and width <= level <= slots), default=None)
    return level, {} if level is None else work_by_round(base[level])


def _timed(work: Works) -> dict[int, Work]:
    return {number: one for number, one in work.items() if one.decode_s >= _SHORTEST_S}


def _step_s(work: Works) -> float | None:
    steps = sum(one.steps for one in work.values())
    return math.fsum(one.decode_s for one in work.values()) / steps if steps else None


def _step_time(work: Work) -> float:
    return work.step_s


def _tokens_per_step(work: Work) -> float:
    return work.tokens_per_step


def _mean(logs: Mapping[int, float]) -> dict[str, Any]:
    return speedup(list(logs.values())).as_json()
