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
    from loadgen.workload.making import Making
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
Corpus = Annotated[
    Path | None,
    typer.Option(
        "--corpus", metavar="DIR", help="Make text of the files below this folder.", show_default="Python's library"
    ),
]

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
    from loadgen.workload.library import FAMILY, builtin_names, builtin_profile

    profiles = [builtin_profile(name) for name in builtin_names()]
    rows = [(one.name, one.min_context, len(one.assumed), len(one.parameters), one.description) for one in profiles]
    print_profiles(rows, f"{FAMILY} alone: the largest of its sizes that a slot holds, and what is played unnamed")
    print_formats([(one.name, one.status, one.text, one.title) for one in FORMATS.values()])


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME|FILE", help="A built-in name, or a YAML file.")],
    corpus: Corpus = None,
) -> None:
    """Every number of a profile, with its source or `assumed`."""
    from loadgen.report.profile_lines import print_profile
    from loadgen.workload.library import FAMILY, profile_of, tiers, written_parameters

    profile = profile_of(name)
    if name == FAMILY:
        typer.echo(
            f"{FAMILY} is the largest of {', '.join(tier.name for tier in tiers())} that a slot of the server holds; "
            f"where the server doesn't say, it is this one.\n"
        )
    print_profile(profile, written_parameters(name))
    if corpus is not None:
        from loadgen.workload.corpus.folder import own

        library = own(corpus)
        kinds = f"{len(library.sources):,} source files, {len(library.pages):,} pages of prose"
        typer.echo(f"\ntext of {library.name}: {kinds} (digest {library.digest[:12]})")


@app.command()
def sample(
    name: Annotated[str, typer.Argument(metavar="NAME|FILE", help="A built-in name, or a YAML file.")],
    number: Annotated[int, typer.Option("-n", min=1, help="How many sessions.")] = 3,
    seed: Seed = 1,
    corpus: Corpus = None,
) -> None:
    """Sessions of a profile as they would be played, one JSON line each (agent-session/1)."""
    from loadgen.workload.as_recorded import as_recorded
    from loadgen.workload.formats.session import write
    from loadgen.workload.library import load

    workload = load(name, seed=seed, making=_making(corpus))
    if number > len(workload.sessions):
        raise UsageError(f"-n {number}: {workload.name} has {len(workload.sessions)} sessions")
    tree = (one for session in workload.sessions[:number] for one in as_recorded(session, workload))
    write(tree, sys.stdout.buffer)


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
    redact: Annotated[
        bool, typer.Option("--redact", help="Replace texts, names and numbers by others like them.")
    ] = False,
    strict: Strict = False,
) -> None:
    """Turn a file of any known format into loadgen's own (agent-session/1), or back into MLPerf's rows."""
    from loadgen.workload.formats import mlperf, session
    from loadgen.workload.redacted import redacted
    from loadgen.workload.session_file import read_sessions

    if redact and to is not Target.SESSION:
        raise UsageError("--redact leaves nothing of the rows as they came: write sessions (--to session)")
    found = read_sessions(file, format_name=format_name, strict=strict)
    sessions = redacted(found.sessions) if redact else found.sessions
    written = BytesIO()
    count = (mlperf if to is Target.MLPERF else session).write(sessions, written)
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
    corpus: Corpus = None,
) -> None:
    """Turns, tokens, waits, growth, prefix reuse, copy rate, and which sessions fit which context."""
    from loadgen.report.workload_lines import print_stats
    from loadgen.workload.as_recorded import as_recorded
    from loadgen.workload.library import FAMILY, builtin_names, load
    from loadgen.workload.session_file import read_sessions
    from loadgen.workload.session_stats import describe

    notes: tuple[str, ...] = ()
    if file in {FAMILY, *builtin_names()} or file.endswith((".yaml", ".yml")):
        workload = load(file, seed=seed, making=_making(corpus))
        sessions = [one for session in workload.sessions for one in as_recorded(session, workload)]
        name, notes = workload.name, workload.notes
    else:
        found = read_sessions(Path(file), format_name=format_name, strict=strict)
        _tell(found.problems)
        sessions, name = found.sessions, f"{file} ({found.format.name})"
    figures = describe(sessions)
    if as_json:
        sys.stdout.write(json.dumps(figures, indent=1) + "\n")
        return
    print_stats(name, figures, notes)


def _making(corpus: Path | None) -> "Making | None":
    if corpus is None:
        return None
    from loadgen.workload.corpus.folder import own
    from loadgen.workload.making import Making

    return Making(library=own(corpus))


def _tell(problems: "list[Problem]") -> None:
    for problem in problems[:_SHOWN_PROBLEMS]:
        typer.echo(str(problem), err=True)
    if len(problems) > _SHOWN_PROBLEMS:
        typer.echo(f"… and {len(problems) - _SHOWN_PROBLEMS} more problems", err=True)
