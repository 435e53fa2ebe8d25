"""Profiles as YAML files: read, checked, and told with file, line and field what is wrong with them."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from loadgen.errors import WorkloadError
from loadgen.workload.profile import INLINE, NAMED, Profile

__all__ = ["parse_profile", "place", "read_profile"]

_FILES = (".yaml", ".yml")
_FIELD = re.compile(r"[a-z_]+")


def read_profile(path: Path, *, builtin: Callable[[str], Path] | None = None) -> Profile:
    """The profile in a YAML file, with the profiles of its sub-agents in place of their names.

    Args:
        path: the file.
        builtin: the file of a built-in name; null: sub-agents are named by files alone.

    Raises `WorkloadError` that names the file, and where it can the line and the field.
    """
    return _whole(path, builtin, ())


def parse_profile(text: str, *, name: str) -> Profile:
    """The profile in YAML text; `name` stands for the file in messages. Names of sub-agents stay as they are.

    Raises `WorkloadError`.
    """
    return _parsed(text, name)[0]


def _whole(path: Path, builtin: Callable[[str], Path] | None, above: tuple[Path, ...]) -> Profile:
    """The profile in a file that the files `above` lead to, each as the sub-agents of the one before."""
    profile, node = _parsed(_text(path), str(path))
    own = path.resolve()

    def filled(one: Profile, loc: tuple[str, ...]) -> Profile:
        if one.subagents is None:
            return one
        loc = (*loc, "subagents", "profile")
        below = one.subagents.profile
        if isinstance(below, Profile):
            child = filled(below, loc)
        else:
            where = f"{path}, line {_line(node, loc)}: {'.'.join(loc)}"
            child = named(below, where)
        unlike = _unlike(one, child)
        if unlike is not None:
            raise WorkloadError(
                f"{path}, line {_line(node, loc)}: {'.'.join(loc)}: sub-agents ({child.name}) {unlike}."
            )
        return one.model_copy(update={"subagents": one.subagents.model_copy(update={"profile": child})})

    def named(name: str, where: str) -> Profile:
        target = place(name, path, builtin)
        if target is None or not target.is_file():
            raise WorkloadError(f"{where}: there is no profile {name!r}: name a built-in one, or a YAML file.")
        if target.resolve() in {*above, own}:
            chain = [*(one.stem for one in (*above, own)), target.stem]
            raise WorkloadError(f"{where}: sub-agents spawn each other in a circle: {' > '.join(chain)}.")
        return _whole(target, builtin, (*above, own))

    return filled(profile, ())


def _unlike(parent: Profile, child: Profile) -> str | None:
    """Why a profile can't be that of the sub-agents: one run has one kind of history, of answers and of slots."""
    if child.min_context > parent.min_context:
        return (
            f"need {child.min_context} tokens of context, more than {parent.name} with {parent.min_context}: "
            "they run in the same slots"
        )
    if child.history != parent.history:
        return f"have the history {child.history}, and {parent.name} has {parent.history}"
    if child.output.mode != parent.output.mode:
        return f"have output of mode {child.output.mode}, and {parent.name} of mode {parent.output.mode}"
    if (child.corpus == "words") != (parent.corpus == "words"):
        return f"have the corpus {child.corpus}, and {parent.name} has {parent.corpus}: words go with words alone"
    return None


def place(name: str, beside: Path, builtin: Callable[[str], Path] | None) -> Path | None:
    """The file of a named profile: a path from the folder of the one that names it, or built in."""
    if Path(name).suffix in _FILES or len(Path(name).parts) > 1:
        return beside.parent / name
    return builtin(name) if builtin is not None else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise WorkloadError(f"{path}: a profile is UTF-8 text; this file is not.") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it can't be read"
        raise WorkloadError(f"{path}: {reason}. Name a built-in workload or a YAML file.") from error


def _parsed(text: str, name: str) -> tuple[Profile, yaml.MappingNode]:
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        content = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise WorkloadError(f"{name}{line}: not YAML: {error.problem or error.context}.") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise WorkloadError(f"{name}: not YAML that a profile is made of.") from error
    if not isinstance(content, dict) or not isinstance(node, yaml.MappingNode):
        raise WorkloadError(f"{name}: a profile is a mapping of fields to values, beginning with `version: 1`.")
    _refuse_repeats(node, name, seen=set())
    try:
        return Profile.model_validate(content), node
    except ValidationError as error:
        raise WorkloadError(_explained(error, node, name)) from error


def _refuse_repeats(node: yaml.Node, name: str, *, seen: set[int]) -> None:
    """YAML readers keep the last of two equal keys, and silently: a slip that changes what is measured."""
    if id(node) in seen:
        raise WorkloadError(f"{name}, line {node.start_mark.line + 1}: anchors and aliases have no use in a profile.")
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _refuse_repeats(item, name, seen=seen)
    if isinstance(node, yaml.MappingNode):
        keys = set()
        for key, value in node.value:
            if key.value in keys:
                line = key.start_mark.line + 1
                raise WorkloadError(f"{name}, line {line}: the field {key.value} is given twice.")
            keys.add(key.value if isinstance(key, yaml.ScalarNode) else id(key))
            _refuse_repeats(value, name, seen=seen)


def _explained(error: ValidationError, node: yaml.MappingNode, name: str) -> str:
    """The first thing that is wrong, with its line."""
    first = error.errors(include_url=False)[0]
    loc = tuple(part for part in first["loc"] if part not in (INLINE, NAMED))
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        message = "a profile has no such field"
    elif first["type"] == "missing":
        message = "this field is missing"
    # What is wrong between fields begins with the name of one.
    begins_with = _FIELD.match(message) if first["type"] == "value_error" else None
    line = _line(node, loc if begins_with is None else (*loc, begins_with.group()))
    field = ".".join(str(part) for part in loc)
    return f"{name}, line {line}: {field}: {message}." if field else f"{name}, line {line}: {message}."


def _line(node: yaml.Node, loc: tuple[Any, ...]) -> int:
    """The line (from 1) of the deepest part of `loc` that is in the file."""
    line = node.start_mark.line + 1
    for part in loc:
        if not isinstance(node, yaml.MappingNode):
            break
        found = [(key, value) for key, value in node.value if key.value == str(part)]
        if not found:
            break
        line, node = found[0][0].start_mark.line + 1, found[0][1]
    return line
