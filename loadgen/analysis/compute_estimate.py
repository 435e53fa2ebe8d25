"""An estimate of the buffer in which a context computes: llama.cpp plans it from its graph, which no header has.

Measured on b11549 (CPU): the masks of the attention and a few copies of the residual stream stay for the whole graph;
above them lies the larger of what the widest layer needs for one micro-batch and of the logits of all outputs. The
second is why speculation with a large vocabulary costs compute memory without any model: 4 slots × (1 + 48) outputs ×
262,144 tokens × 4 B = 196 MiB. Held against 33 load logs of five tiny models and Gemma 3 270M it is within 14 %, except
for MTP heads of tiny models (17 % low to 37 % high) and for a Mamba 2 (1.5 for 2.4 MiB).
"""

from loadgen.analysis.served_models import full_layers
from loadgen.experiment.serving import Serving
from loadgen.gguf.architecture import Architecture
from loadgen.units import bytes_to_mib

_F32 = 4
_F16 = 2


_STREAM_COPIES = 4
"""Of the residual stream, beside a layer; a context of one layer alone, such as an MTP head, has one."""


def compute_bytes(model: Architecture, serving: Serving) -> tuple[int, str]:
    """Bytes of the compute buffer, about, and how they come about."""
    stays = _mask_bytes(model, serving) + _stream_bytes(model, serving)
    layer = _layer_bytes(model, serving)
    logits = logits_bytes(model, serving)
    of_logits = f"{serving.outputs} outputs × {model.vocabulary:,} tokens × 4 B = {_mib(logits)}"
    text = f"masks and residual stream {_mib(stays)} + the larger of one layer, {_mib(layer)}, and {of_logits}"
    return stays + max(layer, logits), text


def logits_bytes(model: Architecture, serving: Serving) -> int:
    """Logits of all positions that one batch may ask for."""
    return serving.outputs * model.vocabulary * _F32


def _mask_bytes(model: Architecture, serving: Serving) -> int:
    """One entry for each cell and token of the micro-batch: f16 for flash attention, else f32."""
    cells = 0
    if full_layers(model):
        cells += serving.cells(model.trained_context)
    if model.window is not None:
        cells += serving.window_cells(model.trained_context, model.window.tokens)
    return cells * serving.ubatch * (_F16 if serving.flash_attention else _F32)


def _stream_bytes(model: Architecture, serving: Serving) -> int:
    copies = _STREAM_COPIES if len(model.layers) > 1 else 1
    return serving.ubatch * copies * model.embedding * _F32


def _layer_bytes(model: Architecture, serving: Serving) -> int:
    """The widest part of a layer, the rows of its recurrent state, and the scores without flash attention."""
    rows = serving.slots * (1 + (serving.rollback_rows if model.rolls_back else 0))
    widest = serving.ubatch * model.widest * _F32
    scores = 0
    if not serving.flash_attention and full_layers(model):
        scores = serving.cells(model.trained_context) * serving.ubatch * model.heads * _F32
    return widest + rows * model.layer_state_bytes + scores


def _mib(count: int) -> str:
    return f"{bytes_to_mib(count):,.2f} MiB"
