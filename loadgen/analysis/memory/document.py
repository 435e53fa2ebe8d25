"""A prediction of memory as one JSON object: the keys of an entry of `memory` in a summary, and more."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from loadgen.analysis.memory.check import Check
from loadgen.analysis.memory.grid import TIGHT, TOO_LARGE, Axes, Cell, Room
from loadgen.footprint.prediction import Prediction

SOURCE = "predicted"


@dataclass(frozen=True)
class Predicted:
    """All that is said of one command."""

    variant: str
    prediction: Prediction
    room: Room
    varied: Axes
    cells: Sequence[Cell]
    notes: Sequence[str]
    checks: Sequence[Check] = field(default=())


def document(predicted: Predicted) -> dict[str, Any]:
    """The object. `peak_bytes` is null, for nothing ran; the margin is that of `predicted_bytes`."""
    held = predicted.prediction.held_bytes
    return {
        "variant": predicted.variant,
        "source": SOURCE,
        "budget_bytes": predicted.room.budget_bytes,
        "margin_asked_bytes": predicted.room.margin_bytes,
        "peak_bytes": None,
        "predicted_bytes": held,
        "host_bytes": predicted.prediction.host_bytes,
        "margin_bytes": predicted.room.left(held),
        "safety": TIGHT if predicted.room.safety(held) == TOO_LARGE else predicted.room.safety(held),
        "ledger": [{**asdict(share), "device": None} for share in predicted.prediction.shares],
        "notes": list(predicted.notes),
        "grid": {**asdict(predicted.varied), "cells": [asdict(cell) for cell in predicted.cells]},
        "log": [{**asdict(one), "difference": one.difference} for one in predicted.checks] or None,
    }
