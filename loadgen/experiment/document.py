"""An experiment file, read: YAML → the fields of an `Experiment`.

What the file shares (`base`), varies (`matrix`) and asks for beside (`overhead`, `synthetic_acceptance`) is written out
here, so that an experiment holds plain variants, as if each had been given on its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from loadgen.errors import ExperimentError
from loadgen.experiment import llama_flags as flags
from loadgen.experiment.arguments import Part, values_of
from loadgen.experiment.build import experiment
from loadgen.experiment.command import Command
from loadgen.experiment.diagnostics import idle, with_acceptance
from loadgen.experiment.entry import Entry, Note, collapsed, off_by_type, uniquely_named
from loadgen.experiment.file_model import (
    DEADLINES,
    DURATIONS,
    SIZES,
    BaseEntry,
    ExperimentFile,
    LimitsEntry,
    VariantEntry,
)
from loadgen.experiment.known_arguments import changed_by_variable, known_argument
from loadgen.experiment.matrix import OFF, expanded
from loadgen.experiment.model import Difference, Experiment
from loadgen.experiment.slo import LIMITS
from loadgen.experiment.traps import check_speculation
from loadgen.experiment.variant import (
    EMBEDDED,
    LaunchVariant,
    ModelVariant,
    RequestVariant,
    RouterVariant,
    SwitchVariant,
    UrlVariant,
    Variant,
)
from loadgen.experiment.written_error import entry_error, file_error, kind_error, value_error
from loadgen.experiment.yaml_text import YamlText, read_yaml

_KINDS: dict[str, type[BaseModel]] = {
    "url": UrlVariant,
    "launch": LaunchVariant,
    "embedded": LaunchVariant,
    "router": RouterVariant,
    "model": ModelVariant,
    "switch": SwitchVariant,
    "request": RequestVariant,
}
_LAUNCHED = ("launch", "embedded")
_VARIANT: TypeAdapter[Any] = TypeAdapter(Variant)


@dataclass(frozen=True)
class ExperimentDocument:
    """What a file asks for.

    `fields` are those of `Experiment` that the file sets, its variants written out; `notes` are sentences on what was
    left out or became one.
    """

    path: Path
    fields: dict[str, Any]
    notes: tuple[str, ...]


def read_experiment(path: Path) -> ExperimentDocument:
    """The experiment in a file. Raises `ExperimentError` that names the file and, where it can, the line."""
    try:
        written = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ExperimentError(f"{path}: an experiment is UTF-8 text; this file is not") from None
    except OSError as error:
        hint = "; loadgen init writes one" if isinstance(error, FileNotFoundError) else ""
        raise ExperimentError(f"{path}: {error.strerror or 'it cannot be read'}{hint}") from None
    fields, notes = parse_experiment(written, name=str(path))
    return ExperimentDocument(path, fields, notes)


def parse_experiment(written: str, *, name: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The fields and notes of an experiment in YAML text; `name` stands for the file in messages."""
    text = read_yaml(written, name=name)
    if not isinstance(text.content, dict):
        raise ExperimentError(f"{name}: an experiment is a mapping of fields to values; loadgen init writes one")
    try:
        file: Any = ExperimentFile.model_validate(text.content)
    except ValidationError as error:
        raise file_error(text, error) from None
    _refuse_switches(file, text)
    notes: list[str] = []
    entries = _entries(file, text, notes.append)
    fields = _plain(file, text)
    fields["variants"] = _variants(entries, text)
    fields.setdefault("baseline", _baseline(entries))
    meant = {*file.under_test, *(change for entry in entries for change in entry.meant)}
    fields["under_test"] = tuple(field for field in get_args(Difference) if field in meant)
    if file.aa and len(entries) == 1:
        fields["variants"].append({**fields["variants"][0], "name": f"{entries[0].name}-again"})
    try:
        experiment(**{"levels": (1,), **fields})  # where the file names none, the command does
    except ExperimentError as error:
        raise ExperimentError(f"{name}: {error}") from None
    return fields, tuple(notes)


def _refuse_switches(file: Any, text: YamlText) -> None:
    """`rounds: true` would read as 1."""
    for name, value in text.content.items():
        if isinstance(value, bool) and not isinstance(getattr(file, name), bool):
            raise value_error(text, name, f"{str(value).lower()} is no value of it")


def _plain(file: Any, text: YamlText) -> dict[str, Any]:
    """The fields that the file sets and that need no writing out."""
    names = [name for name in Experiment.model_fields if name not in ("variants", "deadlines", "slo", "under_test")]
    given = file.model_fields_set
    fields = {name: getattr(file, name) for name in names if name in given and getattr(file, name) is not None}
    fields |= _measures(file, DURATIONS, "s", text, ())
    fields |= _measures(file, SIZES, "bytes", text, ())
    if "deadlines" in given:
        fields["deadlines"] = _measures(file.deadlines, DEADLINES, "s", text, ("deadlines",))
    if file.slo is not None:
        fields["slo"] = _limits(file.slo, text, ("slo",))
    if file.slo is not None and file.slo.classes:
        classes = file.slo.classes.items()
        fields["slo"]["classes"] = {name: _limits(one, text, ("slo", "classes", name)) for name, one in classes}
    return fields


def _limits(entry: LimitsEntry, text: YamlText, at: tuple[str, ...]) -> dict[str, float]:
    """The limits that an objective, or one class of it, has."""
    share = {} if entry.attainment is None else {"attainment": entry.attainment}
    return {**_measures(entry, LIMITS, "s", text, at), **share}


def _measures(
    model: BaseModel, names: Sequence[str], unit: str, text: YamlText, at: tuple[str, ...]
) -> dict[str, float]:
    """Durations or sizes by field name, whether they were written with the unit or without."""
    out = {}
    for name in names:
        full = f"{name}_{unit}"
        plain, exact = getattr(model, name), getattr(model, full)
        if plain is not None and exact is not None:
            raise ExperimentError(f"{text.where((*at, name))}: {name} and {full} are the same: write one of them")
        if plain is not None or exact is not None:
            out[full] = exact if plain is None else plain
    return out


def _entries(file: Any, text: YamlText, note: Note) -> list[Entry]:
    """Every variant of the experiment."""
    written = [_entry(file.base, variant, position, text) for position, variant in enumerate(file.variants)]
    for entry in written:
        if any(entry.name == earlier.name for earlier in written[: entry.position]):
            raise entry_error(text, entry.position, "two variants have this name")
    if file.matrix is not None and not any(entry.speculates for entry in written):
        raise ExperimentError(
            f"{text.where(('matrix',))}: matrix: no variant is a launched one that speculates; a matrix of one variant "
            "stands under it"
        )
    out: list[Entry] = []
    for entry, variant in zip(written, file.variants, strict=True):
        try:
            out += _multiplied(entry, variant, file, note)
        except (ExperimentError, ValueError) as error:
            raise entry_error(text, entry.position, str(error)) from None
    return uniquely_named(collapsed(out, note))


def _multiplied(entry: Entry, variant: VariantEntry, file: Any, note: Note) -> list[Entry]:
    """One variant of the file, as its matrix, its acceptance lengths and `overhead` make several."""
    axes = variant.matrix
    if "matrix" not in variant.model_fields_set and entry.speculates:
        axes = file.matrix
    out: list[Entry] = []
    for one in expanded(entry, axes, note) if axes else [entry]:
        if variant.synthetic_acceptance:
            out += with_acceptance(one, variant.synthetic_acceptance, from_matrix=bool(axes), note=note)
        else:
            out.append(one)
        if variant.overhead and entry.command is not None and (one.speculates or not axes):
            out.append(idle(one))
    if entry.command is None:
        return [replace(one, overhead=variant.overhead) for one in out]
    for one in out:
        if one.command is not None:
            check_speculation(one.command.args, one.command.env, program=one.command.program)
    return out


def _entry(base: BaseEntry, variant: VariantEntry, position: int, text: YamlText) -> Entry:
    """A variant over the base."""
    kind = variant.kind or _kind(base, variant)
    known = set(_KINDS[kind].model_fields) - ({"program"} if kind == "embedded" else set())
    shared = {name for name in base.model_fields_set if name in known and name != "kind"}
    own = variant.model_fields_set - {"name", "matrix", "synthetic_acceptance", "overhead", "kind"}
    fields: dict[str, Any] = {name: getattr(base, name) for name in shared}
    fields |= {name: getattr(variant, name) for name in own}
    for name in ("env", "body"):
        if name in shared and name in own:
            fields[name] = {**(getattr(base, name) or {}), **(getattr(variant, name) or {})}
    fields = {name: value for name, value in fields.items() if value is not None or name == "speculative"}
    entry = Entry(str(variant.name), position, {"kind": kind, **fields})
    if kind not in _LAUNCHED or not known.issuperset(fields):
        return entry
    if kind == "launch" and "program" not in fields:
        raise entry_error(text, position, "kind launch needs program, such as llama-server; embedded doesn't")
    return _launched(entry, base, variant)


def _kind(base: BaseEntry, variant: VariantEntry) -> str:
    """What a variant without `kind` is: an address of its own makes it another kind than a launched base."""
    if variant.url is not None and base.kind in (None, *_LAUNCHED):
        return "url"
    if base.kind is not None:
        return base.kind
    return "launch" if variant.program or base.program or variant.args or base.args else "url"


def _launched(entry: Entry, base: BaseEntry, variant: VariantEntry) -> Entry:
    """The entry with its command, the variant's arguments over the base's."""
    fields = {name: value for name, value in entry.fields.items() if name not in ("program", "args", "env")}
    program = entry.fields.get("program", EMBEDDED)
    shared = tuple(word for part in base.args or () for word in part.words)
    env = dict(entry.fields.get("env", {}))
    command = Command(program, shared, env)
    own = variant.args or ()
    wrapper = Command(program, tuple(word for part in own for word in part.words)).wrapper
    command = replace(command, args=(wrapper or command.wrapper) + command.own).changed(_behind(wrapper, own))
    meant = frozenset(_meant(base, variant)) if base.args is not None or base.env else frozenset()
    if off_by_type(command) or (Part(flags.TYPE[0], ()) in own and not command.speculation.types):
        command = command.without_speculation()
    return replace(entry, fields=fields, command=command, meant=meant)


def _behind(wrapper: Sequence[str], own: Sequence[Part]) -> list[Part]:
    """The arguments after a wrapper's words."""
    left = len(wrapper)
    out = []
    for part in own:
        if left <= 0:
            out.append(part)
        left -= len(part.words)
    return out


def _meant(base: BaseEntry, variant: VariantEntry) -> set[Difference]:
    """What a variant sets otherwise than the base does."""
    ours, theirs = variant.args or (), base.args or ()
    out: set[Difference] = set()
    for name in {part.name for part in ours if part.name is not None}:
        if values_of([part for part in ours if part.words], name) != values_of(theirs, name):
            out.update(known_argument(name).changes)
    for name, value in (variant.env or {}).items():
        if value != (base.env or {}).get(name):
            out.update(changed_by_variable(name))
    return out


def _variants(entries: Sequence[Entry], text: YamlText) -> list[dict[str, Any]]:
    """The fields of every variant, each checked against its kind."""
    out = []
    for entry in entries:
        values = entry.values()
        try:
            _VARIANT.validate_python(values)
        except ValidationError as error:
            raise kind_error(text, entry.position, values, error) from None
        out.append(values)
    return out


def _baseline(entries: Sequence[Entry]) -> str:
    names = [entry.name for entry in entries]
    return OFF if OFF in names or not names else names[0]
