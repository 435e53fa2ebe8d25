"""Whatever passes through a recording does no harm."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from loadgen.recording.answer import Answer
from loadgen.recording.apis import APIS
from loadgen.workload.row_fields import Notes, Wrong

KINDS = st.sampled_from(
    [
        *("message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop", "error"),
        *("response.created", "response.output_item.added", "response.completed", "response.incomplete"),
        *("response.output_text.delta", "response.function_call_arguments.delta", "message", "function_call"),
        *("reasoning", "text", "tool_use", "tool_result", "text_delta", "input_json_delta"),
    ]
)
FIELDS = st.sampled_from(
    [
        *("type", "choices", "delta", "content", "tool_calls", "function", "index", "usage", "message", "messages"),
        *("input", "output", "item", "response", "role", "content_block", "partial_json", "arguments", "system"),
        *("tools", "timings", "finish_reason", "error", "id", "name", "text", "input_tokens"),
    ]
)
ROLES = st.sampled_from(["user", "assistant", "system", "tool"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3) | KINDS | ROLES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=5),
    max_leaves=12,
)
OBJECTS = st.dictionaries(FIELDS, VALUES, max_size=6)


@given(api=st.sampled_from(sorted(APIS)), body=OBJECTS, events=st.lists(OBJECTS, max_size=4), reply=OBJECTS)
def test_whatever_passes_is_read_or_refused(
    api: str, body: dict[str, Any], events: list[dict[str, Any]], reply: dict[str, Any]
) -> None:
    """A request gives messages with roles or `Wrong`, events and replies an answer that is JSON."""
    reader = APIS[api].reader
    try:
        found = reader.asked(body, Notes("request"))
    except Wrong:
        pass
    else:
        assert all(message["role"] for message in found.messages)
        json.dumps(found.messages)
    streamed, replied = Answer(), Answer()
    for event in events:
        reader.take(streamed, event)
    reader.whole(replied, reply)
    json.dumps([streamed.as_message(), replied.as_message()])
