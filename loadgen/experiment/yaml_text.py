"""YAML as experiment files are written in it: the literals of YAML 1.2, no repeated keys, and the line of every value.

PyYAML follows YAML 1.1, in which `name: off` is the boolean false. Here only `true` and `false` are booleans.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import yaml

from loadgen.errors import ExperimentError

Loc = tuple[str | int, ...]
"""Where a value stands: the keys and list positions that lead to it."""

_TAG = "tag:yaml.org,2002:"
_WORDS = frozenset({"args", "matrix", "command"})
"""Below these keys numbers stay as they are written: `0.60` is an argument, and another one than `0.6`."""
_TEXTS = frozenset(
    {
        *("env", "name", "baseline", "program", "cwd", "cpus", "url", "model", "preset"),
        *("workload", "corpus", "ca_file", "series"),
    }
)
"""Below these booleans stay text as well: a model may be called `true`."""

_Mode = Literal["plain", "words", "text", "json"]


class _Loader(yaml.SafeLoader):
    """PyYAML's, with the literals below in place of its own."""


_Loader.yaml_implicit_resolvers = {}

for _kind, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
):
    _Loader.add_implicit_resolver(f"{_TAG}{_kind}", re.compile(rf"^(?:{_pattern})$"), list(_first))


@dataclass(frozen=True)
class YamlText:
    """What a file says: its content, and the line (from 1) of every value by where it stands."""

    name: str
    content: Any
    lines: Mapping[Loc, int]

    def where(self, loc: Loc = ()) -> str:
        """`FILE, line N` of the deepest part of `loc` that the file has."""
        known = self.known(loc)
        return f"{self.name}, line {self.lines[known]}" if known in self.lines else self.name

    def known(self, loc: Loc) -> Loc:
        """The longest beginning of `loc` that the file has."""
        while loc and loc not in self.lines:
            loc = loc[:-1]
        return loc


def read_yaml(text: str, *, name: str) -> YamlText:
    """The content of YAML text; `name` stands for the file in messages.

    Raises `ExperimentError` where the text is no YAML, repeats a key, or uses anchors, aliases or tags.
    """
    try:
        node = yaml.compose(text, Loader=_Loader)
        reader = _Reader(name)
        return YamlText(name, reader.value(node, (), "plain") if node is not None else None, reader.lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        raise ExperimentError(f"{name}{line}: not YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, RecursionError):
        raise ExperimentError(f"{name}: not YAML that an experiment is made of") from None


class _Reader:
    """Turns nodes into values and notes their lines."""

    def __init__(self, name: str) -> None:
        self.lines: dict[Loc, int] = {}
        self._name = name
        self._seen: set[int] = set()

    def value(self, node: yaml.Node, loc: Loc, mode: _Mode) -> Any:
        self.lines.setdefault(loc, node.start_mark.line + 1)
        if id(node) in self._seen:
            raise self._error(node, "anchors and aliases are not taken: write what variants share under base")
        self._seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, loc, mode)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*loc, index), mode) for index, item in enumerate(node.value)]
        return self._scalar(node, mode)

    def _mapping(self, node: yaml.MappingNode, loc: Loc, mode: _Mode) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, item in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self._error(key, "a key must be a word")
            self._check_text(key)
            if key.value in out:
                raise self._error(key, f"{key.value} is given twice")
            self.lines[*loc, key.value] = key.start_mark.line + 1
            out[key.value] = self.value(item, (*loc, key.value), _mode(mode, key.value))
        return out

    def _scalar(self, node: yaml.Node, mode: _Mode) -> Any:
        self._check_text(node)
        kind = str(node.tag).removeprefix(_TAG)
        text = str(node.value)
        if kind == "str" or (kind in ("int", "float") and mode in ("words", "text")):
            return text
        if kind == "null":
            return None
        if kind == "bool":
            return text if mode == "text" else text.lower() == "true"
        if kind == "int":
            return int(text, 0) if text.startswith(("0o", "0x")) else int(text)
        if kind == "float":
            return float(text)
        raise self._error(node, f"the tag {node.tag} is not taken")

    def _check_text(self, node: yaml.Node) -> None:
        """Escapes can spell half a character, which no program takes as an argument."""
        try:
            str(node.value).encode()
        except UnicodeEncodeError:
            raise self._error(node, "a text with half a character (a lone surrogate)") from None

    def _error(self, node: yaml.Node, what: str) -> ExperimentError:
        return ExperimentError(f"{self._name}, line {node.start_mark.line + 1}: {what}")


def _mode(outer: _Mode, key: str) -> _Mode:
    if outer != "plain":
        return outer
    if key == "body":
        return "json"
    return "words" if key in _WORDS else "text" if key in _TEXTS else "plain"
