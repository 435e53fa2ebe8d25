"""A cell: all valid trials of one variant at one level."""

from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from loadgen.analysis.estimators.intervals import Estimate, quantiles, quantiles_of_sorted, ratio_over_rounds
from loadgen.analysis.estimators.rate_sum import sum_of_ratios
from loadgen.analysis.measured import counters
from loadgen.analysis.measured.request import RequestMetrics
from loadgen.analysis.measured.step_gaps import sorted_s
from loadgen.analysis.measured.trial import Trial
from loadgen.analysis.measured.work_class import by_class
from loadgen.records.model import Outcome
from loadgen.units import S_PER_HOUR, ns_to_s


def cell(trials: Sequence[Trial], *, off: bool = False) -> dict[str, Any]:
    """Rates, latencies and draft figures of trials of one variant at one level, as in `summary.json`.

    Rates are ratios of sums over the trials with a jackknife interval over the rounds (n: trials). Quantiles pool the
    ok requests of the segments (n: requests, sessions or gaps). `off`: the variant doesn't draft, so that a step is a
    token.
    """
    ratio = _Ratios(trials)
    drafted = _known_sum(trials, lambda metrics: metrics.drafted)
    return {
        "depth": ratio.of_known(lambda m: m.depth, lambda _: 1).as_json(),
        "tasks_per_hour": ratio.rate(lambda trial: trial.credits, S_PER_HOUR).as_json(),
        "requests_per_hour": ratio.rate(lambda trial: len(trial.answers), S_PER_HOUR).as_json(),
        "output_tokens_per_s": ratio.rate(lambda trial: trial.output_tokens, 1).as_json(),
        "whole_sessions": sum(len(trial.task_s) for trial in trials),
        **_latencies(trials),
        "acceptance_biased": _biased(trials),
        "acceptance_rate": ratio.of_known(lambda m: m.accepted, lambda m: m.drafted, ceiling=1).as_json(),
        "acceptance_length": _acceptance_length(trials).as_json(),
        "tokens_per_step": _tokens_per_step(ratio, known=off or drafted is not None).as_json(),
        "drafted_tokens": drafted,
        "accepted_tokens": _known_sum(trials, lambda metrics: metrics.accepted),
        "first_turn_cached_share": ratio.of(
            lambda trial: trial.first_turns[0], lambda trial: trial.first_turns[1], ceiling=1
        ).as_json(),
        "redone_prefill_share": ratio.of(lambda trial: trial.redone[0], _prompt_tokens, ceiling=1).as_json(),
        "expected_cached_share": ratio.of(
            lambda trial: trial.redone[1] - trial.redone[0], lambda trial: trial.redone[1], ceiling=1
        ).as_json(),
        "answers_equal_share": ratio.of(
            lambda trial: trial.equal_answers[0], lambda trial: trial.equal_answers[1], ceiling=1
        ).as_json(),
    }


def _biased(trials: Sequence[Trial]) -> bool | None:
    """Whether any answer had an exact length: text past a model's own end is drafted otherwise than text that it means.

    Null without an ok request.
    """
    exact = [metrics.request.exact_length for trial in trials for metrics in trial.answers]
    return any(exact) if exact else None


def outcomes(trials: Sequence[Trial]) -> dict[str, int]:
    """How many requests of the segments ended in which way, in the order of the outcomes' names in the glossary."""
    counts = Counter([request.outcome for trial in trials for request in trial.measured])
    return {outcome.value: counts[outcome] for outcome in Outcome if counts[outcome]}


def token_sources(trials: Sequence[Trial]) -> dict[str, int]:
    """How many ok requests took their output tokens from `usage`, `timings` or a count of `events`."""
    sources = Counter([metrics.tokens_source for trial in trials for metrics in trial.answers])
    return dict(sorted((source.value, count) for source, count in sources.items() if source is not None))


def token_count_mismatches(trials: Sequence[Trial]) -> int:
    """Ok requests where the server counted other than one token an event: held back, merged, or never delivered."""
    return sum(
        not metrics.estimated and metrics.output_tokens != metrics.request.token_events
        for trial in trials
        for metrics in trial.answers
    )


class _Ratios:
    """Ratios of sums over the rounds of some trials."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        self._all = trials
        by_round: dict[int, list[Trial]] = {}
        for trial in trials:
            by_round.setdefault(trial.record.round, []).append(trial)
        self._rounds = [by_round[key] for key in sorted(by_round)]

    def of(
        self, top: Callable[[Trial], float], bottom: Callable[[Trial], float], *, ceiling: float | None = None
    ) -> Estimate:
        """Σ top ÷ Σ bottom over the trials."""
        return ratio_over_rounds(self.sums(top), self.sums(bottom), ceiling=ceiling, n=len(self._all))

    def rate(self, count: Callable[[Trial], float], per: float) -> Estimate:
        """N · Σ count ÷ Σ segment time, per so many seconds; of a mix the sum of that over its classes."""
        parts = [_Ratios(trials) for trials in by_class(self._all).values()]
        counts = [part.sums(lambda trial: trial.record.level * per * count(trial)) for part in parts]
        times = [part.sums(lambda trial: trial.segment_s) for part in parts]
        return sum_of_ratios(list(zip(counts, times, strict=True)), n=len(self._all))

    def sums(self, of: Callable[[Trial], float]) -> list[float]:
        """Σ over the trials of each round."""
        return [sum(map(of, trials)) for trials in self._rounds]

    def of_known(
        self,
        top: Callable[[RequestMetrics], int | None],
        bottom: Callable[[RequestMetrics], int | None],
        *,
        ceiling: float | None = None,
    ) -> Estimate:
        """Σ top ÷ Σ bottom over the ok requests that have both."""
        tops, bottoms = [], []
        for trials in self._rounds:
            pairs = [(top(metrics), bottom(metrics)) for trial in trials for metrics in trial.answers]
            known = [(a, b) for a, b in pairs if a is not None and b is not None]
            tops.append(sum(a for a, _ in known))
            bottoms.append(sum(b for _, b in known))
        return ratio_over_rounds(tops, bottoms, ceiling=ceiling, n=len(self._all))


def _latencies(trials: Sequence[Trial]) -> dict[str, Any]:
    metrics = [m for trial in trials for m in trial.answers]
    series: dict[str, list[float]] = {
        "tpot_s": [m.tpot_s for m in metrics if m.tpot_s is not None],
        "tpot_server_s": [s for m in metrics if (s := m.tpot_server_s) is not None],
        "task_s": [seconds for trial in trials for seconds in trial.task_s],
    }
    series_ns: dict[str, list[int]] = {
        "ttft_s": [ns for m in metrics if (ns := m.ttft_ns) is not None],
        "ttfa_s": [ns for m in metrics if (ns := m.ttfa_ns) is not None],
        "e2e_s": [ns for m in metrics if (ns := m.e2e_ns) is not None],
        "queue_wait_s": [ns for m in metrics if (ns := m.queue_wait_ns) is not None],
        "prefill_s": [ns for m in metrics if (ns := m.prefill_ns) is not None],
    }
    found = {name: quantiles(values) for name, values in series.items()}
    found |= {name: _in_seconds(quantiles(values)) for name, values in series_ns.items()}
    found["step_gap_s"] = _step_gaps(trials)
    order = (
        "ttft_s",
        "ttfa_s",
        "e2e_s",
        "tpot_s",
        "tpot_server_s",
        "task_s",
        "queue_wait_s",
        "prefill_s",
        "step_gap_s",
    )
    return {name: {key: estimate.as_json() for key, estimate in found[name].items()} for name in order}


def _in_seconds(found: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Quantiles of nanoseconds in seconds: a few divisions instead of one for each of very many requests."""

    def seconds(ns: float | None) -> float | None:
        return None if ns is None else ns_to_s(ns)

    return {
        key: replace(one, value=seconds(one.value), low=seconds(one.low), high=seconds(one.high))
        for key, one in found.items()
    }


def _step_gaps(trials: Sequence[Trial]) -> dict[str, Estimate]:
    """The quantiles of the step gaps; there may be millions."""
    pooled = array("I")
    for trial in trials:
        pooled.extend(trial.step_gaps_us)
    return quantiles_of_sorted(sorted_s(pooled))


def _acceptance_length(trials: Sequence[Trial]) -> Estimate:
    """1 + Δaccepted ÷ Δdrafts of the counters, over the trials where both are known."""
    accepted, drafts = [], []
    for trial in sorted(trials, key=lambda trial: trial.record.round):
        grown = counters.grown(trial.record, counters.ACCEPTED), counters.grown(trial.record, counters.DRAFTS)
        if grown[0] is not None and grown[1]:
            accepted.append(grown[0] + grown[1])
            drafts.append(grown[1])
    return ratio_over_rounds(accepted, drafts)


def _tokens_per_step(ratio: _Ratios, *, known: bool) -> Estimate:
    """Σ n ÷ Σ(n - accepted). Null where neither drafting nor its absence is known."""
    if not known:
        return Estimate(None, estimable=False)
    return ratio.of_known(
        lambda m: None if m.decode_steps is None else m.decode_steps + (m.accepted or 0), lambda m: m.decode_steps
    )


def _known_sum(trials: Sequence[Trial], part: Callable[[RequestMetrics], int | None]) -> int | None:
    values = [value for trial in trials for m in trial.answers if (value := part(m)) is not None]
    return sum(values) if values else None


def _prompt_tokens(trial: Trial) -> int:
    """Prompt tokens of the ok turns where the server tells how many were cached."""
    return sum(m.depth for m in trial.answers if m.depth is not None and m.cached is not None)
