"""What a decode step takes: the time model behind promised and realised speed-up, and behind break-even.

All slots that are busy decode in lockstep: one step of the server verifies the drafts of all of them, and each request
counts the whole of it. So a request's decoding time is its own number of steps times the time of a shared step, and a
turn of an agent is

    time of a turn = rest + steps · time of a step,    steps = tokens ÷ tokens per step

where the rest is what isn't decoding: waits, queue, prefill. A step's time contains what prefills of other agents add
to it. The first token of an answer comes out of its prefill and is counted as a step, as the definitions do; that is
below 1 ÷ steps of an answer.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from loadgen.analysis.estimators.comparison import log_ratios, speedup
from loadgen.analysis.estimators.intervals import Estimate, ratio_over_rounds
from loadgen.analysis.measured.request import timing
from loadgen.analysis.measured.trial import Trial
from loadgen.units import ms_to_s, ns_to_s

_MIN_TOLD = 0.95
"""Turns whose decoding isn't told would pass for rest: with more of them than 5 % nothing is modelled."""

Cells = Mapping[tuple[str, int], Sequence[Trial]]
"""The valid trials by variant and level."""


@dataclass(frozen=True)
class Work:
    """What the agents of one variant did at one level in one round, summed over their ok turns.

    In seconds: `agent_s` is Σ segment time, `waited_s` what of it was declared waits, `decode_s` Σ predicted_ms.
    `tokens` are those that the `steps` gave.
    """

    agent_s: float
    turns: int
    decode_s: float
    steps: int
    tokens: int
    waited_s: float = 0.0

    @property
    def step_s(self) -> float:
        """Seconds a decode step."""
        return self.decode_s / self.steps

    @property
    def tokens_per_step(self) -> float:
        """Σ n ÷ Σ(n − accepted)."""
        return self.tokens / self.steps

    @property
    def decode_tokens_per_s(self) -> float | None:
        """Tokens a second of decoding; null where no time passed."""
        return self.tokens / self.decode_s if self.decode_s > 0 else None


def work_by_round(trials: Sequence[Trial]) -> dict[int, Work]:
    """The work of the trials of a cell by round, without rounds of which the server tells too little.

    A round whose agents had sub-agents is left out too: what they decode beside each other adds up to more than the
    time that it takes.
    """
    found = {}
    for number, several in sorted(by_round(trials).items()):
        work = _work(several)
        if work is not None:
            found[number] = work
    return found


def by_round(trials: Sequence[Trial]) -> dict[int, list[Trial]]:
    """The trials by the number of their round."""
    found: dict[int, list[Trial]] = {}
    for trial in trials:
        found.setdefault(trial.record.round, []).append(trial)
    return found


def steps_known(trials: Sequence[Trial], *, off: bool) -> bool:
    """Whether decode steps can be told: a draft was reported, or the variant doesn't draft (`off`)."""
    return off or any(metrics.drafted is not None for trial in trials for _, metrics in trial.ok)


def step_times(valid: Cells, baseline: str, *, off: Collection[str]) -> list[dict[str, Any]]:
    """The steps of every variant and level; `off` are the variants that don't draft.

    An entry holds, as estimates over the rounds: `step_s` (seconds a step), `tokens_per_step`, `rest_s` (seconds of a
    turn that isn't decoding), `decode_share` (of agents' time) and `in_flight` (mean requests at the start of one, a
    number). Paired by round with the baseline, null for itself: `step_cost` (how many times as long a step takes),
    `promised` (how many times as many tokens it gives) and `realised` (promised ÷ step cost: tokens a second of
    decoding). `reason` says why they are null.
    """
    works = {
        key: work_by_round(trials) if steps_known(trials, off=key[0] in off) else {} for key, trials in valid.items()
    }
    return [
        {
            "variant": variant,
            "concurrency": level,
            **_estimates(list(works[variant, level].values())),
            **_against(works[variant, level], None if variant == baseline else works.get((baseline, level), {})),
            "in_flight": _in_flight(trials),
            "reason": _reason(trials, works[variant, level]),
        }
        for (variant, level), trials in valid.items()
    ]


@dataclass(frozen=True)
class _Decoded:
    """What the server tells of one trial's decoding: of `told` of its `turns`."""

    turns: int
    told: int
    decode_s: float
    steps: int
    accepted: int
    waited_ns: int
    sub_agents: bool


def _decoded(trial: Trial) -> _Decoded:
    told = []
    for metrics in trial.answers:
        predicted_ms = timing(metrics.request.timings, "predicted_ms")
        if predicted_ms is not None and predicted_ms >= 0 and metrics.decode_steps is not None:
            told.append((ms_to_s(predicted_ms), metrics.decode_steps, metrics.accepted or 0))
    return _Decoded(
        turns=len(trial.answers),
        told=len(told),
        decode_s=sum(seconds for seconds, _, _ in told),
        steps=sum(steps for _, steps, _ in told),
        accepted=sum(accepted for _, _, accepted in told),
        waited_ns=sum(request.scheduled_ns - request.ready_ns for request in trial.measured),
        sub_agents=any(request.session != request.root for request in trial.measured),
    )


def _work(trials: Sequence[Trial]) -> Work | None:
    parts = [trial.once(_decoded) for trial in trials]
    turns, told = sum(part.turns for part in parts), sum(part.told for part in parts)
    agent_s, decode_s = sum(trial.segment_s for trial in trials), sum(part.decode_s for part in parts)
    if any(part.sub_agents for part in parts) or not told or told < _MIN_TOLD * turns or decode_s > agent_s:
        return None
    steps = sum(part.steps for part in parts)
    tokens = steps + sum(part.accepted for part in parts)
    return Work(agent_s, turns, decode_s, steps, tokens, ns_to_s(sum(part.waited_ns for part in parts)))


def _estimates(rounds: Sequence[Work]) -> dict[str, Any]:
    decode = [work.decode_s for work in rounds]
    steps = [float(work.steps) for work in rounds]
    return {
        "step_s": ratio_over_rounds(decode, steps).as_json(),
        "tokens_per_step": ratio_over_rounds([float(work.tokens) for work in rounds], steps).as_json(),
        "rest_s": ratio_over_rounds(
            [work.agent_s - work.decode_s for work in rounds], [float(work.turns) for work in rounds]
        ).as_json(),
        "decode_share": ratio_over_rounds(decode, [work.agent_s for work in rounds], ceiling=1).as_json(),
    }


def _against(mine: Mapping[int, Work], base: Mapping[int, Work] | None) -> dict[str, Any]:
    """The ratios to the baseline; null for the baseline itself."""
    quantities = {"step_cost": "step_s", "promised": "tokens_per_step", "realised": "decode_tokens_per_s"}
    return {
        name: None if base is None else _ratio(mine, base, quantity).as_json() for name, quantity in quantities.items()
    }


def _ratio(mine: Mapping[int, Work], base: Mapping[int, Work], quantity: str) -> Estimate:
    top, bottom = ({number: getattr(work, quantity) for number, work in works.items()} for works in (mine, base))
    return speedup(list(log_ratios(top, bottom).values()))


def _in_flight(trials: Sequence[Trial]) -> float | None:
    counts = [request.in_flight for trial in trials for request, _ in trial.ok]
    return fmean(counts) if counts else None


def _reason(trials: Sequence[Trial], works: Mapping[int, Work]) -> str | None:
    if works:
        return None
    if not any(trial.ok for trial in trials):
        return "no turn ended well"
    return "its server does not tell time and drafts of its answers, or sub-agents decoded beside their agents"
