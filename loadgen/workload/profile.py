"""Profiles: what agents do, as a person writes it down in YAML (version 1). `loadgen.workload.pool` plays the dice.

A profile states how many turns a job has, how much each turn adds to the prompt, how long answers and waits are, and
where every one of these numbers comes from. Values are numbers or distributions (see `loadgen.workload.distribution`).
"""

from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError, model_validator

from loadgen.errors import WorkloadError
from loadgen.workload.distribution import Distribution, Fixed, parse
from loadgen.workload.session import History

Value = Annotated[Distribution, PlainValidator(parse)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, strict=True)]

PARAMETERS = (
    *("system_tokens", "first_user", "turns", "tool_result", "answer", "output", "tool_time_s", "think_time_s"),
    *("user_turns", "edit_turns", "extract_turns"),
)
"""The fields that state how agents behave: each has a source, or is listed as assumed."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Tokens(_Frozen):
    """A length of text."""

    tokens: Value


class Output(_Frozen):
    """How much the model is asked to write.

    `natural`: `tokens` caps the answer, which may end earlier. `exact`: the server is told to ignore end-of-text, so
    that exactly so many tokens come; acceptance rates of such text say little.
    """

    tokens: Value
    mode: Literal["natural", "exact"]


class Profile(_Frozen):
    """One workload, as its file states it."""

    version: Literal[1]
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=60)
    description: str = Field(min_length=1)
    min_context: int = Field(ge=128, le=10_000_000, strict=True, description="tokens that a slot must hold")
    pool: int = Field(default=64, ge=1, le=10_000, strict=True, description="sessions to draw")
    corpus: Literal["words", "code", "prose"]
    history: History
    system_tokens: Value = Field(description="tokens of the system message")
    first_user: Tokens = Field(description="the first user message, without the request at its end")
    turns: Value = Field(description="model calls a session")
    tool_result: Tokens = Field(description="what a tool prints, or a later user brings, without the request")
    answer: Tokens = Field(description="the recorded assistant text of prose and extract turns")
    output: Output
    tool_time_s: Value = Field(description="wait before a turn that brings a tool result")
    think_time_s: Value = Field(default=Fixed(0), description="wait before a later turn of the user")
    user_turns: Value = Field(default=Fixed(1), description="turns in which the user speaks, the first included")
    edit_turns: Share = Field(default=0.0, description="turns that ask for a text back with a small change")
    extract_turns: Share = Field(default=0.0, description="turns that ask for a list of names")
    sources: dict[str, Annotated[str, Field(min_length=1)]] = Field(description="where each parameter comes from")

    @model_validator(mode="after")
    def _consistent(self) -> "Profile":
        if self.edit_turns + self.extract_turns > 1:
            raise ValueError("edit_turns and extract_turns are more than all turns")
        if self.corpus == "words" and self.edit_turns + self.extract_turns > 0:
            raise ValueError("words without meaning can't be edited or listed: corpus must be code or prose")
        unknown = sorted(set(self.sources) - set(PARAMETERS))
        if unknown:
            raise ValueError(f"sources names {', '.join(unknown)}, which is no parameter of a profile")
        return self

    @property
    def assumed(self) -> tuple[str, ...]:
        """Parameters without a source. A think time that never comes into play is none."""
        idle = {"think_time_s"} if self.user_turns == Fixed(1) else set()
        return tuple(name for name in PARAMETERS if name not in self.sources and name not in idle)


def read_profile(path: Path) -> Profile:
    """The profile in a YAML file.

    Raises `WorkloadError` that names the file, and where it can the line and the field.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise WorkloadError(f"{path}: a profile is UTF-8 text; this file is not.") from error
    except OSError as error:
        reason = error.strerror or "it can't be read"
        raise WorkloadError(f"{path}: {reason}. Name a built-in workload or a YAML file.") from error
    return parse_profile(text, name=str(path))


def parse_profile(text: str, *, name: str) -> Profile:
    """The profile in YAML text; `name` stands for the file in messages. Raises `WorkloadError`."""
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
        return Profile.model_validate(content)
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
    field = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        message = "a profile has no such field"
    elif first["type"] == "missing":
        message = "this field is missing"
    where = f"{name}, line {_line(node, first['loc'])}"
    return f"{where}: {field}: {message}." if field else f"{where}: {message}."


def _line(node: yaml.Node, loc: tuple[int | str, ...]) -> int:
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
