"""How many tokens a text has, and texts cut to so many tokens.

Three ways: by an average of characters a token (`Ratio`), by the words of the tiny model's vocabulary (`Words`), and by
the tokenizer of the server under test (`loadgen.workload.server_sizer`).

A sizer counts in a unit of its own, which is called a size: characters for `Ratio`, tokens for the others. So an
average is applied once to a wanted length and not to each part of it.
"""

import re
from itertools import islice
from math import ceil, isfinite
from typing import Protocol

ASSUMED_CHARS_PER_TOKEN = 3.0
"""Where the server has no tokenizer route. Measured with Gemma 3's tokenizer: 4.2 for plain code and prose, 3.0 for
numbered views, 2.9 for grep hits, 3.2 to 3.5 for the built-in workloads. The low end, so that a wrong guess
makes prompts shorter than stated rather than too long for the context."""

CHAT_MESSAGE_TOKENS, SPELT_MESSAGE_TOKENS = 5, 15
"""What a chat template puts around a message. ChatML and Gemma take 5 tokens: start mark, role, line end, end mark,
line end. For real models that can't be asked 15 are counted: llama-server gives a model file without a template ChatML,
and a tokenizer that doesn't know its marks spells them out (measured with Gemma 3 270M). Rather too many than a prompt
too long."""
PROMPT_TOKENS = 4
"""The begin-of-text mark, and the head of the answer to come."""

_EXACT_FILL, _ESTIMATED_FILL = 1.0, 0.9
"""The share of a context that the deepest turn may fill. Text that is cut by an average of characters a token misses
its length by a few percent either way; 10 % covers that and the room that templates take."""
_WORD = re.compile(r"\S+")


class Sizer(Protocol):
    """Says how long a text is.

    Attributes:
        name: `words`, `ratio` or `tokenizer`.
        exact: tokens are counted, and not estimated.
        fill: the share of a slot's context that prompt and answer may take by these counts.
        message_tokens: what the chat template puts around a message.
        prompt_tokens: what it puts around all of them.
    """

    name: str
    exact: bool
    fill: float
    message_tokens: int
    prompt_tokens: int

    def tokens(self, text: str) -> int:
        """The tokens of a text, without the chat template."""
        ...

    def cut(self, text: str, tokens: int) -> str:
        """The beginning of a text that has so many tokens; all of a shorter one."""
        ...

    def size(self, tokens: int) -> int:
        """So many tokens as a size; 1 at least."""
        ...

    def measured(self, text: str) -> int:
        """The size of a text."""
        ...

    def clip(self, text: str, size: int) -> str:
        """The beginning of a text that has this size; all of a smaller one."""
        ...

    def room(self, size: int) -> int:
        """Characters to make before text of this size is cut from them."""
        ...


class Ratio:
    """So many characters a token. Raises `ValueError` where that is no positive number."""

    name = "ratio"
    exact = False
    fill = _ESTIMATED_FILL
    message_tokens = SPELT_MESSAGE_TOKENS
    prompt_tokens = PROMPT_TOKENS

    def __init__(self, chars_per_token: float = ASSUMED_CHARS_PER_TOKEN) -> None:
        if not (isfinite(chars_per_token) and chars_per_token > 0):
            raise ValueError(f"characters a token must be above 0, not {chars_per_token}")
        self.chars_per_token = chars_per_token

    def tokens(self, text: str) -> int:
        """Characters over characters a token, rounded up."""
        return ceil(len(text) / self.chars_per_token)

    def cut(self, text: str, tokens: int) -> str:
        """By characters."""
        return self.clip(text, self.size(tokens)) if tokens > 0 else ""

    def size(self, tokens: int) -> int:
        """Characters."""
        return max(1, round(tokens * self.chars_per_token))

    def measured(self, text: str) -> int:
        """Characters."""
        return len(text)

    def clip(self, text: str, size: int) -> str:
        """The first characters."""
        return text[:size]

    def room(self, size: int) -> int:
        """One more, which tells whether the cut is at the end of a line."""
        return size + 1


class Words:
    """Words of the tiny model's vocabulary, a token each."""

    name = "words"
    exact = True
    fill = _EXACT_FILL
    message_tokens = CHAT_MESSAGE_TOKENS
    prompt_tokens = PROMPT_TOKENS

    def tokens(self, text: str) -> int:
        """Its words."""
        return len(text.split())

    def cut(self, text: str, tokens: int) -> str:
        """Its first words."""
        ends = [0, *(word.end() for word in islice(_WORD.finditer(text), max(0, tokens)))]
        return text[: ends[-1]]

    def size(self, tokens: int) -> int:
        """Words."""
        return max(1, tokens)

    def measured(self, text: str) -> int:
        """Words."""
        return self.tokens(text)

    def clip(self, text: str, size: int) -> str:
        """As `cut`."""
        return self.cut(text, size)

    def room(self, size: int) -> int:
        """No word of a language is so long on average."""
        return 16 * (size + 1)
