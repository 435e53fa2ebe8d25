"""Memory predicted from headers equals what servers printed, to the digit; compute buffers are marked as estimates."""

from pathlib import Path

import pytest

from loadgen.experiment.command import Command
from loadgen.experiment.serving import Serving, serving_of
from loadgen.footprint.prediction import Prediction, predict
from loadgen.footprint.served_models import Models
from loadgen.gguf.architecture import Architecture, read_architecture
from loadgen.gguf.model_file import read_model
from loadgen.gguf.tiny import write_tiny_model
from tests.gguf.make import F32, Meta, gemma3, kimi_k3, qwen35_27b, write

MIB = 1 << 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Model files."""
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def gemma(folder: Path) -> Architecture:
    """Gemma 3 270M."""
    return read_architecture(read_model(gemma3(folder / "gemma.gguf")))


@pytest.fixture(scope="module")
def demo(folder: Path) -> Architecture:
    """The demo's model."""
    return read_architecture(read_model(write_tiny_model(folder / "demo.gguf", "demo")))


def _serving(text: str) -> Serving:
    return serving_of(Command("llama-server", ("-m", "m.gguf", *text.split())))


def _mib(prediction: Prediction) -> dict[str, str]:
    return {s.component: "n/a" if s.bytes is None else f"{s.bytes / MIB:.2f}" for s in prediction.shares}


@pytest.mark.parametrize(
    ("arguments", "kv", "kv_swa"),
    [
        ("-np 1 -c 8192", "24.00", "15.00"),
        ("-np 4 -c 8192", "24.00", "60.00"),
        ("-np 4 -c 8192 -kvu", "24.00", "37.50"),
        ("-np 4 -c 8192 --swa-full", "24.00", "120.00"),
        ("-np 4 -c 32768", "96.00", "60.00"),
        ("-np 4 -c 8192 -ctk q8_0 -ctv q8_0", "12.75", "31.88"),
    ],
)
def test_caches_of_gemma_are_those_of_its_load_logs(gemma: Architecture, arguments: str, kv: str, kv_swa: str) -> None:
    """Full and sliding: the second grows with the slots, not with the context."""
    found = _mib(predict(Models(gemma), _serving(arguments)))
    assert (found["kv"], found["kv_swa"]) == (kv, kv_swa)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("-np 4 -c 4096", {"kv": "4.00", "recurrent_state": "3.28", "output": "0.02"}),
        (
            "-np 4 -c 4096 --spec-type draft-mtp --spec-draft-n-max 1",
            {"mtp_model": "7.70", "recurrent_state": "6.56", "mtp_kv": "2.00", "mtp_output": "0.02"},
        ),
        ("-np 4 -c 4096 --spec-type draft-mtp --spec-draft-n-max 3", {"recurrent_state": "13.12", "kv": "4.00"}),
        ("-np 4 -c 4096 --spec-type draft-mtp --spec-draft-n-max 7", {"recurrent_state": "26.25"}),
        (
            "-np 8 -c 8192 --spec-type draft-mtp --spec-draft-n-max 3",
            {"kv": "8.00", "recurrent_state": "26.25", "mtp_kv": "4.00", "output": "0.03"},
        ),
        ("-np 4 -c 4096 --spec-type ngram-simple", {"recurrent_state": "3.28"}),
    ],
)
def test_the_demo_models_components_are_those_of_its_load_logs(
    demo: Architecture, arguments: str, expected: dict[str, str]
) -> None:
    """Model 61.39 MiB always; heads, their cache and further rows with draft-mtp alone."""
    found = _mib(predict(Models(demo), _serving(arguments)))
    assert {name: found[name] for name in expected} == expected
    assert found["model"] == "61.39"
    assert ("mtp_model" in found) == ("draft-mtp" in arguments)


def test_kimi_k3_as_published(folder: Path) -> None:
    """4 slots: 1772.44 MiB of recurrent state, and 14179.50 MiB with 7 draft tokens."""
    models = Models(read_architecture(read_model(kimi_k3(folder / "kimi.gguf"))))
    off = predict(models, _serving("-np 4 -c 8192"))
    drafting = predict(models, _serving("-np 4 -c 8192 --spec-type draft-mtp --spec-draft-n-max 7"))
    assert _mib(off)["recurrent_state"] == "1772.44"
    assert _mib(drafting)["recurrent_state"] == "14179.50"
    rows = [share.rows for share in drafting.shares if share.component == "recurrent_state"]
    assert rows == [8]


def test_qwen_27b_as_published(folder: Path) -> None:
    """One slot: 149.62 MiB, and 9725.62 MiB with 64 draft tokens."""
    models = Models(read_architecture(read_model(qwen35_27b(folder / "qwen.gguf"))))
    off = predict(models, _serving("-np 1 -c 8192"))
    drafting = predict(models, _serving("-np 1 -c 8192 --spec-type draft-mtp --spec-draft-n-max 64"))
    assert _mib(off)["recurrent_state"] == "149.62"
    assert _mib(drafting)["recurrent_state"] == "9725.62"


def test_mamba2_keeps_one_row_whatever_drafts(folder: Path) -> None:
    """llama.cpp clamps its rows to none."""
    metadata: dict[str, Meta] = {
        "general.architecture": "mamba2",
        "mamba2.block_count": 4,
        "mamba2.embedding_length": 64,
        "mamba2.ssm.conv_kernel": 4,
        "mamba2.ssm.inner_size": 128,
        "mamba2.ssm.state_size": 32,
        "mamba2.ssm.group_count": 1,
    }
    path = write(folder / "mamba2.gguf", metadata, {f"blk.{n}.ssm_in.weight": ((32,), F32) for n in range(4)})
    models = Models(read_architecture(read_model(path)))
    states = [
        next(s for s in predict(models, _serving(f"-np 4 -c 4096 {more}")).shares if s.component == "recurrent_state")
        for more in ("", "--spec-type draft-eagle3 -md d.gguf --spec-draft-n-max 7")
    ]
    assert [(state.bytes, state.rows) for state in states] == [(4 * 4 * (3 * 192 + 4096) * 4, 1)] * 2


def test_a_draft_model_has_entries_of_its_own(gemma: Architecture, demo: Architecture) -> None:
    """Its weights, caches by its own types, and one output a slot."""
    serving = _serving("-np 2 -c 4096 --spec-type draft-simple -md d.gguf -ctkd q8_0 -ctvd q8_0 -ctk f32")
    found = _mib(predict(Models(demo, gemma), serving))
    assert found["draft_kv"] == f"{3 * 2 * 272 * 4096 / MIB:.2f}"
    assert found["draft_output"] == "2.00"
    assert found["kv"] == f"{2 * 128 * (4 + 2) * 4096 / MIB:.2f}"
    assert "mtp_kv" not in found


@pytest.mark.parametrize(
    ("arguments", "logged"),
    [
        ("-np 4 -c 8192 --spec-type draft-simple -md d.gguf --spec-draft-n-max 8", 45.28),
        ("-np 4 -c 8192 --spec-type ngram-simple", 205.28),
    ],
)
def test_outputs_times_vocabulary_are_the_compute_buffer_of_large_vocabularies(
    gemma: Architecture, arguments: str, logged: float
) -> None:
    """Within 3 % of load logs, and marked as an estimate."""
    share = next(s for s in predict(Models(gemma), _serving(arguments)).shares if s.component == "compute")
    assert share.source == "estimated"
    assert share.bytes is not None
    assert abs(share.bytes / MIB / logged - 1) < 0.03


def test_the_hosts_side_is_apart(gemma: Architecture, demo: Architecture) -> None:
    """Prompt cache and checkpoints fill while serving; models with neither state nor windows take no checkpoints."""
    prediction = predict(Models(demo), _serving("-np 4 -c 4096"))
    assert _mib(prediction)["prompt_cache"] == "8192.00"
    assert _mib(prediction)["checkpoints"] == "105.00"  # 32 × 4 × 0.82 MiB
    assert prediction.host_bytes == round(8297 * MIB)
    held = prediction.held_bytes
    assert held == sum(share.bytes or 0 for share in prediction.shares if not share.grows)
    assert _mib(predict(Models(gemma), _serving("-np 4 -c 8192 --swa-full")))["checkpoints"] == "0.00"
    assert predict(Models(demo), _serving("-cram -1")).host_bytes is None


def test_a_checkpoint_with_an_mtp_head_keeps_its_cache_too(demo: Architecture) -> None:
    """0.903 MiB at 161 tokens in a load log: state, and 536 B a token; here at the 1024 tokens of a slot."""
    prediction = predict(Models(demo), _serving("-np 1 -c 1024 -ctxcp 1 --spec-type draft-mtp"))
    (share,) = [s for s in prediction.shares if s.component == "checkpoints"]
    assert share.bytes == round(0.8203125 * MIB) + 1024 * 536
    assert f"{(0.8203125 * MIB + 161 * 536) / MIB:.3f}" == "0.903"


def test_what_can_not_be_told_is_null(folder: Path) -> None:
    """An unknown quantisation, and a cache type whose blocks a layer doesn't fill: null, and so is the sum."""
    base: dict[str, Meta] = {"general.architecture": "llama", "llama.block_count": 1, "llama.embedding_length": 48}
    heads: dict[str, Meta] = {"llama.attention.head_count": 1, "llama.context_length": 1024}
    path = write(folder / "odd.gguf", {**base, **heads}, {"blk.0.attn_k.weight": ((32,), 201)})
    prediction = predict(Models(read_architecture(read_model(path))), _serving("-np 1 -ctk q8_0"))
    assert {s.component: s.arithmetic for s in prediction.shares if s.bytes is None} == {
        "model": "tensors have a type that is not known here (id 201)",
        "kv": "a layer's width fills no whole blocks of q8_0, f16: llama-server exits",
    }
    assert prediction.held_bytes is None


def test_caches_of_another_kind_are_null(folder: Path) -> None:
    """DeepSeek V4 compresses its keys: null with the reason, and the weights all the same."""
    metadata: dict[str, Meta] = {
        "general.architecture": "deepseek4",
        "deepseek4.block_count": 1,
        "deepseek4.embedding_length": 64,
        "deepseek4.attention.head_count": 1,
    }
    path = write(folder / "deepseek4.gguf", metadata, {"blk.0.attn_kv.weight": ((32,), F32)})
    prediction = predict(Models(read_architecture(read_model(path))), _serving("-np 1 -c 1024"))
    found = {share.component: (share.bytes, share.arithmetic) for share in prediction.shares}
    assert found["model"][0] == 128
    assert found["kv"] == (None, "deepseek4 keeps more than keys and values; how much is not known here")


def test_factors_from_a_log_replace_the_estimate(demo: Architecture) -> None:
    """Only the components that they name, and the source says so."""
    plain = predict(Models(demo), _serving("-np 4 -c 4096"))
    fitted = predict(Models(demo), _serving("-np 4 -c 4096"), {"compute": 2.0})
    before, after = (next(s for s in p.shares if s.component == "compute") for p in (plain, fitted))
    assert (before.source, after.source) == ("estimated", "fitted")
    assert before.bytes is not None
    assert after.bytes == before.bytes * 2
