"""The candidates of a tuning run: a pasted command with every combination of the settings that are varied."""

import itertools
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from loadgen.errors import ExperimentError
from loadgen.experiment import llama_flags as flags
from loadgen.experiment.arguments import Part, argument, comparable
from loadgen.experiment.build import SECRET_NAME
from loadgen.experiment.command import Command
from loadgen.experiment.draft_length import default_lengths, length_of, with_length
from loadgen.experiment.known_arguments import P_MIN
from loadgen.experiment.pasted import OFF, variants_from_command
from loadgen.experiment.serving import Serving, serving_of
from loadgen.experiment.traps import check_speculation
from loadgen.experiment.tuning import Candidate
from loadgen.experiment.variant import LaunchVariant

MOST = 32
"""More variants than this take hours even where a trial takes seconds, and hardly any is near the best."""
_NAME_LENGTH = 64


@dataclass(frozen=True)
class Varied:
    """The values of each setting; null: n_max around the command's own, the others as the command has them."""

    n_max: tuple[int, ...] | None = None
    slots: tuple[int, ...] | None = None
    types: tuple[str, ...] | None = None
    p_min: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Tried:
    """A candidate with the variant that runs it."""

    candidate: Candidate
    variant: LaunchVariant

    @property
    def command(self) -> Command:
        """What is started."""
        return Command(self.variant.program, self.variant.args, self.variant.env)


def tried(words: Sequence[str], varied: Varied) -> tuple[Tried, ...]:
    """The candidates, first `off` with the command's own slots: the baseline, and a candidate like the others.

    `off` is there at every number of slots. Each slot keeps the context that it has in the command. Commands that would
    run the same are tried once. `varied` has no empty list.

    Raises:
        ExperimentError: The command has no speculation, a combination would silently run without, or there is nothing
            to choose from.
    """
    on, off = variants_from_command(words)
    own = _own(Command(off.program, off.args, off.env))
    slots = tuple(sorted(set(varied.slots or (own.slots,))))
    several = len({*slots, own.slots}) > 1
    found = [_off(words, off, own, count, several=several) for count in (own.slots, *slots)]
    for setting in _settings(Command(on.program, on.args, on.env), varied):
        found += [_on(words, on, own, setting, count, several=several) for count in slots]
    kept = _once(found)
    _worth_a_race(kept)
    return kept


def _once(found: Sequence[Tried]) -> tuple[Tried, ...]:
    """Without those that would run the same as one before."""
    out: dict[object, Tried] = {}
    for one in found:
        out.setdefault((one.command.wrapper, comparable(one.command.own)), one)
    return tuple(out.values())


def _worth_a_race(found: Sequence[Tried]) -> None:
    if len(found) > MOST:
        raise ExperimentError(f"{len(found)} candidates are more than {MOST}: give --tune shorter lists.")
    others = [one.candidate.variant for one in found[1:]]
    if len(others) == 1:
        raise ExperimentError(
            f"there is one candidate beside {found[0].candidate.variant}, {others[0]}, so nothing to choose from: give "
            "--tune-n-max or --tune-slots more values, or leave --tune out to compare the two."
        )


@dataclass(frozen=True)
class _Setting:
    """One combination without its slots; null: as the command has it."""

    types: str | None
    n_max: int | None
    p_min: float | None


def _settings(command: Command, varied: Varied) -> Iterator[_Setting]:
    for types in dict.fromkeys(varied.types or (None,)):
        typed = _typed(command, types)
        if not typed.speculation.types:
            raise ExperimentError(f"--tune-type {types} is no speculation: without is a candidate anyway.")
        check_speculation(typed.args, typed.env, program=typed.program)
        for n_max, p_min in itertools.product(_lengths(typed, varied), _chances(typed, varied)):
            yield _Setting(types, n_max, p_min)


def _lengths(command: Command, varied: Varied) -> list[int | None]:
    if length_of(command) is None:
        if varied.n_max is not None and not varied.types:
            raise ExperimentError(f"--tune-n-max: nothing sets how much {_kinds(command)} drafts at once.")
        return [None]
    return [*sorted(set(default_lengths(command) if varied.n_max is None else varied.n_max))]


def _chances(command: Command, varied: Varied) -> list[float | None]:
    if not any(kind.startswith("draft-") for kind in command.speculation.types):
        if varied.p_min is not None and not varied.types:
            raise ExperimentError(f"--tune-p-min: {_kinds(command)} does not read it.")
        return [None]
    return [None] if varied.p_min is None else [*sorted(set(varied.p_min))]


def _kinds(command: Command) -> str:
    return ",".join(command.speculation.types)


def _off(words: Sequence[str], off: LaunchVariant, own: Serving, slots: int, *, several: bool) -> Tried:
    changes = _slot_arguments(own, slots)
    prefix, typed = _as_typed(words, off.program)
    kept = [word for word in prefix if "=" not in word or not flags.is_speculative_variable(word.partition("=")[0])]
    name = f"{OFF}-np{slots}" if several else OFF
    return Tried(
        Candidate(
            variant=name, n_max=0, slots=slots, command=_text(kept, typed.without_speculation().changed(changes))
        ),
        _renamed(off, name, Command(off.program, off.args, off.env).changed(changes)),
    )


def _on(
    words: Sequence[str], on: LaunchVariant, own: Serving, setting: _Setting, slots: int, *, several: bool
) -> Tried:
    prefix, typed = _as_typed(words, on.program)
    environment = dict(on.env)

    def changed(command: Command) -> Command:
        made = _typed(command, setting.types)
        if setting.n_max is not None:
            made = with_length(made, setting.n_max)
        if setting.p_min is not None:
            made = made.changed(argument(P_MIN[0], f"{setting.p_min:g}"))
        return made.changed(_slot_arguments(own, slots))

    run = changed(Command(on.program, on.args, environment))
    name = _name(run, setting, slots if several else None)
    candidate = Candidate(
        variant=name,
        types=run.speculation.types,
        n_max=run.longest_draft if setting.n_max is None else setting.n_max,
        slots=slots,
        p_min=setting.p_min,
        # Variables of the command count as they do in the run, but stand before the program.
        command=_text(prefix, changed(replace(typed, env=environment))),
    )
    return Tried(candidate, _renamed(on, name, run))


def _renamed(variant: LaunchVariant, name: str, command: Command) -> LaunchVariant:
    return variant.model_copy(update={"name": name, "args": command.args})


def _name(command: Command, setting: _Setting, slots: int | None) -> str:
    """`mtp-n3`, `mtp-n3-pmin0.5-np4`: what is varied, behind the types of speculation."""
    kinds = [kind.removeprefix("draft-") if kind != "draft-simple" else "draft" for kind in command.speculation.types]
    # Types of forks may hold anything; names of variants become file names.
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", "_".join(kinds))
    ending = "" if setting.n_max is None else f"-n{setting.n_max}"
    ending += "" if setting.p_min is None else f"-pmin{setting.p_min:g}"
    ending += "" if slots is None else f"-np{slots}"
    return (safe.lstrip("._-") or "on")[: _NAME_LENGTH - len(ending)] + ending


def _typed(command: Command, types: str | None) -> Command:
    """The command with these types of speculation; n-gram types load no draft model."""
    if types is None:
        return command
    parts = list(argument(flags.TYPE[0], types))
    if not any(kind.strip().startswith("draft-") for kind in types.split(",")):
        parts += [Part(names[0], ()) for names in (flags.DRAFT_MODEL, flags.DRAFT_REPO)]
    return command.changed(parts)


def _own(command: Command) -> Serving:
    """What a command without speculation says of slots and context; models and cache types don't matter here."""
    plain = [*argument("-m", "model.gguf"), Part("-ctk", ()), Part("-ctv", ())]
    return serving_of(command.changed(plain))


def _slot_arguments(own: Serving, slots: int) -> list[Part]:
    """The arguments for another number of slots, each with its context.

    Without `-c` the model's own context is shared out, and a slot's part of it shrinks. A cache that is unified because
    no slots were named would not be with `-np`: `-kvu` says so.
    """
    if slots == own.slots:
        return []
    parts = list(argument("-np", slots))
    if own.unified:
        parts += argument("-kvu", True)
    elif own.context is not None:
        parts += argument("-c", own.with_slots(slots).context)
    return parts


def _as_typed(words: Sequence[str], program: str) -> tuple[list[str], Command]:
    """The words before the program, and the command with all of its own, `--host` and `--port` included."""
    at = list(words).index(program)
    return list(words[:at]), Command(program, tuple(words[at + 1 :]))


def _text(prefix: Sequence[str], command: Command) -> str:
    """One line to paste. Keys are masked: it is kept in the run folder."""
    before = []
    for word in prefix:
        name, equals, _ = word.partition("=")
        before.append(f"{name}={flags.MASK}" if equals and SECRET_NAME.search(name) else word)
    return shlex.join([*flags.masked(before), command.program, *flags.masked(command.args)]).replace(
        f"'{flags.MASK}'", flags.MASK
    )
