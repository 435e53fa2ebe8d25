"""What a command says of memory, with llama-server's defaults."""

from typing import Any

import pytest

from loadgen.errors import ExperimentError
from loadgen.experiment.command import Command
from loadgen.experiment.serving import CACHE_TYPES, Serving, serving_of
from loadgen.gguf.tensor_types import BY_NAME


def _serving(text: str = "", **env: str) -> Serving:
    variables: dict[str, str | None] = {f"LLAMA_ARG_{name}": value for name, value in env.items()}
    return serving_of(Command("llama-server", ("-m", "m.gguf", *text.split()), variables))


def test_defaults() -> None:
    """Four slots on one cache, the model's own context, f16, 8 GiB of prompts, 32 checkpoints."""
    found = _serving()
    assert (found.slots, found.unified, found.context) == (4, True, None)
    assert (found.batch, found.ubatch, found.cache_type_k, found.cache_type_v) == (2048, 512, "f16", "f16")
    assert (found.cache_ram_mib, found.checkpoints, found.drafts, found.longest_draft) == (8192, 32, {}, 0)
    assert found.flash_attention
    assert not found.swa_full


@pytest.mark.parametrize(
    ("text", "env", "expected"),
    [
        ("-np 2 -c 8192", {}, {"slots": 2, "unified": False, "context": 8192}),
        ("-np 2 -kvu", {}, {"slots": 2, "unified": True}),
        ("-kvu -no-kvu", {}, {"unified": False}),
        ("-np 3", {"N_PARALLEL": "8", "KV_UNIFIED": "1"}, {"slots": 3, "unified": True}),
        ("--parallel=6", {}, {"slots": 6}),
        ("-np -1", {}, {"slots": 4, "unified": True}),
        ("-np 2 --kv-unified-per-slot 4096", {}, {"context": 8192, "unified": True}),
        ("-ctk q8_0", {"CACHE_TYPE_V": "q4_0"}, {"cache_type_k": "q8_0", "cache_type_v": "q4_0"}),
        ("-b 256", {}, {"batch": 256, "ubatch": 256}),
        ("--swa-full -fa off", {}, {"swa_full": True, "flash_attention": False}),
        ("-cram 0 -ctxcp 4", {}, {"cache_ram_mib": 0, "checkpoints": 4}),
        ("--spec-type draft-mtp --spec-draft-n-max 7", {}, {"drafts": {"draft-mtp": 7}}),
        ("--spec-type draft-mtp,ngram-mod", {}, {"drafts": {"draft-mtp": 3, "ngram-mod": 64}}),
        ("--spec-type ngram-simple", {}, {"drafts": {"ngram-simple": 48}}),
        ("--spec-type draft-simple -md d.gguf -cd 512", {}, {"draft_model": "d.gguf", "draft_context": 512}),
    ],
)
def test_arguments_and_variables(text: str, env: dict[str, str], expected: dict[str, Any]) -> None:
    """The argument wins over its variable."""
    found = _serving(text, **env)
    assert {name: getattr(found, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("text", "rows", "outputs"),
    [
        ("--spec-type draft-mtp --spec-draft-n-max 7", 7, 32),
        ("--spec-type draft-simple -md d.gguf --spec-draft-n-max 8", 0, 36),
        ("--spec-type ngram-simple", 0, 196),
        ("--spec-type draft-eagle3 -md d.gguf", 3, 16),
        ("--spec-type draft-mtp,ngram-mod", 3, 260),
        ("--spec-type ngram-simple -b 64", 0, 64),
        ("", 0, 4),
    ],
)
def test_rows_and_outputs(text: str, rows: int, outputs: int) -> None:
    """Rows to roll back to are for drafting heads alone; outputs are min(batch, slots × (1 + longest draft))."""
    found = _serving(f"-np 4 {text}")
    assert (found.rollback_rows, found.outputs) == (rows, outputs)


@pytest.mark.parametrize(
    ("text", "cells", "window_cells", "streams"),
    [
        ("-np 1 -c 8192", 8192, 1024, 1),
        ("-np 4 -c 8192", 2048, 1024, 4),
        ("-np 4 -c 8192 -kvu", 8192, 2560, 1),
        ("-np 4 -c 8192 --swa-full", 2048, 2048, 4),
        ("-np 4 -c 1000", 256, 256, 4),
        ("-np 3 -c 4096", 1536, 1024, 3),
        ("", 32768, 2560, 1),
    ],
)
def test_cells(text: str, cells: int, window_cells: int, streams: int) -> None:
    """Rounded up to 256; a window of 512 needs a micro-batch more, for every slot where they share one cache."""
    found = _serving(text)
    assert (found.cells(32768), found.window_cells(32768, 512), found.streams) == (cells, window_cells, streams)


def test_other_servings_of_the_same_command() -> None:
    """More slots keep their context each; without drafts there is no draft model."""
    found = _serving("-np 4 -c 8192 --spec-type draft-simple -md d.gguf")
    assert found.with_slots(8).context == 16384
    assert found.with_slot_context(1024).context == 4096
    assert _serving("-c 8192").with_slots(8).context == 8192
    assert found.with_drafts(0).draft_model is None
    assert found.with_drafts(0).longest_draft == 0
    assert found.with_drafts(5).drafts == {"draft-simple": 5}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-hf", "org/model"], "name the file with -m"),
        (["-m", "m.gguf", "-np", "many"], "-np many in the command is no whole number"),
        (["-m", "m.gguf", "-ctk", "q3"], "-ctk q3 in the command is no type of cache"),
        (["-m", "m.gguf", "--spec-type", "draft-simple", "-hfd", "org/draft"], "name the draft model's with -md"),
        (["-m", "m.gguf", "--spec-type", "oracle"], "how much --spec-type oracle drafts at once is unknown"),
    ],
)
def test_what_can_not_be_told_is_refused(words: list[str], message: str) -> None:
    """One sentence that names the argument."""
    with pytest.raises(ExperimentError, match=message):
        serving_of(Command("llama-server", tuple(words)))


def test_every_type_of_cache_has_a_size() -> None:
    """The two lists of names agree."""
    assert set(CACHE_TYPES) <= set(BY_NAME)
