"""What a turn asks for, and a plausible answer: text back with a small change, a list of names, or an explanation.

Every request says what to answer and how long, so that the live answers of a real model fit the workload's lengths.
How well a draft does depends on this: an edit copies from the prompt, an explanation doesn't.
"""

import keyword
import re
from collections import Counter
from dataclasses import dataclass
from math import ceil
from typing import Literal, Protocol

from loadgen.workload import corpus
from loadgen.workload.corpus import ToolOutput
from loadgen.workload.distribution import RandomSource

Kind = Literal["prose", "edit", "extract"]

_SYSTEM = (
    "You are a coding agent at work in a Python source tree, with one tool: a shell. "
    "You are shown what a command printed and asked for one thing. Answer with just that, and briefly."
)
_MIN_EDIT_TOKENS = 40
"""Below this, a file is too short to hold a function."""
_EXPLAIN = "Explain in a few sentences what this shows and what you would look at next."
_CALLS = re.compile(r"\b([A-Za-z_]\w*)\(")
_LONG_WORDS = re.compile(r"\b([A-Za-z]{8,})\b")
_NAMES = re.compile(r"\b[A-Za-z_]\w{2,}\b")
_NO_NAMES = frozenset(keyword.kwlist) | {"self", "the", "and", "that", "this"}


@dataclass(frozen=True)
class Step:
    """What the agent sends in one turn, and the answer that recorded history puts back."""

    content: str
    answer: str


@dataclass(frozen=True)
class Size:
    """How long a turn is, in tokens.

    Attributes:
        material: what the turn shows; the request itself comes on top.
        answer: the recorded answer of prose and extract turns.
        edit: the longest text to ask back in an edit turn, whose answer is that text as changed.
    """

    material: int
    answer: int
    edit: int


class Tasks(Protocol):
    """Writes the messages of a session in one kind of text."""

    def tokens(self, text: str) -> int:
        """About how many tokens the text has, without the chat template."""
        ...

    def system(self, source: RandomSource, tokens: int) -> str:
        """A system message of about so many tokens."""
        ...

    def step(self, source: RandomSource, kind: Kind, *, opening: bool, size: Size) -> Step:
        """One turn. `opening` is for turns in which a user speaks rather than a tool."""
        ...


class WordTasks:
    """Words without meaning, one token each to the tiny model, whose answers are noise anyway."""

    def tokens(self, text: str) -> int:
        """Exactly the words."""
        return len(text.split())

    def system(self, source: RandomSource, tokens: int) -> str:
        """So many words."""
        return corpus.words(source, tokens)

    def step(self, source: RandomSource, _kind: Kind, *, opening: bool, size: Size) -> Step:  # noqa: ARG002 - words without meaning are alike, whoever says them
        """So many words, and so many for the answer."""
        return Step(corpus.words(source, size.material), corpus.words(source, size.answer))


class TextTasks:
    """Requests about real code or prose."""

    def __init__(self, kind: Literal["code", "prose"], chars_per_token: float) -> None:
        self._code = kind == "code"
        self._chars_per_token = chars_per_token

    def tokens(self, text: str) -> int:
        """Characters over characters a token, rounded up."""
        return ceil(len(text) / self._chars_per_token)

    def system(self, source: RandomSource, tokens: int) -> str:
        """The agent's role, filled up with prose as house rules, or cut."""
        characters = self._characters(tokens)
        rules = corpus.passage(source, max(0, characters - len(_SYSTEM) - 2))
        return f"{_SYSTEM}\n\n{rules}"[:characters]

    def step(self, source: RandomSource, kind: Kind, *, opening: bool, size: Size) -> Step:
        """A third of an opening turn is the user's own prose; the rest, and a tool's turn, is what commands printed."""
        characters = self._characters(size.material)
        said = corpus.passage(source, characters // 3) + "\n\n" if opening else ""
        left = max(1, characters - len(said))
        if kind == "edit":
            step = self._edit(source, left, self._characters(max(size.edit, _MIN_EDIT_TOKENS)))
        elif kind == "extract":
            step = self._extract(self._output(source, left), self._characters(size.answer))
        else:
            answer = corpus.passage(source, self._characters(size.answer))
            step = Step(_shown(self._output(source, left), _EXPLAIN), answer)
        return Step(said + step.content, step.answer)

    def _output(self, source: RandomSource, characters: int) -> ToolOutput:
        return corpus.tool_output(source, characters) if self._code else corpus.page(source, characters)

    def _edit(self, source: RandomSource, characters: int, longest: int) -> Step:
        """A short text to return, after another tool output where there is more to show than the text."""
        smallest = self._characters(_MIN_EDIT_TOKENS)
        wanted = min(max(characters, smallest), longest)
        file = corpus.short_file(source, wanted) if self._code else corpus.page(source, wanted)
        rest = characters - wanted
        before = _printed(self._output(source, rest)) + "\n" if rest >= smallest else ""
        old = _frequent_name(file.text)
        new = f"{old}_new" if self._code else old.upper()
        request = f"Return the last file above in full with every `{old}` renamed to `{new}`. Add nothing else."
        changed = re.sub(rf"\b{re.escape(old)}\b", lambda _match: new, file.text)
        return Step(before + _shown(file, request), changed)

    def _extract(self, output: ToolOutput, answer: int) -> Step:
        pattern, what = (
            (_CALLS, "name that stands right before a `(`")
            if self._code
            else (_LONG_WORDS, "word of eight letters or more")
        )
        request = f"List every {what} in the output above, each once, in order, one a line. Add nothing else."
        names = "\n".join(dict.fromkeys(pattern.findall(output.text)))
        return Step(_shown(output, request), names[:answer].strip() or "none")

    def _characters(self, tokens: int) -> int:
        return max(1, round(tokens * self._chars_per_token))


def _shown(output: ToolOutput, request: str) -> str:
    return f"{_printed(output)}\n\n{request}"


def _printed(output: ToolOutput) -> str:
    return f"$ {output.command}\n{output.text}"


def _frequent_name(text: str) -> str:
    """The most frequent name, the first of equals; `text` where the text has no name."""
    counts = Counter(name for name in _NAMES.findall(text) if name not in _NO_NAMES)
    return counts.most_common(1)[0][0] if counts else "text"
