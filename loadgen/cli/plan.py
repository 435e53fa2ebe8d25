"""`--dry-run`: what would be run, in which order and for how long, without running it."""

import json
import shlex
import sys

from rich.console import Console

from loadgen.analysis.at_depth import deep
from loadgen.analysis.sequential.looks import FIRST_LOOK, LEAST_ROUNDS
from loadgen.experiment.added_levels import around_widths
from loadgen.experiment.arrangement import alternates, needs_fresh_server
from loadgen.experiment.build import published
from loadgen.experiment.depths import BAND
from loadgen.experiment.llama_flags import masked
from loadgen.experiment.mix import division_lines, label
from loadgen.experiment.model import Experiment
from loadgen.experiment.schedule import MIN_ROUNDS, PREFERRED_ROUNDS, Block, blocks
from loadgen.experiment.variant import (
    LaunchVariant,
    ModelVariant,
    RequestVariant,
    RouterVariant,
    SwitchVariant,
    Variant,
)
from loadgen.replay.budget import RECORDING_SHARE
from loadgen.replay.watched import watched
from loadgen.telemetry.preview import named

ILLUSTRATED_ROUNDS = 2


def describe(experiment: Experiment, *, as_json: bool) -> None:
    """Print the experiment and the order of its first rounds; with `as_json` the experiment object itself."""
    if as_json:
        sys.stdout.write(json.dumps(published(experiment), indent=1) + "\n")
        return
    console = Console(soft_wrap=True, highlight=False)
    for variant in experiment.variants:
        marks = [word for word, holds in _marks(variant, experiment).items() if holds]
        mark = f" ({', '.join(marks)})" if marks else ""
        console.print(f"variant {variant.name}{mark}: {_how(variant)}", markup=False)
    console.print(f"concurrency: {', '.join(map(str, experiment.levels))}")
    for line in [*_played(experiment), *_shaped(experiment)]:
        console.print(line, markup=False)
    if experiment.history == "frozen":
        most = _clock(RECORDING_SHARE * experiment.time_budget_s)
        console.print(f"history: frozen; the answers of {experiment.baseline} are recorded first, for {most} at most")
    for line in _memory(experiment):
        console.print(line, markup=False)
    console.print(f"output check: {_check(experiment)}")
    for line in [*_length(experiment), *_looks(experiment), *_added(experiment)]:
        console.print(line)
    for block in _order(experiment):
        places = ", ".join(f"{level}{deep(depth)}" for level, depth in block.places)
        console.print(f"  round {block.round}: {block.variant} at {places}", markup=False)
    if experiment.drift_check:
        console.print("  at the end: the first trial once more, as a drift check")


def _marks(variant: Variant, experiment: Experiment) -> dict[str, bool]:
    return {
        "baseline": variant.name == experiment.baseline,
        "diagnostic: speculation loaded, nothing drafted": variant.overhead,
        "a fresh server for every trial": needs_fresh_server(variant),
    }


def _how(variant: Variant) -> str:
    match variant:
        case LaunchVariant():
            begin = f"in {variant.cwd}: " if variant.cwd else ""
            words = [f"{name}={'' if value is None else '…'}" for name, value in sorted(variant.env.items()) if value]
            return begin + " ".join([*words, shlex.join([variant.program, *masked(variant.args)])])
        case RouterVariant():
            return f"preset {variant.preset} of the router at {variant.url}"
        case ModelVariant():
            return f"model {variant.model} at {variant.url}"
        case SwitchVariant():
            return f"{variant.url} after {shlex.join(masked(variant.command))}"
        case RequestVariant():
            return f"{variant.url} with the request fields {', '.join(variant.body)}"
        case _:
            return variant.url


def _played(experiment: Experiment) -> list[str]:
    """The workload; of a mix its classes, and how many agents each has at every concurrency."""
    if experiment.mix is None:
        return [f"workload: {experiment.workload or 'the largest built-in one that fits a slot of the server'}"]
    mix = f"workload: a mix of {label(experiment.mix)} (classes of work and their shares of the agents)"
    return [mix, *(f"  {line}" for line in division_lines(experiment.mix, experiment.levels))]


def _shaped(experiment: Experiment) -> list[str]:
    """At which depths it is played, how answers end, and what text is of, where that is asked for."""
    depths = ", ".join(f"{depth:,}" for depth in experiment.depths)
    lines = [f"depth: {depths} tokens (± {BAND:.0%}), each at every concurrency"] if depths else []
    lines += [] if experiment.output_length is None else [f"output length: {experiment.output_length}"]
    lines += [] if experiment.corpus is None else [f"corpus: the text files below {experiment.corpus}"]
    return lines + ([] if experiment.thinking == "server" else [f"thinking: {experiment.thinking}, in every request"])


def _memory(experiment: Experiment) -> list[str]:
    """Where memory and power of each variant would be read."""
    lines = []
    for variant in experiment.variants:
        has_process = not isinstance(variant, RouterVariant | ModelVariant)
        names = named(experiment.memory_source, watched(variant), has_process=has_process)
        where = ", ".join(names) or "not seen; name a source with --memory-source"
        lines.append(f"memory and power of {variant.name}: {where}")
    return lines


def _check(experiment: Experiment) -> str:
    if experiment.check_output == "off":
        return "off"
    full = ", and greedy answers against the baseline's" if experiment.check_output == "full" else ""
    return f"once per variant at {max(experiment.levels)} agents, before anything is measured{full}"


def _length(experiment: Experiment) -> list[str]:
    cells = len(experiment.variants) * len(experiment.levels) * max(len(experiment.depths), 1)
    budget = _clock(experiment.time_budget_s)
    if experiment.tune is not None:
        return [f"time: about {budget} (the time budget); trial lengths are fixed after a pilot of the baseline"]
    if experiment.rounds is None:
        time = f"time: about {budget} (the time budget), at most twice that for {MIN_ROUNDS} rounds"
        return [
            f"rounds: as many as fit the time budget, at least {MIN_ROUNDS}; {cells} trials a round",
            f"{time}; trial lengths are fixed after a pilot of the baseline",
        ]
    least_s = experiment.rounds * cells * experiment.warmup_s
    return [
        f"rounds: {experiment.rounds}; {cells} trials a round, {experiment.rounds * cells} in all",
        f"time: at least {_clock(least_s)} of warm-ups; what trials take is said after a pilot of the baseline",
    ]


def _looks(experiment: Experiment) -> list[str]:
    """When the run may end before its rounds are done; nothing where it may not."""
    if experiment.rounds is not None or experiment.tune is not None:
        return []
    if not experiment.stop_when_known or len(experiment.variants) == 1:
        return []
    narrow = f", or is known to ±{experiment.precision:.1%}," if experiment.precision is not None else ""
    text = (
        f"looks: from {LEAST_ROUNDS} rounds on, after round {FIRST_LOOK} and, with more, after two thirds of them; "
        f"what pays, costs or is the same by then{narrow} is measured no further, and the run ends when everything is "
        "known (the error of 5 % is shared by all looks and the end)"
    )
    return [text]


def _added(experiment: Experiment) -> list[str]:
    """The levels that may be added."""
    found = around_widths(experiment, [variant.name for variant in experiment.variants])
    if not found:
        return []
    each = [f"{' and '.join(map(str, one.levels))} (width {one.width}, {one.drafted} drafted)" for one in found]
    where = f"added, where the time holds {PREFERRED_ROUNDS} rounds of whole trials"
    return [f"{where}: the agents around widths at which kernels switch: {'; '.join(each)}"]


def _order(experiment: Experiment) -> list[Block]:
    return blocks(
        [variant.name for variant in experiment.variants],
        experiment.levels,
        rounds=min(ILLUSTRATED_ROUNDS, experiment.rounds or ILLUSTRATED_ROUNDS),
        seed=experiment.seed,
        depths=experiment.depths,
        alternate=alternates(experiment),
        fresh=[variant.name for variant in experiment.variants if needs_fresh_server(variant)],
    )


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d} min" if minutes else f"{rest} s"
