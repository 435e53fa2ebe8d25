"""How much of an answer stands earlier in its session: what a draft from n-grams lives on.

Units are words and marks of punctuation, so that the measure needs no tokenizer and is the same for every model.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from loadgen.workload.recorded import RecordedSession

N = 8
"""Units a gram. Shorter ones come again by chance, longer ones miss what an edit leaves in place."""
UNIT = re.compile(r"\w+|[^\w\s]")
"""A unit: a word, or a mark of punctuation."""
_BASE, _MODULUS = 1_000_003, (1 << 61) - 1


@dataclass(frozen=True)
class CopyRate:
    """Of each answer that has a gram at all: how many grams it has, and how many of them stood earlier."""

    grams: tuple[int, ...]
    copied: tuple[int, ...]

    @property
    def overall(self) -> float | None:
        """Σ copied ÷ Σ grams."""
        return sum(self.copied) / sum(self.grams) if sum(self.grams) else None

    @property
    def by_turn(self) -> list[float]:
        """The share of each answer, ascending."""
        return sorted(copied / grams for grams, copied in zip(self.grams, self.copied, strict=True))


def copy_rate(sessions: Iterable[RecordedSession]) -> CopyRate:
    """The copy rate of all answers of sessions; their messages count as what stands earlier, never as copies."""
    grams: list[int] = []
    copied: list[int] = []
    for session in sessions:
        seen: set[int] = set()
        for turn in session.turns:
            if turn.history_reset is not None:
                seen.clear()
            for message in turn.messages:
                seen.update(grams_of(text_of(message, names=False)))
            if turn.assistant is None:
                continue
            # What the same answer said before is no draft from the context: it counts for the next one.
            own = grams_of(text_of(turn.assistant, names=False))
            if own:
                grams.append(len(own))
                copied.append(sum(gram in seen for gram in own))
            seen.update(own)
    return CopyRate(tuple(grams), tuple(copied))


def text_of(message: dict[str, Any], *, names: bool = True) -> str:
    """The text of a message: its content, its reasoning, and its tool calls' arguments and (with `names`) names."""
    parts = [message.get("reasoning_content"), content_text(message.get("content"))]
    for call in message.get("tool_calls") or ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            parts += [function.get("name") if names else None, function.get("arguments")]
    return "\n".join(part for part in parts if isinstance(part, str) and part)


def content_text(content: Any) -> str:
    """A message's content as text: a text, or the text parts of a list."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part["text"]) for part in content if isinstance(part, dict) and "text" in part)
    return ""


def grams_of(text: str) -> list[int]:
    """A number for each gram of a text, in order: a rolling hash (Karp & Rabin 1987), so that none is held as text."""
    units = [hash_of(unit) for unit in UNIT.findall(text)]
    return rolling(units)


def hash_of(unit: str) -> int:
    """A number of a unit, within this process."""
    return hash(unit) % _MODULUS


def rolling(units: Sequence[int]) -> list[int]:
    """The hashes of all runs of N units."""
    if len(units) < N:
        return []
    top = pow(_BASE, N - 1, _MODULUS)
    value = 0
    for unit in units[:N]:
        value = (value * _BASE + unit) % _MODULUS
    found = [value]
    for index in range(N, len(units)):
        value = ((value - units[index - N] * top) * _BASE + units[index]) % _MODULUS
        found.append(value)
    return found
