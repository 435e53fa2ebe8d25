"""What a turn asks for, and a plausible answer: text back with a small change, a list of names, or an explanation.

Every request says what to answer and how long, so that the live answers of a real model fit the workload's lengths.
How well a draft does depends on this: an edit copies from the prompt, an explanation doesn't.
"""

import re
from dataclasses import dataclass
from typing import Literal, Protocol

from loadgen.workload.corpus.files import short_file
from loadgen.workload.corpus.library import Library, standard
from loadgen.workload.corpus.names import frequent_names, renamed
from loadgen.workload.corpus.output import ToolOutput
from loadgen.workload.corpus.text import beginning, words
from loadgen.workload.distribution import RandomSource
from loadgen.workload.sizing import Sizer

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
_CALLING = frozenset({"code", "source", "view", "grep", "diff"})
"""Kinds of text in which names stand in front of brackets."""


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

    def step(self, source: RandomSource, kind: Kind, *, opening: bool, size: Size, corpus: str | None = None) -> Step:
        """One turn. `opening` is for turns in which a user speaks rather than a tool.

        `corpus` is the kind of text that is shown, where it isn't the one of all turns.
        """
        ...


class WordTasks:
    """Words without meaning, one token each to the tiny model, whose answers are noise anyway."""

    def tokens(self, text: str) -> int:
        """Exactly the words."""
        return len(text.split())

    def system(self, source: RandomSource, tokens: int) -> str:
        """So many words."""
        return words(source, tokens)

    def step(
        self, source: RandomSource, _kind: Kind, *, opening: bool, size: Size, corpus: str | None = None
    ) -> Step:  # words without meaning are alike, whoever says them
        """So many words, and so many for the answer."""
        del opening, corpus
        return Step(words(source, size.material), words(source, size.answer))


class TextTasks:
    """Requests about real code or prose.

    Args:
        corpus: the kind of text that turns show (`loadgen.workload.corpus`).
        sizer: says how long texts are.
        library: the files that they are made of; null: Python's standard library.
    """

    def __init__(self, corpus: str, sizer: Sizer, library: Library | None = None) -> None:
        self._corpus = corpus
        self._sizer = sizer
        self._library = library or standard()

    def tokens(self, text: str) -> int:
        """As the sizer says."""
        return self._sizer.tokens(text)

    def system(self, source: RandomSource, tokens: int) -> str:
        """The agent's role, filled up with prose as house rules, or cut."""
        size = self._sizer.size(tokens)
        rules = self._text(source, "prose", max(0, size - self._sizer.measured(_SYSTEM) - 2)).text
        return self._sizer.clip(f"{_SYSTEM}\n\n{rules}", size)

    def step(self, source: RandomSource, kind: Kind, *, opening: bool, size: Size, corpus: str | None = None) -> Step:
        """A third of an opening turn is the user's own prose; the rest, and a tool's turn, is what commands printed."""
        shown = corpus or self._corpus
        whole = self._sizer.size(size.material)
        said = self._text(source, "prose", whole // 3).text + "\n\n" if opening else ""
        left = max(1, whole - self._sizer.measured(said))
        if kind == "edit":
            step = self._edit(source, shown, left, self._sizer.size(max(size.edit, _MIN_EDIT_TOKENS)))
        elif kind == "extract":
            step = self._extract(shown, self._text(source, shown, left), self._sizer.size(size.answer))
        else:
            answer = self._text(source, "prose", self._sizer.size(size.answer)).text
            step = Step(_shown(self._text(source, shown, left), _EXPLAIN), answer)
        return Step(said + step.content, step.answer)

    def _text(self, source: RandomSource, corpus: str, size: int) -> ToolOutput:
        return beginning(corpus, source, size, self._sizer, self._library)

    def _edit(self, source: RandomSource, shown: str, size: int, longest: int) -> Step:
        """A short text to return, after another tool output where there is more to show than the text."""
        smallest = self._sizer.size(_MIN_EDIT_TOKENS)
        wanted = min(max(size, smallest), longest)
        is_prose = shown == "prose"
        if is_prose:
            file = self._text(source, "prose", wanted)
        else:
            file = short_file(source, wanted, self._sizer, self._library)
        rest = size - wanted
        before = _printed(self._text(source, shown, rest)) + "\n" if rest >= smallest else ""
        (old,) = frequent_names(file.text)
        new = old.upper() if is_prose else f"{old}_new"
        request = f"Return the last file above in full with every `{old}` renamed to `{new}`. Add nothing else."
        return Step(before + _shown(file, request), renamed(file.text, old, new))

    def _extract(self, shown: str, output: ToolOutput, answer: int) -> Step:
        pattern, what = (
            (_CALLS, "name that stands right before a `(`")
            if shown in _CALLING
            else (_LONG_WORDS, "word of eight letters or more")
        )
        request = f"List every {what} in the output above, each once, in order, one a line. Add nothing else."
        names = "\n".join(dict.fromkeys(pattern.findall(output.text)))
        return Step(_shown(output, request), self._sizer.clip(names, answer).strip() or "none")


def _shown(output: ToolOutput, request: str) -> str:
    return f"{_printed(output)}\n\n{request}"


def _printed(output: ToolOutput) -> str:
    return f"$ {output.command}\n{output.text}"
