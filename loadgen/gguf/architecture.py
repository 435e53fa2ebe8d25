"""What a model's header says of its memory: the layers, what each keeps a token or a slot, and the weights by role.

Sources, in llama.cpp: `src/llama-hparams.cpp` (`n_embd_r`, `n_embd_s`, `is_mla`, `has_kv`), `src/llama-arch.cpp`
(`llm_arch_supports_rs_rollback`), `src/models/*.cpp` (sliding windows). Which layers are recurrent is read from the
tensors that they have, which holds for architectures that are not listed here too.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from loadgen.errors import GgufError
from loadgen.gguf.architecture_names import KNOWN, OTHER_CACHES
from loadgen.gguf.layer_widths import DEFAULT_KDA_CONVOLUTION, LayerWidths, layer_widths
from loadgen.gguf.model_file import ModelFile
from loadgen.gguf.sliding_window import SlidingWindow, sliding_window

ROLLBACK = frozenset(
    {
        *("kimi-k3", "qwen35", "qwen35moe", "qwen4exp", "deepseek4", "glm5-next"),
        *("nemotron_h", "nemotron_h_moe", "lfm2", "lfm2moe", "bailingmoe3"),
    }
)
"""Architectures that keep rows of recurrent state to roll back to; for others llama.cpp clamps them to none."""

_MOST_LAYERS = 4096
_BLOCK = re.compile(r"blk\.(\d+)\.(.+)")
_RECURRENT = re.compile(r"ssm_.*|shortconv\..*|time_mix_.*")
_KEYS = re.compile(r"attn_(k|qkv|kv|kv_a_mqa|k_b)\.weight")
_EMBEDDING = "token_embd.weight"
_BOTH = frozenset({"falcon-h1"})
"""Their layers have attention and a recurrent state side by side."""
_STATE_BYTES = 4
"""Recurrent state is f32 whatever the cache types (`llama_model::create_memory`)."""
_DEFAULT_TOKEN_SHIFT = 2


@dataclass(frozen=True)
class Layer:
    """What one layer keeps: elements of keys and of values a token, and whether only of those inside the window."""

    keys: int
    values: int
    sliding: bool
    recurrent: bool


@dataclass(frozen=True)
class Architecture:
    """The facts of one model that its memory follows from. `draft_layers` are its heads for multi-token prediction."""

    name: str
    layers: tuple[Layer, ...]
    draft_layers: tuple[Layer, ...]
    window: SlidingWindow | None
    state_elements: int
    """Recurrent state of one layer, one slot and one row."""
    embedding: int
    heads: int
    """Attention heads of the first layer."""
    widths: LayerWidths
    vocabulary: int
    trained_context: int
    weight_bytes: int | None
    """Of the model without its draft layers; null where a tensor's type is unknown."""
    draft_weight_bytes: int | None
    unknown_types: tuple[int, ...]
    embedding_bytes: int | None
    """Of the token embedding, which llama.cpp keeps on the host; null where there is none, or its type is unknown."""
    tied: bool
    """Whether the token embedding is the output layer too."""

    @cached_property
    def recurrent_layers(self) -> int:
        """How many layers keep a recurrent state."""
        return sum(layer.recurrent for layer in self.layers)

    @property
    def state_bytes(self) -> int:
        """Recurrent state of one slot and one row, over all layers."""
        return self.recurrent_layers * self.state_elements * _STATE_BYTES

    @property
    def is_known(self) -> bool:
        """Whether the rules here were written for it; others are read by the same rules."""
        return self.name in KNOWN

    @property
    def has_other_caches(self) -> bool:
        """Whether it keeps more than keys, values and recurrent state."""
        return self.name in OTHER_CACHES

    @property
    def rolls_back(self) -> bool:
        """Whether llama.cpp keeps further rows of recurrent state, so that a rejected draft costs no copy."""
        return self.recurrent_layers > 0 and self.name in ROLLBACK


def read_architecture(model: ModelFile) -> Architecture:
    """The facts in a model's header.

    Raises `GgufError` where the header lacks what the memory follows from: it is then no language model.
    """
    name = model.text("general.architecture")
    blocks = model.number(f"{name}.block_count")
    width = model.number(f"{name}.embedding_length")
    if name is None or not blocks or not width:
        raise GgufError(f"{model.path} has no architecture with layers: it is no language model (an adapter, perhaps).")
    if blocks > _MOST_LAYERS:
        raise GgufError(f"{model.path} claims {blocks:,} layers, which can't be.")
    drafts = model.number(f"{name}.nextn_predict_layers") or 0
    window = sliding_window(model, name, blocks)
    layers = _layers(model, name, blocks, window)
    main = max(0, blocks - drafts)
    return Architecture(
        name=name,
        layers=layers[:main],
        draft_layers=layers[main:],
        window=window if window is not None and any(layer.sliding for layer in layers[:main]) else None,
        state_elements=_state_elements(model, name, width),
        embedding=width,
        heads=_by_layer(model, f"{name}.attention.head_count", 0) or 0,
        widths=layer_widths(model, name, _query_width(model, name)),
        vocabulary=_vocabulary(model, name),
        trained_context=model.number(f"{name}.context_length") or 0,
        weight_bytes=_weights(model, main, draft=False),
        draft_weight_bytes=_weights(model, main, draft=True),
        embedding_bytes=next((t.bytes for t in model.tensors if t.name == _EMBEDDING), None),
        tied=all(tensor.name != "output.weight" for tensor in model.tensors),
        unknown_types=tuple(sorted({tensor.type_id for tensor in model.tensors if tensor.bytes is None})),
    )


def _layers(model: ModelFile, name: str, blocks: int, window: SlidingWindow | None) -> tuple[Layer, ...]:
    parts: dict[int, set[str]] = {}
    for tensor in model.tensors:
        if match := _BLOCK.fullmatch(tensor.name):
            parts.setdefault(int(match.group(1)), set()).add(match.group(2))
    shared = model.number(f"{name}.attention.shared_kv_layers") or 0
    return tuple(
        _layer(model, name, index, parts.get(index, set()), window, has_own_keys=index < blocks - shared)
        for index in range(blocks)
    )


def _layer(
    model: ModelFile, name: str, index: int, parts: set[str], window: SlidingWindow | None, *, has_own_keys: bool
) -> Layer:
    recurrent = any(_RECURRENT.fullmatch(part) for part in parts)
    keeps = any(_KEYS.fullmatch(part) for part in parts) and (not recurrent or name in _BOTH) and has_own_keys
    sliding = window is not None and window.slides[index]
    heads = _by_layer(model, f"{name}.attention.head_count_kv", index)
    if heads is None:
        heads = _by_layer(model, f"{name}.attention.head_count", index) or 0
    keys, values = _head_widths(model, name, index, sliding=sliding)
    return Layer(
        keys=heads * keys if keeps else 0,
        values=heads * values if keeps and not _is_latent(model, name) else 0,
        sliding=sliding,
        recurrent=recurrent,
    )


def _head_widths(model: ModelFile, name: str, index: int, *, sliding: bool) -> tuple[int, int]:
    """Elements of a head's key and value: as said, else the embedding shared out among the heads."""
    heads = _by_layer(model, f"{name}.attention.head_count", index) or 0
    default = (model.number(f"{name}.embedding_length") or 0) // heads if heads else 0
    found = []
    for part in ("key_length", "value_length"):
        said = model.number(f"{name}.attention.{part}")
        swa = model.number(f"{name}.attention.{part}_swa") if sliding else None
        found.append(swa if swa is not None else default if said is None else said)
    return found[0], found[1]


def _is_latent(model: ModelFile, name: str) -> bool:
    """Multi-head latent attention: values are part of the keys, and only these are kept."""
    return bool(model.number(f"{name}.attention.key_length_mla") and model.number(f"{name}.attention.value_length_mla"))


def _state_elements(model: ModelFile, name: str, width: int) -> int:
    """Elements of a layer's convolution and recurrent state for one slot."""
    head = model.number(f"{name}.wkv.head_size")
    if head:
        shift = model.number(f"{name}.token_shift_count")
        return width * ((_DEFAULT_TOKEN_SHIFT if shift is None else shift) + head)
    cache = model.number(f"{name}.shortconv.l_cache")
    if cache:
        return width * (cache - 1)
    convolution = model.number(f"{name}.ssm.conv_kernel") or 0
    delta = model.number(f"{name}.kda.head_dim")
    if delta:
        heads = _by_layer(model, f"{name}.attention.head_count", 0) or 0
        return heads * delta * (3 * ((convolution or DEFAULT_KDA_CONVOLUTION) - 1) + delta)
    inner = model.number(f"{name}.ssm.inner_size") or 0
    state = model.number(f"{name}.ssm.state_size") or 0
    groups = model.number(f"{name}.ssm.group_count") or 0
    return max(0, convolution - 1) * (inner + 2 * groups * state) + state * inner


def _query_width(model: ModelFile, name: str) -> int:
    heads = _by_layer(model, f"{name}.attention.head_count", 0) or 0
    return heads * _head_widths(model, name, 0, sliding=False)[0]


def _vocabulary(model: ModelFile, name: str) -> int:
    said = model.length("tokenizer.ggml.tokens") or model.number(f"{name}.vocab_size")
    if said:
        return said
    return next((t.shape[-1] for t in model.tensors if t.name == _EMBEDDING and t.shape), 0)


def _weights(model: ModelFile, main: int, *, draft: bool) -> int | None:
    total = 0
    for tensor in model.tensors:
        match = _BLOCK.fullmatch(tensor.name)
        if (match is not None and int(match.group(1)) >= main) == draft:
            if tensor.bytes is None:
                return None
            total += tensor.bytes
    return total


def _by_layer(model: ModelFile, key: str, index: int) -> int | None:
    """An entry that is one number for all layers, or one a layer."""
    several = model.numbers(key)
    if several is None:
        return model.number(key)
    return several[index] if index < len(several) else None
