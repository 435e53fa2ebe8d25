"""What doesn't make a trial invalid, but should be known before a number is used."""

from collections.abc import Mapping, Sequence
from typing import Any

from loadgen.analysis.at_depth import asked, deep
from loadgen.analysis.causes.redone_prefill import MAX_REDONE
from loadgen.analysis.estimators.comparison import log_ratios, speedup
from loadgen.analysis.estimators.intervals import Estimate
from loadgen.analysis.measured import counters
from loadgen.analysis.measured.cell import token_sources
from loadgen.analysis.measured.trial import Trial

LENGTH_BAND = 1.05
"""Answers that differ by more than 5 % in length are other work, and tasks/hour says less about speed."""
_MAX_MISSED_LENGTHS = 0.01

Cells = Mapping[tuple[str, int], Sequence[Trial]]


def caveats(
    cells: Cells, *, baseline: str, slots: Mapping[str, int], speculative: set[str], depth: int | None = None
) -> list[dict[str, Any]]:
    """Warnings of every cell (its valid trials): `kind`, `variant`, `concurrency` and one sentence.

    `slots`: slots of each variant's server where known; `speculative`: variants whose server says that it speculates;
    `depth`: the fixed depth that the cells are of.
    """
    found = []
    for (variant, level), trials in cells.items():
        texts = {
            "short": _short(trials),
            "over_slots": _over_slots(level, slots.get(variant)),
            "length_missed": _length_missed(trials),
            "unequal_lengths": None
            if variant == baseline
            else _unequal_lengths(trials, cells.get((baseline, level), ()), baseline),
            "nothing_drafted": _nothing_drafted(trials) if variant in speculative else None,
            "estimated_tokens": _estimated(trials),
            "history_not_reused": _not_reused(trials),
            "counters_reset": _reset(trials),
            "no_progress": _no_progress(trials),
            "failed_turns": _failed(trials),
        }
        found += [
            {
                "kind": kind,
                "variant": variant,
                "concurrency": level,
                **asked(depth),
                "text": f"{variant} at {level}{deep(depth)}: {text}",
            }
            for kind, text in texts.items()
            if text is not None
        ]
    return found


def length_ratio(variant: Sequence[Trial], baseline: Sequence[Trial]) -> Estimate:
    """Output tokens a turn against the baseline, paired by round, with a 95 % t interval."""
    top = {trial.record.round: trial.tokens_per_turn for trial in variant}
    bottom = {trial.record.round: trial.tokens_per_turn for trial in baseline}
    return speedup(list(log_ratios(top, bottom).values()))


def lengths_differ(ratio: Estimate) -> bool:
    """Whether lengths surely differ by more than 5 %: the whole interval of their ratio lies outside of ±5 %."""
    if ratio.low is None or ratio.high is None:
        return False
    return ratio.low > LENGTH_BAND or ratio.high < 1 / LENGTH_BAND


def missed_length_share(trials: Sequence[Trial]) -> float | None:
    """Share of ok requests of exact length that did not get `max_tokens` tokens. Null where none was asked for."""
    asked = [(r.max_tokens, m.output_tokens) for trial in trials for r, m in trial.ok if r.exact_length]
    return sum(got != wanted for wanted, got in asked) / len(asked) if asked else None


def _short(trials: Sequence[Trial]) -> str | None:
    short = sum(trial.record.short for trial in trials)
    some = "trials are" if short == len(trials) else f"{short} of {len(trials)} trials are"
    return f"{some} short: few turns an agent, so wide intervals." if short else None


def _over_slots(level: int, slots: int | None) -> str | None:
    if slots is None or level <= slots:
        return None
    return f"{level} agents share {slots} slots: the rest queue, and slots, not the device, set the pace."


def _length_missed(trials: Sequence[Trial]) -> str | None:
    share = missed_length_share(trials)
    if share is None or share <= _MAX_MISSED_LENGTHS:
        return None
    return f"{share:.0%} of the answers did not get the exact length asked for: the server ended them early."


def _unequal_lengths(trials: Sequence[Trial], base: Sequence[Trial], baseline: str) -> str | None:
    ratio = length_ratio(trials, base)
    if ratio.value is None or not lengths_differ(ratio):
        return None
    return (
        f"answers are {ratio.value:.2f} times as long as those of {baseline} (95 % interval {ratio.low:.2f} to "
        f"{ratio.high:.2f}): the two did different work."
    )


def _nothing_drafted(trials: Sequence[Trial]) -> str | None:
    metrics = [m for trial in trials for _, m in trial.ok]
    if not metrics or any(m.drafted for m in metrics):
        return None
    return "the server speculates, but no draft was reported for any answer."


def _estimated(trials: Sequence[Trial]) -> str | None:
    sources = token_sources(trials)
    count = sources.get("events", 0)
    if not count:
        return None
    return f"output tokens of {count} answers are only counted events, a lower bound: the server gave no count."


def _not_reused(trials: Sequence[Trial]) -> str | None:
    again, known = (sum(trial.redone[part] for trial in trials) for part in (0, 1))
    if known == 0 or again <= MAX_REDONE * known:
        return None
    return f"history is not reused: {again / known:.0%} of the prompt tokens of earlier turns were evaluated again."


def _reset(trials: Sequence[Trial]) -> str | None:
    count = sum(counters.restarted(trial.record) for trial in trials)
    return f"the server's counters started anew in {count} trials: it was restarted." if count else None


def _failed(trials: Sequence[Trial]) -> str | None:
    """Failing turns bias the estimator of tasks/hour: by the failures that a trial happened to have, and by depth."""
    failed = sum(trial.failed for trial in trials)
    if failed == 0:
        return None
    total = sum(len(trial.measured) for trial in trials)
    return f"{failed} of {total} turns failed: failing sessions book their work back, so tasks/hour is unsteady."


def _no_progress(trials: Sequence[Trial]) -> str | None:
    count = sum(trial.tasks_per_hour is None or trial.tasks_per_hour <= 0 for trial in trials)
    return (
        f"{count} of {len(trials)} trials lost as many tasks as they earned: no ratio can be taken." if count else None
    )
