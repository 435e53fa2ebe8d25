"""What pydantic finds wrong, in the words of a person who writes an experiment."""

from collections.abc import Mapping
from typing import Any

_WORDS = {
    "too_short": "one at least is needed",
    "tuple_type": "write a list",
    "list_type": "write a list",
    "dict_type": "write a mapping of names to values",
    "model_type": "write a mapping of fields to values",
    "model_attributes_type": "write a mapping of fields to values",
    "int_parsing": "write a whole number",
    "int_type": "write a whole number",
    "int_from_float": "write a whole number",
    "float_parsing": "write a number",
    "float_type": "write a number",
    "bool_parsing": "write true or false",
    "bool_type": "write true or false",
    "string_type": "write a text",
}


def worded(found: Mapping[str, Any]) -> str:
    """One of the errors of a `ValidationError`, as a half-sentence."""
    if found["type"] == "literal_error":
        expected = found["ctx"]["expected"].replace(" or ", ", ").replace("'", "")
        return f"{found['input']!r} is none of {expected}"
    said: str = found["msg"]
    return _WORDS.get(found["type"], said.removeprefix("Value error, "))
