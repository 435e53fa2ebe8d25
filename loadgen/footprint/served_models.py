"""The models behind one server, and the bytes of a token in their caches."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from loadgen.experiment.serving import Serving
from loadgen.gguf.architecture import Architecture, Layer
from loadgen.gguf.tensor_types import BY_NAME


@dataclass(frozen=True)
class Models:
    """What is served: the model, and the draft model beside it, if any."""

    target: Architecture
    draft: Architecture | None = None

    def drafting(self, serving: Serving) -> tuple[str, Architecture] | None:
        """The model in the context that drafts, and what its components are called by; null where nothing drafts.

        MTP heads are layers of the model itself, unless they come as a file of their own.
        """
        if self.draft is not None and serving.draft_model is not None:
            return "draft_", self.draft
        if "draft-mtp" in serving.drafts and self.target.draft_layers:
            return "mtp_", replace(self.target, layers=self.target.draft_layers, window=None)
        return None


def token_bytes(layers: Sequence[Layer], model: Architecture, serving: Serving) -> int | None:
    """Keys and values of one token in `layers`; null where a row fills no whole blocks of the cache's type.

    Without flash attention values are kept transposed, as wide in every layer as in the widest (`llama_kv_cache`).
    """
    key, value = BY_NAME[serving.cache_type_k], BY_NAME[serving.cache_type_v]
    widest = max((layer.values for layer in model.layers), default=0)
    total = 0
    for layer in layers:
        rows = key.row_bytes(layer.keys), value.row_bytes(layer.values if serving.flash_attention else widest)
        if rows[0] is None or rows[1] is None:
            return None
        total += rows[0] + rows[1]
    return total


def full_layers(model: Architecture) -> tuple[Layer, ...]:
    """Layers that keep every token."""
    return tuple(layer for layer in model.layers if layer.keys and not (model.window and layer.sliding))


def sliding_layers(model: Architecture) -> tuple[Layer, ...]:
    """Layers that keep those inside the window."""
    return tuple(layer for layer in model.layers if layer.keys and model.window and layer.sliding)
