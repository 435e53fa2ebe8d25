"""Sessions that tell whose answer is whose: each has a code word, and a text with it that is to be copied."""

import hashlib
from dataclasses import dataclass

MOST_SESSIONS = 256
"""llama.cpp serves at most so many sequences at once (LLAMA_MAX_SEQ)."""

_FIRST = (
    *("amber", "river", "stone", "maple", "cedar", "silver", "ocean", "meadow"),
    *("winter", "summer", "copper", "forest", "harbor", "valley", "desert", "island"),
)
_SECOND = (
    *("falcon", "lantern", "garden", "bridge", "castle", "rocket", "window", "mirror"),
    *("candle", "basket", "hammer", "ladder", "pencil", "saddle", "turtle", "violin"),
)
_LINES = (
    "opened the red door at nine",
    "counted all the boats in port",
    "wrote two letters to the mayor",
    "carried the boxes up the hill",
    "painted a fence behind the barn",
    "sold seven apples at the market",
    "repaired an old clock by noon",
    "found a key under the stairs",
)
"""Of seven to nine tokens each, so that all sessions ask for about as much."""
_LINES_EACH = 3
_LOWEST, _NUMBERS, _STRIDE = 1000, 9000, 7919
"""Numbers of four digits; the stride has no divisor in common with their count, so that none comes twice."""
_LINE_STRIDE = 3
"""Through the eight lines without meeting one twice."""


@dataclass(frozen=True)
class CodedSession:
    """One agent's session: its code word, and the text that its answer should hold."""

    agent: int
    word: str
    text: str

    def messages(self) -> list[dict[str, str]]:
        """The prompt. It shows once how copying is done, so that base models and very small ones do it too.

        The text is in the prompt twice and repeats itself, so that n-gram speculation has something to draft.
        """
        task = f"Copy this text:\n{self.text}"
        return [
            {"role": "user", "content": task},
            {"role": "assistant", "content": self.text},
            {"role": "user", "content": task},
        ]

    def found_in(self, answer: str) -> bool:
        """Whether an answer holds the code word, however it is set: case, blanks and marks don't matter."""
        return _bare(self.word) in _bare(answer)


def coded_sessions(run: str, count: int) -> list[CodedSession]:
    """The sessions of agents 0 to `count` - 1, at most `MOST_SESSIONS`: the same for every variant of a run.

    Code words end in four digits of which no two are alike, so none is part of another.
    """
    start = _digest(run)[0]
    sessions = []
    for agent in range(min(count, MOST_SESSIONS)):
        first, second, line = _digest(f"{run}:{agent}")[1:4]
        number = _LOWEST + (start + agent * _STRIDE) % _NUMBERS
        word = f"{_FIRST[first % len(_FIRST)]}-{_SECOND[second % len(_SECOND)]}-{number}"
        lines = [_LINES[(line + step * _LINE_STRIDE) % len(_LINES)] for step in range(_LINES_EACH)]
        sessions.append(CodedSession(agent, word, "\n".join(f"{word} {text}." for text in lines)))
    return sessions


def _digest(text: str) -> tuple[int, ...]:
    data = hashlib.sha256(text.encode()).digest()
    return tuple(int.from_bytes(data[at : at + 4], "big") for at in range(0, len(data), 4))


def _bare(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())
