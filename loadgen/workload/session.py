"""Sessions: the script of one agent, turn by turn, and the prompt that a turn sends."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from loadgen.records.manifest import WorkloadFacts
from loadgen.workload.copy_rate import text_of
from loadgen.workload.recorded import Cancel

Message = dict[str, Any]
"""One chat message in OpenAI's shape: `role` and `content`, and of tools `tool_calls` or `tool_call_id`."""

History = Literal["recorded", "live"]
"""Whose answers go back into the prompt: the workload's own, or those that the server just gave."""

OutputLength = Literal["natural", "exact"]
"""Whether the model ends its answers itself, or the server is told to ignore end-of-text."""


@dataclass(frozen=True)
class Turn:
    """One model call of a session.

    Attributes:
        messages: what is new since the previous assistant message.
        answer: the assistant's text that history puts back for this turn with recorded history, and, with either kind
            of history, for turns before the one a trial starts at. Empty only where `assistant` says more than a text.
        wait_s: seconds between the previous answer (the last joined sub-agent's end, where that is later) and this
            turn; 0 for turn 0 of a root session.
        wait_kind: what the agent waits for: `tool`, `user` or `subagent`; None where it doesn't.
        output_tokens: tokens to generate: the cap, or the exact number where the workload says so.
        kind: what the turn asks for: `prose`, `edit`, `extract` or `tool_call`.
        depth: estimated prompt tokens of this turn (cached ones included), with the recorded answers as history.
        assistant: the whole recorded message (tool calls, reasoning), where it is more than a text; empty where the
            agent dropped the answer, so that nothing of it goes back.
        begins_anew: the prompt doesn't go on from the turn before: `messages` is all of it.
        cancel: the agent breaks this answer off.
        spawn: sub-agents that begin when this turn has been answered.
        join: ids of sub-agents that must have ended before this turn.
    """

    messages: tuple[Message, ...]
    answer: str
    wait_s: float
    wait_kind: Literal["tool", "user", "subagent"] | None
    output_tokens: int
    kind: str
    depth: int
    assistant: Message | None = None
    begins_anew: bool = False
    cancel: Cancel | None = None
    spawn: tuple["Session", ...] = ()
    join: tuple[str, ...] = ()

    @property
    def recorded(self) -> Message | None:
        """The recorded answer as a message; null where the agent dropped it, so that nothing of it goes back."""
        if self.assistant is None:
            return {"role": "assistant", "content": self.answer}
        return dict(self.assistant) or None


@dataclass(frozen=True)
class Session:
    """One agent doing one job (a task): turns in their order, and the tools that it has, in OpenAI's shape."""

    id: str
    turns: tuple[Turn, ...]
    tools: tuple[Message, ...] = ()


@dataclass(frozen=True)
class WorkClass:
    """One class of a mix: what it is called, its weight among the agents, and what they play."""

    name: str
    weight: float
    workload: "Workload"


@dataclass(frozen=True)
class Workload:
    """A pool of sessions, the same for one profile or file, seed and characters a token.

    Attributes:
        name: name of the profile, or of the file without its ending.
        description: one or two sentences on what it imitates.
        facts: what records keep of it; its digest covers every session.
        sessions: the pool; agents take sessions from it.
        history: whose answers go back into the prompt.
        exact_length: whether the server is told to ignore end-of-text, so that exactly `output_tokens` come.
        sources: where each parameter of the profile comes from.
        assumed: parameters without a published source.
        cut: sessions that were ended early, at a turn boundary, because the next turn would not have fitted.
        redrawn: sessions drawn afresh because not even their first turns fitted.
        notes: sentences on what was left out, made up or changed on the way, to be shown before it is played.
        classes: of a mix each class of work. Agents play the workload of their class, with its own history and lengths;
            what stands above is then of all classes together (`history` that of the first). Empty without a mix.
    """

    name: str
    description: str
    facts: WorkloadFacts
    sessions: tuple[Session, ...]
    history: History
    exact_length: bool
    sources: Mapping[str, str]
    assumed: tuple[str, ...]
    cut: int
    redrawn: int
    notes: tuple[str, ...] = ()
    classes: tuple["WorkClass", ...] = ()

    @property
    def depths(self) -> tuple[tuple[int, ...], ...]:
        """Estimated prompt tokens by session and turn."""
        return tuple(tuple(turn.depth for turn in session.turns) for session in self.sessions)


def prompt(session: Session, turn: int, *, salt: str, answers: Mapping[int, Message]) -> list[Message]:
    """The whole message list of a turn (from 0), new dicts every time.

    `salt` stands on a line of its own in front of the very first message, because a server reuses cached prompts from
    their beginning: a salt further back would leave the text before it shared. An earlier turn's assistant message is
    `answers[t]` (see `put_back`), or the recorded answer where there is none.

    Raises `IndexError` when the session has no such turn.
    """
    if not 0 <= turn < len(session.turns):
        raise IndexError(f"session {session.id} has turns 0 to {len(session.turns) - 1}, not {turn}")
    messages: list[Message] = []
    for index, step in enumerate(session.turns[: turn + 1]):
        if step.begins_anew:
            messages.clear()
        messages += [dict(message) for message in step.messages]
        if index < turn:
            answer = answers.get(index) or step.recorded
            messages += [] if answer is None else [dict(answer)]
    if salt:
        messages[0]["content"] = _salted(messages[0].get("content"), salt)
    return messages


def _salted(content: Any, salt: str) -> Any:
    """A message's content behind a line that holds the salt: a text, or a list of parts."""
    if isinstance(content, list):
        return [{"type": "text", "text": f"{salt}\n"}, *content]
    return f"{salt}\n{content or ''}"


def digest(sessions: Iterable[Session]) -> str:
    """SHA-256 (hex) over every field of every session in order: it changes when any message, wait or length does."""
    total = hashlib.sha256()
    for session in sessions:
        total.update(json.dumps(_fields(session), sort_keys=True, separators=(",", ":")).encode())
        total.update(b"\n")
    return total.hexdigest()


def _fields(session: Session) -> dict[str, Any]:
    # vars() and not asdict(), which would copy every text.
    turns = [
        vars(turn) | {"cancel": msgspec.to_builtins(turn.cancel), "spawn": [_fields(spawned) for spawned in turn.spawn]}
        for turn in session.turns
    ]
    return {"id": session.id, "tools": session.tools, "turns": turns}


def spread_text(workload: Workload, *, characters: int = 40_000, windows: int = 80) -> str:
    """Text from all over the pool, at most `characters` long, in so many pieces at equal distances.

    Meant to be sent to the server's tokenizer once, to learn its characters a token for this very mix of text. It is
    from all over, because what stands in front (tasks in prose) is unlike what follows (listings, calls), which takes
    most of the room. Two cut tokens a piece are 1 % of its tokens.
    """
    texts = [
        text_of(message) for session in workload.sessions for turn in session.turns for message in _with_answer(turn)
    ]
    total = sum(map(len, texts))
    if total <= characters:
        return "\n".join(texts)[:characters]
    size = characters // windows
    parts: list[str] = []
    before = 0
    for text in texts:
        # A piece that the end of a text cuts is shorter: texts are not mixed.
        while len(parts) < windows and (start := len(parts) * total // windows) < before + len(text):
            parts.append(text[max(0, start - before) :][:size])
        before += len(text)
    return "".join(parts)


def _with_answer(turn: Turn) -> list[Message]:
    """The messages of a turn and its recorded answer."""
    return [*turn.messages, *([] if turn.recorded is None else [turn.recorded])]
