"""A checker of values against a JSON schema made of the words that ours uses; any other word is a KeyError."""

import re
from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_NOTES = {"title", "description", "default", "$schema", "$defs"}
_TYPES: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": lambda value: _is_number(value) and int(value) == value,
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


class JsonSchema:
    """A schema, asked whether values fit it."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._object_words: dict[str, Callable[[dict[str, Any], Any, Schema], bool]] = {
            "required": lambda value, rule, _: set(rule) <= value.keys(),
            "minProperties": lambda value, rule, _: len(value) >= rule,
            "propertyNames": lambda value, rule, _: all(self.fits(name, rule) for name in value),
            "properties": lambda value, rule, _: all(
                self.fits(value[name], rule[name]) for name in rule.keys() & value
            ),
            "additionalProperties": self._others_fit,
        }
        self._array_words: dict[str, Callable[[list[Any], Any], bool]] = {
            "items": lambda value, rule: all(self.fits(item, rule) for item in value),
            "minItems": lambda value, rule: len(value) >= rule,
        }
        self._number_words: dict[str, Callable[[float, float], bool]] = {
            "minimum": lambda value, rule: value >= rule,
            "maximum": lambda value, rule: value <= rule,
            "exclusiveMinimum": lambda value, rule: value > rule,
            "exclusiveMaximum": lambda value, rule: value < rule,
        }
        self._words: dict[str, Callable[[Any, Any], bool]] = {
            "$ref": lambda value, rule: self.fits(value, self._root["$defs"][rule.removeprefix("#/$defs/")]),
            "anyOf": lambda value, rule: any(self.fits(value, one) for one in rule),
            "type": lambda value, rule: any(
                _TYPES[name](value) for name in ([rule] if isinstance(rule, str) else rule)
            ),
            "enum": lambda value, rule: value in rule,
            "pattern": lambda value, rule: not isinstance(value, str) or re.search(rule, value) is not None,
        }

    def fits(self, value: Any, schema: Schema | None = None) -> bool:
        """Whether the value fits the schema, or a part of it."""
        chosen = self._root if schema is None else schema
        return all(self._holds(value, word, rule, chosen) for word, rule in chosen.items() if word not in _NOTES)

    def _holds(self, value: Any, word: str, rule: Any, schema: Schema) -> bool:
        if word in self._object_words:
            return not isinstance(value, dict) or self._object_words[word](value, rule, schema)
        if word in self._array_words:
            return not isinstance(value, list) or self._array_words[word](value, rule)
        if word in self._number_words:
            return not _is_number(value) or self._number_words[word](value, rule)
        return self._words[word](value, rule)

    def _others_fit(self, value: dict[str, Any], rule: Any, schema: Schema) -> bool:
        others = [name for name in value if name not in schema.get("properties", {})]
        return rule is True or (not others if rule is False else all(self.fits(value[name], rule) for name in others))
