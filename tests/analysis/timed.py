"""Trials whose turns take a known time: a rest, then decode steps of equal length."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from loadgen.analysis.measured.trial import Trial
from tests.analysis.conftest import Maker

MAKE = Maker()


def timed(
    variant: str,
    level: int,
    number: int = 1,
    *,
    step: float = 0.05,
    rest: float = 1.0,
    tokens: int = 60,
    per_step: int = 1,
    prefill: float = 0.0,
    turns: int = 2,
    factor: float = 1.0,
    drafts: bool | None = None,
) -> Trial:
    """A trial of round `number` whose agents each do a whole session of `turns` turns.

    A turn takes (`rest` + `prefill` + `tokens` ÷ `per_step` · `step`) · `factor` seconds; the rest is a declared wait.
    `drafts`: the server reports its drafts; default: where a step gives more than a token.
    """
    steps = tokens // per_step
    turn_s = (rest + prefill + steps * step) * factor
    timings: dict[str, Any] = {"predicted_ms": steps * step * factor * 1000, "predicted_n": tokens}
    if drafts or (drafts is None and per_step > 1):
        timings |= {"draft_n": 3 * steps, "draft_n_accepted": tokens - steps}
    place: dict[str, Any] = {"trial": f"r{number}-n{level}-{variant}", "round": number, "variant": variant}
    requests = [
        MAKE.request(
            ready=turn * turn_s, start=turn * turn_s + rest * factor, first=turn * turn_s + (rest + prefill) * factor,
            last=(turn + 1) * turn_s, agent=agent, turn=turn, turns=turns, session=f"s{agent}", level=level,
            in_flight=level, completion_tokens=tokens, timings=timings, **place,
        )
        for agent in range(level)
        for turn in range(turns)
    ]  # fmt: skip
    return MAKE.trial(requests, segments=[(0.0, turns * turn_s)] * level, turns=turns, **place)


def rounds(variant: str, level: int, factors: Sequence[float] = (1.0, 1.0, 1.0), **timing: Any) -> list[Trial]:
    """One trial a round, each slower by its factor."""
    return [timed(variant, level, number, factor=factor, **timing) for number, factor in enumerate(factors, start=1)]


def paced(variant: str, rates: Mapping[int, Sequence[float]]) -> dict[tuple[str, int], list[Trial]]:
    """Cells of a variant with so many tasks per hour, in all, by level and round."""
    return {
        (variant, level): [
            timed(variant, level, number, turns=1, tokens=1, step=0.0, rest=3600 * level / rate, drafts=False)
            for number, rate in enumerate(several, start=1)
        ]
        for level, several in rates.items()
    }


def with_timings(trial: Trial, **changes: Any) -> Trial:
    """The same trial with other timings in every answer; a null takes one out."""
    kept = [
        {name: value for name, value in ((request.timings or {}) | changes).items() if value is not None}
        for request in trial.requests
    ]
    requests = [
        msgspec.structs.replace(request, timings=timings) for request, timings in zip(trial.requests, kept, strict=True)
    ]
    return Trial(record=trial.record, requests=requests, events=trial.events)
