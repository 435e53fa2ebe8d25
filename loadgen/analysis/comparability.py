"""Whether two cells may be compared at all: only where they did equal work at equal depth."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from loadgen.analysis.caveats import length_ratio, lengths_differ
from loadgen.analysis.estimators.comparison import Refusal
from loadgen.analysis.measured.trial import Trial
from loadgen.analysis.wording import factor, interval
from loadgen.cell_key import CellKey

MAX_DEPTH_RATIO = 1.10
"""Speculation gains less the deeper the context is: by a third or more from one doubling to the next in published runs.
Ten percent of depth are then a few percent of speed-up, which is about what a comparison is to tell."""

Cells = Mapping[tuple[str, int], Sequence[Trial]]
"""The valid trials by variant and level."""


class Reason(StrEnum):
    """Why two cells aren't compared."""

    DEPTH = "depth"
    OUTPUT_LENGTH = "output_length"


def depth_refusals(slices: Mapping[int | None, Cells], baseline: str) -> dict[CellKey, tuple[Refusal, ...]]:
    """The cells whose comparison with the baseline is refused, with the reason; `slices` are the cells by depth."""
    found = {
        CellKey(variant, level, depth): depth_refusal(trials, cells.get((baseline, level), ()))
        for depth, cells in slices.items()
        for (variant, level), trials in cells.items()
        if variant != baseline
    }
    return {key: (refusal,) for key, refusal in found.items() if refusal is not None}


def depth_refusal(variant: Sequence[Trial], baseline: Sequence[Trial]) -> Refusal | None:
    """Why a cell isn't compared with the baseline's: their measured turns differ by more than 10 % in mean depth.

    The means are over the measured turns, pooled over the rounds in which both sides have a valid trial. They need no
    interval, however few turns there are: both sides of a round start at the same turns, so that their depths differ by
    what they did (sessions that failed, answers of other lengths that went back into the prompt) and not by which turns
    were drawn. Pooled, and not round by round, because in a trial of 8 turns a single failed session moves the mean by
    more than 10 %, while over the rounds of a run a tenth is other work. Null where a side has no depth.
    """
    rounds = {trial.record.round for trial in variant} & {trial.record.round for trial in baseline}
    ours, theirs = (
        mean_depth([trial for trial in side if trial.record.round in rounds]) for side in (variant, baseline)
    )
    return unequal_depths(ours, theirs)


def unequal_depths(ours: float | None, theirs: float | None) -> Refusal | None:
    """Why nothing is called of two mean depths in tokens; null where they are near enough, or one isn't known."""
    if not ours or not theirs or max(ours, theirs) <= MAX_DEPTH_RATIO * min(ours, theirs):
        return None
    return Refusal(Reason.DEPTH.value, f"mean depth {ours:,.0f} against {theirs:,.0f} tokens")


def mean_depth(trials: Sequence[Trial]) -> float | None:
    """Mean prompt tokens of the ok turns of the segments; null where no turn tells."""
    turns = sum(trial.depths[1] for trial in trials)
    return sum(trial.depths[0] for trial in trials) / turns if turns else None


def length_refusal(variant: Sequence[Trial], baseline: Sequence[Trial], name: str) -> Refusal | None:
    """Why requests per hour aren't compared with those of `name`: answers surely differ by more than 5 % in length.

    A request that says more takes longer, and counts as one all the same. Tasks are the same work to be done, however
    many words a model takes for it, so that tasks per hour stay comparable.
    """
    ratio = length_ratio(variant, baseline)
    if ratio.value is None or not lengths_differ(ratio):
        return None
    bounds = f"95 % interval {interval(ratio.low, ratio.high)}"
    return Refusal(
        Reason.OUTPUT_LENGTH.value, f"answers are {factor(ratio.value)} times as long as those of {name} ({bounds})"
    )
