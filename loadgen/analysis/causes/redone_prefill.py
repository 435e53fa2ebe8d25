"""Redone prefill: prompt tokens evaluated again that the session had in cache, what they cost, and why, likely."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loadgen.analysis.estimators.intervals import ratio_over_rounds
from loadgen.analysis.measured.request import timing
from loadgen.analysis.measured.trial import Trial
from loadgen.records.model import ServerStart
from loadgen.units import ms_to_s

MAX_REDONE = 0.1
"""Below 90 % of what should have been in the cache, history is evaluated again and again."""
_WHOLE = 0.9
"""From here on nothing but a common beginning (a system prompt) is reused: the rest of the prompt is another one."""
_MORE = 2
"""Twice as many checkpoints, or twice the prompt cache: enough for its effect to be seen in a run."""


@dataclass(frozen=True)
class Server:
    """What is known of a variant's server: `settings` by name, only those that its log or command tells."""

    slots: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    components: frozenset[str] = frozenset()
    """Names of its memory ledger."""
    is_llama: bool = False

    @property
    def recurrent(self) -> bool:
        """Whether the model keeps recurrent state, which can't be cut back to a shorter prompt."""
        return "recurrent_state" in self.components

    @property
    def sliding(self) -> bool:
        """Whether part of the cache holds only a sliding window of the prompt."""
        return "kv_swa" in self.components and self.settings.get("swa_full") is not True

    def number(self, name: str) -> int | None:
        """A setting that is a whole number; null where it isn't known."""
        value = self.settings.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None


def server_of(variant: str, starts: Sequence[ServerStart]) -> Server:
    """What the starts of a variant's server tell; the first that tells something is believed."""
    own = [start for start in starts if start.variant == variant]
    return Server(
        slots=next((start.facts.slots for start in own if start.facts.slots), None),
        settings=next((start.facts.settings for start in own if start.facts.settings), {}),
        components=frozenset(component.component for start in own[:1] for component in start.ledger),
        is_llama=any(start.facts.kind == "llama-server" for start in own),
    )


def redone_prefill(
    trials: Sequence[Trial], *, level: int, server: Server, share: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Prompt tokens of a cell that were evaluated again, and what that took.

    `share` (of all prompt tokens) is the cell's own figure, handed on; `of_cached` is the share of what should have
    been in the cache. `seconds` are tokens times the server's seconds a prompt token (Σ prompt_ms ÷ Σ prompt_n of the
    trial, answers with few of them left out), null where a round doesn't tell them; `seconds_per_task` is a ratio of
    sums over the rounds that do to the tasks that were earned. Where more than a tenth of the cache was lost, `cause`
    is the likely one and `try` the argument that may help, both null where nothing points to one. Null where no turn
    followed another with its cached tokens known.
    """
    again, known = (sum(trial.redone[part] for trial in trials) for part in (0, 1))
    if known <= 0:
        return None
    by_round: dict[int, list[Trial]] = {}
    for trial in trials:
        by_round.setdefault(trial.record.round, []).append(trial)
    seconds = {number: evaluation_s(several, lambda trial: trial.redone[0]) for number, several in by_round.items()}
    timed = [number for number, value in seconds.items() if value is not None]
    per_task = ratio_over_rounds(
        [seconds[number] or 0.0 for number in timed],
        [sum(trial.credits for trial in by_round[number]) for number in timed],
        n=len(trials),
    )
    cause = advice = None
    if again > MAX_REDONE * known and server.is_llama:
        cause, advice = _cause(trials, level, server, again / known)
    return {
        "tokens": again,
        "share": dict(share),
        "of_cached": again / known,
        "seconds": sum(seconds[number] or 0.0 for number in timed) if len(timed) == len(seconds) else None,
        "seconds_per_task": per_task.as_json(),
        "slots": server.slots,
        "cause": cause,
        "try": advice,
    }


def prefill_s(trial: Trial, tokens: int) -> float | None:
    """Seconds that the server of a trial takes to evaluate so many prompt tokens.

    Σ prompt_ms ÷ Σ prompt_n of its answers, those with few evaluated tokens left out. Null where none tells them.
    """
    if not tokens:
        return 0.0
    told = [request for request, metrics in trial.ok if metrics.prefill_tokens_per_s is not None]
    if not told:
        return None
    spent = sum(timing(request.timings, "prompt_ms") or 0.0 for request in told)
    read = sum(timing(request.timings, "prompt_n") or 0.0 for request in told)
    return tokens * ms_to_s(spent / read)


def evaluation_s(trials: Sequence[Trial], tokens: Callable[[Trial], int]) -> float | None:
    """Seconds that so many prompt tokens of each trial took; null where a trial with some doesn't tell its speed."""
    took = [prefill_s(trial, tokens(trial)) for trial in trials]
    known = [seconds for seconds in took if seconds is not None]
    return sum(known) if len(known) == len(took) else None


def _cause(trials: Sequence[Trial], level: int, server: Server, lost: float) -> tuple[str | None, str | None]:
    """The likely cause and the argument to try: first what loses everything for sure, then what may lose some."""
    checkpoints = server.number("ctx_checkpoints")
    more = "" if checkpoints is None else f" {checkpoints * _MORE} (now {checkpoints})"
    goes_back = not (server.recurrent or server.sliding)
    known: list[tuple[bool, str, str]] = [
        (server.settings.get("cache_prompt") is False, "cache_off", "--cache-prompt"),
        (checkpoints == 0 and not goes_back, "no_checkpoints", "--ctx-checkpoints 32"),
        (server.slots is not None and level > server.slots, "fewer_slots", _room(server, f"-np {level}")),
        (_with_children(trials), "sub_agents", _room(server, "a larger -np")),
        (server.recurrent, "checkpoints", f"--ctx-checkpoints{more}"),
        (server.sliding, "sliding_window", "--swa-full"),
        (lost >= _WHOLE, "other_prompt", "--cache-reuse 256"),
    ]
    found = next(((cause, advice) for holds, cause, advice in known if holds), None)
    return found or (None, "--slot-prompt-similarity 0.5")


def _with_children(trials: Sequence[Trial]) -> bool:
    return any(request.session != request.root for trial in trials for request in trial.requests)


def _room(server: Server, slots: str) -> str:
    """A slot for everyone, or the host memory that keeps the prompts of those who lost theirs."""
    cache = server.number("cache_ram_mib")
    if cache is None or cache < 0:
        return slots
    return f"{slots}, or --cache-ram {'8192' if cache == 0 else cache * _MORE} (now {cache})"
