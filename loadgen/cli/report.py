"""`loadgen report`: every figure again, from the run folder alone."""

from pathlib import Path
from typing import Annotated

import typer

from loadgen.cli.options import Json

EXAMPLES = "Examples:\n\n- `loadgen report runs/20260101-120000-ab`\n- `loadgen report RUN --json | jq .comparisons`"


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder to read.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Recompute every figure of a run from its folder, and rewrite its summary.json."""
    from loadgen.cli.execute import recompute, show

    show(recompute(run), as_json=as_json)
