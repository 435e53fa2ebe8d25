"""`loadgen sweep`: one running server, or several, over concurrencies."""

from typing import Annotated

import typer

from loadgen.cli.options import (
    ApiKeyEnv,
    Body,
    CaFile,
    Concurrency,
    DryRun,
    Insecure,
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
from loadgen.errors import ExperimentError

EXAMPLES = (
    "Examples:\n\n"
    "- `loadgen sweep http://127.0.0.1:8080 -c 1,2,4,8`\n"
    "- `loadgen sweep --variant off=http://127.0.0.1:8080 --variant mtp=http://127.0.0.1:8081`"
)


def sweep(
    url: Annotated[
        str | None, typer.Argument(metavar="[URL]", help="Address of a running server.", show_default=False)
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(
            "--variant", metavar="NAME=URL", help="A running server by name; repeatable. The first is the baseline."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", help="Model name to send.", show_default="the first that the server lists"),
    ] = None,
    concurrency: Concurrency = "1,2,4,8",
    workload: WorkloadName = None,
    time_budget: TimeBudget = "15m",
    rounds: Rounds = None,
    max_tokens: MaxTokens = None,
    body: Body = None,
    out: Out = None,
    as_json: Json = False,
    api_key_env: ApiKeyEnv = None,
    ca: CaFile = None,
    insecure: Insecure = False,
    wait: Wait = "2m",
    seed: Seed = 1,
    min_effect: MinEffect = 0.05,
    max_request_rate: RequestRate = None,
    dry_run: DryRun = False,
) -> None:
    """Measure a server that runs already, or compare several.

    One server is one variant: its sweep shows how tasks per hour and waiting grow with the agents, not what
    speculation does. The `ab` command for that is printed at the end.
    """
    from loadgen.cli.plan import describe
    from loadgen.experiment.build import experiment

    variants = url_variants(url, variant or [], model)
    asked = experiment(
        variants=variants,
        baseline=variants[0]["name"],
        levels=parse_levels(concurrency),
        workload=workload,
        time_budget_s=seconds("--time-budget", time_budget),
        rounds=rounds,
        max_tokens=max_tokens,
        body=parse_body(body),
        wait_s=seconds("--wait", wait),
        api_key_env=api_key_env,
        ca_file=str(ca) if ca is not None else None,
        insecure=insecure,
        seed=seed,
        min_effect=min_effect,
        max_request_rate=max_request_rate,
    )
    if dry_run:
        describe(asked, as_json=as_json)
        return
    from loadgen.cli.execute import execute
    from loadgen.cli.next_command import suggest

    step = suggest(url, concurrency) if url is not None else None
    execute(asked, run_folder(out, "sweep"), as_json=as_json, next_step=step)


def url_variants(url: str | None, named: list[str], model: str | None) -> list[dict[str, str | None]]:
    """The variants that the arguments name, the baseline first. Raises `ExperimentError` where they name none."""
    if (url is None) == (not named):
        raise ExperimentError("name a server: loadgen sweep URL, or --variant NAME=URL for each of several")
    if url is not None:
        return [{"kind": "url", "name": "server", "url": url, "model": model}]
    variants: list[dict[str, str | None]] = []
    for text in named:
        name, equals, address = text.partition("=")
        if not equals or not name or not address:
            raise ExperimentError(f"--variant {text!r} is not NAME=URL, such as off=http://127.0.0.1:8080")
        variants.append({"kind": "url", "name": name, "url": address, "model": model})
    return variants
