"""Estimates of compute buffers are near what servers of b11549 printed, for shapes of real models."""

from pathlib import Path

import pytest

from loadgen.experiment.command import Command
from loadgen.experiment.serving import serving_of
from loadgen.footprint.compute_estimate import compute_bytes
from loadgen.footprint.prediction import predict
from loadgen.footprint.served_models import Models
from loadgen.gguf.architecture import Architecture, read_architecture
from loadgen.gguf.model_file import read_model
from tests.gguf.make import F16, Meta, gemma3, write

MIB = 1 << 20


def dense(
    path: Path, name: str, *, vocabulary: int, width: int, ff: int, heads: int, kv: int, head: int, experts: int = 0
) -> Path:
    """A header of two layers with attention; with `experts`, `ff` is the width of each."""
    metadata: dict[str, Meta] = {
        "general.architecture": name,
        f"{name}.block_count": 2,
        f"{name}.context_length": 131_072,
        f"{name}.embedding_length": width,
        f"{name}.feed_forward_length": 3 * ff if experts else ff,
        f"{name}.vocab_size": vocabulary,
        f"{name}.attention.head_count": heads,
        f"{name}.attention.head_count_kv": kv,
        f"{name}.attention.key_length": head,
        f"{name}.attention.value_length": head,
    }
    if experts:
        metadata |= {f"{name}.expert_used_count": experts, f"{name}.expert_feed_forward_length": ff}
    parts = {"attn_q": heads * head, "attn_k": kv * head, "ffn_up_exps" if experts else "ffn_up": ff}
    tensors = {f"blk.{n}.{part}.weight": ((width, rows), F16) for n in range(2) for part, rows in parts.items()}
    return write(path, metadata, tensors)


def qwen35(path: Path, *, width: int, ff: int, heads: int, kv: int, steps: int) -> Path:
    """A header of three delta-attention layers, one with gated attention and an MTP head."""
    metadata: dict[str, Meta] = {
        "general.architecture": "qwen35",
        "qwen35.block_count": 5,
        "qwen35.nextn_predict_layers": 1,
        "qwen35.context_length": 131_072,
        "qwen35.embedding_length": width,
        "qwen35.feed_forward_length": ff,
        "qwen35.vocab_size": 248_320,
        "qwen35.attention.head_count": heads,
        "qwen35.attention.head_count_kv": kv,
        "qwen35.attention.key_length": 256,
        "qwen35.attention.value_length": 256,
        "qwen35.ssm.conv_kernel": 4,
        "qwen35.ssm.inner_size": 128 * steps,
        "qwen35.ssm.state_size": 128,
        "qwen35.ssm.group_count": 16,
    }
    rows = {"attn_q": 2 * 256 * heads, "attn_k": 256 * kv}
    tensors = {f"blk.{n}.{k}.weight": ((width, size), F16) for n in (3, 4) for k, size in rows.items()}
    tensors |= {f"blk.{n}.ffn_up.weight": ((width, ff), F16) for n in range(5)}
    return write(path, metadata, tensors | {f"blk.{n}.ssm_a": ((steps,), F16) for n in range(3)})


def mamba2(path: Path) -> Path:
    """The header of a small one of two layers."""
    metadata: dict[str, Meta] = {
        "general.architecture": "mamba2",
        "mamba2.block_count": 2,
        "mamba2.embedding_length": 256,
        "mamba2.vocab_size": 600,
        "mamba2.context_length": 32_768,
        "mamba2.ssm.conv_kernel": 4,
        "mamba2.ssm.inner_size": 1024,
        "mamba2.ssm.state_size": 64,
        "mamba2.ssm.time_step_rank": 16,
        "mamba2.ssm.group_count": 1,
    }
    return write(path, metadata, {f"blk.{n}.ssm_in.weight": ((256, 2192), F16) for n in range(2)})


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Architecture]:
    """By name."""
    at = tmp_path_factory.mktemp("models")
    paths = {
        "llama-8b": dense(at / "a.gguf", "llama", vocabulary=128_256, width=4096, ff=14_336, heads=32, kv=8, head=128),
        "qwen3-4b": dense(at / "b.gguf", "qwen3", vocabulary=151_936, width=2560, ff=9728, heads=32, kv=8, head=128),
        "qwen3-30b-a3b": dense(
            at / "c.gguf", "qwen3moe", vocabulary=151_936, width=2048, ff=768, heads=32, kv=4, head=128, experts=8
        ),
        "qwen35-27b": qwen35(at / "d.gguf", width=5120, ff=17_408, heads=24, kv=4, steps=48),
        "qwen35-4b": qwen35(at / "e.gguf", width=2560, ff=9216, heads=16, kv=4, steps=32),
        "gemma": gemma3(at / "f.gguf"),
        "mamba2": mamba2(at / "g.gguf"),
    }
    return {name: read_architecture(read_model(path)) for name, path in paths.items()}


MTP = "--spec-type draft-mtp --spec-draft-n-max"


@pytest.mark.parametrize(
    ("model", "arguments", "logged", "within"),
    [
        ("llama-8b", "-np 1 -c 4096", 128.02, 0.001),
        ("llama-8b", "-np 1 -c 32768", 156.02, 0.001),
        ("llama-8b", "-np 4 -c 16384 -ub 1024", 256.04, 0.001),
        ("llama-8b", "-np 4 -c 16384 -fa off", 316.01, 0.03),
        ("llama-8b", "-np 8 -c 16384 --spec-type ngram-simple", 233.81, 0.001),
        ("qwen3-4b", "-np 4 -c 16384", 86.02, 0.001),
        ("qwen3-4b", "-np 4 -c 16384 -fa off", 309.01, 0.001),
        ("qwen3-30b-a3b", "-np 4 -c 16384", 92.02, 0.001),
        ("qwen3-30b-a3b", "-np 4 -c 16384 -fa off", 302.01, 0.001),
        ("gemma", "-np 4 -c 32768", 27.28, 0.002),
        ("gemma", "-np 4 -c 8192 --spec-type ngram-simple", 205.28, 0.001),
        ("gemma", "-np 4 -c 16384 -fa off", 54.27, 0.02),
        ("qwen35-27b", "-np 4 -c 16384", 156.02, 0.001),
        ("qwen35-27b", "-np 4 -c 16384 -ub 64", 37.72, 0.001),
        ("qwen35-27b", "-np 4 -c 16384 -fa off", 290.02, 0.001),
        ("qwen35-27b", f"-np 4 -c 16384 {MTP} 3", 174.49, 0.05),
        ("qwen35-27b", f"-np 8 -c 32768 {MTP} 7", 322.96, 0.001),
        ("qwen35-4b", "-np 4 -c 16384 -ub 256", 50.89, 0.001),
        ("qwen35-4b", f"-np 4 -c 16384 {MTP} 3", 117.40, 0.07),
        ("qwen35-4b", f"-np 8 -c 32768 {MTP} 7", 213.77, 0.001),
        ("mamba2", "-np 1 -c 1024", 13.30, 0.02),
        ("mamba2", "-np 4 -c 4096", 14.34, 0.002),
        ("mamba2", "-np 16 -c 16384", 21.25, 0.02),
    ],
)
def test_the_estimate_is_near_the_load_log(
    models: dict[str, Architecture], model: str, arguments: str, logged: float, within: float
) -> None:
    """MiB of the compute buffer as logged, and the share by which the estimate may miss it."""
    serving = serving_of(Command("llama-server", ("-m", "m.gguf", *arguments.split())))
    assert compute_bytes(models[model], serving)[0] / MIB == pytest.approx(logged, rel=within)


@pytest.mark.parametrize(("model", "logged"), [("qwen35-27b", 126.02), ("qwen35-4b", 68.02)])
def test_the_head_has_a_buffer_of_its_own(models: dict[str, Architecture], model: str, logged: float) -> None:
    """Whatever the slots and the drafts: one layer, and one output a slot."""
    for slots, length in ((1, 3), (4, 7), (8, 7)):
        arguments = f"-m m.gguf -np {slots} -c {4096 * slots} {MTP} {length}"
        serving = serving_of(Command("llama-server", tuple(arguments.split())))
        shares = {share.component: share for share in predict(Models(models[model]), serving).shares}
        assert (shares["mtp_compute"].bytes or 0) / MIB == pytest.approx(logged, rel=0.001)
        assert shares["mtp_compute"].source == "estimated"
