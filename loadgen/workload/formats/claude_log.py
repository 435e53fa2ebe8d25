"""The lines of one agent in a Claude Code log, as they become turns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from loadgen.workload.formats.chat import FINISHED, answer_of
from loadgen.workload.formats.dialogue import Dialogue
from loadgen.workload.formats.fields import first_text, first_whole, mapping, moment, objects

__all__ = ["ClaudeLog", "Delegation"]

_INPUT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_SYNTHETIC = "<synthetic>"
"""The model of lines that the client wrote itself, where a call failed."""
_BACKGROUND = frozenset({"async_launched", "remote_launched"})
_GROWS_BY = {"text": "text", "thinking": "thinking", "tool_use": "id"}
"""The field of a block by which a later version of it is known."""


@dataclass
class Delegation:
    """A call of a tool that starts a sub-agent: in which turn, with which prompt, and what came of it.

    Attributes:
        turn: whose answer called it.
        prompt: what the sub-agent was told.
        agent: the sub-agent's id; null: not written.
        answered: the turn that has the result; null: none does.
        background: whether the result came at once, and the sub-agent went on.
    """

    turn: int
    prompt: str
    agent: str | None = None
    answered: int | None = None
    background: bool = False


@dataclass
class _Answer:
    """An answer that is being put together of its lines."""

    name: str
    blocks: list[dict[str, Any]] = field(default_factory=list)
    usage: Mapping[str, Any] = field(default_factory=dict)
    stop: str | None = None
    at_s: float | None = None


@dataclass
class ClaudeLog:
    """One agent: its session, and what has been read of it.

    Attributes:
        name: of the session.
        session: `sessionId` of its lines.
        agent: `agentId` of its lines; null: the main agent, or a side chain of an older version.
        line: of the file, on which it begins.
        dialogue: its turns.
        delegations: by the id of the tool's call.
        told: the first prompt.
        model: that answered first.
        version: of Claude Code.
        untimed: lines without a time.
    """

    name: str
    session: str
    agent: str | None
    line: int
    dialogue: Dialogue = field(default_factory=Dialogue)
    delegations: dict[str, Delegation] = field(default_factory=dict)
    told: str | None = None
    model: str | None = None
    version: str | None = None
    untimed: int = 0
    _ended: dict[str, tuple[str | None, bool]] = field(default_factory=dict)
    _open: _Answer | None = None
    _closed: set[str] = field(default_factory=set)
    _places: dict[str, int] = field(default_factory=dict)

    def add(self, value: Mapping[str, Any]) -> str | None:
        """Read a line; why it was skipped, where it says something and can't be read."""
        kind = first_text(value, "type")
        if kind in {"user", "assistant"}:
            message = value.get("message")
            if not isinstance(message, dict) or not isinstance(message.get("content"), str | list):
                return "the line has no message, or one without content"
            self.version = self.version or first_text(value, "version")
            at = moment(value.get("timestamp"))
            self.untimed += at is None
            if kind == "user":
                self._user(value, message, at)
            elif message.get("model") != _SYNTHETIC and value.get("isApiErrorMessage") is not True:
                self._assistant(value, message, at)
        elif value.get("subtype") == "compact_boundary":
            self._close()
            self.dialogue.forget([])
        if uuid := first_text(value, "uuid"):
            self._places[uuid] = self.dialogue.length
        return None

    def finish(self) -> None:
        """End the last answer, and say of each delegation what came of it."""
        self._close()
        for name, delegation in self.delegations.items():
            delegation.agent, delegation.background = self._ended.get(name, (None, False))
            delegation.answered = self.dialogue.results.get(name)

    def _user(self, value: Mapping[str, Any], message: Mapping[str, Any], at: float | None) -> None:
        results = [block for block in objects(message["content"]) if block.get("type") == "tool_result"]
        if value.get("isCompactSummary") is True:
            self._close()
            self.dialogue.forget([])
        elif not results:
            self._take_back(first_text(value, "parentUuid"))
        shaped = self.dialogue.shaped({"role": "user", "content": message["content"]})
        self.dialogue.give(shaped, at)
        if self.told is None and shaped:
            self.told = str(shaped[0]["content"])
        ended = mapping(value.get("toolUseResult"))
        for block in results:
            name = str(block.get("tool_use_id"))
            self._ended[name] = (first_text(ended, "agentId"), first_text(ended, "status") in _BACKGROUND)
            if at is not None:
                self.dialogue.ended_s[name] = at

    def _assistant(self, value: Mapping[str, Any], message: Mapping[str, Any], at: float | None) -> None:
        name = first_text(message, "id") or first_text(value, "requestId", "uuid") or f"line-{len(self._places)}"
        if name in self._closed:
            return
        if self._open is None or self._open.name != name:
            self._close()
            self._open = _Answer(name)
            self.dialogue.begin()
        answer = self._open
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else objects(content):
            _put(answer.blocks, block)
        usage = mapping(message.get("usage"))
        if (first_whole(usage, "output_tokens") or 0) >= (first_whole(answer.usage, "output_tokens") or 0):
            answer.usage = usage or answer.usage
        answer.stop = first_text(message, "stop_reason") or answer.stop
        answer.at_s = at if at is not None else answer.at_s
        self.model = self.model or first_text(message, "model")

    def _close(self) -> None:
        """End the answer that is open: what came since is the next turn's."""
        if self._open is None:
            return
        answer, self._open = self._open, None
        self._closed.add(answer.name)
        said = answer_of(self.dialogue.shaped({"role": "assistant", "content": answer.blocks})) or {
            "role": "assistant",
            "content": "",
        }
        counted = [first_whole(answer.usage, name) for name in _INPUT]
        number = len(self.dialogue.turns)
        kept = self.dialogue.end(
            said,
            answer.at_s,
            input_tokens=sum(count or 0 for count in counted) if any(counted) else None,
            output_tokens=first_whole(answer.usage, "output_tokens"),
            cached_tokens=counted[1],
            finish_reason=FINISHED.get(answer.stop or "", answer.stop),
        )
        for block in answer.blocks if kept else ():
            if block.get("type") == "tool_use" and isinstance(mapping(block.get("input")).get("prompt"), str):
                self.delegations[str(block.get("id"))] = Delegation(number, block["input"]["prompt"])

    def _take_back(self, parent: str | None) -> None:
        """A prompt behind an earlier line than the last answer: what came since was taken back."""
        place = self._places.get(parent) if parent is not None else None
        if place is not None and place < self.dialogue.length:
            self._close()
            self.dialogue.take_back(place)


def _put(blocks: list[dict[str, Any]], block: dict[str, Any]) -> None:
    """Add a block of an answer, unless it is there; a longer version of the last takes its place."""
    if block in blocks:
        return
    last = blocks[-1] if blocks else {}
    name = _GROWS_BY.get(str(block.get("type")), "")
    before, now = last.get(name), block.get(name)
    alike = last.get("type") == block.get("type") and isinstance(before, str) and isinstance(now, str) and before != ""
    if alike and (now == before if name == "id" else str(now).startswith(str(before))):
        blocks[-1] = block
    else:
        blocks.append(block)
