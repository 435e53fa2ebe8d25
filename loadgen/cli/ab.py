"""`loadgen ab`: the command that you already have, with speculation on and off."""

from typing import Annotated

import typer

from loadgen.cli.options import (
    Body,
    Concurrency,
    DryRun,
    Json,
    MaxTokens,
    MinEffect,
    Out,
    RequestRate,
    Rounds,
    Seed,
    TimeBudget,
    Wait,
    WorkloadName,
    parse_body,
    parse_levels,
    run_folder,
    seconds,
)

EXAMPLES = (
    "Examples:\n\n"
    "- `loadgen ab -c 1,2,4 -- llama-server -m model.gguf -np 4 -c 32768 --spec-type draft-mtp`\n"
    "- `loadgen ab --time-budget 30m -- embedded -m model.gguf -np 4 -c 16384 --spec-type ngram-simple`"
)


def ab(
    command: Annotated[
        list[str],
        typer.Argument(
            metavar="-- COMMAND",
            help="Your llama-server command with its speculation flags; `embedded` stands for the built-in server.",
            show_default=False,
        ),
    ],
    concurrency: Concurrency = "1,2,4",
    workload: WorkloadName = None,
    time_budget: TimeBudget = "15m",
    rounds: Rounds = None,
    max_tokens: MaxTokens = None,
    body: Body = None,
    out: Out = None,
    as_json: Json = False,
    wait: Wait = "10m",
    seed: Seed = 1,
    min_effect: MinEffect = 0.05,
    max_request_rate: RequestRate = None,
    dry_run: DryRun = False,
) -> None:
    """Compare a pasted llama-server command with itself without speculation.

    loadgen removes the speculation and draft arguments for the variant `off` and leaves everything else equal, adds
    what it needs to both (a free port, --metrics, -lv 4), starts them in turn, measures, compares and stops them.
    """
    from loadgen.cli.plan import describe
    from loadgen.experiment.build import experiment
    from loadgen.experiment.pasted import variants_from_command

    on, off = variants_from_command(command)
    asked = experiment(
        variants=(off, on),
        baseline=off.name,
        levels=parse_levels(concurrency),
        workload=workload,
        time_budget_s=seconds("--time-budget", time_budget),
        rounds=rounds,
        max_tokens=max_tokens,
        body=parse_body(body),
        wait_s=seconds("--wait", wait),
        seed=seed,
        min_effect=min_effect,
        max_request_rate=max_request_rate,
    )
    if dry_run:
        describe(asked, as_json=as_json)
        return
    from loadgen.cli.execute import execute

    execute(asked, run_folder(out, "ab"), as_json=as_json)
