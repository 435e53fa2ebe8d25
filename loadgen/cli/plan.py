"""`--dry-run`: what would be run, without running it."""

import json
import shlex
import sys

from rich.console import Console

from loadgen.experiment.build import published
from loadgen.experiment.llama_flags import masked
from loadgen.experiment.model import Experiment, LaunchVariant
from loadgen.experiment.schedule import MIN_ROUNDS, blocks

ILLUSTRATED_ROUNDS = 2


def describe(experiment: Experiment, *, as_json: bool) -> None:
    """Print the experiment and the order of its first rounds; with `as_json` the experiment object itself."""
    if as_json:
        sys.stdout.write(json.dumps(published(experiment), indent=1) + "\n")
        return
    console = Console(soft_wrap=True, highlight=False)
    for variant in experiment.variants:
        mark = " (baseline)" if variant.name == experiment.baseline else ""
        if isinstance(variant, LaunchVariant):
            command = shlex.join([variant.program, *masked(variant.args)])
            console.print(f"variant {variant.name}{mark}: {command}", markup=False)
        else:
            console.print(f"variant {variant.name}{mark}: {variant.url}", markup=False)
    console.print(f"concurrency: {', '.join(map(str, experiment.levels))}")
    console.print(f"workload: {experiment.workload or 'the largest built-in one that fits a slot of the server'}")
    rounds = experiment.rounds or f"as many as fit {experiment.time_budget_s:.0f} s, at least {MIN_ROUNDS}"
    console.print(f"rounds: {rounds}; trial lengths are fixed after a pilot of the baseline")
    launched = any(isinstance(variant, LaunchVariant) for variant in experiment.variants)
    order = blocks(
        [variant.name for variant in experiment.variants],
        experiment.levels,
        rounds=min(ILLUSTRATED_ROUNDS, experiment.rounds or ILLUSTRATED_ROUNDS),
        seed=experiment.seed,
        alternate=not launched,
    )
    for block in order:
        levels = ", ".join(map(str, block.levels))
        console.print(f"  round {block.round}: {block.variant} at {levels}", markup=False)
