"""A llama-server command, as its user runs it, as two variants: with its speculation, and the same without."""

import re
from collections.abc import Sequence
from pathlib import PurePath

from loadgen.errors import ExperimentError
from loadgen.experiment import llama_flags as flags
from loadgen.experiment.command import Command
from loadgen.experiment.traps import check_speculation
from loadgen.experiment.variant import LaunchVariant

OFF = "off"
"""Name of the baseline."""

_NAME_LENGTH = 64
"""The longest name that a variant may have."""

LOG_LEVEL = "4"
"""llama-server's `trace`: below it the load log has no buffer sizes, and the memory ledger stays empty."""

_HOST = ("--host",)
_PORT = ("--port",)
_VERBOSITY = ("-lv", "--verbosity", "--log-verbosity")
_VERBOSE = ("-v", "--verbose", "--log-verbose")

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_UNSET = ("-u", "--unset")


def variants_from_command(words: Sequence[str]) -> tuple[LaunchVariant, LaunchVariant]:
    """The variants `(on, off)` of a command: program and arguments, after `env VAR=x` or `VAR=x` words if any.

    `on` is the command itself, named by its speculation (`mtp`, `mtp-7`, `ngram-simple`, …). `off` lacks the arguments
    and variables of speculation and draft models. Both lack `--host` and `--port`, which are chosen at every start. The
    words of a wrapper before llama-server (`numactl -N 0 llama-server …`) stay as they are.

    Raises:
        ExperimentError: There is nothing to compare, or the command would silently run without its speculation.
    """
    command = _command(words)
    for preset in flags.PRESETS:
        if flags.has(command.own, preset):
            raise ExperimentError(
                f"{preset} loads a model together with its draft, so there is no command without speculation to "
                "compare with: name them with -m, -md and --spec-type draft-simple instead."
            )
    if not command.speculation.types:
        raise ExperimentError(
            "the command has no speculation to compare: add --spec-type, for example draft-mtp (a model with MTP "
            "heads), draft-simple with -md (a small draft model) or ngram-simple (no second model)."
        )
    return _variant(command), _variant(command.without_speculation())


def variant_from_command(words: Sequence[str]) -> LaunchVariant:
    """A command as one variant, named by its speculation, or `off` where it has none.

    Raises `ExperimentError` where the command would silently run without its speculation.
    """
    command = _command(words)
    return _variant(command if command.speculation.types else command.shielded())


def _variant(command: Command) -> LaunchVariant:
    speculative = bool(command.speculation.types)
    return LaunchVariant(
        name=_name(command.speculation) if speculative else OFF,
        program=command.program,
        args=command.args,
        env=dict(command.env),
        speculative=speculative,
    )


def _command(words: Sequence[str]) -> Command:
    """The command without the address to listen on, after the checks for what llama-server passes over in silence."""
    env, rest = _environment(words)
    if not rest:
        raise ExperimentError("the command is empty: write llama-server and its arguments after --")
    command = Command(rest[0], rest[1:], env)
    own = flags.replaced(flags.replaced(command.own, *_HOST, value=None), *_PORT, value=None)
    check_speculation(own, env)
    return Command(command.program, command.wrapper + own, env)


def prepared(args: Sequence[str], *, host: str, port: int, program: str = "llama-server") -> tuple[str, ...]:
    """The arguments with the address to listen on, and with metrics and the load log switched on unless they are.

    `program` tells where a wrapper's words end and llama-server's begin.
    """
    begin = flags.first_argument(program, args)
    own = flags.replaced(args[begin:], *_HOST, value=host)
    own = flags.replaced(own, *_PORT, value=str(port))
    if not flags.has(own, "--metrics"):
        own += ("--metrics",)
    if not flags.has(own, *_VERBOSITY, *_VERBOSE):
        own += (_VERBOSITY[0], LOG_LEVEL)
    return (*args[:begin], *own)


def _environment(command: Sequence[str]) -> tuple[dict[str, str | None], tuple[str, ...]]:
    """The variables that stand before the program, and the rest."""
    words = list(command)
    env: dict[str, str | None] = {}
    is_env = bool(words) and PurePath(words[0]).name == "env"
    if is_env:
        words.pop(0)
    while words:
        if match := _ASSIGNMENT.fullmatch(words[0]):
            env[match.group(1)] = match.group(2)
            words.pop(0)
        elif is_env and words[0] in _UNSET and len(words) > 1:
            env[words[1]] = None
            del words[:2]
        else:
            break
    return env, tuple(words)


def _name(speculation: flags.Speculation) -> str:
    """`mtp`, `mtp-7`, `draft`, `mtp_ngram-mod-7`: types without `draft-`, then n_max where one is given and used."""
    short = [kind.removeprefix("draft-") if kind != "draft-simple" else "draft" for kind in speculation.types]
    drafts = any(kind.startswith("draft-") for kind in speculation.types)
    name = "_".join(short) + (f"-{speculation.n_max}" if drafts and speculation.n_max is not None else "")
    # Types of forks may hold anything; names of variants become file names.
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).lstrip("._-")[:_NAME_LENGTH] or "on"
