"""The rows of one Codex session, as they become turns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from loadgen.workload.formats.chat import answer_of
from loadgen.workload.formats.dialogue import Dialogue
from loadgen.workload.formats.fields import as_json, first_text, first_whole, mapping, moment, objects, whole

__all__ = ["CodexLog"]

Message = dict[str, Any]

_BOUNDS = frozenset({"task_started", "turn_started", "task_complete", "turn_complete", "turn_aborted"})
"""Events that no answer goes across."""
_SILENT = frozenset({"ghost_snapshot", "other"})
"""Items that are the client's own."""
_COUNTS = ("input_tokens", "cached_input_tokens", "output_tokens")


@dataclass
class CodexLog:
    """One session and what has been read of it.

    Attributes:
        name: of the session.
        line: of the file, on which it begins.
        parent: the session that started it; null: none.
        called: the id of the call that did; null: not written.
        names: by which others may speak of it.
        own_from: the number of its first own row, behind those that were copied from its parent; null: all are.
        forked: the session whose history it begins with; null: none.
        counted: whether its answers are told apart by counts of tokens.
        dialogue: its turns.
        model: that answered first.
        version: of Codex.
        left_out: items that aren't played.
        untimed: rows without a time.
    """

    name: str
    line: int
    parent: str | None = None
    called: str | None = None
    names: tuple[str, ...] = ()
    own_from: int | None = None
    forked: str | None = None
    counted: bool = False
    dialogue: Dialogue = field(default_factory=Dialogue)
    model: str | None = None
    version: str | None = None
    left_out: int = 0
    untimed: int = 0
    _system: list[Message] = field(default_factory=list)
    _answer: list[Message] = field(default_factory=list)
    _answer_s: float | None = None
    _total: dict[str, int] = field(default_factory=dict)

    def begin(self, payload: Mapping[str, Any]) -> None:
        """Take what the first row of the session says."""
        instructions = payload.get("base_instructions", payload.get("instructions"))
        said = first_text(mapping(instructions), "text") or first_text({"text": instructions}, "text")
        if said is not None:
            self._system = [{"role": "system", "content": said}]
            self.dialogue.give(list(self._system), None)
        self.version = first_text(payload, "cli_version")
        self.forked = first_text(payload, "forked_from_id")
        spawned = mapping(mapping(mapping(payload.get("source")).get("subagent")).get("thread_spawn"))
        self.parent = first_text(spawned, "parent_thread_id") or first_text(payload, "parent_thread_id")
        self.called = first_text(spawned, "spawn_call_id")
        path = first_text(spawned, "agent_path") or first_text(payload, "agent_path")
        self.names = (self.name,) if path is None else (self.name, path)
        self.own_from = whole(payload.get("subagent_history_start_ordinal"))

    def add(self, kind: str, payload: Mapping[str, Any], value: Mapping[str, Any]) -> str | None:
        """Read a row; why it was skipped, where it says something and can't be read."""
        if self.own_from is not None and (whole(value.get("ordinal")) or 0) >= self.own_from:
            self.close()
            self.dialogue.inherit()
            self.own_from = None
        if kind == "response_item":
            at = moment(value.get("timestamp"))
            self.untimed += at is None
            return self._item(payload, at)
        if kind == "compacted":
            self.close()
            self.dialogue.forget(self._summary(payload))
        elif kind == "turn_context":
            self.close()
            self.model = self.model or first_text(payload, "model")
        elif kind == "event_msg":
            self._event(payload)
        return None

    def close(self) -> None:
        """End the answer that is open; without counts of its own."""
        self._close({})

    def _item(self, payload: Mapping[str, Any], at: float | None) -> str | None:
        kind = first_text(payload, "type")
        if kind is None:
            return "the item has no type"
        if kind in _SILENT:
            return None
        shaped = self.dialogue.shaped(*_message(kind, payload))
        if not shaped:
            self.left_out += 1
        elif shaped[0]["role"] == "assistant":
            # Without counts, inputs tell answers apart.
            if not self.counted and self.dialogue.has_next:
                self.close()
            if not self.dialogue.is_open:
                self.dialogue.begin()
            self._answer += shaped
            self._answer_s = at if at is not None else self._answer_s
            self._times(self.dialogue.called_s, (call["id"] for call in shaped[0].get("tool_calls", ())), at)
        else:
            self.dialogue.give(shaped, at)
            self._times(self.dialogue.ended_s, (one["tool_call_id"] for one in shaped if one["role"] == "tool"), at)
        return None

    @staticmethod
    def _times(times: dict[str, float], names: Any, at: float | None) -> None:
        if at is not None:
            times.update({str(name): at for name in names})

    def _event(self, payload: Mapping[str, Any]) -> None:
        kind = first_text(payload, "type")
        if kind == "token_count" and (used := self._used(mapping(payload.get("info")))):
            if self.dialogue.is_open:
                self._close(used)
            elif self.dialogue.turns and self.dialogue.turns[-1].input_tokens is None:
                self.dialogue.turns[-1] = replace(self.dialogue.turns[-1], **used)
        elif kind in _BOUNDS:
            self.close()
        elif kind == "thread_rolled_back":
            self.close()
            self.dialogue.take_back_prompts(whole(payload.get("num_turns")) or 0)

    def _used(self, info: Mapping[str, Any]) -> dict[str, int]:
        """Tokens of the last answer: as told, else what the sums have grown by."""
        last = mapping(info.get("last_token_usage"))
        total = mapping(info.get("total_token_usage"))
        sums = {name: first_whole(total, name) or 0 for name in _COUNTS} if total else {}
        told = {name: first_whole(last, name) for name in _COUNTS}
        if not any(told.values()) and sums:
            told = {name: max(sums[name] - self._total.get(name, 0), 0) for name in _COUNTS}
        self._total = sums or self._total
        if not told["input_tokens"]:
            return {}
        names = ("input_tokens", "cached_tokens", "output_tokens")
        return {name: count for name, count in zip(names, told.values(), strict=True) if count is not None}

    def _close(self, used: dict[str, int]) -> None:
        if not self.dialogue.is_open:
            return
        said = answer_of(self._answer) or {"role": "assistant", "content": ""}
        finish = "tool_calls" if said.get("tool_calls") else "stop"
        self.dialogue.end(said, self._answer_s, finish_reason=finish, **used)
        self._answer, self._answer_s = [], None

    def _summary(self, payload: Mapping[str, Any]) -> list[Message]:
        """What a prompt begins with after the history was summed up."""
        left: list[Message] = []
        for item in objects(payload.get("replacement_history")):
            left += self.dialogue.shaped(*_message(str(item.get("type")), item))
        said = first_text(payload, "message")
        if not left and said is not None:
            left = [{"role": "user", "content": said}]
        return [*self._system, *left]


def _message(kind: str, payload: Mapping[str, Any]) -> list[Message]:
    """An item of the Responses API as a message; none where it isn't one."""
    if kind == "message":
        return [{"role": payload.get("role"), "content": payload.get("content")}]
    if kind == "reasoning":
        thoughts = objects(payload.get("content")) or objects(payload.get("summary"))
        said = [found for part in thoughts if (found := first_text(part, "text")) is not None]
        return [{"role": "assistant", "reasoning_content": "\n".join(said)}]
    name = first_text(payload, "call_id", "id")
    if kind.endswith("_output") and "output" in payload:
        output = payload["output"]
        content = mapping(output).get("content", output)
        return [{"role": "tool", "parts": [{"type": "tool_result", "id": name, "content": content}]}]
    arguments: dict[str, Any] = {
        "function_call": payload.get("arguments"),
        "custom_tool_call": {"input": as_json(payload.get("input"))},
        "local_shell_call": payload.get("action"),
    }
    if kind not in arguments:
        return []
    called = {"name": first_text(payload, "name") or "local_shell", "arguments": arguments[kind]}
    return [{"role": "assistant", "tool_calls": [{"id": name, "type": "function", "function": called}]}]
