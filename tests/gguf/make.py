"""Writes GGUF headers byte by byte, for models that nobody needs to load."""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

Meta = int | float | bool | str | Sequence[int] | Sequence[str]

F32, F16, Q4_K, Q8_0 = 0, 1, 12, 8
UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY, UINT64 = 4, 5, 6, 7, 8, 9, 10


def gguf(
    metadata: Mapping[str, Meta],
    tensors: Mapping[str, tuple[Sequence[int], int]] | None = None,
    *,
    order: str = "<",
    version: int = 3,
    data: bool = False,
) -> bytes:
    """A header, with `data` followed by as many bytes as its f32 tensors need."""
    tensors = tensors or {}
    out = b"GGUF" + struct.pack(order + "IQQ", version, len(tensors), len(metadata))
    for key, value in metadata.items():
        out += text(key, order) + _value(value, order)
    offset = 0
    for name, (shape, kind) in tensors.items():
        out += text(name, order) + struct.pack(f"{order}I{len(shape)}Q", len(shape), *shape)
        out += struct.pack(order + "IQ", kind, offset)
        offset += -(-_elements(shape) * 4 // 32) * 32
    out += bytes(-len(out) % 32)
    return out + bytes(offset) if data else out


def text(value: str, order: str = "<") -> bytes:
    """A text with its length before it."""
    raw = value.encode()
    return struct.pack(order + "Q", len(raw)) + raw


def write(path: Path, metadata: Mapping[str, Meta], tensors: Mapping[str, tuple[Sequence[int], int]]) -> Path:
    """The same as a file."""
    path.write_bytes(gguf(metadata, tensors))
    return path


def _elements(shape: Sequence[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _value(value: Meta, order: str) -> bytes:
    if isinstance(value, bool):
        return struct.pack(order + "I?", BOOL, value)
    if isinstance(value, int):
        return struct.pack(order + "II", UINT32, value)
    if isinstance(value, float):
        return struct.pack(order + "If", FLOAT32, value)
    if isinstance(value, str):
        return struct.pack(order + "I", STRING) + text(value, order)
    if value and isinstance(value[0], str):
        items = b"".join(text(str(item), order) for item in value)
        return struct.pack(order + "IIQ", ARRAY, STRING, len(value)) + items
    kind, code = (BOOL, "?") if value and isinstance(value[0], bool) else (INT32, "i")
    return struct.pack(f"{order}IIQ{len(value)}{code}", ARRAY, kind, len(value), *value)


def gemma3(path: Path, vocabulary: int = 262_144) -> Path:
    """Gemma 3 270M: 18 layers, of which every sixth sees the whole context and the others 512 tokens."""
    metadata: dict[str, Meta] = {
        "general.architecture": "gemma3",
        "gemma3.block_count": 18,
        "gemma3.context_length": 32768,
        "gemma3.embedding_length": 640,
        "gemma3.feed_forward_length": 2048,
        "gemma3.vocab_size": vocabulary,
        "gemma3.attention.head_count": 4,
        "gemma3.attention.head_count_kv": 1,
        "gemma3.attention.key_length": 256,
        "gemma3.attention.value_length": 256,
        "gemma3.attention.sliding_window": 512,
    }
    return write(
        path, metadata, dict.fromkeys([f"blk.{layer}.attn_k.weight" for layer in range(18)], ((640, 256), F16))
    )


def kimi_k3(path: Path) -> Path:
    """A hybrid of Kimi K3's published state: 69 delta-attention layers of 96 heads, every fourth layer latent."""
    layers = 92
    metadata: dict[str, Meta] = {
        "general.architecture": "kimi-k3",
        "kimi-k3.block_count": layers,
        "kimi-k3.context_length": 262_144,
        "kimi-k3.embedding_length": 7168,
        "kimi-k3.vocab_size": 163_840,
        "kimi-k3.attention.head_count": 96,
        "kimi-k3.attention.head_count_kv": 1,
        "kimi-k3.attention.key_length": 576,
        "kimi-k3.attention.value_length": 512,
        "kimi-k3.attention.key_length_mla": 192,
        "kimi-k3.attention.value_length_mla": 128,
        "kimi-k3.kda.head_dim": 128,
        "kimi-k3.ssm.conv_kernel": 4,
    }
    names = [f"blk.{n}.{'attn_kv_a_mqa' if n % 4 == 3 else 'ssm_conv1d_q'}.weight" for n in range(layers)]
    return write(path, metadata, dict.fromkeys(names, ((32,), F32)))


def qwen35_27b(path: Path) -> Path:
    """Qwen3.5 27B: 64 layers, of which every fourth has attention, and an MTP head."""
    metadata: dict[str, Meta] = {
        "general.architecture": "qwen35",
        "qwen35.block_count": 65,
        "qwen35.nextn_predict_layers": 1,
        "qwen35.context_length": 262_144,
        "qwen35.embedding_length": 5120,
        "qwen35.feed_forward_length": 17_408,
        "qwen35.vocab_size": 248_320,
        "qwen35.attention.head_count": 24,
        "qwen35.attention.head_count_kv": 4,
        "qwen35.attention.key_length": 256,
        "qwen35.attention.value_length": 256,
        "qwen35.ssm.conv_kernel": 4,
        "qwen35.ssm.inner_size": 6144,
        "qwen35.ssm.state_size": 128,
        "qwen35.ssm.group_count": 16,
    }
    tensors = {f"blk.{n}.{'attn_k.weight' if n % 4 == 3 or n == 64 else 'ssm_a'}": ((32,), F32) for n in range(65)}
    return write(path, metadata, tensors)
