"""Weka / SemiAnalysis traces of Claude Code: one session a document, with lengths and hashes in place of text.

Schema: github.com/callanjfox/kv-cache-tester, `docs/trace_replay_tester.md` (traces under Apache-2.0), also the data
sets semianalysisai/cc-traces-weka-* on Hugging Face. A document has `id`, `block_size` (64), `hash_id_scope`,
`tool_tokens`, `system_tokens`, and `requests`: `t` (s), `in` and `out` (tokens; also `input_length`, `output_length`),
`hash_ids` (of the full blocks; an id includes what stands before), `input_types`, `output_types`, `stop`, `api_time`
and `think_time` (s, before the request). A request of the type `subagent` is a sub-agent with `agent_id`, `status`,
`duration_ms` and its own `requests`; the parent waits for it unless its status is `async_launched`.

The `t` of a sub-agent's requests is counted from the start of the session in the data sets, from the start of the
sub-agent in some of the first files: a document in which one lies before its sub-agent's own is of the second kind.
Waits are whole seconds, and hold a user's approval and the client's own work besides the tool. Request pairs (the same
prompt twice) are kept as they are. The text is made up (see `lengths`).
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from loadgen.units import ms_to_s
from loadgen.workload.formats.chat import FINISHED
from loadgen.workload.formats.fields import (
    first_number,
    first_text,
    first_whole,
    good_rows,
    mapping,
    number,
    text,
    whole,
)
from loadgen.workload.formats.lengths import Book, Grown, Prompt, grown, made_up
from loadgen.workload.recorded import DelayKind, Problem, RecordedSession, RecordedTurn
from loadgen.workload.rows import Row

__all__ = ["looks_like", "read"]

BLOCK = 64
"""Tokens a block where a document doesn't say."""
_WHOLE_S = 1.0
"""Times are whole seconds: a sub-agent may seem to end so much after the request that waited for it."""
_BACKGROUND = "async_launched"


def looks_like(value: Any) -> bool:
    """Whether a document has requests with lengths and hashes."""
    requests = value.get("requests") if isinstance(value, dict) else None
    if not isinstance(requests, list) or "id" not in value:
        return False
    first = mapping(requests[0]) if requests else {}
    return "block_size" in value or ("t" in first and ("hash_ids" in first or "agent_id" in first))


@dataclass
class _Agent:
    """A session on its way: what is left to read of it, and what it has become."""

    name: str
    entries: list[Any]
    system_tokens: int
    begun_s: float
    offset_s: float = 0.0
    parent: str | None = None
    prompts: list[Prompt] = field(default_factory=list)
    turns: list[RecordedTurn] = field(default_factory=list)
    waits: dict[str, float] = field(default_factory=dict)
    """Sub-agents that are waited for, and when each ended."""
    last: "_Request | None" = None


@dataclass(frozen=True)
class _Request:
    at_s: float
    tokens: int
    output: int
    blocks: tuple[Hashable, ...]
    api_s: float | None
    think_s: float | None
    given: tuple[str, ...]
    calls_tool: bool
    stop: str | None


def read(rows: Iterator[Row | Problem], file: str) -> Iterator[RecordedSession | Problem]:
    """The sessions of each document: the agent, then its sub-agents."""
    everywhere: dict[int, Book] = {}
    taken: set[str] = set()
    for row in good_rows(rows, file):
        if isinstance(row, Problem):
            yield row
            continue
        line, value = row
        name = text(value.get("id"))
        if name is None or not isinstance(value.get("requests"), list):
            yield Problem(file, line, "skipped: the document has no id, or no requests")
        elif name in taken:
            yield Problem(file, line, f"skipped: the id {name!r} stands twice")
        else:
            taken.add(name)
            yield from _Document(name, value, file, line, everywhere).sessions()


class _Document:
    """One document: a session and its sub-agents."""

    def __init__(self, name: str, value: dict[str, Any], file: str, line: int, everywhere: dict[int, Book]) -> None:
        self._value = value
        self._file = file
        self._line = line
        self._size = whole(value.get("block_size")) or BLOCK
        self._shared = everywhere.setdefault(self._size, Book(self._size)) if _is_global(value) else None
        self._relative = _is_relative(value["requests"])
        self._root = _Agent(name, value["requests"], _head(value), 0.0)
        self._model = next((said for said in _list(value.get("models")) if isinstance(said, str)), None)

    def sessions(self) -> Iterator[RecordedSession | Problem]:
        """The agent, then its sub-agents."""
        waiting = [self._root]
        names = {self._root.name}
        while waiting:
            agent = waiting.pop(0)
            yield from self._play(agent, waiting, names)
            if not agent.turns:
                yield Problem(self._file, self._line, f"skipped: {agent.name!r} has no request that can be played")
                continue
            source = {"name": "weka", "licence": "Apache-2.0"} | ({"model": self._model} if self._model else {})
            yield RecordedSession(
                session_id=agent.name, parent_session_id=agent.parent, source=source, turns=agent.turns
            )

    def _play(self, agent: _Agent, waiting: list[_Agent], names: set[str]) -> Iterator[Problem]:
        book = self._shared or Book(self._size)
        for number_of, entry in enumerate(agent.entries):
            where = f"{agent.name!r}, requests[{number_of}]"
            if mapping(entry).get("type") == "subagent":
                wrong = self._begin(agent, entry, waiting, names)
            else:
                request = _request(entry, agent.offset_s)
                wrong = request if isinstance(request, str) else None
                if not isinstance(request, str):
                    _turn(agent, request, book)
            if wrong is not None:
                yield Problem(self._file, self._line, f"skipped: {where}: {wrong}")

    def _begin(self, agent: _Agent, entry: dict[str, Any], waiting: list[_Agent], names: set[str]) -> str | None:
        """Let a sub-agent begin behind the last turn; why not, where it can't."""
        start = number(entry.get("t"))
        entries = entry.get("requests")
        if start is None or not isinstance(entries, list):
            return "the sub-agent has no time, or no requests"
        if not any(not isinstance(_request(one, 0.0), str) for one in entries):
            return "the sub-agent has no request that can be played"
        start += agent.offset_s
        name = f"{agent.name}/{first_text(entry, 'agent_id') or len(names)}"
        if name in names:
            name = f"{name}-{len(names)}"
        names.add(name)
        child = _Agent(name, entries, _head(entry), start, offset_s=start if self._relative else 0.0)
        waiting.append(child)
        if agent.last is None:
            return None
        child.parent = agent.name
        child.begun_s = agent.last.at_s + (agent.last.api_s or 0.0)
        agent.turns[-1].spawn.append(name)
        if entry.get("status") != _BACKGROUND:
            agent.waits[name] = _end(entry, start, child.offset_s)
        return None


def _turn(agent: _Agent, request: _Request, book: Book) -> None:
    """Put a request behind the turns of an agent."""
    number_of = len(agent.turns)
    seed = f"weka:{agent.name}:{number_of}"
    by_tool = "tool_result" in request.given
    made, reset = _prompt(agent, request, book, "code" if by_tool else "prose", seed)
    said = "code" if request.calls_tool else "prose"
    answer = made_up("assistant", request.output, said, f"{seed}:answer") if request.output else None
    prompt = Prompt(request.tokens, request.blocks, tuple(made.messages), answer)
    book.add(prompt)
    joined = [name for name, end in agent.waits.items() if request.at_s + _WHOLE_S >= end]
    delay, kind = _wait(agent, request, [agent.waits.pop(name) for name in joined], by_tool=by_tool)
    agent.prompts.append(prompt)
    agent.turns.append(
        RecordedTurn(
            messages=made.new if made.goes_on and reset is None and number_of else made.messages,
            assistant=answer,
            delay_s=delay,
            delay_kind=kind,
            kind="tool_call" if request.calls_tool else "prose",
            input_tokens=request.tokens,
            output_tokens=request.output,
            finish_reason=request.stop,
            history_reset=reset,
            join=joined or None,
        )
    )
    agent.last = request


def _prompt(
    agent: _Agent, request: _Request, book: Book, corpus: str, seed: str
) -> tuple[Grown, Literal["compact", "edit"] | None]:
    """The prompt of a request, and why it doesn't go on from the one before it."""
    before = agent.prompts[-1] if agent.prompts else None
    known, shared = book.most_alike(request.blocks, request.tokens)
    if before is not None and (not request.blocks or not before.blocks):
        # Without hashes a longer prompt is taken to go on.
        known, shared = before, before.tokens if request.tokens > before.tokens_with_answer else 0
    elif before is not None and book.shared(before, request.blocks, request.tokens) >= shared:
        known, shared = before, book.shared(before, request.blocks, request.tokens)
    if known is None and before is None and 0 < agent.system_tokens < request.tokens:
        system = made_up("system", agent.system_tokens, "prose", f"weka:{agent.name}:system")
        known, shared = Prompt(agent.system_tokens, messages=(system,)), agent.system_tokens
    made = grown(known, shared, request.tokens, corpus=corpus, seed=seed)
    if before is None or (made.goes_on and known is before):
        return made, None
    return made, "compact" if request.tokens < before.tokens else "edit"


def _wait(agent: _Agent, request: _Request, ends: Sequence[float], *, by_tool: bool) -> tuple[float, DelayKind]:
    last = agent.last
    if last is None:
        return max(request.at_s - agent.begun_s, 0.0) if agent.parent else 0.0, "arrival"
    if ends:
        return max(request.at_s - max(ends), 0.0), "subagent"
    kind: DelayKind = "tool" if by_tool else "user"
    if request.think_s is not None:
        return request.think_s, kind
    return max(request.at_s - last.at_s - (last.api_s or 0.0), 0.0), kind


def _request(entry: Any, offset_s: float) -> _Request | str:
    if not isinstance(entry, dict):
        return "it is no JSON object"
    if first_text({"type": "s"} | entry, "type") not in {"s", "n"}:
        return "its type is none of s, n, subagent"
    at, tokens = number(entry.get("t")), first_whole(entry, "in", "input_length")
    output = first_whole(entry, "out", "output_length")
    blocks = entry.get("hash_ids", [])
    if at is None or not tokens or output is None:
        return "t, in or out is missing, or no number"
    if not isinstance(blocks, list) or any(not isinstance(block, int | str) for block in blocks):
        return "hash_ids is no list of ids"
    stop = first_text(entry, "stop")
    return _Request(
        at_s=at + offset_s,
        tokens=tokens,
        output=output,
        blocks=tuple(blocks),
        api_s=first_number(entry, "api_time"),
        think_s=first_number(entry, "think_time"),
        given=tuple(kind for kind in _list(entry.get("input_types")) if isinstance(kind, str)),
        calls_tool="tool_use" in _list(entry.get("output_types")),
        stop=FINISHED.get(stop or "", stop),
    )


def _end(entry: dict[str, Any], start: float, offset_s: float) -> float:
    """When a sub-agent had ended."""
    lasted = first_number(entry, "duration_ms")
    if lasted is not None:
        return start + ms_to_s(lasted)
    inner = [request for one in entry["requests"] if not isinstance(request := _request(one, offset_s), str)]
    return max(request.at_s + (request.api_s or 0.0) for request in inner)


def _is_relative(requests: Sequence[Any]) -> bool:
    """Whether sub-agents count their own time: one of their requests lies before their own start."""
    waiting = [mapping(entry) for entry in requests]
    while waiting:
        entry = waiting.pop()
        if entry.get("type") != "subagent":
            continue
        start = number(entry.get("t"))
        for one in _list(entry.get("requests")):
            at = number(mapping(one).get("t"))
            if at is not None and start is not None and at < start:
                return True
            waiting.append(mapping(one))
    return False


def _is_global(value: dict[str, Any]) -> bool:
    return value.get("hash_id_scope") == "global"


def _head(value: dict[str, Any]) -> int:
    """Tokens of the definitions of tools and of the system prompt."""
    return (whole(value.get("tool_tokens")) or 0) + (whole(value.get("system_tokens")) or 0)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
