"""Concurrencies worth adding: on both sides of a width at which the kernels that verify drafts switch.

A verification of N agents with n drafted tokens each computes N·(n + 1) tokens at once: llama-server takes the last
token and the draft of every slot into one batch. llama.cpp's backends choose other kernels for wider batches: speed-ups
fall off a cliff there, which levels such as 1, 2, 4, 8 can miss by far.
"""

from collections.abc import Collection
from dataclasses import dataclass

from loadgen.experiment.command import Command
from loadgen.experiment.model import Experiment
from loadgen.experiment.variant import LaunchVariant, Variant

WIDTHS = (8, 16, 32)
"""Where backends switch: `ggml-cuda` leaves its vector kernels above 8 columns (`MMVQ_MAX_BATCH_SIZE`), tiles of matrix
kernels grow at 16 and 32."""


@dataclass(frozen=True)
class AroundWidth:
    """The levels that are missing around one width for variants that draft so many tokens."""

    width: int
    drafted: int
    levels: tuple[int, ...]


def around_widths(experiment: Experiment, names: Collection[str], *, slots: int | None = None) -> list[AroundWidth]:
    """What to add, the narrowest width first: of each width the largest N with N·(n + 1) ≤ width, and N + 1.

    Only what lies inside the asked range and isn't asked for, and never more agents than `slots`. Empty where the
    experiment doesn't want any, has a fixed number of rounds, or one level.

    Args:
        experiment: what is run.
        names: the variants that are measured.
        slots: slots of the server; null where unknown.
    """
    if not experiment.add_levels or experiment.rounds is not None or len(experiment.levels) < 2:  # noqa: PLR2004
        return []
    first, last = min(experiment.levels), max(experiment.levels)
    taken = set(experiment.levels)
    lengths = sorted({n for one in experiment.variants if one.name in names and (n := drafted_tokens(one))})
    found = []
    for width in WIDTHS:
        for drafted in lengths:
            below = width // (drafted + 1)
            inside = [n for n in (below, below + 1) if first < n < last and (slots is None or n <= slots)]
            missing = tuple(n for n in inside if n not in taken)
            if missing:
                taken.update(missing)
                found.append(AroundWidth(width, drafted, missing))
    return found


def drafted_tokens(variant: Variant) -> int | None:
    """How many tokens a launched server drafts at once; null where its arguments don't say, or the number varies.

    It varies with n-grams: they draft what they find, up to a maximum that is seldom reached.
    """
    if not isinstance(variant, LaunchVariant) or variant.overhead:
        return None
    command = Command(variant.program, variant.args, variant.env)
    lengths = [command.longest_of(kind) for kind in command.speculation.types if kind.startswith("draft-")]
    return max((length for length in lengths if length is not None), default=None)
