"""`loadgen report`: every figure again, from the run folder alone."""

from pathlib import Path
from typing import Annotated

import typer

from loadgen.cli.criteria import (
    FAIL_ON,
    JUNIT,
    check_criteria,
    check_writable,
    error_of,
    judged,
    parse_criteria,
    print_judgement,
    recorded_criteria,
    write_junit,
)
from loadgen.cli.options import Json
from loadgen.errors import UsageError

EXAMPLES = (
    "Examples:\n\n- `loadgen report runs/20260101-120000-ab`\n- `loadgen report RUN --json | jq .comparisons`\n"
    "- `loadgen report RUN --fail-on 'mtp:speedup@4>=1' --fail-on 'ttft.p95<=2s' --junit criteria.xml`\n\n"
    "With --fail-on: exit 0 where everything holds, 5 where something fails, 6 where something can't be told."
)


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder to read.", show_default=False)],
    as_json: Json = False,
    fail_on: Annotated[list[str] | None, FAIL_ON] = None,
    junit: Annotated[Path | None, JUNIT] = None,
) -> None:
    """Recompute every figure of a run from its folder, and rewrite its summary.json.

    A run of `loadgen gate` is judged by the criteria that it was made with, unless others are given.
    """
    from loadgen.cli.execute import recompute, show
    from loadgen.records.run_folder import read_run

    check_writable(junit)
    asked = parse_criteria(fail_on) if fail_on else None
    facts = read_run(run)
    criteria = asked or recorded_criteria(facts.manifest.experiment)
    if criteria is None:
        if junit is not None:
            raise UsageError("--junit writes what --fail-on asks, and there is none")
        show(recompute(run, facts), as_json=as_json)
        return
    experiment, planned = facts.manifest.experiment, facts.plan.trials if facts.plan is not None else []
    # Levels may have been added to those that were asked for.
    levels = sorted({*experiment.get("levels", ()), *(one.level for one in planned)})
    check_criteria(criteria, {**experiment, "levels": levels})
    document = judged(recompute(run, facts), criteria, experiment.get("levels", ()))
    show(document, as_json=as_json)
    if not as_json:
        print_judgement(document)
    write_junit(junit, document)
    error = error_of(document, ["loadgen", "sweep", "--resume", str(run)])
    if error is not None:
        raise error
