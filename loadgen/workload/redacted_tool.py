"""The definition of a tool in place of another: the shape of its parameters, and nothing that was in it."""

from collections.abc import Callable
from typing import Any

from loadgen.workload.redacted_names import Names

__all__ = ["redacted_tool"]

_KEYWORDS = frozenset(
    (
        *("type", "items", "anyOf", "oneOf", "allOf", "not", "additionalProperties", "prefixItems", "nullable"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems", "minLength"),
        *("maxLength", "minProperties", "maxProperties", "uniqueItems"),
    )
)
"""Words of JSON Schema whose values are shape. What others hold (defaults, patterns) may be anybody's own."""
_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_WORDED = ("description", "title")
_NAMED = ("properties", "$defs", "definitions")
_HEADS = ("#/$defs", "#/definitions")


def redacted_tool(tool: dict[str, Any], names: Names, replaced: Callable[[str], str]) -> dict[str, Any]:
    """The definition with another name, other words, and parameters of the same shape.

    Args:
        tool: in OpenAI's shape.
        names: of tools (`tool`) and arguments (`arg`).
        replaced: what stands in place of a text.
    """
    given = tool.get("function")
    function = given if isinstance(given, dict) else {}
    out: dict[str, Any] = {"name": names.name("tool", function.get("name"))}
    if isinstance(function.get("description"), str):
        out["description"] = replaced(function["description"])
    if isinstance(function.get("parameters"), dict):
        out["parameters"] = _schema(function["parameters"], names, replaced)
    return {"type": "function", "function": out}


def _schema(schema: Any, names: Names, replaced: Callable[[str], str]) -> Any:
    if isinstance(schema, list):
        return [_schema(one, names, replaced) for one in schema]
    if isinstance(schema, str):
        return schema if schema in _TYPES else "string"
    if not isinstance(schema, dict):
        return schema
    members = {key: _member(key, value, names, replaced) for key, value in schema.items()}
    return {key: value for key, value in members.items() if value is not None}


def _member(key: str, value: Any, names: Names, replaced: Callable[[str], str]) -> Any:
    """What stands in a schema under a key; null: it goes."""
    if key in _NAMED and isinstance(value, dict):
        return {names.name("arg", name): _schema(one, names, replaced) for name, one in value.items()}
    if key == "required" and isinstance(value, list):
        return [names.name("arg", name) for name in value]
    if key in _WORDED and isinstance(value, str):
        return replaced(value)
    if key == "enum" and isinstance(value, list):
        return [replaced(one) for one in value if isinstance(one, str)] or None
    if key == "$ref" and isinstance(value, str):
        head, _, name = value.rpartition("/")
        return f"{head if head in _HEADS else _HEADS[0]}/{names.name('arg', name)}"
    return _schema(value, names, replaced) if key in _KEYWORDS else None
