"""Values as an experiment file writes them: `2s`, `95%`, `24GiB`, `1..4`, and what they are in an experiment."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainValidator, WithJsonSchema

from loadgen.experiment.arguments import Part, parse_arguments
from loadgen.experiment.depths import parse_depths
from loadgen.experiment.levels import parse_levels
from loadgen.experiment.slo import parse_share
from loadgen.units import parse_duration_s, parse_size

_SCALAR = {"type": ["string", "number"]}
_VALUE = {"anyOf": [{"type": ["string", "number", "boolean", "null"]}, {"type": "array", "items": _SCALAR}]}
_WORDS = {"anyOf": [{"type": "string"}, {"type": "array", "items": _SCALAR}]}
_TEXTS = {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean", "null"]}}


def _seconds(value: Any) -> Any:
    return parse_duration_s(value) if isinstance(value, str) else value


def _bytes(value: Any) -> Any:
    return parse_size(value) if isinstance(value, str) else value


def _share(value: Any) -> Any:
    return parse_share(value) if isinstance(value, str) else value


def _levels(value: Any) -> Any:
    if isinstance(value, str):
        return parse_levels(value)
    return (value,) if isinstance(value, int) else value


def _depths(value: Any) -> Any:
    if isinstance(value, str):
        return parse_depths(value)
    if isinstance(value, list):
        return tuple(depth for one in value for depth in (parse_depths(one) if isinstance(one, str) else (one,)))
    return (value,) if isinstance(value, int) else value


def _axes(value: Any) -> dict[str, tuple[str | bool | None, ...]] | None:
    """A matrix: arguments, each with the values that it takes in turn. Raises `ValueError`."""
    if value is None:
        return None
    if not isinstance(value, dict) or not value:
        raise ValueError("write a mapping of arguments to lists of values, such as --spec-draft-n-max: [0, 1, 3]")
    for name, values in value.items():
        if not name.startswith("-"):
            raise ValueError(f"{name} is no argument: write it with its dashes, such as -np or --parallel")
        if not isinstance(values, list) or not values:
            raise ValueError(f"{name} needs a list with one value at least")
        if any(isinstance(item, list | dict) for item in values):
            raise ValueError(f"{name}: a value is a word, a number, true or null")
    return {name: tuple(values) for name, values in value.items()}


def _command(value: Any) -> tuple[str, ...]:
    if isinstance(value, str | list):
        return tuple(word for part in parse_arguments(value) for word in part.words)
    raise ValueError("write a list of words, or one text")


Duration = Annotated[
    float,
    BeforeValidator(_seconds),
    Field(ge=0),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0},
                {"type": "string", "pattern": r"^\s*(\d+(\.\d+)?(ms|s|m|h)?)+\s*$"},
            ]
        }
    ),
]
Share = Annotated[
    float,
    BeforeValidator(_share),
    Field(gt=0, le=1),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
                {"type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*%?\s*$"},
            ]
        }
    ),
]
Size = Annotated[
    int,
    BeforeValidator(_bytes),
    Field(ge=0),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": r"^\s*\d"}]}),
]
Arguments = Annotated[
    tuple[Part, ...],
    PlainValidator(parse_arguments),
    WithJsonSchema({"anyOf": [*_WORDS["anyOf"], {"type": "object", "additionalProperties": _VALUE}]}),
]
Matrix = Annotated[
    dict[str, tuple[str | bool | None, ...]] | None,
    PlainValidator(_axes),
    WithJsonSchema(
        {
            "anyOf": [
                {
                    "type": "object",
                    "minProperties": 1,
                    "propertyNames": {"pattern": "^-"},
                    "additionalProperties": {
                        "type": "array",
                        "minItems": 1,
                        "items": {"type": ["string", "number", "boolean", "null"]},
                    },
                },
                {"type": "null"},
            ]
        }
    ),
]
Levels = Annotated[
    tuple[int, ...],
    BeforeValidator(_levels),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 1}},
                {"type": "integer", "minimum": 1},
                {"type": "string"},
            ]
        }
    ),
]
Depths = Annotated[
    tuple[int, ...],
    BeforeValidator(_depths),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "array", "items": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string"}]}},
                {"type": "integer", "minimum": 1},
                {"type": "string"},
            ]
        }
    ),
]
Command = Annotated[tuple[str, ...], PlainValidator(_command), WithJsonSchema(_WORDS)]
Texts = Annotated[dict[str, str | None], WithJsonSchema(_TEXTS)]
Text = Annotated[str, WithJsonSchema(_SCALAR)]
