"""Mooncake traces: a request a row, with lengths and hashes in place of text.

Schema: github.com/kvcache-ai/Mooncake, `FAST25-release` (traces under Apache-2.0). A row has `timestamp` (ms from the
start of the trace), `input_length` and `output_length` in tokens, and `hash_ids`: one id for each block of 512 tokens
of the prompt, the last of which may be shorter; an id stands for its block and all before it.

The traces name no sessions: a row is taken as the next turn of an earlier one if it has all of that one's full blocks,
is longer than that prompt with its answer, and comes later. Blocks behind which many prompts part (a system prompt)
make no such link. All other rows begin a session, whose prompt shares with earlier ones what their blocks share. The
text is made up (see `lengths`). When an answer was there isn't known: waits run from request to request, answers
included.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from loadgen.units import ms_to_s
from loadgen.workload.formats.fields import good_rows, number, whole
from loadgen.workload.formats.lengths import Book, Prompt, grown, made_up
from loadgen.workload.recorded import Problem, RecordedSession, RecordedTurn
from loadgen.workload.rows import Row

__all__ = ["looks_like", "read"]

BLOCK = 512
"""Tokens a block, as the traces were made."""
_PARTING = 8
"""Different blocks behind one block that still may be one conversation: an answer is asked for again a few times, a
system prompt is followed by as many blocks as there are conversations."""
_FIELDS = frozenset({"timestamp", "input_length", "output_length", "hash_ids"})


def looks_like(value: Any) -> bool:
    """Whether a row has the lengths of a prompt and an answer, and no text."""
    if not isinstance(value, dict) or not {"input_length", "output_length"} <= value.keys():
        return False
    return not {"messages", "text_input", "chat_id", "requests"} & value.keys()


@dataclass(frozen=True)
class _Request:
    line: int
    at_s: float
    tokens: int
    output: int
    blocks: tuple[Hashable, ...]
    extra: dict[str, Any]

    @property
    def full(self) -> int:
        """Blocks that are full."""
        return min(self.tokens // BLOCK, len(self.blocks))


@dataclass
class _Session:
    first: _Request
    last: _Request
    prompt: Prompt
    turns: list[RecordedTurn] = field(default_factory=list)


def read(rows: Iterator[Row | Problem], file: str) -> Iterator[RecordedSession | Problem]:
    """The sessions, in the order of their first rows; all rows are read before the first comes."""
    requests: list[_Request] = []
    for row in good_rows(rows, file):
        if isinstance(row, Problem):
            yield row
            continue
        line, value = row
        found = _request(line, value)
        if isinstance(found, str):
            yield Problem(file, line, f"skipped: {found}")
        else:
            requests.append(found)
    for session in _Sessions(requests, file).found:
        yield RecordedSession(
            session_id=f"mooncake-{session.first.line}",
            source={"name": "mooncake", "licence": "Apache-2.0"},
            turns=session.turns,
            extra={"arrival_s": session.first.at_s},
        )


def _request(line: int, value: dict[str, Any]) -> _Request | str:
    tokens, output = whole(value.get("input_length")), whole(value.get("output_length"))
    at = number(value.get("timestamp", 0))
    blocks = value.get("hash_ids", [])
    if not tokens:
        return "input_length is missing, or no whole number above 0"
    if output is None:
        return "output_length is missing, or no whole number"
    if at is None:
        return "timestamp is no time"
    if not isinstance(blocks, list) or any(not isinstance(block, int | str) for block in blocks):
        return "hash_ids is no list of ids"
    if blocks and len(blocks) != -(-tokens // BLOCK):
        return f"hash_ids are {len(blocks)} where {tokens} tokens have {-(-tokens // BLOCK)} blocks of {BLOCK}"
    extra = {name: found for name, found in value.items() if name not in _FIELDS}
    return _Request(line, ms_to_s(at), tokens, output, tuple(blocks), extra)


class _Sessions:
    """Puts requests behind each other."""

    def __init__(self, requests: Sequence[_Request], file: str) -> None:
        self.found: list[_Session] = []
        self._file = file
        self._parted = _parted(requests)
        self._book = Book(BLOCK)
        self._ends: dict[Hashable, _Session] = {}
        for request in requests:
            self._add(request)

    def _add(self, request: _Request) -> None:
        session = self._before(request)
        if session is None:
            known, shared = self._book.most_alike(request.blocks, request.tokens)
        else:
            known, shared = session.prompt, session.prompt.tokens
        seed = f"{self._file}:{request.line}"
        made = grown(known, shared, request.tokens, corpus="prose", seed=seed)
        answer = made_up("assistant", request.output, "prose", f"{seed}:answer") if request.output else None
        prompt = Prompt(request.tokens, request.blocks, tuple(made.messages), answer)
        self._book.add(prompt)
        if session is None:
            session = _Session(request, request, prompt)
            self.found.append(session)
        session.turns.append(
            RecordedTurn(
                messages=made.new if session.turns else made.messages,
                assistant=answer,
                delay_s=request.at_s - session.last.at_s,
                delay_kind="user" if session.turns else "arrival",
                input_tokens=request.tokens,
                output_tokens=request.output,
                extra=request.extra,
            )
        )
        session.last, session.prompt = request, prompt
        if request.full:
            self._ends[request.blocks[request.full - 1]] = session

    def _before(self, request: _Request) -> _Session | None:
        """The session that a request goes on from: nothing of what it has behind that one's blocks is known."""
        known = (
            count for count in range(len(request.blocks), 0, -1) if request.blocks[count - 1] in self._book.prompts
        )
        count = next(known, 0)
        session = self._ends.get(request.blocks[count - 1]) if count else None
        if session is None or request.blocks[count - 1] in self._parted:
            return None
        shared = self._book.shared(session.prompt, request.blocks, request.tokens)
        goes_on = shared == session.prompt.tokens and request.tokens > session.prompt.tokens_with_answer
        return session if goes_on and request.at_s > session.last.at_s else None


def _parted(requests: Sequence[_Request]) -> set[Hashable]:
    """Blocks behind which more prompts part than one conversation has."""
    behind: dict[Hashable, set[Hashable]] = defaultdict(set)
    for request in requests:
        for block, following in zip(request.blocks, request.blocks[1:], strict=False):
            if len(behind[block]) <= _PARTING:
                behind[block].add(following)
    return {block for block, several in behind.items() if len(several) > _PARTING}
