"""loadgen's commands in this process: as quick as the command itself, for rules that need no process of their own."""

from typer.testing import CliRunner

from loadgen.cli.app import app
from loadgen.errors import LoadgenError
from tests.cli.conftest import Result


def invoked(*args: str) -> Result:
    """Run a command to its end. An error of loadgen's own ends it as `main` would."""
    result = CliRunner().invoke(app, list(args))
    error = result.exception
    if isinstance(error, LoadgenError):
        return Result(error.exit_code, result.stdout, f"{result.stderr}loadgen: {error}\n")
    if error is not None and not isinstance(error, SystemExit):
        raise error
    return Result(result.exit_code, result.stdout, result.stderr)
