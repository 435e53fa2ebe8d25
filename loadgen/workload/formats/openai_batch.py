"""OpenAI Batch JSONL: `{"custom_id": ..., "method": "POST", "url": "/v1/chat/completions", "body": {...}}`.

Schema: platform.openai.com/docs/guides/batch. `custom_id` is unique in the file; `body` is a request. Others that take
such files (vLLM, Together, Novita) leave `method` and `url` out. Only chat requests are read: the file of a batch's
results has no prompts, and other routes no messages.

Rows don't say to which session they belong: see `loadgen.workload.chat_requests` for how they are put together. A
session is called like the `custom_id` of its first request.
"""

from collections.abc import Iterator
from typing import Any

from loadgen.workload.chat_requests import REQUEST_FIELDS, Request, sessions_of
from loadgen.workload.recorded import Problem
from loadgen.workload.row_fields import Found, Notes, Wrong, object_of, text
from loadgen.workload.rows import Row
from loadgen.workload.transcript import messages_of, tools_of

__all__ = ["looks_like", "read"]

_FIELDS = frozenset({"custom_id", "method", "url", "body"})
_ROUTE = "/chat/completions"


def looks_like(value: Any) -> bool:
    """Whether a row has a custom_id and a body."""
    return isinstance(value, dict) and "custom_id" in value and isinstance(value.get("body"), dict)


def read(rows: Iterator[Row | Problem], file: str) -> Iterator[Found]:
    """The sessions that the requests make up; all of the file is held until then."""
    notes = Notes(file)
    requests: dict[str, Request] = {}
    for row in rows:
        if isinstance(row, Problem):
            yield row
            continue
        try:
            value = object_of(row.value)
            yield from notes.strangers(value, _FIELDS, row.line)
            request = _request(value, row.line, notes)
            yield from notes.strangers(value["body"], REQUEST_FIELDS, row.line, "body")
            yield from notes.parts(row.line)
            if request.name in requests:
                raise Wrong(f"custom_id {request.name!r} stands on line {requests[request.name].line} already")
            requests[request.name] = request
        except Wrong as wrong:
            yield Problem(file, row.line, f"skipped: {wrong}")
    yield from sessions_of(list(requests.values()), file)


def _request(value: dict[str, Any], line: int, notes: Notes) -> Request:
    name = text(value, "custom_id")
    if not name:
        raise Wrong("custom_id is missing")
    url = text(value, "url")
    if url is not None and not url.rstrip("/").endswith(_ROUTE):
        raise Wrong(f"url is {url!r}: only requests to {_ROUTE} are read")
    body = object_of(value.get("body"), "body")
    model = text(body, "model", "body")
    source = {"name": "openai-batch", **({"model": model} if model else {})}
    messages = messages_of(body.get("messages"), "body.messages", notes)
    return Request(name, line, messages, tools_of(body, "body"), source)
