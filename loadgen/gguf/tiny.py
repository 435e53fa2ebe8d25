"""Writes a small model with random weights, for the demo and for tests.

Architecture `qwen35`: gated delta net with attention in every fourth block, and one multi-token-prediction (MTP) head.
llama.cpp loads it in a fraction of a second, runs `--spec-type draft-mtp` on it, and keeps (1 + n_max) rows of
recurrent state a slot, as for a real model. Timing, memory, slots and queueing are therefore those of the real server.
The text is noise.
"""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from loadgen.errors import UsageError
from loadgen.gguf.tiny_vocabulary import VOCABULARY, WORDS, Vocabulary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float32]

__all__ = ["VERSION", "WORDS", "Size", "write_tiny_model"]

Size = Literal["small", "demo"]

VERSION = 3
"""Of the content. Raise it with every change to what is written, so that no older file is taken for this one."""

_ARCH = "qwen35"
_HEAD = 64
"""Width of an attention head: the rotary sections below add up to half of it."""
_ROPE_SECTIONS = (11, 11, 10, 0)
_ATTENTION_EVERY = 4
_CONV = 4
_MTP_HEADS = 1
_CONTEXT = 32768
_HEADER_BYTES = 4096
"""The version stands in the metadata, which begins the file, before the vocabulary."""

_UNSAID = -100.0
"""Output weight of tokens that are never to come: their logit is then tens below every other, at any temperature."""

_CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


@dataclass(frozen=True)
class _Shape:
    embedding: int
    layers: int
    feed_forward: int
    heads: int
    kv_heads: int
    state: int
    groups: int
    steps: int


_SHAPES: dict[Size, _Shape] = {
    # 2 MB: loads in 0.1 s, for tests.
    "small": _Shape(embedding=64, layers=4, feed_forward=128, heads=2, kv_heads=1, state=32, groups=2, steps=2),
    # 72 MB: one decode step costs more than the overheads around it, so that a synthetic acceptance length shows
    # speculation paying at one agent and costing at several, on two CPU cores. Wide layers: reading the weights bounds
    # one agent's step, arithmetic that of eight. With 8 layers of 256 a core with AVX-512 was not yet bound by
    # arithmetic at eight agents. With 4 layers of 384 a step took such a core 2 ms at one agent, which is at the edge
    # of what a client in Python on the other core can time; with 8 it takes 4 ms there, and 10 ms on a slow machine.
    "demo": _Shape(embedding=384, layers=8, feed_forward=1024, heads=6, kv_heads=2, state=64, groups=4, steps=8),
}


class _Weights:
    """Random tensors from one seeded generator.

    Channel 0 of the residual stream is a constant: every embedding has a 1 there, and nothing adds to it. The output
    layer can therefore push single tokens down, as an output bias would.
    """

    def __init__(self, seed: int) -> None:
        import numpy as np  # noqa: PLC0415 - importing loadgen.cli must not pull it in

        self._np = np
        self._generator = np.random.default_rng(seed)

    def noise(self, *shape: int, scale: float = 0.05) -> "Array":
        """Normal noise. The scale keeps the activations of every block near 1."""
        return (self._generator.standard_normal(shape) * scale).astype(self._np.float32)

    def ones(self, *shape: int) -> "Array":
        return self._np.ones(shape, self._np.float32)

    def residual(self, rows: int, columns: int) -> "Array":
        """A projection into the residual stream that leaves channel 0 alone."""
        weights = self.noise(rows, columns)
        weights[0, :] = 0.0
        return weights

    def embedding(self, rows: int, columns: int) -> "Array":
        weights = self.noise(rows, columns)
        weights[:, 0] = 1.0
        return weights

    def output(self, vocabulary: Vocabulary, columns: int) -> "Array":
        """Only words come: whole events, no early end, and the text splits into the same tokens when sent back."""
        weights = self.noise(len(vocabulary.pieces), columns)
        weights[:, 0] = _UNSAID
        weights[list(vocabulary.said), 0] = 0.0
        return weights

    def decay(self, count: int) -> "Array":
        return -self._np.abs(self.noise(count, scale=0.5))


def write_tiny_model(path: Path, size: Size = "small") -> Path:
    """Write the model to `path`, or keep the file that is there when it has this size and version.

    The content is the same at every call. The file appears whole or not at all (written beside it, then renamed).

    Raises:
        UsageError: The `gguf` package is missing, or the file can't be written.
    """
    version = f"loadgen-tiny/{VERSION}/{size}"
    try:
        if path.is_file():
            with path.open("rb") as existing:
                if version.encode() in existing.read(_HEADER_BYTES):
                    return path
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise UsageError(f"can't write the model {path}: {error.strerror}") from error
    os.close(handle)
    part = Path(name)
    try:
        _write(_gguf(), part, _SHAPES[size], version)
        part.replace(path)
    except OSError as error:
        raise UsageError(f"can't write the model {path}: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)
    return path


def _gguf() -> ModuleType:
    try:
        import gguf  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise UsageError(
            "writing the demo's model needs the package gguf: pip install gguf (or loadgen's extra, demo)"
        ) from error
    module: ModuleType = gguf
    return module


def _write(gguf: ModuleType, path: Path, shape: _Shape, version: str) -> None:
    writer = gguf.GGUFWriter(str(path), _ARCH)
    writer.add_version(version)
    _add_architecture(writer, shape)
    _add_vocabulary(gguf, writer)
    for name, tensor in _tensors(shape).items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_architecture(writer: Any, shape: _Shape) -> None:
    writer.add_context_length(_CONTEXT)
    writer.add_embedding_length(shape.embedding)
    writer.add_block_count(shape.layers + _MTP_HEADS)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(_HEAD)
    writer.add_value_length(_HEAD)
    writer.add_rope_freq_base(1e6)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_dimension_sections(list(_ROPE_SECTIONS))
    writer.add_rope_dimension_count(_HEAD)
    writer.add_ssm_conv_kernel(_CONV)
    writer.add_ssm_inner_size(shape.state * shape.steps)
    writer.add_ssm_state_size(shape.state)
    writer.add_ssm_time_step_rank(shape.steps)
    writer.add_ssm_group_count(shape.groups)
    writer.add_uint32(f"{_ARCH}.nextn_predict_layers", _MTP_HEADS)
    writer.add_uint32(f"{_ARCH}.full_attention_interval", _ATTENTION_EVERY)


def _add_vocabulary(gguf: ModuleType, writer: Any) -> None:
    control, normal = int(gguf.TokenType.CONTROL), int(gguf.TokenType.NORMAL)
    # The RWKV tokenizer takes the longest piece that fits: a word is one token without the merges that lead to it.
    writer.add_tokenizer_model("rwkv")
    writer.add_token_list(list(VOCABULARY.pieces))
    writer.add_token_types([control if i in VOCABULARY.control else normal for i in range(len(VOCABULARY.pieces))])
    writer.add_bos_token_id(VOCABULARY.end_of_text)
    writer.add_eos_token_id(VOCABULARY.end_of_message)
    writer.add_add_bos_token(False)
    writer.add_vocab_size(len(VOCABULARY.pieces))
    writer.add_chat_template(_CHAT_TEMPLATE)


def _tensors(shape: _Shape) -> "dict[str, Array]":
    weights = _Weights(seed=0)
    tokens, width = len(VOCABULARY.pieces), shape.embedding
    tensors = {
        "token_embd.weight": weights.embedding(tokens, width),
        "output_norm.weight": weights.ones(width),
        "output.weight": weights.output(VOCABULARY, width),
    }
    for layer in range(shape.layers + _MTP_HEADS):
        is_mtp = layer >= shape.layers
        parts = _block(weights, shape)
        parts |= _attention(weights, shape) if is_mtp or (layer + 1) % _ATTENTION_EVERY == 0 else _delta(weights, shape)
        if is_mtp:
            parts |= _mtp(weights, width)
        tensors |= {f"blk.{layer}.{name}": tensor for name, tensor in parts.items()}
    return tensors


def _block(weights: _Weights, shape: _Shape) -> "dict[str, Array]":
    width, inner = shape.embedding, shape.feed_forward
    return {
        "attn_norm.weight": weights.ones(width),
        "post_attention_norm.weight": weights.ones(width),
        "ffn_gate.weight": weights.noise(inner, width),
        "ffn_up.weight": weights.noise(inner, width),
        "ffn_down.weight": weights.residual(width, inner),
    }


def _attention(weights: _Weights, shape: _Shape) -> "dict[str, Array]":
    width = shape.embedding
    return {
        "attn_q.weight": weights.noise(_HEAD * shape.heads * 2, width),
        "attn_k.weight": weights.noise(_HEAD * shape.kv_heads, width),
        "attn_v.weight": weights.noise(_HEAD * shape.kv_heads, width),
        "attn_output.weight": weights.residual(width, _HEAD * shape.heads),
        "attn_q_norm.weight": weights.ones(_HEAD),
        "attn_k_norm.weight": weights.ones(_HEAD),
    }


def _delta(weights: _Weights, shape: _Shape) -> "dict[str, Array]":
    width, keys, values = shape.embedding, shape.state * shape.groups, shape.state * shape.steps
    channels = 2 * keys + values
    return {
        "attn_qkv.weight": weights.noise(channels, width),
        "attn_gate.weight": weights.noise(values, width),
        "ssm_conv1d.weight": weights.noise(channels, _CONV, scale=0.2),
        "ssm_dt.bias": weights.noise(shape.steps),
        "ssm_a": weights.decay(shape.steps),
        "ssm_beta.weight": weights.noise(shape.steps, width),
        "ssm_alpha.weight": weights.noise(shape.steps, width),
        "ssm_norm.weight": weights.ones(shape.state),
        "ssm_out.weight": weights.residual(width, values),
    }


def _mtp(weights: _Weights, width: int) -> "dict[str, Array]":
    joined = weights.residual(width, 2 * width)
    joined[0, 0] = 1.0  # the constant channel goes on from the token's embedding, which is the first half
    return {
        "nextn.eh_proj.weight": joined,
        "nextn.enorm.weight": weights.ones(width),
        "nextn.hnorm.weight": weights.ones(width),
        "nextn.shared_head_norm.weight": weights.ones(width),
    }
