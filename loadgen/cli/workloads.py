"""`loadgen workloads`: what agents can be made to do, and what a file of sessions is like."""

import json
import sys
from enum import StrEnum
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loadgen.errors import UsageError

if TYPE_CHECKING:
    from loadgen.workload.recorded import Problem

EXAMPLES = (
    "Examples:\n\n- `loadgen workloads list`\n- `loadgen workloads show batch-agents-8k`\n"
    "- `loadgen workloads sample file-edit -n 3`\n- `loadgen workloads check sessions.jsonl`\n"
    "- `loadgen workloads import traces.jsonl -o sessions.jsonl`\n- `loadgen workloads stats sessions.jsonl --json`"
)

app = typer.Typer(no_args_is_help=True, help="List, show, sample, check, import and describe workloads.")

File = Annotated[Path, typer.Argument(metavar="FILE", help="A file of sessions, in any known format.")]
FormatName = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", help="Its format.", show_default="recognised by the first row"),
]
Strict = Annotated[bool, typer.Option("--strict", help="Stop at the first row that isn't as it should be.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Seed = Annotated[int, typer.Option("--seed", help="Of what is drawn.")]

_SHOWN_PROBLEMS = 20


class Target(StrEnum):
    """What `import` writes."""

    SESSION = "session"
    MLPERF = "mlperf"


@app.command(name="list")
def list_() -> None:
    """The built-in workloads, and the formats of recorded sessions that can be read."""
    from loadgen.report.workload_lines import print_formats, print_profiles
    from loadgen.workload.formats import FORMATS
    from loadgen.workload.library import builtin_names, builtin_profile

    profiles = [builtin_profile(name) for name in builtin_names()]
    print_profiles([(one.name, one.min_context, len(one.assumed), one.description) for one in profiles])
    print_formats([(one.name, one.status, one.text, one.title) for one in FORMATS.values()])


@app.command()
def show(name: Annotated[str, typer.Argument(metavar="NAME|FILE", help="A built-in name, or a YAML file.")]) -> None:
    """Every number of a profile, with its source or `assumed`."""
    from loadgen.workload.library import profile_of, written_parameters

    profile = profile_of(name)
    typer.echo(f"{profile.name}: {profile.description}")
    typer.echo(f"context a slot: {profile.min_context:,} tokens at least; history {profile.history}\n")
    for parameter, value in written_parameters(name).items():
        typer.echo(f"{parameter:<14} {value}\n{'':<14} {profile.sources.get(parameter, 'assumed')}")


@app.command()
def sample(
    name: Annotated[str, typer.Argument(metavar="NAME|FILE", help="A built-in name, or a YAML file.")],
    number: Annotated[int, typer.Option("-n", min=1, help="How many sessions.")] = 3,
    seed: Seed = 1,
) -> None:
    """Sessions of a profile as they would be played, one JSON line each (agent-session/1)."""
    from loadgen.workload.formats.session import write
    from loadgen.workload.library import load
    from loadgen.workload.session import as_recorded

    workload = load(name, seed=seed)
    if number > len(workload.sessions):
        raise UsageError(f"-n {number}: {workload.name} has {len(workload.sessions)} sessions")
    write((as_recorded(session, workload) for session in workload.sessions[:number]), sys.stdout.buffer)


@app.command()
def check(file: File, format_name: FormatName = None, strict: Strict = False) -> None:
    """Whether a file of sessions can be played: what was skipped, line by line, and what it holds."""
    from loadgen.workload.session_file import read_sessions

    found = read_sessions(file, format_name=format_name, strict=strict)
    _tell(found.problems)
    turns = sum(len(session.turns) for session in found.sessions)
    skipped = f"; {len(found.problems)} problems" if found.problems else "; nothing was skipped"
    typer.echo(f"{file}: {found.format.name}, {len(found.sessions)} sessions, {turns} turns{skipped}")


@app.command(name="import")
def import_(
    file: File,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="What to write; never overwritten.")],
    format_name: FormatName = None,
    to: Annotated[Target, typer.Option("--to", help="session: loadgen's own; mlperf: the rows as they came.")] = (
        Target.SESSION
    ),
    strict: Strict = False,
) -> None:
    """Turn a file of any known format into loadgen's own (agent-session/1), or back into MLPerf's rows."""
    from loadgen.workload.formats import mlperf, session
    from loadgen.workload.session_file import read_sessions

    found = read_sessions(file, format_name=format_name, strict=strict)
    written = BytesIO()
    count = (mlperf if to is Target.MLPERF else session).write(found.sessions, written)
    try:
        with out.open("xb") as target:
            target.write(written.getbuffer())
    except FileExistsError:
        raise UsageError(f"{out} exists already; name another file with -o") from None
    except OSError as error:
        raise UsageError(f"can't write {out}: {error.strerror}") from None
    _tell(found.problems)
    typer.echo(f"{out}: {count} {'rows' if to is Target.MLPERF else 'sessions'} from {found.format.name}", err=True)


@app.command()
def stats(
    file: Annotated[str, typer.Argument(metavar="FILE|NAME", help="A file of sessions, or a built-in workload.")],
    format_name: FormatName = None,
    strict: Strict = False,
    as_json: Json = False,
    seed: Seed = 1,
) -> None:
    """Turns, tokens, waits, growth, prefix reuse, copy rate, and which sessions fit which context."""
    from loadgen.report.workload_lines import print_stats
    from loadgen.workload.library import builtin_names, load
    from loadgen.workload.session import as_recorded
    from loadgen.workload.session_file import read_sessions
    from loadgen.workload.session_stats import describe

    if file in builtin_names() or file.endswith((".yaml", ".yml")):
        workload = load(file, seed=seed)
        sessions, name = [as_recorded(session, workload) for session in workload.sessions], workload.name
    else:
        found = read_sessions(Path(file), format_name=format_name, strict=strict)
        _tell(found.problems)
        sessions, name = found.sessions, f"{file} ({found.format.name})"
    figures = describe(sessions)
    if as_json:
        sys.stdout.write(json.dumps(figures, indent=1) + "\n")
        return
    print_stats(name, figures)


def _tell(problems: "list[Problem]") -> None:
    for problem in problems[:_SHOWN_PROBLEMS]:
        typer.echo(str(problem), err=True)
    if len(problems) > _SHOWN_PROBLEMS:
        typer.echo(f"… and {len(problems) - _SHOWN_PROBLEMS} more problems", err=True)
