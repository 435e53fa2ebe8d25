"""What a header says of memory: layers by kind, state, weights by role, rollback."""

from pathlib import Path

import pytest

from loadgen.errors import GgufError
from loadgen.gguf.architecture import Architecture, Layer, read_architecture
from loadgen.gguf.model_file import read_model
from loadgen.gguf.tiny import write_tiny_model
from tests.gguf.make import F32, Meta, gemma3, kimi_k3, qwen35_27b, write

MIB = 1 << 20


def _read(path: Path) -> Architecture:
    return read_architecture(read_model(path))


def _model(path: Path, name: str, metadata: dict[str, Meta], tensors: list[str], layers: int = 4) -> Architecture:
    base: dict[str, Meta] = {
        "general.architecture": name,
        f"{name}.block_count": layers,
        f"{name}.embedding_length": 64,
        f"{name}.attention.head_count": 4,
        **{f"{name}.{key}": value for key, value in metadata.items()},
    }
    return _read(write(path / "m.gguf", base, dict.fromkeys(tensors, ((32,), F32))))


def test_the_demo_model_has_attention_in_every_fourth_layer_and_an_mtp_head(tmp_path: Path) -> None:
    """Weights of the head are apart: a server loads them for draft-mtp alone (61.39 and 69.08 MiB in load logs)."""
    found = _read(write_tiny_model(tmp_path / "m.gguf", "demo"))
    recurrent, attention = Layer(0, 0, sliding=False, recurrent=True), Layer(128, 128, sliding=False, recurrent=False)
    assert found.layers == (recurrent, recurrent, recurrent, attention) * 2
    assert found.draft_layers == (attention,)
    assert found.state_bytes / MIB == 0.8203125
    assert found.weight_bytes is not None
    assert found.draft_weight_bytes is not None
    assert round(found.weight_bytes / MIB, 2) == 61.39
    assert round((found.weight_bytes + found.draft_weight_bytes) / MIB, 2) == 69.08
    assert (found.vocabulary, found.trained_context, found.embedding) == (1024, 32768, 384)
    assert found.rolls_back
    assert not found.tied
    assert found.embedding_bytes == 1024 * 384 * 4


def test_five_of_six_layers_of_gemma_slide(tmp_path: Path) -> None:
    """Every sixth sees all; the header names the window and no pattern."""
    found = _read(gemma3(tmp_path / "m.gguf"))
    assert found.window is not None
    assert found.window.tokens == 512
    assert [index for index, layer in enumerate(found.layers) if not layer.sliding] == [5, 11, 17]
    assert {(layer.keys, layer.values) for layer in found.layers} == {(256, 256)}
    assert not found.rolls_back
    assert found.tied
    assert found.embedding_bytes is None


def test_the_published_states_come_out(tmp_path: Path) -> None:
    """Kimi K3: 1772.44 MiB for 4 slots; Qwen3.5 27B: 149.62 MiB for one."""
    kimi, qwen = _read(kimi_k3(tmp_path / "k.gguf")), _read(qwen35_27b(tmp_path / "q.gguf"))
    assert f"{kimi.state_bytes * 4 / MIB:.2f}" == "1772.44"
    assert qwen.state_bytes / MIB == 149.625
    assert (kimi.recurrent_layers, qwen.recurrent_layers) == (69, 48)
    assert (len(qwen.layers), len(qwen.draft_layers)) == (64, 1)
    assert kimi.rolls_back
    assert qwen.rolls_back


def test_latent_attention_keeps_no_values(tmp_path: Path) -> None:
    """Only the compressed keys, and those once for all heads."""
    kept = {(layer.keys, layer.values) for layer in _read(kimi_k3(tmp_path / "m.gguf")).layers if not layer.recurrent}
    assert kept == {(576, 0)}


MAMBA2: dict[str, Meta] = {
    "attention.head_count": 0,
    "ssm.conv_kernel": 4,
    "ssm.inner_size": 128,
    "ssm.state_size": 32,
    "ssm.group_count": 1,
}


@pytest.mark.parametrize(
    ("name", "metadata", "tensor", "elements", "rolls_back"),
    [
        ("mamba2", MAMBA2, "ssm_in.weight", 3 * (128 + 2 * 32) + 32 * 128, False),
        ("lfm2", {"shortconv.l_cache": 3}, "shortconv.conv.weight", 2 * 64, True),
        ("rwkv7", {"wkv.head_size": 64}, "time_mix_w0.weight", 64 * (2 + 64), False),
        ("qwen3next", MAMBA2, "ssm_a", 3 * (128 + 2 * 32) + 32 * 128, False),
        ("nemotron_h", MAMBA2, "ssm_a", 3 * (128 + 2 * 32) + 32 * 128, True),
    ],
)
def test_state_of_each_kind_of_recurrent_layer(
    tmp_path: Path, name: str, metadata: dict[str, Meta], tensor: str, *, elements: int, rolls_back: bool
) -> None:
    """Convolution and state, in elements of f32; and whether llama.cpp rolls the architecture back."""
    found = _model(tmp_path, name, metadata, [f"blk.{layer}.{tensor}" for layer in range(4)])
    assert found.state_bytes == 4 * elements * 4
    assert found.rolls_back == rolls_back
    assert all(layer.keys == 0 for layer in found.layers)


@pytest.mark.parametrize(
    ("name", "metadata", "slides"),
    [
        ("gpt-oss", {"attention.sliding_window": 128}, [True, False, True, False]),
        ("llama4", {}, [True, True, True, False]),
        ("smallthinker", {}, [False, True, True, True]),
        ("gemma4", {"attention.sliding_window": 8, "attention.sliding_window_pattern": [1, 0, 0, 1]}, [1, 0, 0, 1]),
        ("new-one", {"attention.sliding_window": 8, "attention.sliding_window_pattern": [True, False]}, [1, 0, 1, 0]),
        ("gemma3", {"attention.sliding_window": 8, "attention.sliding_window_pattern": 2}, [1, 0, 1, 0]),
        ("plamo3", {"attention.sliding_window": 8, "attention.sliding_window_pattern": 0}, [1, 1, 1, 1]),
    ],
)
def test_which_layers_slide(tmp_path: Path, name: str, metadata: dict[str, Meta], slides: list[bool]) -> None:
    """By the header's pattern, else by that of the architecture; short patterns are repeated."""
    found = _model(tmp_path, name, metadata, [f"blk.{layer}.attn_k.weight" for layer in range(4)])
    assert [layer.sliding for layer in found.layers] == [bool(one) for one in slides]


@pytest.mark.parametrize("name", ["phi3", "llama", "gemma3"])
def test_a_window_that_llama_cpp_does_not_use_is_none(tmp_path: Path, name: str) -> None:
    """Models of other architectures get full caches; a window of 0 is none."""
    window = 0 if name == "gemma3" else 2047
    found = _model(tmp_path, name, {"attention.sliding_window": window}, ["blk.0.attn_k.weight"])
    assert found.window is None


def test_layers_that_reuse_the_keys_of_others_keep_none(tmp_path: Path) -> None:
    """As in gemma3n: the last ones share."""
    tensors = [f"blk.{layer}.attn_k.weight" for layer in range(4)]
    found = _model(tmp_path, "gemma3n", {"attention.shared_kv_layers": 1}, tensors)
    assert [layer.keys for layer in found.layers] == [64, 64, 64, 0]


def test_attention_beside_a_state_counts_for_falcon_h1_alone(tmp_path: Path) -> None:
    """Delta-attention layers have tensors of the same names, and no cache."""
    tensors = [f"blk.{layer}.{part}" for layer in range(4) for part in ("attn_k.weight", "ssm_a")]
    assert [layer.keys for layer in _model(tmp_path, "falcon-h1", MAMBA2, tensors).layers] == [0] * 4
    found = _model(tmp_path, "falcon-h1", {**MAMBA2, "attention.head_count": 4}, tensors)
    assert [(layer.keys, layer.recurrent) for layer in found.layers] == [(64, True)] * 4


def test_heads_by_layer(tmp_path: Path) -> None:
    """A list in the header gives each layer its own."""
    tensors = [f"blk.{layer}.attn_qkv.weight" for layer in range(4)]
    found = _model(tmp_path, "openelm", {"attention.head_count_kv": [1, 2, 3, 4]}, tensors)
    assert [layer.keys for layer in found.layers] == [16, 32, 48, 64]


def test_an_unknown_quantisation_makes_weights_unknown(tmp_path: Path) -> None:
    """Null, and its id."""
    path = write(
        tmp_path / "m.gguf",
        {"general.architecture": "llama", "llama.block_count": 1, "llama.embedding_length": 8},
        {"blk.0.attn_k.weight": ((32,), 201), "output.weight": ((32,), F32)},
    )
    found = _read(path)
    assert (found.weight_bytes, found.draft_weight_bytes, found.unknown_types) == (None, 0, (201,))


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({}, "no language model"),
        ({"general.architecture": "clip"}, "no language model"),
        ({"general.architecture": "a", "a.block_count": 1 << 30, "a.embedding_length": 8}, "1,073,741,824 layers"),
    ],
)
def test_what_is_no_language_model_is_refused(tmp_path: Path, metadata: dict[str, Meta], message: str) -> None:
    """One sentence with the file's name."""
    with pytest.raises(GgufError, match=message):
        _read(write(tmp_path / "m.gguf", metadata, {}))
