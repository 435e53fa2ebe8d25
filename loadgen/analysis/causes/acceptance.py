"""What share of the drafted tokens was accepted: by concurrency, position in the draft, turn kind and depth."""

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any, TypeVar

from loadgen.analysis.estimators.comparison import speedup
from loadgen.analysis.estimators.intervals import ALPHA, ratio_over_rounds, t_interval
from loadgen.analysis.measured import counters
from loadgen.analysis.measured.request import RequestMetrics
from loadgen.analysis.measured.trial import Trial
from loadgen.records.model import CounterReading, RequestRecord

DEPTHS = (0, 1024, 4096, 16_384, 65_536)
"""Where the bins of depth begin, in prompt tokens: each four times the last, so that short and long contexts of agents
both have some; the last is open."""
MARKED = 0.8
"""A rate counts as another one from a fifth less on. Between turns that happen to be drawn it differs by less; drafts
of several slots that disturb each other cost half of it and more (llama.cpp issue 27117)."""
MOST_TOKENS = 10**9
"""No answer has a billion tokens: a server that says so counts wrongly."""

Counts = tuple[int, int]
"""(accepted, drafted) tokens."""
_ByRound = Mapping[int, Counts]
_Group = TypeVar("_Group", str, int)
_MOST_COUNTED = 1e15
"""No counter gets there; beyond it a float no longer counts single tokens."""
_PER_POSITION = re.compile(
    r'llamacpp:spec_decode_num_accepted_tokens_per_pos(?:_total)?\{(?:.*,)?position="(\d{1,4})"(?:,.*)?\}'
)


def drafts(metrics: RequestMetrics) -> Counts | None:
    """(accepted, drafted) tokens of an answer: none of both where the server reports no draft.

    Null where it reports one number without the other, or more accepted than drafted.
    """
    if metrics.drafted is None and metrics.accepted is None:
        return 0, 0
    if metrics.drafted is None or metrics.accepted is None:
        return None
    return (metrics.accepted, metrics.drafted) if metrics.accepted <= metrics.drafted <= MOST_TOKENS else None


def drafted_tokens(trials: Sequence[Trial]) -> int:
    """Σ drafted tokens of the ok requests; 0 where no draft is reported."""
    counts = (drafts(metrics) for trial in trials for _, metrics in trial.ok)
    return sum(drafted for found in counts if found is not None for drafted in found[1:])


def acceptance(trials: Sequence[Trial]) -> dict[str, Any] | None:
    """Drafted and accepted tokens of the ok requests of a cell and their rate, as a whole and in parts.

    `by_turn_kind` and `by_depth` (bins with answers only) sum the requests, `by_position` (from 1) the server's
    counters over whole trials: Δ accepted there ÷ Δ drafts, empty without them. Every rate is a ratio of sums over the
    rounds, null where nothing was drafted. `differences` name the kinds and depths with the lowest and the highest rate
    where they are apart by more than noise. Null as a whole where no answer reports a draft.
    """
    if not any(metrics.drafted is not None for trial in trials for _, metrics in trial.ok):
        return None
    kinds = _tally(trials, lambda request, _metrics: request.turn_kind)
    total = _together(kinds)
    depths = _tally(trials, lambda _request, metrics: _bin(metrics.depth))
    by_kind = {name: {"turn_kind": name, **_rate(rounds)} for name, rounds in sorted(kinds.items())}
    by_depth = {index: {**_range(index), **_rate(rounds)} for index, rounds in sorted(depths.items())}
    return {
        **_rate(total),
        "by_position": by_position(trials),
        "by_turn_kind": list(by_kind.values()),
        "by_depth": list(by_depth.values()),
        "differences": {"turn_kind": _apart(kinds, by_kind), "depth": _apart(depths, by_depth)},
    }


def by_position(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """How often the first, second … token of a draft was accepted, by the server's counters.

    Trials in which the server restarted, or whose counters ran backwards, are left out. A rate above 1 can't be and is
    null.
    """
    seen = [found for trial in trials if (found := grown_by_position(trial)) is not None]
    out = []
    for position in sorted({position for _, grown in seen for position in grown}):
        accepted = [grown.get(position, 0.0) for _, grown in seen]
        rate = ratio_over_rounds(accepted, [made for made, _ in seen], ceiling=1).as_json()
        if rate["value"] is not None and rate["value"] > 1:
            rate = {**rate, "value": None, "low": None, "high": None, "estimable": False}
        total = sum(made for made, _ in seen)
        out.append({"position": position + 1, "accepted": sum(accepted), "drafts": total, "rate": rate})
    return out


def collapses(by_level: Mapping[int, Sequence[Trial]]) -> dict[int, dict[str, Any] | None]:
    """Acceptance of one variant at each level against its lowest level that drafted, paired by round.

    What is accepted depends on the text, and every level plays the same workload: a rate that falls as slots fill is a
    fault. `alarm`: it lies a fifth lower or more, and the t interval of the mean log ratio, Bonferroni-adjusted over
    the levels of the variant, lies below 0; null below 3 rounds. Half a token is added to each count, so that a rate
    of 0 has a logarithm. The lowest level itself, and one that drafted nothing, has no entry. Whether single slots
    accept less is seen by the output check, not here.
    """
    tallies = {
        level: _together(_tally(trials, lambda request, _metrics: request.turn_kind))
        for level, trials in by_level.items()
    }
    drafting = sorted(level for level, rounds in tallies.items() if any(drafted for _, drafted in rounds.values()))
    out: dict[int, dict[str, Any] | None] = dict.fromkeys(by_level)
    for level in drafting[1:]:
        logs = _logs(tallies[level], tallies[drafting[0]])
        interval = t_interval(logs, 1 - ALPHA / (len(drafting) - 1))
        alarm = None if interval is None else _marked(logs, interval)
        out[level] = {"lowest": drafting[0], "ratio": speedup(logs).as_json(), "alarm": alarm}
    return out


def _tally(
    trials: Sequence[Trial], group: Callable[[RequestRecord, RequestMetrics], _Group | None]
) -> dict[_Group, dict[int, Counts]]:
    """(accepted, drafted) tokens of the ok requests by group and round."""
    out: dict[_Group, dict[int, Counts]] = {}
    for trial in trials:
        sums: dict[_Group, list[int]] = {}
        for metrics in trial.answers:
            name = group(metrics.request, metrics)
            counts = drafts(metrics) if name is not None else None
            if name is None or counts is None:
                continue
            known = sums.get(name)
            if known is None:
                sums[name] = list(counts)
            else:
                known[0] += counts[0]
                known[1] += counts[1]
        for name, (accepted, drafted) in sums.items():
            _add(out.setdefault(name, {}), trial.record.round, accepted, drafted)
    return out


def _together(groups: Mapping[_Group, _ByRound]) -> dict[int, Counts]:
    """The sums over all groups, by round."""
    out: dict[int, Counts] = {}
    for rounds in groups.values():
        for number, counts in rounds.items():
            _add(out, number, *counts)
    return out


def _add(rounds: dict[int, Counts], number: int, accepted: int, drafted: int) -> None:
    before = rounds.get(number, (0, 0))
    rounds[number] = before[0] + accepted, before[1] + drafted


def _rate(rounds: _ByRound) -> dict[str, Any]:
    accepted, drafted = ([counts[part] for counts in rounds.values()] for part in (0, 1))
    rate = ratio_over_rounds(accepted, drafted, ceiling=1)
    return {"drafted": sum(drafted), "accepted": sum(accepted), "rate": rate.as_json()}


def _bin(depth: int | None) -> int | None:
    return None if depth is None else bisect_right(DEPTHS, depth) - 1


def _range(index: int) -> dict[str, int | None]:
    return {"from_tokens": DEPTHS[index], "to_tokens": DEPTHS[index + 1] if index + 1 < len(DEPTHS) else None}


def _logs(tally: _ByRound, base: _ByRound) -> list[float]:
    """The log ratio of two rates by round, over the rounds where both drafted."""
    return [
        math.log(_smoothed(tally[number]) / _smoothed(base[number]))
        for number in sorted(set(tally) & set(base))
        if tally[number][1] > 0 and base[number][1] > 0
    ]


def _smoothed(counts: Counts) -> float:
    """A rate that is never 0: half a token accepted and half a token not are added (Jeffreys)."""
    return (counts[0] + 0.5) / (counts[1] + 1)


def _marked(logs: Sequence[float], interval: tuple[float, float]) -> bool:
    return interval[1] < 0 and fmean(logs) <= math.log(MARKED)


def _apart(groups: Mapping[_Group, _ByRound], shown: Mapping[_Group, dict[str, Any]]) -> dict[str, Any] | None:
    """The groups of the lowest and the highest rate, where they differ by a fifth and by more than noise.

    The two were picked from all pairs of groups, so the interval is Bonferroni-adjusted over these.
    """
    names = [name for name in groups if shown[name]["drafted"] > 0]
    pairs = len(names) * (len(names) - 1) // 2
    if not pairs:
        return None
    least, *_, most = sorted(names, key=lambda name: float(shown[name]["rate"]["value"]))
    logs = _logs(groups[least], groups[most])
    interval = t_interval(logs, 1 - ALPHA / pairs)
    if interval is None or not _marked(logs, interval):
        return None
    return {"least": shown[least], "most": shown[most], "ratio": speedup(logs).as_json()}


def grown_by_position(trial: Trial) -> tuple[float, dict[int, float]] | None:
    """(drafts, accepted tokens by position from 0) of a trial; null where its counters don't tell."""
    before, after = trial.record.counters_before, trial.record.counters_after
    made = counters.grown(trial.record, counters.DRAFTS)
    if before is None or after is None or not made or made > _MOST_COUNTED or counters.restarted(trial.record):
        return None
    first, last = _positions(before), _positions(after)
    # A position has no series before its first token was accepted.
    grown = {position: value - first.get(position, 0.0) for position, value in last.items()}
    return None if any(value < 0 for value in grown.values()) else (made, grown)


def _positions(reading: CounterReading) -> dict[int, float]:
    """Accepted tokens by position. Some builds have a series for each kind of draft: they are summed."""
    out: dict[int, float] = {}
    for name, value in reading.values.items():
        found = _PER_POSITION.fullmatch(name)
        if found is not None and 0 <= value <= _MOST_COUNTED:
            out[int(found.group(1))] = out.get(int(found.group(1)), 0.0) + value
    return out
