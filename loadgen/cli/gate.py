"""`loadgen gate`: did this build, flag or driver make it worse?"""

import contextlib
import io
import json
import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loadgen.cli.criteria import (
    FAIL_ON,
    JUNIT,
    PANEL,
    Criteria,
    check_criteria,
    check_writable,
    error_of,
    judged,
    parse_criteria,
    print_judgement,
    recorded_criteria,
    write_junit,
    write_junit_error,
)
from loadgen.cli.option_values import run_folder
from loadgen.cli.options import SERVERS
from loadgen.cli.shared import Shared, shares_options
from loadgen.cli.start import build, resume_as_recorded, start
from loadgen.errors import ExperimentError, LoadgenError, NoVerdictError, RunFolderError, RunInterruptedError

if TYPE_CHECKING:
    from loadgen.experiment.model import Experiment
    from loadgen.experiment.variant import LaunchVariant

EXAMPLES = (
    "Examples:\n\n"
    "- `loadgen gate --good ./v1/llama-server --new ./v2/llama-server -- -m model.gguf -np 4 -c 32768`\n"
    "- `loadgen gate --good '-fa off' --new '-fa on' -- llama-server -m model.gguf -np 4`\n"
    "- `loadgen gate --good ./v1/llama-server --new ./v2/llama-server --fail-on 'ttft.p95<=2s' --junit gate.xml -- "
    "-m model.gguf`\n"
    "- `git bisect run sh -c 'make || exit 125; loadgen gate --bisect --good ../v1/llama-server --new "
    "./build/bin/llama-server -- -m model.gguf'`\n"
    "- `loadgen gate --resume runs/20260101-120000-gate --rounds 12`\n\n"
    "Exit codes: 0 passed, 5 failed, 6 can't tell. With `--bisect`: 0 good, 1 bad, 125 skip, 130 and 201 to 204 stop."
)
DEFAULTS = {"levels": (1, 2, 4), "time_budget_s": 900.0, "wait_s": 600.0, "add_levels": False, "stop_when_known": False}
"""All rounds: a gate's error rates are those of one look, at rounds whose number nothing that was seen has chosen."""
AT_LEAST = 0.97
"""That of `loadgen.analysis.criteria.gate`, which is imported where it is needed; a test holds them equal."""


@shares_options(concurrency="1,2,4", wait="10m")
def gate(
    common: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- ARGUMENTS",
            help="Arguments that both sides share, or a whole command that the sides add arguments to.",
            show_default=False,
        ),
    ] = None,
    good: Annotated[
        str | None,
        typer.Option(
            "--good",
            metavar="BINARY|COMMAND",
            rich_help_panel=PANEL,
            help="What is known to be good: a program, a quoted command with arguments of its own, or arguments alone.",
            show_default=False,
        ),
    ] = None,
    new: Annotated[
        str | None,
        typer.Option(
            "--new", metavar="BINARY|COMMAND", rich_help_panel=PANEL, help="What is in question.", show_default=False
        ),
    ] = None,
    at_least: Annotated[
        float | None,
        typer.Option(
            "--at-least",
            min=0.001,
            max=1000,
            rich_help_panel=PANEL,
            help="Tasks per hour of the new side, as a share of the good side's, at every concurrency.",
            show_default=f"{AT_LEAST:g}",
        ),
    ] = None,
    fail_on: Annotated[list[str] | None, FAIL_ON] = None,
    junit: Annotated[Path | None, JUNIT] = None,
    bisect: Annotated[
        bool,
        typer.Option("--bisect", rich_help_panel=PANEL, help="End as `git bisect run` wants it: see the exit codes."),
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
    *,
    shared: Shared,
) -> None:
    """Say whether a build, flag or driver made it worse.

    Both sides are started in turn, in one sitting and in interleaved rounds. The new side passes where its tasks per
    hour are, with 95 % confidence, at least --at-least times the good side's at every concurrency, and every --fail-on
    holds; it fails where the opposite is sure of one of them. Thresholds are about the new side, unless they begin with
    `good:`. All rounds that fit the time budget are measured: looking at results in between would make false alarms.
    """
    folder = shared.resume if shared.resume is not None else run_folder(shared.out, "gate")
    variants: list[LaunchVariant] = []

    def whole() -> None:
        criteria = _criteria(at_least, fail_on, shared)
        check_writable(junit)
        asked = None
        if good is not None or new is not None or common or shared.resume is None:
            variants.extend(_sides(good, new, common or [], server_cpus))
            asked = _experiment(variants, criteria, shared)
        _gate(asked, criteria, folder, junit, shared)

    if not bisect:
        whole()
        return
    from loadgen.cli.bisection import bisected

    bisected(whole, folder, variants)


def _sides(good: str | None, new: str | None, common: list[str], cpus: str | None) -> "tuple[LaunchVariant, ...]":
    from loadgen.experiment.candidates import on_cpus
    from loadgen.experiment.sides import sides

    if good is None or new is None:
        raise ExperimentError("name both sides: loadgen gate --good BINARY --new BINARY -- ARGUMENTS")
    found = sides(_words("--good", good), _words("--new", new), common)
    return found if cpus is None else on_cpus(found, cpus)


def _words(option: str, text: str) -> list[str]:
    try:
        return shlex.split(text.replace("\\\n", " "))
    except ValueError as error:
        raise ExperimentError(f"{option}: {error}") from None


def _criteria(at_least: float | None, fail_on: list[str] | None, shared: Shared) -> Criteria:
    """What was asked; of a run that is taken up, what it was made with, unless other criteria are given."""
    if shared.resume is not None and at_least is None and not fail_on:
        found = recorded_criteria(_document(shared.resume / "manifest.json")["experiment"])
        if found is not None:
            return found
    return parse_criteria(fail_on, AT_LEAST if at_least is None else at_least)


def _experiment(variants: "list[LaunchVariant]", criteria: Criteria, shared: Shared) -> "Experiment":
    from loadgen.experiment.sides import are_equal, under_test

    if "stop_when_known" in shared.typed and shared.stop_when_known:
        raise ExperimentError(
            "--stop-when-known: a gate measures all its rounds, for looks in between make false alarms"
        )
    fields = {
        "variants": variants,
        "baseline": variants[0].name,
        "under_test": under_test(*variants),
        "aa": are_equal(*variants),
        "at_least": criteria.at_least,
        "fail_on": tuple(one.text for one in criteria.thresholds),
    }
    return build(fields, replace(shared, stop_when_known=None, precision=None), DEFAULTS)


def _gate(asked: "Experiment | None", criteria: Criteria, folder: Path, junit: Path | None, shared: Shared) -> None:
    """Measure, judge and report. `asked` is null where a run is taken up as it was recorded."""
    from loadgen.experiment.build import published

    if asked is not None:
        check_criteria(criteria, published(asked))
    if shared.dry_run and asked is not None:
        _start(asked, shared)
        return
    own = shared if shared.resume is not None else replace(shared, out=folder)
    failure = _measured(lambda: _start(asked, own), own)
    reported = failure is None or isinstance(failure, (NoVerdictError, RunInterruptedError))
    if not reported or not (folder / "summary.json").is_file():
        failure = failure or LoadgenError(f"{folder} has no summary after its run")
        write_junit_error(junit, failure, folder)
        raise failure
    error = _judge(folder, criteria, junit, as_json=shared.as_json)
    for problem in (failure, error):
        if problem is not None:
            raise problem


def _start(asked: "Experiment | None", shared: Shared) -> None:
    if asked is None:
        resume_as_recorded(shared, "gate")
    else:
        start(asked, shared, "gate", command="gate")


def _measured(run: Callable[[], None], shared: Shared) -> LoadgenError | None:
    """Run, and hand back what it ended in. With `--json` its own document is held back: ours is that and the gate."""
    try:
        with _silent_stdout() if shared.as_json else contextlib.nullcontext():
            run()
    except LoadgenError as error:
        return error
    return None


def _judge(folder: Path, criteria: Criteria, junit: Path | None, *, as_json: bool) -> LoadgenError | None:
    """Judge the run in a folder, and print and write the judgement."""
    from loadgen.cli.execute import show
    from loadgen.records.run_folder import write_summary

    experiment = _document(folder / "manifest.json")["experiment"]
    check_criteria(criteria, experiment)
    document = judged(_document(folder / "summary.json"), criteria, experiment.get("levels", ()))
    write_summary(folder, document)
    if as_json:
        show(document, as_json=True)
    else:
        print_judgement(document)
    write_junit(junit, document)
    return error_of(document, ["loadgen", "gate", *criteria.as_options(), "--resume", str(folder)])


def _document(path: Path) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise RunFolderError(f"{path.parent} is no run folder: its {path.name} can't be read") from None
    return document


@contextlib.contextmanager
def _silent_stdout() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()):
        yield
