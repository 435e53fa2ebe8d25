"""What a prediction means, in sentences."""

from pathlib import Path

import pytest

from loadgen.analysis.memory.notes import notes
from loadgen.experiment.command import Command
from loadgen.experiment.serving import serving_of
from loadgen.footprint.prediction import predict
from loadgen.footprint.served_models import Models
from loadgen.gguf.architecture import read_architecture
from loadgen.gguf.model_file import read_model
from tests.gguf.make import F32, Meta, gemma3, qwen35_27b, write


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Models]:
    """One that rolls back, one that can't, one with sliding windows, one with plain attention."""
    folder = tmp_path_factory.mktemp("models")
    mamba: dict[str, Meta] = {
        "general.architecture": "mamba2",
        "mamba2.block_count": 4,
        "mamba2.embedding_length": 64,
        "mamba2.ssm.conv_kernel": 4,
        "mamba2.ssm.inner_size": 512,
        "mamba2.ssm.state_size": 512,
    }
    plain: dict[str, Meta] = {"general.architecture": "llama", "llama.block_count": 1, "llama.embedding_length": 64}
    paths = {
        "qwen35": qwen35_27b(folder / "q.gguf"),
        "mamba2": write(folder / "m.gguf", mamba, {f"blk.{n}.ssm_in.weight": ((32,), F32) for n in range(4)}),
        "gemma3": gemma3(folder / "g.gguf"),
        "llama": write(folder / "l.gguf", plain, {"blk.0.attn_k.weight": ((32,), F32)}),
    }
    return {name: Models(read_architecture(read_model(path))) for name, path in paths.items()}


def _notes(models: Models, text: str) -> str:
    serving = serving_of(Command("llama-server", ("-m", "m.gguf", *text.split())))
    return "\n".join(notes(models, serving, predict(models, serving)))


def test_an_architecture_that_rolls_back(models: dict[str, Models]) -> None:
    """How many rows, and what they take more."""
    said = _notes(models["qwen35"], "-np 4 -c 8192 --spec-type draft-mtp --spec-draft-n-max 7")
    assert "qwen35 rolls back: its recurrent state is kept in 8 rows a slot (1 + 7 draft tokens), 4,189.50 MiB" in said
    assert "rolls back: with speculation it takes (1 + draft tokens) rows" in _notes(models["qwen35"], "-np 4 -c 8192")


@pytest.mark.parametrize(
    ("model", "text", "why"),
    [
        ("qwen35", "--spec-type ngram-simple", "llama.cpp keeps none for ngram-simple"),
        ("mamba2", "--spec-type draft-eagle3 -md d.gguf", "llama.cpp can't roll mamba2 back"),
    ],
)
def test_what_falls_back_to_copies(models: dict[str, Models], model: str, text: str, why: str) -> None:
    """No rows: the state of a slot is copied for every draft."""
    said = _notes(models[model], f"-np 4 -c 8192 {text}")
    assert f"No rows to roll back to ({why}): for every draft the state of the slot" in said
    assert "rows a slot" not in said


def test_ngram_drafts_cost_compute_memory_without_a_model(models: dict[str, Models]) -> None:
    """196 outputs of 262,144 logits: 184 MiB more, as in the load log (205.28 against 21.28)."""
    said = _notes(models["gemma3"], "-np 4 -c 8192 --spec-type ngram-simple")
    assert "196 outputs a batch: logits of 196.00 MiB" in said
    assert "about 184.00 MiB larger than without speculation" in said
    assert "Context checkpoints come on top, in host memory: up to 32 a slot (--ctx-checkpoints), each up to 15" in said


def test_plain_attention_needs_none_of_it(models: dict[str, Models]) -> None:
    """Only where it lies, and what --fit leaves out."""
    where, fit = _notes(models["llama"], "-np 4 -c 8192").split("\n")
    assert where == "Held from the start is the sum over devices and host."
    assert fit.startswith("--fit leaves out: prompt cache (host memory")


def test_what_is_not_counted_and_what_moves_is_said(models: dict[str, Models]) -> None:
    """By the arguments that were given."""
    said = _notes(models["llama"], "-np 4 --mmproj p.gguf -ngl 20 -cmoe")
    assert "Not counted: the models of --mmproj." in said
    assert "how -ngl, -cmoe share it out does not follow from headers" in said


def test_an_unknown_architecture_is_a_guess(tmp_path: Path) -> None:
    """It is read by the rules of the others, and that is said."""
    base: dict[str, Meta] = {"general.architecture": "novel", "novel.block_count": 1, "novel.embedding_length": 64}
    models = Models(read_architecture(read_model(write(tmp_path / "n.gguf", base, {}))))
    assert _notes(models, "-np 4").startswith("llama.cpp b11549 has no architecture novel: a guess by the rules")


def test_draft_mtp_without_heads_is_told(models: dict[str, Models]) -> None:
    """The server would not start."""
    assert "This gemma3 model has no heads" in _notes(models["gemma3"], "-np 4 -c 8192 --spec-type draft-mtp")
