"""What one context checkpoint of a slot holds: all that can't be cut back to an earlier token.

Source: `server_context` in llama.cpp's `tools/server/server-context.cpp`, and `state_write` of its memories. Measured
on b11549: 0.410 MiB for the demo's model, as predicted; with its MTP head 536 B a token more.
"""

from dataclasses import replace

from loadgen.experiment.serving import Serving
from loadgen.footprint.served_models import Models, full_layers, sliding_layers, token_bytes
from loadgen.gguf.architecture import Architecture

_CELL_BYTES = 24
"""Position and sequences of a cell, beside its keys and values."""


def checkpoint_bytes(models: Models, serving: Serving) -> int | None:
    """The most that a checkpoint may hold; 0 for a model that needs none, null where a cache can't be told.

    Models with a recurrent state or sliding windows need them. A draft context is kept along: whole, where it has
    plain attention.
    """
    own = _uncuttable(models.target, serving)
    drafting = models.drafting(serving)
    if not own or drafting is None:
        return own
    draft = _uncuttable(drafting[1], serving.drafting)
    if draft == 0:
        draft = _cells(drafting[1], serving.drafting, sliding=False)
    return None if draft is None else own + draft


def _uncuttable(model: Architecture, serving: Serving) -> int | None:
    if model.window is None or serving.swa_full:
        return model.state_bytes
    cells = _cells(model, serving, sliding=True)
    return None if cells is None else model.state_bytes + cells


def _cells(model: Architecture, serving: Serving, *, sliding: bool) -> int | None:
    """One slot's cells of one kind of layers."""
    layers = sliding_layers(model) if sliding else full_layers(model)
    token = token_bytes(layers, model, serving)
    if token is None:
        return None
    slot = replace(serving.with_slots(1), unified=False)
    window = model.window.tokens if model.window is not None else 0
    cells = slot.window_cells(model.trained_context, window) if sliding else slot.cells(model.trained_context)
    return cells * (token + _CELL_BYTES)
