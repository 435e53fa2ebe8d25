"""What is wrong with an experiment file, with the line and what may have been meant."""

import difflib
from collections.abc import Collection
from typing import Any

from pydantic import BaseModel, ValidationError

from loadgen.errors import ExperimentError
from loadgen.experiment.file_model import BaseEntry, DeadlinesEntry, ExperimentFile, LimitsEntry, SloEntry, VariantEntry
from loadgen.experiment.wording import worded
from loadgen.experiment.yaml_text import Loc, YamlText

_OTHER_NAMES = {
    "concurrency": "levels",
    "depth": "depths",
    "budget": "time_budget",
    "environment": "env",
    "arguments": "args",
    "api_key": "api_key_env",
    "synth_len": "synthetic_acceptance",
}
"""What people write for a field of another name that looks nothing like it."""


def file_error(text: YamlText, error: ValidationError, at: Loc = ()) -> ExperimentError:
    """The first thing that is wrong; `at` is where in the file the validated value stands."""
    first = error.errors(include_url=False)[0]
    loc: Loc = (*at, *first["loc"])
    kind = first["type"]
    if kind == "extra_forbidden":
        what = _unknown(str(loc[-1]), _fields(loc[:-1]))
        if loc[:-1] == () and loc[-1] in BaseEntry.model_fields:
            what = f"{loc[-1]} belongs to a variant, or under base to all of them"
        return _error(text, loc[:-1], what, line=loc)
    if kind == "missing":
        return _error(text, text.known(loc[:-1]), f"{loc[-1]} is missing")
    return _error(text, text.known(loc), worded(first))


def _error(text: YamlText, loc: Loc, what: str, *, line: Loc | None = None) -> ExperimentError:
    place = _place(text, loc)
    return ExperimentError(f"{text.where(loc if line is None else line)}: {place}{': ' if place else ''}{what}")


def value_error(text: YamlText, field: str, what: str) -> ExperimentError:
    """An error of a field of the file."""
    return _error(text, (field,), what)


def entry_error(text: YamlText, position: int, what: str) -> ExperimentError:
    """An error of the variant at this place of the file."""
    return _error(text, ("variants", position), what)


def _place(text: YamlText, loc: Loc) -> str:
    """`variant mtp: args`, for the error's reader."""
    if loc[:1] != ("variants",) or len(loc) == 1:
        return _dotted(loc)
    variant = text.content["variants"][loc[1]]
    name = variant.get("name") if isinstance(variant, dict) else None
    which = f"variant {name}" if name else f"variant {int(loc[1]) + 1}"
    return ": ".join([which, _dotted(loc[2:])]) if len(loc) > 2 else which  # noqa: PLR2004 - a field of it


def _dotted(loc: Loc) -> str:
    """Field names with dots between; the position in a list tells a reader less than the line does."""
    return ".".join(part for part in loc if isinstance(part, str))


def _fields(loc: Loc) -> Collection[str]:
    model: type[BaseModel] = ExperimentFile
    if loc[:1] == ("base",):
        model = BaseEntry
    elif loc[:1] == ("variants",):
        model = VariantEntry
    elif loc[:1] == ("deadlines",):
        model = DeadlinesEntry
    elif loc[:1] == ("slo",):
        model = LimitsEntry if loc[1:2] == ("classes",) else SloEntry
    return model.model_fields


def _unknown(name: str, fields: Collection[str]) -> str:
    if name.startswith("-"):
        return f"there is no field {name}: an argument of llama-server goes under args"
    meant = _OTHER_NAMES.get(name.replace("-", "_"))
    close = difflib.get_close_matches(name.replace("-", "_").lower(), list(fields), n=1)
    if meant is None or meant not in fields:
        meant = close[0] if close else None
    return f"there is no field {name}" + (f"; did you mean {meant}?" if meant else f": one of {', '.join(fields)}")


def kind_error(text: YamlText, position: int, fields: dict[str, Any], error: ValidationError) -> ExperimentError:
    """What is wrong with the fields of a variant of one kind."""
    first = error.errors(include_url=False)[0]
    loc = [part for part in first["loc"] if part != fields["kind"]]
    name = str(loc[0]) if loc else ""
    if first["type"] == "missing":
        what = f"kind {fields['kind']} needs {name}"
    elif first["type"] == "extra_forbidden":
        what = f"kind {fields['kind']} has no {name}"
    else:
        what = worded(first)
        if name == "name":
            what = f"{fields['name']!r} is no name: letters, digits, dot, dash and underscore, 64 at most"
        elif name:
            what = f"{name}: {what}"
    at: Loc = (
        ("variants", position, name) if name and ("variants", position, name) in text.lines else ("variants", position)
    )
    place = _place(text, ("variants", position))
    return ExperimentError(f"{text.where(at)}: {place}: {what}")
