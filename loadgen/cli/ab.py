"""`loadgen ab`: the command that you already have, with speculation on and off."""

import shlex
from typing import Annotated

import typer

from loadgen.cli.options import COMPARISON, SERVERS
from loadgen.cli.shared import Shared, shares_options
from loadgen.cli.start import build, resume_as_recorded, start
from loadgen.cli.tune import Tune, TuneNMax, TuneOptions, TunePMin, TuneSlots, TuneType, tune_command
from loadgen.errors import ExperimentError

EXAMPLES = (
    "Examples:\n\n"
    "- `loadgen ab -c 1,2,4 -- llama-server -m model.gguf -np 4 -c 32768 --spec-type draft-mtp`\n"
    "- `loadgen ab --candidate 'llama-server -m model.gguf -np 4 --spec-type ngram-mod' -- llama-server -m model.gguf "
    "-np 4 --spec-type draft-mtp`\n"
    "- `loadgen ab --tune --agents 3 --time-budget 1h -- llama-server -m model.gguf -np 4 -c 32768 --spec-type "
    "draft-mtp`\n"
    "- `loadgen ab --aa -- llama-server -m model.gguf -np 4 -c 32768`\n"
    "- `loadgen ab --time-budget 30m -- embedded -m model.gguf -np 4 -c 16384 --spec-type ngram-simple`\n\n"
    "Options go before `--`. Each also reads a variable: `LOADGEN_TIME_BUDGET=30m` is `--time-budget 30m`."
)
DEFAULTS = {"levels": (1, 2, 4), "time_budget_s": 900.0, "wait_s": 600.0}


@shares_options(concurrency="1,2,4", wait="10m")
def ab(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- COMMAND",
            help="Your llama-server command with its speculation flags; `embedded` stands for the built-in server.",
            show_default=False,
        ),
    ] = None,
    candidate: Annotated[
        list[str] | None,
        typer.Option(
            "--candidate",
            metavar="COMMAND",
            rich_help_panel=COMPARISON,
            help="A further command, in quotes, compared with the same baseline; repeatable.",
        ),
    ] = None,
    aa: Annotated[
        bool,
        typer.Option(
            "--aa",
            rich_help_panel=COMPARISON,
            help="Compare the command with itself, to see what chance alone does; it needs no speculation then.",
        ),
    ] = False,
    server_cpus: Annotated[
        str | None,
        typer.Option(
            "--server-cpus",
            metavar="LIST",
            rich_help_panel=SERVERS,
            help="CPUs that the servers may run on, such as 0-6: leaves the others to loadgen.",
            show_default="all",
        ),
    ] = None,
    tune: Tune = False,
    tune_n_max: TuneNMax = None,
    tune_slots: TuneSlots = None,
    tune_type: TuneType = None,
    tune_p_min: TunePMin = None,
    *,
    shared: Shared,
) -> None:
    """Compare a pasted llama-server command with itself without speculation.

    loadgen removes the speculation and draft arguments for the variant `off` and leaves everything else equal, adds
    what it needs to both (a free port, --metrics, -lv 4), starts them in turn, measures, compares and stops them. With
    --candidate, every command is compared with `off`, the first one without its speculation. With --tune, draft lengths
    and other settings are raced at --agents N, and the winner is confirmed.
    """
    commands = [*([command] if command else []), *(_words(text) for text in candidate or [])]
    if not commands and not aa and shared.resume is not None:
        resume_as_recorded(shared, "ab")
        return
    if not commands:
        raise ExperimentError("name a command: loadgen ab -- llama-server -m model.gguf --spec-type …")
    tuned = TuneOptions(tune_n_max, tune_slots, tune_type, tune_p_min)
    if tune:
        if aa or candidate:
            raise ExperimentError("--tune varies one command: leave --aa and --candidate out")
        tune_command(commands[0], tuned, shared, server_cpus=server_cpus, defaults=DEFAULTS)
        return
    if tuned.given:
        raise ExperimentError(f"{tuned.given[0]} belongs to --tune: add --tune and --agents N")
    from loadgen.experiment.candidates import on_cpus, twice, variants_from_commands

    if aa and len(commands) > 1:
        raise ExperimentError("--aa compares one command with itself: leave --candidate out")
    variants = twice(commands[0]) if aa else variants_from_commands(commands)
    if server_cpus is not None:
        variants = on_cpus(variants, server_cpus)
    asked = build({"variants": variants, "baseline": variants[0].name, "aa": aa}, shared, DEFAULTS)
    start(asked, shared, "aa" if aa else "ab", command="ab")


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text.replace("\\\n", " "))
    except ValueError as error:
        raise ExperimentError(f"--candidate: {error}") from None
