"""An estimate of the buffer in which a context computes: llama.cpp plans it from its graph, which no header has.

Measured on b11549 (CPU): the masks of the attention stay for the whole graph; above them lies the larger of what the
widest layer needs for one micro-batch and of the logits of all outputs. The second is why speculation with a large
vocabulary costs compute memory without any model: 4 slots × (1 + 48) outputs × 262,144 tokens × 4 B = 196 MiB.
"""

from loadgen.experiment.serving import Serving
from loadgen.gguf.architecture import Architecture
from loadgen.units import bytes_to_mib

_F32 = 4
_F16 = 2


def compute_bytes(model: Architecture, serving: Serving) -> tuple[int, str]:
    """Bytes of the compute buffer, about, and how they come about."""
    masks = _mask_bytes(model, serving)
    layer = _layer_bytes(model, serving)
    logits = logits_bytes(model, serving)
    of_logits = f"{serving.outputs} outputs × {model.vocabulary:,} tokens × 4 B = {_mib(logits)}"
    text = f"masks {_mib(masks)} + the larger of one layer, {_mib(layer)}, and {of_logits}"
    return masks + max(layer, logits), text


def logits_bytes(model: Architecture, serving: Serving) -> int:
    """Logits of all positions that one batch may ask for."""
    return serving.outputs * model.vocabulary * _F32


def _mask_bytes(model: Architecture, serving: Serving) -> int:
    """One entry for each cell and token of the micro-batch: in f32, and in f16 again for flash attention."""
    entry = _F32 + (_F16 if serving.flash_attention else 0)
    cells = 0
    if any(layer.keys and not (model.window and layer.sliding) for layer in model.layers):
        cells += serving.cells(model.trained_context)
    if model.window is not None:
        cells += serving.window_cells(model.trained_context, model.window.tokens)
    return cells * serving.ubatch * entry


def _layer_bytes(model: Architecture, serving: Serving) -> int:
    """The residual stream twice, the feed-forward part, and the rows of one layer's recurrent state."""
    rows = serving.slots * (1 + (serving.rollback_rows if model.rolls_back else 0))
    return serving.ubatch * (2 * model.embedding + model.widest) * _F32 + rows * model.layer_state_bytes


def _mib(count: int) -> str:
    return f"{bytes_to_mib(count):,.2f} MiB"
