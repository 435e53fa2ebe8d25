"""What the messages of a session say: its system message, what tools print or users ask, summaries, and the answers."""

from dataclasses import dataclass, replace

from loadgen.workload.asks import Ask
from loadgen.workload.corpus.library import Library
from loadgen.workload.corpus.text import made
from loadgen.workload.distribution import RandomSource
from loadgen.workload.profile import Profile
from loadgen.workload.sizing import Sizer
from loadgen.workload.task import Tasks
from loadgen.workload.tools.tool import ToolKind

__all__ = ["Part", "Writer", "Written"]

_ROLES: dict[ToolKind | None, str] = {
    None: "You are an assistant. Answer what you are asked, briefly and to the point.",
    "coding": "You are a coding agent with tools. Do one step at a time, and say so when it is done.",
    "research": "You are a research agent with tools. Find out what is known, note sources, and report at the end.",
    "service": "You serve customers with the tools that you have. Keep to the house rules below.",
}
_REQUESTS: dict[ToolKind | None, str] = {
    "coding": "Find out what is behind this with your tools, one step at a time, and set it right.",
    "research": "Find out with your tools what is known about this, one step at a time, and write a report.",
    "service": "Please see to this.",
}
"""What a user who wants work done with tools says last."""
_SUMMARY = "This is what has happened so far, summed up:"
_USERS_OWN = 3
"""A third of what a user brings is prose of the user's own, the rest was pasted."""


@dataclass(frozen=True)
class Part:
    """One text that comes in: its kind, the command that prints it (empty where a user speaks), and the text."""

    printed: str
    command: str
    text: str


@dataclass(frozen=True)
class Written:
    """What comes in before a turn, and the recorded answer."""

    parts: tuple[Part, ...]
    answer: str


class Writer:
    """Writes the texts of one profile's sessions, sized by `sizer`, from the files of `library` (null: Python's)."""

    def __init__(self, profile: Profile, tasks: Tasks, sizer: Sizer, library: Library | None) -> None:
        self._profile = profile
        self._tasks = tasks
        self._sizer = sizer
        self._library = library
        self._plain = "words" if profile.corpus == "words" else "prose"

    def system(self, source: RandomSource, tokens: int) -> str:
        """The system message of about so many tokens: the agent's role, filled up as house rules, or cut."""
        prefix = self._profile.shared_prefix
        if prefix is None or self._plain == "words":
            return self._tasks.system(source, tokens)
        role = _ROLES[prefix.kind]
        return self._sizer.cut(f"{role}\n\n{self.note(source, tokens)}", tokens)

    def note(self, source: RandomSource, tokens: int) -> str:
        """Prose (or words) of so many tokens."""
        return made(self._plain, source, tokens, self._sizer, self._library).text

    def summary(self, source: RandomSource, tokens: int) -> str:
        """What a session that sums up goes on from."""
        told = self.note(source, tokens)
        return told if self._plain == "words" else f"{_SUMMARY}\n\n{told}"

    def write(self, source: RandomSource, ask: Ask) -> Written:
        """What comes in before a turn: one text, or one for each result of a tool; and the answer.

        Results of tools end in a request where the turn is to edit, to list or to explain. Where it is to call the next
        tool they are what was printed and no more.
        """
        if ask.user or not self._profile.tools:
            return self._said(source, ask)
        count = max(1, ask.results)
        size = replace(ask.size, material=max(1, ask.size.material // count))
        if ask.kind == "tool_call":
            parts = [self._printed(source, ask, size.material) for _ in range(count)]
            return Written(tuple(parts), self.note(source, ask.size.answer))
        parts = [self._printed(source, ask, size.material) for _ in range(count - 1)]
        step = self._tasks.step(source, ask.kind, opening=False, size=size, corpus=ask.corpus)
        # The command stands in the call.
        command, _, printed = step.content.removeprefix("$ ").partition("\n")
        return Written((*parts, Part(self._kind(ask), command, printed)), step.answer)

    def _said(self, source: RandomSource, ask: Ask) -> Written:
        """What a user says; an agent without tools is also told by users what tools printed."""
        if ask.kind != "tool_call":
            step = self._tasks.step(source, ask.kind, opening=ask.user, size=ask.size, corpus=ask.corpus)
            return Written((Part(self._kind(ask), "", step.content),), step.answer)
        prefix = self._profile.shared_prefix
        own = ask.size.material // _USERS_OWN
        said = [self.note(source, own)] if own else []
        said.append(self._printed(source, ask, max(1, ask.size.material - own)).text)
        request = _REQUESTS[prefix.kind if prefix is not None else "coding"]
        text = "\n\n".join((*said, request))
        return Written((Part(self._kind(ask), "", text),), self.note(source, ask.size.answer))

    def _printed(self, source: RandomSource, ask: Ask, tokens: int) -> Part:
        kind = self._kind(ask)
        output = made(kind, source, tokens, self._sizer, self._library)
        # A token of a listing may be nothing but blanks, which templates refuse.
        return Part(kind, output.command, output.text if output.text.strip() else output.command)

    def _kind(self, ask: Ask) -> str:
        return ask.corpus or self._profile.corpus
