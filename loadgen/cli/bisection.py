"""A gate as `git bisect run` wants it: which exit code says good, bad, skip, or stop.

`git bisect run` (git-bisect(1)) takes 0 as good, 125 as "this commit can't be tested", any other code from 1 to 127 as
bad, and ends the bisection at 128 and above. So nothing that isn't a judgement may end with 1 to 127: a mistyped option
would be read as the commit that made it worse.
"""

import json
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

from loadgen.errors import (
    LoadgenError,
    NoVerdictError,
    RunInterruptedError,
    TargetError,
    ThresholdFailedError,
    ThresholdUnknownError,
    UsageError,
)

if TYPE_CHECKING:
    from loadgen.experiment.variant import LaunchVariant

OPTION = "--bisect"
BAD = 1
SKIP = 125
STOP = 200
"""A code that stops a bisection is this plus the plain one: 201 to 204. 130, Ctrl-C, stops it as it is."""


class BisectableCommand(TyperCommand):
    """A command whose usage errors stop a bisection where `--bisect` is given."""

    def make_context(self, info_name: str | None, args: list[str], *others: Any, **extra: Any) -> Any:
        """Parse the arguments."""
        own = args[: args.index("--")] if "--" in args else args
        is_asked = OPTION in own
        try:
            return super().make_context(info_name, args, *others, **extra)
        except Exception as error:
            if is_asked and getattr(error, "exit_code", None) == UsageError.exit_code:
                error.exit_code = STOP + UsageError.exit_code  # type: ignore[attr-defined] # it has one
            raise


def bisected(gate: Callable[[], None], folder: Path, variants: Sequence["LaunchVariant"]) -> None:
    """Run a gate and end with the exit code for a bisection.

    `folder` is where its run goes, `variants` are the good side and the new one (empty: not known).
    """
    try:
        gate()
    except LoadgenError as error:
        typer.secho(f"loadgen: {error}", err=True)
        raise typer.Exit(exit_code(error, good_stands=_good_stands(folder, variants))) from None
    except Exception:  # noqa: BLE001 - a traceback ends with 1, which would call the commit bad
        traceback.print_exc()
        raise typer.Exit(STOP + LoadgenError.exit_code) from None


def exit_code(error: LoadgenError, *, good_stands: bool) -> int:
    """The exit code for a gate that ended in an error.

    A new side that doesn't start, doesn't answer or answers wrongly can't be judged: that commit is skipped. A good
    side that does so would do so at every commit, which is to stop. `good_stands`: the good side did its part.
    """
    match error:
        case ThresholdFailedError():
            return BAD
        case ThresholdUnknownError():
            return SKIP
        case RunInterruptedError():
            return error.exit_code
        case TargetError() | NoVerdictError() if good_stands:
            return SKIP
        case _:
            return STOP + error.exit_code


def _good_stands(folder: Path, variants: Sequence["LaunchVariant"]) -> bool:
    """Whether the good side did its part, by the run folder: its manifest is written while that side's server is up.

    Without one nothing was up: then the new side is at fault only where it, and not the good side, lacks its program.
    """
    if not (folder / "manifest.json").is_file():
        return len(variants) > 1 and _is_there(variants[0]) and not _is_there(variants[1])
    summary = folder / "summary.json"
    if not summary.is_file():
        return True
    found = json.loads(summary.read_text(encoding="utf-8"))
    good = found["run"]["baseline"]
    failed = {one["variant"] for one in found["output_check"] if one["result"] == "failed"}
    lost = {one["variant"] for one in found["given_up"]}
    tried = [cell for cell in found["cells"] if cell["variant"] == good and cell["trials"]]
    is_measured = not tried or any(cell["valid_trials"] for cell in tried)
    return is_measured and good not in failed | lost


def _is_there(variant: "LaunchVariant") -> bool:
    from loadgen.servers.launch import check_launchable

    try:
        check_launchable(variant)
    except LoadgenError:
        return False
    return True
