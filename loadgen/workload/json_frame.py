"""What of a JSON text must stay for it to be one: its marks, in between its words.

Units are those of the copy rate. Each has a place in the JSON: outside of texts, in a key, or in a text; and in a text
it may be what an escape stands for.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Framed", "framed"]

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_COLON = re.compile(r"\s*:")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_LITERALS = frozenset({"true", "false", "null"})
_LETTERS = "nrtbfu"


@dataclass(frozen=True)
class Framed:
    """What a unit is.

    Attributes:
        kind: `mark`: it stays. `key`: of an object. `number`: its digits go. `text`: it is replaced.
        key: the whole key, at its first unit; empty at others.
        letter: with which a unit of a text must begin, because a backslash stands in front; empty: with any.
    """

    kind: Literal["mark", "key", "number", "text"]
    key: str = ""
    letter: str = ""


_MARK = Framed("mark")


def framed(text: str, units: Sequence[tuple[int, int]]) -> list[Framed] | None:
    """What each unit of a JSON object is; null where the text is none."""
    try:
        if not isinstance(json.loads(text), dict):
            return None
    except (ValueError, RecursionError):
        return None
    out: list[Framed] = []
    strings = _strings(text)
    begin, end, key = next(strings)
    escapes = _escapes(text, begin, end)
    for start, stop in units:
        while start >= end:
            begin, end, key = next(strings)
            escapes = _escapes(text, begin, end)
        if start < begin:
            word = text[start:stop]
            out.append(_MARK if word in _LITERALS or not any(sign.isdigit() for sign in word) else Framed("number"))
        elif start in (begin, end - 1):
            out.append(_MARK)
        elif key is not None:
            out.append(Framed("key", key if start == begin + 1 else ""))
        else:
            out.append(_in_text(text[start:stop], escapes.get(start - 1), is_escape=start in escapes))
    return out


def _escapes(text: str, begin: int, end: int) -> dict[int, str]:
    """The places of backslashes in a text, and the characters behind them."""
    return {found.start(): found[1] for found in _ESCAPED.finditer(text, begin + 1, max(end - 1, begin + 1))}


def _in_text(word: str, escaped: str | None, *, is_escape: bool) -> Framed:
    """A unit of a text, of which `escaped` is the character behind a backslash in front of it."""
    if is_escape or (escaped is not None and (escaped not in _LETTERS or word == escaped)):
        # What stands for a mark stays one.
        return _MARK
    if escaped is None:
        return Framed("text")
    # What stands for any character becomes one for a line end.
    return Framed("text", letter="n" if escaped == "u" else escaped)


def _strings(text: str) -> Iterator[tuple[int, int, str | None]]:
    """Begin and end of each text with its quotes, and what it says where it is a key; then one behind the end."""
    for found in _STRING.finditer(text):
        is_key = _COLON.match(text, found.end()) is not None
        yield found.start(), found.end(), str(json.loads(found.group())) if is_key else None
    yield len(text), len(text) + 1, None
