"""Texts sized by the tokenizer of the server under test, each line asked about once."""

import hashlib
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from itertools import accumulate, pairwise
from math import ceil

from loadgen.client.chunk import replace_surrogates
from loadgen.records.sizes import Sizes

__all__ = ["ServerSizer", "UnsizedError", "splits_at_lines"]

_FILL = 0.97
"""The share of a context that the deepest turn may fill. Of counted text 3 % are left for what templates put in
between, and for answers of the model's own."""
_LINE_END_WITHIN = 100
"""A text is cut at the end of a line where one lies within a hundredth of the tokens asked for."""
_MORE, _AT_LEAST = 1.1, 64
"""Text that is made before it is cut: 1.1 times what an average says, and 64 characters; more where that is short."""
_BYTE = 256
_LINE_BEGINS = re.compile(r"(?<=\n)(?![^\S\n]*\n)")
"""Before a line that isn't blank: tokenizers put line ends together with those of blank lines and what stands before
them, but hardly any with the text that follows."""


class UnsizedError(Exception):
    """The tokenizer doesn't answer, or not in time."""


class ServerSizer:
    """The tokenizer of a server.

    A text is cut where one of its tokens ends. The beginning up to there has the same tokens: tokenizers that merge
    pairs (BPE, as SentencePiece does it or after a split into words) have merged nothing across that place, with or
    without the rest. So a cut takes one question. What stands around the cut in the prompt may merge with its last
    token; whole messages are therefore counted as they are sent.

    By line (`Sizes.by_line`), a text has the tokens of its lines, and only lines that are new are asked about: all of a
    text in one question.

    Args:
        sizes: what is known; answers are added to it.
        ask: the tokens of a text, each as the bytes that it stands for; null where the tokenizer doesn't say. Without
            `ask` nothing but what is known can be sized.
        known: the lengths of the tokens of lines by their digest, as earlier runs had them; what is new is added.

    Methods raise `UnsizedError` where nothing is known of a text and the tokenizer doesn't say.
    """

    name = "tokenizer"
    exact = True
    fill = _FILL

    def __init__(
        self,
        sizes: Sizes,
        ask: Callable[[str], Sequence[bytes] | None] | None = None,
        known: MutableMapping[bytes, bytes] | None = None,
    ) -> None:
        self.sizes = sizes
        self.message_tokens = sizes.message_tokens
        self.prompt_tokens = sizes.prompt_tokens
        self._ask = ask
        self._known = {} if known is None else known
        self._lines: dict[str, tuple[int, ...]] = {}
        """Of each line, or of a whole text: the bytes of its tokens."""

    def tokens(self, text: str) -> int:
        """As the tokenizer says."""
        if not text:
            return 0
        key = _key(text)
        known = self.sizes.counts.get(key)
        if known is None:
            known = self.sizes.counts[key] = sum(map(len, self._pieces(text)))
        return known

    def cut(self, text: str, tokens: int) -> str:
        """Where a token ends; at the end of a line, where one lies within a hundredth of the tokens."""
        if tokens <= 0 or not text:
            return ""
        key = f"{_key(text)}:{tokens}"
        known = self.sizes.cuts.get(key)
        if known is None:
            known, count = _place(text, [length for piece in self._pieces(text) for length in piece], tokens)
            self.sizes.cuts[key] = known
            self.sizes.counts.setdefault(_key(text[:known]), count)
        return text[:known]

    def size(self, tokens: int) -> int:
        """Tokens."""
        return max(1, tokens)

    def measured(self, text: str) -> int:
        """Tokens."""
        return self.tokens(text)

    def clip(self, text: str, size: int) -> str:
        """As `cut`."""
        return self.cut(text, size)

    def room(self, size: int) -> int:
        """By the average, and more."""
        return ceil(_MORE * size * self.sizes.chars_per_token) + _AT_LEAST

    def _pieces(self, text: str) -> list[tuple[int, ...]]:
        """The bytes of each token, line by line."""
        parts = _LINE_BEGINS.split(text) if self.sizes.by_line else [text]
        new = [part for part in dict.fromkeys(parts) if part not in self._lines and not self._recalled(part)]
        if new:
            # Of one text no line but the last is without an end.
            joined = "".join(new)
            found = self._ask(joined) if self._ask is not None else None
            if found is None:
                raise UnsizedError
            for part, lengths in zip(new, _by_part([_bytes(part) for part in new], found), strict=True):
                self._lines[part] = lengths
                if max(lengths, default=0) < _BYTE:
                    self._known[_digest(part)] = bytes(lengths)
        return [self._lines[part] for part in parts]

    def _recalled(self, part: str) -> bool:
        """Whether an earlier run knew it; then it is known now."""
        lengths = self._known.get(_digest(part)) if self._known else None
        if lengths is not None:
            self._lines[part] = tuple(lengths)
        return lengths is not None


def splits_at_lines(text: str, pieces: Sequence[bytes]) -> bool:
    """Whether a tokenizer ends a token wherever a line begins, so that lines can be counted apart."""
    ends = {0, *accumulate(map(len, pieces))}
    return b"".join(pieces) == _bytes(text) and all(
        begin in ends for begin in accumulate(len(_bytes(part)) for part in _LINE_BEGINS.split(text))
    )


def _key(text: str) -> str:
    return _digest(text).hex()


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()


def _bytes(text: str) -> bytes:
    """As it is sent."""
    return replace_surrogates(text).encode()


def _by_part(parts: Sequence[bytes], pieces: Sequence[bytes]) -> Iterator[tuple[int, ...]]:
    """The bytes of the tokens of each part, of the tokens of all of them in a row.

    Some tokenizers put a blank in front. What others make of a text (lower case) has no places in it: its tokens are
    taken to be alike in length.
    """
    whole = b"".join(parts)
    joined = b"".join(pieces)
    lengths = list(map(len, pieces))
    if lengths and joined == b" " + whole:
        lengths[0] -= 1
    elif lengths and joined != whole:
        marks = [len(whole) * number // len(lengths) for number in range(len(lengths) + 1)]
        lengths = [end - begin for begin, end in pairwise(marks)]
    ends = list(accumulate(lengths))
    at = 0
    for end in accumulate(map(len, parts)):
        # A token that reaches over the end is counted before it.
        upto = max(at, bisect_right(ends, end - 1) + 1) if end else at
        yield tuple(lengths[at:upto])
        at = upto


def _place(text: str, lengths: Sequence[int], tokens: int) -> tuple[int, int]:
    """Characters of the text that so many of its tokens take, and how many tokens they are."""
    if tokens >= len(lengths):
        return len(text), len(lengths)
    data = _bytes(text)
    ends = [0, *accumulate(lengths)]
    for near in range(tokens // _LINE_END_WITHIN + 1):
        for count in (tokens - near, tokens + near):
            if count < len(lengths) and data.startswith(b"\n", ends[count]):
                return _characters(data, ends[count]), count
    return _characters(data, ends[tokens]), tokens


def _characters(data: bytes, end: int) -> int:
    """Whole characters in the first `end` bytes: a token may end within one."""
    return len(data[:end].decode("utf-8", "ignore"))
