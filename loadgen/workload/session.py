"""Sessions: the script of one agent, turn by turn, and the prompt that a turn sends."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from loadgen.records.manifest import WorkloadFacts

Message = dict[str, Any]
"""One chat message in OpenAI's shape: `role` and `content`."""

History = Literal["recorded", "live"]
"""Whose answers go back into the prompt: the workload's own, or those that the server just gave."""


@dataclass(frozen=True)
class Turn:
    """One model call of a session.

    Attributes:
        messages: what is new since the previous assistant message.
        answer: the assistant's text that history puts back for this turn with recorded history, and, with either kind
            of history, for turns before the one a trial starts at. Never empty.
        wait_s: seconds between the previous answer and this turn; 0 for turn 0.
        wait_kind: what the agent waits for: `tool` or `user`; None for turn 0.
        output_tokens: tokens to generate: the cap, or the exact number where the workload says so.
        kind: what the turn asks for: `prose`, `edit` or `extract`.
        depth: estimated prompt tokens of this turn (cached ones included), with the recorded answers as history.
    """

    messages: tuple[Message, ...]
    answer: str
    wait_s: float
    wait_kind: Literal["tool", "user"] | None
    output_tokens: int
    kind: str
    depth: int


@dataclass(frozen=True)
class Session:
    """One agent doing one job (a task): turns in their order."""

    id: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class Workload:
    """A pool of sessions, the same for one profile, seed and characters a token.

    Attributes:
        name: name of the profile.
        description: one or two sentences on what it imitates.
        facts: what records keep of it; its digest covers every session.
        sessions: the pool; agents take sessions from it.
        history: whose answers go back into the prompt.
        exact_length: whether the server is told to ignore end-of-text, so that exactly `output_tokens` come.
        sources: where each parameter of the profile comes from.
        assumed: parameters without a published source.
        cut: sessions that were ended early, at a turn boundary, because the next turn would not have fitted.
        redrawn: sessions drawn afresh because not even their first turns fitted.
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

    @property
    def depths(self) -> tuple[tuple[int, ...], ...]:
        """Estimated prompt tokens by session and turn."""
        return tuple(tuple(turn.depth for turn in session.turns) for session in self.sessions)


def prompt(session: Session, turn: int, *, salt: str, answers: Mapping[int, str]) -> list[Message]:
    """The whole message list of a turn (from 0), new dicts every time.

    `salt` stands on a line of its own in front of the very first message, because a server reuses cached prompts from
    their beginning: a salt further back would leave the text before it shared. An earlier turn's assistant message is
    `answers[t]`, or the recorded answer where there is none or it is empty: some chat templates reject empty assistant
    messages.

    Raises `IndexError` when the session has no such turn.
    """
    if not 0 <= turn < len(session.turns):
        raise IndexError(f"session {session.id} has turns 0 to {len(session.turns) - 1}, not {turn}")
    messages: list[Message] = []
    for index, step in enumerate(session.turns[: turn + 1]):
        messages += [dict(message) for message in step.messages]
        if index < turn:
            messages.append({"role": "assistant", "content": answers.get(index) or step.answer})
    if salt:
        messages[0]["content"] = f"{salt}\n{messages[0]['content']}"
    return messages


def digest(sessions: Iterable[Session]) -> str:
    """SHA-256 (hex) over every field of every session in order: it changes when any message, wait or length does."""
    total = hashlib.sha256()
    for session in sessions:
        # vars() and not asdict(), which would copy every text.
        fields = {"id": session.id, "turns": [vars(turn) for turn in session.turns]}
        total.update(json.dumps(fields, sort_keys=True, separators=(",", ":")).encode())
        total.update(b"\n")
    return total.hexdigest()


def sample_text(workload: Workload, *, characters: int = 20_000) -> str:
    """Prompt and answer text from the front of the pool, at most `characters` long.

    Meant to be sent to the server's tokenizer once, to learn its characters a token for this very mix of text.
    """
    parts: list[str] = []
    length = 0
    for session in workload.sessions:
        for turn in session.turns:
            for text in (*(str(message["content"]) for message in turn.messages), turn.answer):
                parts.append(text)
                length += len(text) + 1
            if length > characters:
                return "\n".join(parts)[:characters]
    return "\n".join(parts)[:characters]
