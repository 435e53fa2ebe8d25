"""vLLM multi-turn conversations: `[{"id": ..., "messages": [{"role": ..., "content": ...}]}]`.

Schema: github.com/vllm-project/vllm, benchmarks/multi_turn: what `convert_sharegpt_to_openai.py` writes and
`benchmark_serving_multi_turn.py` reads and writes. The file is one JSON array (or JSON lines); ids are unique. Each
assistant message is the answer of a turn.

The other file that benchmark reads (`"filetype": "generate_conversations"`) has no conversations, but settings from
which it draws them; it is told apart and refused.
"""

from collections.abc import Iterator
from typing import Any

from loadgen.workload.recorded import Problem, RecordedSession
from loadgen.workload.row_fields import Found, Notes, Wrong, row_by_row, text
from loadgen.workload.rows import Row
from loadgen.workload.transcript import messages_of, split

__all__ = ["looks_like", "read"]

_FIELDS = frozenset({"id", "messages"})
_SETTINGS = "generate_conversations"


def looks_like(value: Any) -> bool:
    """Whether a row has an id and messages, or is a file of settings."""
    if not isinstance(value, dict):
        return False
    return value.get("filetype") == _SETTINGS or ("id" in value and isinstance(value.get("messages"), list))


def read(rows: Iterator[Row | Problem], file: str) -> Iterator[Found]:
    """A session for each conversation."""
    notes = Notes(file)
    lines: dict[str, int] = {}

    def session(value: dict[str, Any], line: int, _: str) -> Iterator[Found]:
        if value.get("filetype") == _SETTINGS:
            raise Wrong(
                "these are settings that vLLM draws conversations from, not conversations; a profile can hold the same "
                "distributions"
            )
        yield from notes.strangers(value, _FIELDS, line)
        name = text(value, "id")
        if not name:
            raise Wrong("id is missing")
        if name in lines:
            raise Wrong(f"id {name!r} stands on line {lines[name]} already")
        messages = messages_of(value.get("messages"), "messages", notes)
        yield from notes.parts(line)
        if messages[0]["role"] == "assistant":
            raise Wrong("messages[0] is an answer that nothing asked for")
        lines[name] = line
        yield RecordedSession(session_id=name, source={"name": "vllm"}, turns=split(messages))

    yield from row_by_row(rows, file, session)
