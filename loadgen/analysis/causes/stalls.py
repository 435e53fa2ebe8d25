"""Stalls: text that stands still while the server reads another request's prompt."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

from loadgen.analysis.estimators.intervals import ratio_over_rounds
from loadgen.analysis.measured.request import step_starts_ns, timing
from loadgen.analysis.measured.trial import Trial
from loadgen.records.model import RequestRecord
from loadgen.units import NS_PER_S, ms_to_ns, ns_to_s

_STALL_NS = NS_PER_S
"""The definition: a step gap above 1 s, which no reader takes for slow writing any more."""


def stalls(trials: Sequence[Trial]) -> dict[str, Any] | None:
    """Step gaps above 1 s that overlap another request's prefill, over the ok requests of a cell.

    `count`, `seconds` (whole gaps) and `longest_s`; `seconds_per_task` is a ratio of sums over the rounds to the tasks
    that were earned, `share` one to the segments' time. Null where no step gap was seen.
    """
    if all(trial.longest_gap_s is None for trial in trials):
        return None
    by_round: dict[int, list[Trial]] = {}
    for trial in trials:
        by_round.setdefault(trial.record.round, []).append(trial)
    found = {number: [gap for trial in several for gap in _stalled_s(trial)] for number, several in by_round.items()}
    seconds = [sum(gaps) for gaps in found.values()]
    tasks = [sum(trial.credits for trial in several) for several in by_round.values()]
    measured = [sum(trial.segment_s for trial in several) for several in by_round.values()]
    every = [gap for gaps in found.values() for gap in gaps]
    return {
        "count": len(every),
        "seconds": sum(seconds),
        "longest_s": max(every, default=None),
        "seconds_per_task": ratio_over_rounds(seconds, tasks, n=len(trials)).as_json(),
        "share": ratio_over_rounds(seconds, measured, n=len(trials)).as_json(),
    }


def smaller_batch(settings: Mapping[str, Any]) -> str:
    """The arguments that let a prompt be read in smaller pieces.

    llama-server gives one batch (`-b`) to the prompts that wait, and only then the others their next step. Down to the
    physical batch (`-ub`) that costs next to nothing; below it, reading a prompt gets slower.
    """
    batch, physical = (_size(settings.get(name)) for name in ("batch", "ubatch"))
    if batch is None or physical is None:
        return "a smaller -b"
    if batch > physical:
        return f"-b {physical} (now {batch})"
    half = max(batch // 2, 1)
    return f"-b {half} -ub {half} (now {batch})"


def _size(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _stalled_s(trial: Trial) -> list[float]:
    """The stalls of one trial, in seconds."""
    # Most trials have no gap this long: their events needn't be read again.
    if trial.longest_gap_s is None or trial.longest_gap_s <= ns_to_s(_STALL_NS):
        return []
    prefills = _Prefills(span for request in trial.requests if (span := _prefill(request, trial)) is not None)
    return [
        ns_to_s(after - before)
        for request, _ in trial.ok
        if request.token_events > 1 and _lasted_ns(request) > _STALL_NS
        for before, after in pairwise(step_starts_ns(request, trial.events(request)))
        if after - before > _STALL_NS and prefills.overlap(before, after)
    ]


def _lasted_ns(request: RequestRecord) -> int:
    first, last = request.first_token_ns, request.last_token_ns
    return 0 if first is None or last is None else last - first


def _prefill(request: RequestRecord, trial: Trial) -> tuple[int, int] | None:
    """When the server read this request's prompt, as the client can tell; null where it never did.

    It ends with the first token, or with the request where none came. It begins with the headers where these come when
    a slot is taken, else the server's `prompt_ms` before the first token, else with the request.
    """
    if request.send_ns is None:
        return None
    end = request.end_ns if request.first_token_ns is None else request.first_token_ns
    begin: int | None = request.send_ns
    prompt_ms = timing(request.timings, "prompt_ms")
    if trial.headers_tell_slot:
        begin = request.headers_ns
    elif prompt_ms is not None and prompt_ms >= 0 and request.first_token_ns is not None:
        begin = max(request.send_ns, end - ms_to_ns(prompt_ms))
    return None if begin is None or begin >= end else (begin, end)


class _Prefills:
    """The prefills of a trial, asked whether one overlaps a gap.

    A request's own prefill ends with its first token, before every gap of its own: it never overlaps one.
    """

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        ordered = sorted(spans)
        self._begins = [begin for begin, _ in ordered]
        self._latest_ends = list(accumulate((end for _, end in ordered), max))

    def overlap(self, start_ns: int, end_ns: int) -> bool:
        """Whether any prefill that began before `end_ns` ended after `start_ns`."""
        begun = bisect_left(self._begins, end_ns)
        return begun > 0 and self._latest_ends[begun - 1] > start_ns
