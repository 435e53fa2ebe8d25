"""OpenAI chat JSONL: `{"messages": [...], "tools": [...]}`, a request or a training example a row.

Schema: platform.openai.com/docs/api-reference/fine-tuning/chat-input and .../chat/create. A row has `messages`, and may
have `tools` (or `functions`) and any other field of a request; what those set (sampling, limits) isn't kept.

Rows don't say to which session they belong: see `loadgen.workload.chat_requests` for how they are put together. Nothing
tells how long an agent waited.
"""

from collections.abc import Iterator
from typing import Any

from loadgen.workload.chat_requests import REQUEST_FIELDS, Request, sessions_of
from loadgen.workload.recorded import Problem
from loadgen.workload.row_fields import Found, Notes, Wrong, object_of, text
from loadgen.workload.rows import Row
from loadgen.workload.transcript import messages_of, tools_of

__all__ = ["looks_like", "read"]

_OTHERS = frozenset({"id", "session_id", "output_length"})
"""Fields of formats that have `messages` too, and say more: vLLM's and aiperf's."""


def looks_like(value: Any) -> bool:
    """Whether a row has messages, and neither an id nor a length."""
    return isinstance(value, dict) and isinstance(value.get("messages"), list) and not value.keys() & _OTHERS


def read(rows: Iterator[Row | Problem], file: str) -> Iterator[Found]:
    """The sessions that the rows make up; all of the file is held until then."""
    notes = Notes(file)
    requests: list[Request] = []
    for row in rows:
        if isinstance(row, Problem):
            yield row
            continue
        try:
            value = object_of(row.value)
            yield from notes.strangers(value, REQUEST_FIELDS, row.line)
            model = text(value, "model")
            source = {"name": "openai", **({"model": model} if model else {})}
            name = f"row-{len(requests) + 1}"
            messages = messages_of(value.get("messages"), "messages", notes)
            requests.append(Request(name, row.line, messages, tools_of(value), source))
            yield from notes.parts(row.line)
        except Wrong as wrong:
            yield Problem(file, row.line, f"skipped: {wrong}")
    yield from sessions_of(requests, file)
