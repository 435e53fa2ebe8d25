"""How many tokens a text has, guessed from its words, marks and blanks; and whether a new text keeps pace with an old.

For where nobody can be asked, and for parts of texts of which only the whole was counted.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["SLACK", "Pace", "guessed"]

SLACK = 1.5
"""Tokens that may be owed, or too many, before anything is done about it."""

_CARRIED = 20.0
"""Tokens that one text may owe to the next: prompts are as long as they were, and no message far from it."""
_PART = re.compile(r"[^\W\d_]+|\d+|_+|\s+|[^\w\s]")
_LETTERS, _DIGITS = 7, 2
"""Letters and digits a token, of a word that is longer: vocabularies hold most English words whole, and of numbers one
to three digits."""
_SAME_MARK, _UNDERSCORE = 0.25, 0.5
"""Of a mark behind the same mark: rules of dashes are a few tokens. Of an underscore: it belongs to a word half the
time."""


def guessed(text: str) -> float:
    """The tokens of a text, about."""
    total, before = 0.0, ""
    for found in _PART.finditer(text):
        part = found.group()
        total += _SAME_MARK if part == before and not part.isalnum() else _of_part(part)
        before = part
    return total


@dataclass
class Pace:
    """By how many tokens new texts are shorter than old ones so far.

    `old` and `new` are the tokens that one of the guess stands for, in the text that is replaced and in what replaces
    it.
    """

    short: float = 0.0
    old: float = 1.0
    new: float = 1.0

    def begin(self, old: float, new: float) -> None:
        """Another text."""
        self.old, self.new = old, new
        self.short = max(-_CARRIED, min(self.short, _CARRIED))

    def want(self, gap: str, unit: str) -> None:
        """A unit, with the blanks in front of it, is to be replaced."""
        self.short += _of_piece(gap, unit) * self.old

    def put(self, gap: str, unit: str) -> None:
        """This has come in its place."""
        self.short -= _of_piece(gap, unit) * self.new

    def owed(self, gap: str, unit: str) -> float:
        """By how many tokens it is short if this comes."""
        return self.short - _of_piece(gap, unit) * self.new


@lru_cache(maxsize=1 << 16)
def _of_piece(gap: str, unit: str) -> float:
    return guessed(f"{gap}{unit}")


def _of_part(part: str) -> float:
    if part.isspace():
        # A single blank belongs to the word behind it.
        return 0.0 if part == " " else 1.0
    if part.isdecimal():
        return -(-len(part) // _DIGITS)
    if part.isalpha():
        return -(-len(part) // _LETTERS) if part.isascii() else float(len(part))
    return _UNDERSCORE if part[0] == "_" else 1.0
