"""Why a speed-up is what it is: what was promised, where it went, and what else held the agents up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from loadgen.analysis.causes.acceptance import acceptance, collapses, drafts
from loadgen.analysis.causes.cache_expectation import cache_expectation
from loadgen.analysis.causes.idle_twin import idle_twin
from loadgen.analysis.causes.promise import Promise, Works, verify_width, wide_enough
from loadgen.analysis.causes.redone_prefill import Server, redone_prefill, server_of
from loadgen.analysis.causes.stalls import smaller_batch, stalls
from loadgen.analysis.diagnostic import Diagnostic
from loadgen.analysis.estimators.comparison import Comparison, log_ratios, speedup
from loadgen.analysis.estimators.intervals import Estimate, ratio_over_rounds
from loadgen.analysis.measured.trial import Trial
from loadgen.analysis.speed.step_model import work_by_round
from loadgen.records.model import ServerStart
from loadgen.units import S_PER_HOUR

Cells = Mapping[tuple[str, int], Sequence[Trial]]
"""The valid trials by variant and level."""

_UNKNOWN = Estimate(None, estimable=False)


def why(
    valid: Cells,
    *,
    baseline: str,
    cells: Sequence[Mapping[str, Any]],
    comparisons: Sequence[Comparison] = (),
    diagnostics: Mapping[str, Diagnostic] | None = None,
    starts: Sequence[ServerStart] = (),
) -> list[dict[str, Any]]:
    """The `why` of `summary.json`: one entry a variant and level, in the order of `valid`.

    Ratios are to the baseline, paired by round, with 95 % t intervals; above 1 is more or faster, but for step times,
    where it is longer. Null is what was not measured, and what the baseline can't be compared with itself.

    Args:
        valid: the valid trials by variant and level.
        baseline: its name.
        cells: the cells of the summary: tokens per step and shares are theirs.
        comparisons: those of tasks per hour.
        diagnostics: the diagnostic variants: one that is loaded but idle tells the overhead of its twin.
        starts: of all servers: slots, settings and what their ledgers name.
    """
    names = list(dict.fromkeys(variant for variant, _ in valid))
    facts = _Facts(
        valid=valid,
        baseline=baseline,
        cells={(cell["variant"], cell["concurrency"]): cell for cell in cells},
        comparisons={(one.variant, one.level): one for one in comparisons},
        diagnostics=diagnostics or {},
        names=names,
        servers={name: server_of(name, starts) for name in names},
    )
    return [_entry(facts, variant, level) for variant, level in valid]


@dataclass(frozen=True, kw_only=True)
class _Facts:
    """What all entries are made from."""

    valid: Cells
    baseline: str
    cells: Mapping[tuple[str, int], Mapping[str, Any]]
    comparisons: Mapping[tuple[str, int], Comparison]
    diagnostics: Mapping[str, Diagnostic]
    names: Sequence[str]
    servers: Mapping[str, Server]

    def server(self, variant: str) -> Server:
        """What is known of a variant's server."""
        return self.servers.get(variant, Server())

    def levels(self, variant: str) -> dict[int, Sequence[Trial]]:
        """The valid trials of a variant by level."""
        return {level: trials for (name, level), trials in self.valid.items() if name == variant}

    def estimate(self, variant: str, level: int, name: str) -> dict[str, Any]:
        """An estimate of a cell of the summary."""
        found: dict[str, Any] = self.cells.get((variant, level), {}).get(name) or _UNKNOWN.as_json()
        return found

    @cached_property
    def work(self) -> dict[tuple[str, int], Works]:
        """The decode work of every cell whose tokens per step are known: without them a step can't be counted."""
        return {
            key: work_by_round(trials)
            for key, trials in self.valid.items()
            if self.estimate(*key, "tokens_per_step")["value"] is not None
        }

    @cached_property
    def collapses(self) -> dict[str, dict[int, dict[str, Any] | None]]:
        """Acceptance against the lowest level, by variant and level."""
        return {name: collapses(self.levels(name)) for name in self.names}


def _entry(facts: _Facts, variant: str, level: int) -> dict[str, Any]:
    trials, server = facts.valid[variant, level], facts.server(variant)
    stalled = stalls(trials)
    share = facts.estimate(variant, level, "redone_prefill_share")
    return {
        "variant": variant,
        "concurrency": level,
        "diagnostic": facts.diagnostics.get(variant),
        "tokens_per_step": facts.estimate(variant, level, "tokens_per_step"),
        **_promised(facts, variant, level),
        "wasted_drafts_per_hour": wasted_drafts(trials).as_json(),
        "acceptance": acceptance(trials),
        "acceptance_by_slots": facts.collapses[variant].get(level),
        "stalls": None
        if stalled is None
        else {**stalled, "try": smaller_batch(server.settings) if stalled["count"] and server.is_llama else None},
        "redone_prefill": redone_prefill(trials, level=level, server=server, share=share),
        "cache": cache_expectation(trials),
    }


def wasted_drafts(trials: Sequence[Trial]) -> Estimate:
    """Drafted tokens that were not accepted, an hour: N · Σ(drafted − accepted) ÷ Σ segment time.

    Null where no answer reports a draft.
    """
    if not any(metrics.drafted is not None for trial in trials for _, metrics in trial.ok):
        return _UNKNOWN
    wasted: dict[int, float] = {}
    measured: dict[int, float] = {}
    for trial in trials:
        counts = [found for _, metrics in trial.ok if (found := drafts(metrics)) is not None]
        number, lost = trial.record.round, sum(drafted - accepted for accepted, drafted in counts)
        wasted[number] = wasted.get(number, 0.0) + trial.record.level * S_PER_HOUR * lost
        measured[number] = measured.get(number, 0.0) + trial.segment_s
    return ratio_over_rounds(list(wasted.values()), list(measured.values()), n=len(trials))


def _promised(facts: _Facts, variant: str, level: int) -> dict[str, Any]:
    """What tokens per step promise, what the step time leaves, and what came of it."""
    trials, slots = facts.valid[variant, level], facts.server(variant).slots
    work = facts.work.get((variant, level), {})
    compared = variant != facts.baseline
    promise = Promise(work, facts.work.get((facts.baseline, level), {}) if compared else {})
    twin = idle_twin(variant, facts.names, facts.baseline, facts.diagnostics)
    width = verify_width(trials, work, level=level, slots=slots)
    base = facts.levels(facts.baseline) if compared else {}
    wide_level, wide = wide_enough(width, base, facts.server(facts.baseline).slots)
    drafting = promise.drafting(wide)
    found = promise.as_json()
    found["step_time"] |= {
        "verify_width": width,
        "overhead_variant": twin,
        **promise.overhead({} if twin is None else facts.work.get((twin, level), {})),
        "wide_level": None if drafting is None else wide_level,
        **(drafting or {"verification_at_most": None, "drafting_at_least": None}),
    }
    comparison = facts.comparisons.get((variant, level))
    return {**found, **_realised(facts, variant, level, comparison), **_rest(promise, comparison)}


def _realised(facts: _Facts, variant: str, level: int, comparison: Comparison | None) -> dict[str, Any]:
    """What the agents saw. TPOT is turned over, so that above 1 is faster here too."""
    top, bottom = facts.valid[variant, level], facts.valid.get((facts.baseline, level), ())

    def ratio(quantity: str, *, turned: bool = False) -> dict[str, Any]:
        if variant == facts.baseline:
            return _UNKNOWN.as_json()
        one, other = ({trial.record.round: getattr(trial, quantity) for trial in trials} for trials in (top, bottom))
        return speedup(list((log_ratios(other, one) if turned else log_ratios(one, other)).values())).as_json()

    return {
        "realised": {
            "output_tokens_per_s": ratio("output_tokens_per_s"),
            "tpot": ratio("median_tpot_s", turned=True),
            "tasks_per_hour": (_UNKNOWN if comparison is None else comparison.speedup).as_json(),
        }
    }


def _rest(promise: Promise, comparison: Comparison | None) -> dict[str, Any]:
    """What is left between decoding and tasks per hour: prefill, waits, queues, and answers of other lengths."""
    if comparison is None:
        return {"beyond_decode": _UNKNOWN.as_json()}
    tasks, decoding = dict(zip(comparison.of_rounds, comparison.rounds, strict=True)), promise.decoding
    both = [tasks[number] - decoding[number] for number in sorted(set(tasks) & set(decoding))]
    return {"beyond_decode": speedup(both).as_json()}
