"""An estimate of the buffer in which a context computes: llama.cpp plans it from its graph, which no header has.

Measured on b11549 (CPU): the masks of the attention and a few copies of the residual stream stay for the whole graph;
above them lies the larger of what the widest layer needs for one micro-batch and of the logits of all outputs. The
second is why speculation with a large vocabulary costs compute memory without any model: 4 slots × (1 + 48) outputs ×
262,144 tokens × 4 B = 196 MiB. Held against 162 load logs it is within 7 %, of most of them within 1 %: five tiny
models, Gemma 3 270M, and files with the shapes of Llama 8B and 1B, Qwen3 4B and 30B-A3B, Qwen3.5 27B and 4B and LFM2
1.2B, over slots, micro-batches, draft lengths and with and without flash attention. Models made up to stretch the rules
(a stream wider than everything in its layers, as many delta-attention keys as values) come out up to 20 % off.
"""

from loadgen.experiment.serving import Serving
from loadgen.footprint.served_models import full_layers
from loadgen.gguf.architecture import Architecture
from loadgen.units import bytes_to_mib

_F32 = 4
_F16 = 2


_STREAM_COPIES = 5
"""Of the residual stream, beside a layer."""
_HEAD_COPIES = 2
"""The same in a context of one layer alone, such as an MTP head."""
_JOINED_COPIES = 2
"""What such a head is given, the hidden state and the token beside each other."""


def compute_bytes(model: Architecture, serving: Serving) -> tuple[int, str]:
    """Bytes of the compute buffer, about, and how they come about."""
    masks = _mask_bytes(model, serving)
    stream = serving.ubatch * model.embedding * _F32
    logits = logits_bytes(model, serving)
    layer = max(_feed_forward_bytes(model, serving), _attention_bytes(model, serving), _recurrent_bytes(model, serving))
    stays = masks + stream * _STREAM_COPIES
    if len(model.layers) == 1:
        # The masks are done with when the attention is: copies of the stream then lie where they were, if they fit.
        stays = masks + stream * _HEAD_COPIES
        saved = stream * min(_HEAD_COPIES, masks // stream) if stream else 0
        layer = max(
            _attention_bytes(model, serving), _feed_forward_bytes(model, serving) - saved, stream * _JOINED_COPIES
        )
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


def _feed_forward_bytes(model: Architecture, serving: Serving) -> int:
    return serving.ubatch * model.widths.feed_forward * _F32


def _attention_bytes(model: Architecture, serving: Serving) -> int:
    """Queries with their gate, and either two copies of them, or one beside keys, values and scores."""
    if not any(layer.keys for layer in model.layers):
        return 0
    widths = model.widths
    if serving.flash_attention:
        return serving.ubatch * (widths.query + 2 * widths.heads) * _F32
    kept = max(layer.keys + layer.values for layer in model.layers)
    scores = serving.cells(model.trained_context) * model.heads
    return serving.ubatch * (widths.query + widths.heads + kept + scores) * _F32


def _recurrent_bytes(model: Architecture, serving: Serving) -> int:
    """A recurrent layer: what it computes, and its state, which is copied.

    The planner puts a copy where something else has been, if it fits there.
    """
    if not model.recurrent_layers:
        return 0
    widths, slots = model.widths, serving.slots
    rows = slots * (1 + (serving.rollback_rows if model.rolls_back else 0))
    convolution = min(widths.convolution, model.state_elements)
    state = model.state_elements - convolution
    repeated = serving.ubatch * widths.repeated
    hole = repeated if widths.repeated else serving.ubatch * widths.mixed
    fits = slots * state < hole and widths.repeated in (0, widths.inner)
    elements = serving.ubatch * widths.recurrent + slots * convolution + rows * state
    if not fits:
        elements += repeated + slots * state
    return elements * _F32


def _mib(count: int) -> str:
    return f"{bytes_to_mib(count):,.2f} MiB"
