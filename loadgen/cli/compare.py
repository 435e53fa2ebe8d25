"""`loadgen compare`: two finished runs against each other."""

import json
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loadgen.errors import NoVerdictError, UsageError

if TYPE_CHECKING:
    from loadgen.records.run import Run

EXAMPLES = (
    "Examples:\n\n"
    "- `loadgen compare runs/20260101-120000-ab runs/20260201-120000-ab`\n"
    "- `loadgen compare OLD NEW --map mtp=mtp-5`\n"
    "- `loadgen compare OLD NEW --allow-different model --json | jq .comparisons`\n\n"
    "For two builds or two sets of arguments, `loadgen gate` and `loadgen ab` measure both in one sitting."
)


class Allowed(StrEnum):
    """Differences that forbid a comparison; the names of `loadgen.analysis.criteria.run_differences.VOIDS`."""

    WORKLOAD = "workload"
    OUTPUT_LENGTH = "output_length"
    MAX_TOKENS = "max_tokens"
    BODY = "body"
    THINKING = "thinking"
    MODEL = "model"
    SLOTS = "slots"
    CONTEXT_PER_SLOT = "context_per_slot"
    CACHE = "cache"
    SAMPLING = "sampling"
    CHAT_TEMPLATE = "chat_template"


def compare(
    run_a: Annotated[Path, typer.Argument(metavar="RUN_A", help="Run folder to compare with.", show_default=False)],
    run_b: Annotated[Path, typer.Argument(metavar="RUN_B", help="Run folder in question.", show_default=False)],
    mapped: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="A=B",
            help="Hold variant A of the first run against variant B of the second; repeatable.",
            show_default="variants of the same name",
        ),
    ] = None,
    allow_different: Annotated[
        list[Allowed] | None,
        typer.Option(
            "--allow-different",
            metavar="FIELD",
            help="A difference that may be and would else forbid the comparison; repeatable: "
            + ", ".join(Allowed)
            + ".",
        ),
    ] = None,
    min_effect: Annotated[
        float, typer.Option("--min-effect", min=0.001, max=0.99, help="Smallest difference worth acting on (a share).")
    ] = 0.05,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document (loadgen-compare/1) to stdout.")
    ] = False,
) -> None:
    """Hold the second run against the first, cell by cell.

    Ratios are those of tasks per hour, with 95 % intervals from the rounds of both. The runs were made in two sittings,
    so that rounds aren't paired, and what changed on the machine in between is not taken out. Runs of other work or of
    other models are refused.
    """
    from loadgen.analysis.criteria.run_comparison import compare_runs
    from loadgen.cli.execute import stdout_console
    from loadgen.records.run_folder import read_run
    from loadgen.report.run_comparison_lines import print_run_comparison

    if run_a.resolve() == run_b.resolve():
        raise UsageError(f"{run_a} is the same run twice; loadgen rerun repeats one, to see how sittings differ")
    first, second = read_run(run_a), read_run(run_b)
    names = _names(mapped or [], first, second)
    allowed = [one.value for one in allow_different or ()]
    document = compare_runs(first, second, names=names, min_effect=min_effect, allowed=allowed)
    _refuse(document, allowed)
    if as_json:
        sys.stdout.write(json.dumps(document, indent=1, allow_nan=False) + "\n")
        sys.stdout.flush()
    else:
        print_run_comparison(document, stdout_console())
    known = [one for one in document["comparisons"] if one["ratio"]["value"] is not None]
    if not known:
        raise NoVerdictError("no cell has valid trials in both runs; the reasons stand in the report of each")
    if all(one["not_comparable"] for one in known):
        raise NoVerdictError("no cell of the runs did its work at the same depth; the reasons stand above")


def _names(mapped: Sequence[str], first: "Run", second: "Run") -> dict[str, str]:
    """Which variant is held against which. Raises `UsageError` where there is none."""
    ours, theirs = _variants(first), _variants(second)
    found = {name: name for name in ours if name in theirs}
    for text in mapped:
        name, equals, other = text.partition("=")
        if not equals or name not in ours or other not in theirs:
            raise UsageError(
                f"--map {text!r} is not A=B: the first run has {', '.join(ours)}, the second {', '.join(theirs)}"
            )
        found[name] = other
    if not found:
        raise UsageError(
            f"the runs have no variant of the same name: the first has {', '.join(ours)}, the second "
            f"{', '.join(theirs)}; hold one against another with --map A=B"
        )
    return found


def _variants(run: "Run") -> list[str]:
    from loadgen.analysis.measured.valid_cells import variants_of

    return variants_of(run)


def _refuse(document: dict[str, Any], allowed: Sequence[str]) -> None:
    """Raises `UsageError` where the runs can't be compared, with every reason."""
    from loadgen.analysis.criteria.run_differences import voiding
    from loadgen.report.run_comparison_lines import difference_lines

    found = voiding(document["differences"], allowed)
    if found:
        fields = " ".join(f"--allow-different {field}" for field in dict.fromkeys(one["field"] for one in found))
        differing = "; ".join(difference_lines({"differences": found}))
        raise UsageError(
            f"the runs can't be compared, for they differ in {differing}. To compare them all the same: {fields}"
        )
    compared = {(one["variant"], one["concurrency"]) for one in document["comparisons"]}
    if not compared and all(one["reason"] != "its output check failed" for one in document["not_compared"]):
        cells = {name: _cells(document[name]) for name in ("a", "b")}
        raise UsageError(f"the runs have no cell in common: the first has {cells['a']}, the second {cells['b']}")


def _cells(entry: dict[str, Any]) -> str:
    from loadgen.analysis.at_depth import ASKED, deep

    cells = [f"{cell['variant']} at {cell['concurrency']}{deep(cell.get(ASKED))}" for cell in entry["cells"]]
    return ", ".join(cells) or "none at all"
