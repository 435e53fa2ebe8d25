"""JSON values of a file that are no lines: the elements of one array, or documents over several lines."""

import codecs
import json
import re
from collections.abc import Iterator
from typing import IO, Any

__all__ = ["NotJson", "elements", "explained", "values"]

_CHUNK = 1 << 20
"""Bytes read at once; more where one value is longer."""
_SPACE = re.compile(r"[ \t\r\n]*")


class NotJson(ValueError):  # noqa: N818 - says what the text is
    """The text is no JSON from a line on: the line (from 1), and why."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line = line


def elements(file: IO[bytes], begin: bytes, longest: int) -> Iterator[tuple[int, Any]]:
    """The elements of an array, each with the line on which it begins; never more of the file held than one takes.

    Args:
        file: where the text goes on.
        begin: its beginning.
        longest: characters of one element, above which reading ends.

    Raises `NotJson` at the first place that is none; what came before has been given.
    """
    text = _Text(file, begin, longest)
    text.expect("[")
    if text.next_character() != "]":
        yield text.value()
        while text.next_character() == ",":
            text.expect(",")
            yield text.value()
    text.expect("]")
    if text.next_character():
        raise NotJson(text.line, "something stands behind the array")


def values(file: IO[bytes], begin: bytes, longest: int) -> Iterator[tuple[int, Any]]:
    """JSON documents one behind the other, each with the line on which it begins; otherwise as `elements`."""
    text = _Text(file, begin, longest)
    while text.next_character():
        yield text.value()


def explained(error: Exception) -> str:
    """What is wrong with a text, without the text in which it is."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg[0].lower()}{error.msg[1:]} at character {error.pos + 1}"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return f"it is no UTF-8 at byte {error.start + 1}"
    return str(error) or type(error).__name__


class _Text:
    """A window on the text of a file, and the line at which it is read."""

    def __init__(self, file: IO[bytes], begin: bytes, longest: int) -> None:
        self._file = file
        self._longest = longest
        self._utf8 = codecs.getincrementaldecoder("utf-8")("surrogatepass")
        self._text = self._decoded(begin)
        self._at = 0
        self._ended = False
        self._json = json.JSONDecoder()
        self.line = 1

    def next_character(self) -> str:
        """The next one that is no space, not taken; none at the end."""
        while True:
            found = _SPACE.match(self._text, self._at)
            self._go_to(found.end() if found else self._at)
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def expect(self, character: str) -> None:
        """Take that character, or raise."""
        if (found := self.next_character()) != character:
            raise NotJson(self.line, f"{character!r} is expected here" if found else f"it ends without {character!r}")
        self._at += 1

    def value(self) -> tuple[int, Any]:
        """Take the value that begins here."""
        self.next_character()
        line = self.line
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._at)
            except (ValueError, RecursionError) as error:
                begin = self._at
                # Only a syntax error can be the end of the window.
                if not isinstance(error, json.JSONDecodeError) or not self._more():
                    raise NotJson(line, self._why(error, begin)) from None
                continue
            # A number at the end of the window may go on behind it.
            if end < len(self._text) or not self._more():
                self._go_to(end)
                return line, value

    def _why(self, error: Exception, begin: int) -> str:
        """What is wrong with the value that began there, in words."""
        if len(self._text) - self._at > self._longest:
            return f"a value is longer than {self._longest} characters"
        if isinstance(error, json.JSONDecodeError):
            inside = error.doc.count("\n", begin, error.pos)
            where = f" in line {self.line + inside}" if inside else ""
            return f"{error.msg[0].lower()}{error.msg[1:]}{where}"
        return explained(error)

    def _go_to(self, end: int) -> None:
        self.line += self._text.count("\n", self._at, end)
        self._at = end

    def _more(self) -> bool:
        """Whether there was more of the file, up to the longest value."""
        if self._ended or len(self._text) - self._at > self._longest:
            return False
        self._text, self._at = self._text[self._at :], 0
        data = self._file.read(max(_CHUNK, len(self._text)))
        self._ended = not data
        self._text += self._decoded(data, last=self._ended)
        return not self._ended

    def _decoded(self, data: bytes, *, last: bool = False) -> str:
        try:
            return self._utf8.decode(data, last)
        except UnicodeDecodeError as error:
            raise NotJson(getattr(self, "line", 1), f"it is no UTF-8: {error.reason}") from None
