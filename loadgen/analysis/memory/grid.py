"""The memory of one command over slots, draft lengths and contexts, and what of it fits a budget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from loadgen.experiment.serving import Serving
from loadgen.footprint.prediction import predict
from loadgen.footprint.served_models import Models
from loadgen.units import BYTES_PER_GIB

_MARGIN_SHARE = 0.05

FITS, TIGHT, TOO_LARGE, UNKNOWN = "safe", "unsafe", "too_large", "unknown"


@dataclass(frozen=True)
class Room:
    """How much memory there is, and how much of it is to stay free; by default the larger of 1 GiB and 5 %."""

    budget_bytes: int | None = None
    asked_margin_bytes: int | None = None

    @property
    def margin_bytes(self) -> int | None:
        """What is to stay free; null without a budget."""
        if self.budget_bytes is None:
            return None
        if self.asked_margin_bytes is not None:
            return self.asked_margin_bytes
        return round(max(BYTES_PER_GIB, _MARGIN_SHARE * self.budget_bytes))

    def left(self, held: int | None) -> int | None:
        """What stays free; null where budget or memory is unknown."""
        return None if self.budget_bytes is None or held is None else self.budget_bytes - held

    def safety(self, held: int | None) -> str:
        """`safe`: the margin stays; `unsafe`: it fits, but the margin doesn't stay; `too_large`; `unknown`."""
        left, margin = self.left(held), self.margin_bytes
        if left is None or margin is None:
            return UNKNOWN
        return TOO_LARGE if left < 0 else TIGHT if left < margin else FITS


@dataclass(frozen=True)
class Cell:
    """One way to serve: `slot_context` tokens for each of `slots`, drafts of `n_max` tokens (0 without speculation)."""

    slots: int
    n_max: int
    slot_context: int
    held_bytes: int | None
    left_bytes: int | None
    safety: str


@dataclass(frozen=True)
class Axes:
    """What is varied: slots, draft lengths and contexts of a slot."""

    slots: tuple[int, ...]
    n_max: tuple[int, ...]
    contexts: tuple[int, ...]


def axes(
    models: Models,
    serving: Serving,
    slots: Sequence[int] | None = None,
    n_max: Sequence[int] | None = None,
    contexts: Sequence[int] | None = None,
) -> Axes:
    """What to vary: as asked, else slots and draft lengths around the command's own, at its own context."""
    around_slots = {1, 2, 4, 8, serving.slots}
    around_lengths = {0, 1, 3, 7, serving.longest_draft} if serving.drafts else {0}
    own = serving.cells(models.target.trained_context)
    return Axes(
        slots=tuple(sorted(set(slots or around_slots))),
        n_max=tuple(sorted(set(n_max or around_lengths))),
        contexts=tuple(sorted(set(contexts or (own,)))),
    )


def grid(
    models: Models, serving: Serving, varied: Axes, room: Room, fitted: Mapping[str, float] | None = None
) -> list[Cell]:
    """The memory held from the start at every crossing of `varied`; each slot keeps its context."""
    cells = []
    for context in varied.contexts:
        for slots in varied.slots:
            for length in varied.n_max:
                served = replace(serving, slots=slots).with_slot_context(context).with_drafts(length)
                held = predict(models, served, fitted).held_bytes
                cells.append(Cell(slots, length, context, held, room.left(held), room.safety(held)))
    return cells
