"""Criteria on a finished run: `--fail-on`, `--at-least` and `--junit`, and the exit code that follows from them."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from loadgen.errors import (
    ExperimentError,
    LoadgenError,
    NoVerdictError,
    ThresholdFailedError,
    ThresholdUnknownError,
    UsageError,
)

if TYPE_CHECKING:
    from loadgen.analysis.criteria.threshold import Threshold

PANEL = "What must hold"
"""Panel of `--help`."""

FAIL_ON = typer.Option(
    "--fail-on",
    metavar="THRESHOLD",
    rich_help_panel=PANEL,
    help="What must hold, or it fails: [VARIANT:]METRIC[@AGENTS]>=VALUE (or >, <=, <), such as 'speedup@4>=0.97', "
    "'ttft.p95<=2s', 'failures<=1%' or 'memory_peak<=20GiB'; without @AGENTS at every concurrency; repeatable.",
)
JUNIT = typer.Option(
    "--junit", metavar="FILE", rich_help_panel=PANEL, help="Write the criteria as JUnit XML, a test case each."
)


@dataclass(frozen=True)
class Criteria:
    """What is asked of a run: a share of the baseline's tasks per hour at every concurrency (null: not), thresholds."""

    at_least: float | None
    thresholds: Sequence["Threshold"]

    def as_options(self) -> list[str]:
        """The options that ask the same."""
        out = [] if self.at_least is None else ["--at-least", f"{self.at_least:g}"]
        return [*out, *(word for one in self.thresholds for word in ("--fail-on", one.text))]


def parse_criteria(fail_on: Sequence[str] | None, at_least: float | None = None) -> Criteria:
    """The criteria in options' texts. Raises `ExperimentError` naming the option."""
    from loadgen.analysis.criteria.threshold import parse_threshold

    thresholds = []
    for text in fail_on or ():
        try:
            thresholds.append(parse_threshold(text))
        except ValueError as error:
            raise ExperimentError(f"--fail-on {text!r}: {error}") from None
    return Criteria(at_least, tuple(thresholds))


def recorded_criteria(experiment: Mapping[str, Any]) -> Criteria | None:
    """The criteria that a run was made with (its experiment as published); null where it was made without."""
    at_least, fail_on = experiment.get("at_least"), experiment.get("fail_on") or ()
    return parse_criteria(fail_on, at_least) if at_least is not None or fail_on else None


def check_criteria(criteria: Criteria, experiment: dict[str, Any]) -> None:
    """Raises `UsageError` for a criterion on a variant or a concurrency that an experiment (as published) lacks."""
    from loadgen.analysis.criteria.threshold import Source

    names = [str(variant["name"]) for variant in experiment.get("variants", ())]
    levels, baseline = list(experiment.get("levels", ())), experiment.get("baseline")
    if criteria.at_least is not None and len(names) == 1:
        raise UsageError(f"--at-least compares variants, and there is one: {names[0]}")
    for one in criteria.thresholds:
        if one.variant is not None and one.variant not in names:
            raise UsageError(f"--fail-on {one.text!r}: no variant is called {one.variant}; there is {', '.join(names)}")
        if one.metric.source is Source.RATIO and (one.variant == baseline or len(names) == 1):
            raise UsageError(f"--fail-on {one.text!r}: {baseline} is the baseline, and has no {one.metric.name}")
        if one.agents is not None and levels and one.agents not in levels:
            measured = ", ".join(map(str, levels))
            raise UsageError(f"--fail-on {one.text!r}: {one.agents} agents are not measured; there is {measured}")


def judged(summary: dict[str, Any], criteria: Criteria, levels: Sequence[int]) -> dict[str, Any]:
    """The summary with its `gate`; `levels` are the concurrencies that were to be measured."""
    from loadgen.analysis.criteria.gate import gate

    found = gate(summary, at_least=criteria.at_least, thresholds=criteria.thresholds, levels=levels)
    return {**summary, "gate": found}


def print_judgement(document: dict[str, Any]) -> None:
    """Print the section of the gate to stdout, below the report."""
    from loadgen.cli.execute import stdout_console
    from loadgen.report.gate_lines import print_gate

    print_gate(document["gate"], stdout_console())


def check_writable(junit: Path | None) -> None:
    """Raises `UsageError` where a file can't be made, before a run that would end in vain."""
    if junit is not None and not junit.absolute().parent.is_dir():
        raise UsageError(f"--junit {junit}: the folder is not there")


def write_junit(path: Path | None, document: dict[str, Any]) -> None:
    """Write the gate as JUnit XML. Raises `UsageError` where that can't be done."""
    if path is None:
        return
    from loadgen.report.junit import junit

    text = junit(document["gate"], run=document["run"]["id"], started_at=document["setup"]["started_at"])
    _write(path, text)


def write_junit_error(path: Path | None, error: LoadgenError, folder: Path) -> None:
    """Write that there was no judgement, as JUnit XML."""
    if path is None:
        return
    from datetime import UTC, datetime

    from loadgen.report.junit import junit_of_error

    now = datetime.now(UTC).isoformat(timespec="seconds")
    _write(path, junit_of_error(str(error), run=folder.name, started_at=now))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--junit {path}: {error.strerror}") from None


def error_of(document: dict[str, Any], resume: Sequence[str]) -> LoadgenError | None:
    """The error that a judgement ends in; null where everything passed.

    Where an output check failed, or a comparison has no valid pair of trials, that goes before the criteria. `resume`
    is a command that goes on with the run, without its rounds.
    """
    from loadgen.cli.execute import unanswered

    found = document["gate"]
    wrong = [entry["variant"] for entry in document["output_check"] if entry["result"] == "failed"]
    if wrong:
        return NoVerdictError(f"the output check failed for {', '.join(wrong)}; the reasons stand above")
    missing = unanswered(document)
    if missing:
        return NoVerdictError(f"no valid trials for {', '.join(missing)}; the reasons stand above")
    failed = [one for one in found["criteria"] if one["result"] == "fail"]
    unknown = [one for one in found["criteria"] if one["result"] == "unknown"]
    if failed:
        return ThresholdFailedError(f"failed: {_named(failed)}")
    if not unknown:
        return None
    more = [one["more_rounds"] for one in unknown]
    known = [rounds for rounds in more if rounds is not None]
    advice = ""
    if known and len(known) == len(more):
        advice = f"; go on with {shlex.join([*resume, '--rounds', str(_rounds_done(document) + max(known))])}"
    return ThresholdUnknownError(f"can't be told: {_named(unknown)}{advice}")


def _rounds_done(document: dict[str, Any]) -> int:
    """The last round that has a trial, valid or not."""
    return max((one["round"] for cell in document["cells"] for one in cell["by_trial"]), default=0)


def _named(criteria: Sequence[dict[str, Any]]) -> str:
    from loadgen.analysis.at_depth import ASKED, deep

    def place(one: dict[str, Any]) -> str:
        return "" if one["concurrency"] is None else f" at {one['concurrency']}{deep(one.get(ASKED))}"

    return ", ".join(f"{one['criterion']} of {one['variant']}{place(one)}" for one in criteria)
