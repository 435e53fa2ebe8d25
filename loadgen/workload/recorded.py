"""Recorded sessions: what agents did, as a file keeps it (format `agent-session/1`, one session a line).

This is the form that every importer gives and `loadgen record` writes; `loadgen.workload.replayed` makes of it what is
played. Names are OpenAI's where OpenAI has one. Missing is null: a file that doesn't say how many tokens an answer had
leaves that out.
"""

from typing import Any, Final, Literal

import msgspec

FORMAT: Final = "agent-session/1"

DelayKind = Literal["arrival", "tool", "user", "subagent"]
"""What an agent waited for before a turn."""

TurnKind = Literal["edit", "extract", "tool_call", "prose"]
"""What a turn's answer is: a text given back with changes, a list drawn from the prompt, a call of a tool, or words."""


class Cancel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The agent breaks a stream off: after so many tokens, or seconds from its first; then asks again or goes on."""

    after_tokens: int | None = None
    after_s: float | None = None
    then: Literal["drop", "resume"] = "resume"


class RecordedTurn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One model call of a session.

    Attributes:
        messages: what is new since the previous assistant message, in OpenAI's shape. In place of `content` a message
            may have `tokens` and `corpus` (`code`, `prose`, `listing`, `diff`, `log`, `json`): text of that length is
            then made up, always the same. With a `seed` besides, it is the beginning of the one text of that seed and
            corpus, so that prompts can share it. With `pieces`, a list of such lengths, corpora and seeds, their texts
            stand one behind the other; `tokens` is their sum.
        assistant: the answer that was given, in OpenAI's shape (`content`, `reasoning_content`, `tool_calls`), or a
            length as in `messages`; null where the file has none.
        delay_s: seconds between the end of the previous answer and this call.
        delay_kind: what was waited for.
        kind: what the answer is, where the file tells.
        input_tokens: prompt tokens, cached ones included, as the file says.
        output_tokens: tokens of the answer, as the file says.
        cached_tokens: of the prompt, as the file says.
        finish_reason: as the file says.
        max_tokens: the cap of the answer, where it was recorded to be played again with the same one.
        tool_times_s: how long each tool ran where several did at once; `delay_s` is the longest.
        history_reset: the prompt doesn't go on from the turn before: `messages` is all of it (`compact`: the agent
            summed up, `edit`: it changed what stood there).
        spawn: ids of sessions that begin when this turn has been answered.
        join: ids of sessions that must have ended before this turn; null: none.
        cancel: the agent breaks this answer off.
        extra: fields of the source's row that nothing here stands for; kept so that an export gives the same row.
    """

    messages: list[dict[str, Any]]
    assistant: dict[str, Any] | None = None
    delay_s: float = 0.0
    delay_kind: DelayKind = "arrival"
    kind: TurnKind | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    finish_reason: str | None = None
    max_tokens: int | None = None
    tool_times_s: list[float] | None = None
    history_reset: Literal["compact", "edit"] | None = None
    spawn: list[str] = []
    join: list[str] | None = None
    cancel: Cancel | None = None
    extra: dict[str, Any] = {}


class RecordedSession(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One agent doing one job, as it was recorded.

    Attributes:
        session_id: unique in its file.
        turns: its model calls in order; one at least.
        parent_session_id: the session that spawned it; null for a root.
        task: what the job is called.
        source: where it comes from: `name`, `licence`, `model`, `harness`, as far as known.
        tools: tool definitions in OpenAI's shape; null where none were sent.
        extra: fields of the source that nothing here stands for.
        format: `agent-session/1`.
    """

    session_id: str
    turns: list[RecordedTurn]
    parent_session_id: str | None = None
    task: str | None = None
    source: dict[str, Any] = {}
    tools: list[dict[str, Any]] | None = None
    extra: dict[str, Any] = {}
    format: Literal["agent-session/1"] = FORMAT


class Problem(msgspec.Struct, frozen=True):
    """A row of a file that was skipped, or cut, and why: the file, its line (from 1; 0: the whole file), a sentence."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}" if self.line else f"{self.file}: {self.text}"
