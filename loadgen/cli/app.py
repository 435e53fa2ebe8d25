"""`loadgen`: the commands, and how errors become exit codes."""

import sys

import typer

from loadgen import __version__
from loadgen.cli import (
    ab,
    capacity,
    compare,
    demo,
    doctor,
    export,
    gate,
    init,
    memory,
    record,
    report,
    rerun,
    schema,
    sweep,
    workloads,
)
from loadgen.cli.bisection import BisectableCommand
from loadgen.cli.linger import linger
from loadgen.errors import LoadgenError

app = typer.Typer(
    name="loadgen",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Does speculative decoding pay on your llama-server, with several agents at work?\n\n"
    "Replays agent sessions at several concurrencies, with speculation on and off, and says what it does to your "
    "tasks per hour, with the uncertainty of the answer.",
    epilog="Start with `loadgen demo`, then `loadgen ab -c 1,2,4 -- llama-server -m model.gguf --spec-type …`",
)

_NO_SEPARATOR = {"allow_interspersed_args": False}

app.command(name="demo", epilog=demo.EXAMPLES)(demo.demo)
app.command(name="ab", epilog=ab.EXAMPLES, context_settings=_NO_SEPARATOR)(ab.ab)
app.command(name="sweep", epilog=sweep.EXAMPLES)(sweep.sweep)
app.command(name="gate", epilog=gate.EXAMPLES, cls=BisectableCommand, context_settings=_NO_SEPARATOR)(gate.gate)
app.command(name="compare", epilog=compare.EXAMPLES)(compare.compare)
app.command(name="capacity", epilog=capacity.EXAMPLES)(capacity.capacity)
app.add_typer(workloads.app, name="workloads", epilog=workloads.EXAMPLES)
app.command(name="record", epilog=record.EXAMPLES)(record.record)
app.add_typer(export.app, name="export", epilog=export.EXAMPLES)
app.command(name="init", epilog=init.EXAMPLES)(init.init)
app.command(name="schema", epilog=schema.EXAMPLES)(schema.schema)
app.command(name="doctor", epilog=doctor.EXAMPLES)(doctor.doctor)
app.command(name="memory", epilog=memory.EXAMPLES, context_settings=_NO_SEPARATOR)(memory.memory)
app.command(name="rerun", epilog=rerun.EXAMPLES)(rerun.rerun)
app.command(name="report", epilog=report.EXAMPLES)(report.report)


def _version(asked: bool) -> None:  # a typer callback takes its value by position
    if asked:
        typer.echo(f"loadgen {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    del version


def main() -> None:
    """Run the command line. Every `LoadgenError` becomes one message on stderr and its own exit code."""
    try:
        app()
    except LoadgenError as error:
        typer.secho(f"loadgen: {error}", err=True, fg="red" if sys.stderr.isatty() else None)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output is gone: nothing is left to say
        sys.exit(1)
    finally:
        linger()
