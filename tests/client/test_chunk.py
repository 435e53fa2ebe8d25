"""What one payload of a chat stream carries."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.client.chunk import ChunkError, read_chunk, replace_surrogates
from loadgen.records.model import EventKind


def token(**delta: Any) -> tuple[EventKind, str] | None:
    """The token event in a chunk with this delta."""
    chunk, _ = read_chunk(json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}).encode())
    return chunk.token()


@pytest.mark.parametrize(
    "delta",
    [
        {},
        {"role": "assistant", "content": None},
        {"role": "assistant"},
        {"content": ""},
        {"reasoning_content": ""},
        {"reasoning": None},
        {"tool_calls": None},
        {"tool_calls": []},
        {"tool_calls": [{"index": 0, "function": {"name": "", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "id": "x", "type": "function"}]},
    ],
)
def test_a_delta_without_text_is_no_token_event(delta: dict[str, Any]) -> None:
    """Role-only, null and empty deltas never count."""
    assert token(**delta) is None


@pytest.mark.parametrize("text", [" ", "\n", "A", "\u2713"])
def test_any_text_is_a_token_event(text: str) -> None:
    """A single blank or line feed counts as much as a word."""
    assert token(content=text) == (EventKind.CONTENT, text)


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_is_a_token_event_under_both_names(name: str) -> None:
    """llama-server's and vLLM's field names mean the same."""
    assert token(**{name: "hm"}) == (EventKind.REASONING, "hm")
    assert token(**{name: "hm", "content": "A"}) == (EventKind.CONTENT, "A")


def test_a_tool_call_is_a_token_event_with_its_name_or_its_arguments() -> None:
    """Any text of a tool call counts: a name, arguments, or a fragment of them."""
    assert token(tool_calls=[{"function": {"name": "grep", "arguments": "{"}}]) == (EventKind.TOOL_CALL, "grep{")
    assert token(tool_calls=[{"function": {"arguments": "x"}}]) == (EventKind.TOOL_CALL, "x")
    assert token(tool_calls=[{"function": {"name": "grep", "arguments": None}}]) == (EventKind.TOOL_CALL, "grep")


@pytest.mark.parametrize(
    "payload",
    [b"{}", b'{"choices":[]}', b'{"choices":null,"usage":null,"timings":null,"error":null}', b'{"choices":[{}]}'],
)
def test_chunks_without_choices_usage_or_timings_are_normal(payload: bytes) -> None:
    """Empty, absent and null members are no error and carry nothing."""
    chunk, repaired = read_chunk(payload)
    assert (chunk.token(), chunk.finish_reason(), chunk.server_error(), chunk.usage) == (None, None, None, None)
    assert not chunk.has_timings
    assert chunk.timings_dict() is None
    assert not repaired


def test_a_progress_chunk_is_no_token_event() -> None:
    """prompt_progress comes before the prefill has ended."""
    chunk, _ = read_chunk(
        b'{"choices":[{"index":0,"delta":{"role":"assistant","content":null}}],'
        b'"prompt_progress":{"total":448,"cache":1,"processed":444,"time_ms":34}}'
    )
    assert chunk.token() is None


def test_usage_and_timings_are_read_from_a_chunk_with_empty_choices() -> None:
    """llama-server's last chunk has no choices; its counts are taken as sent."""
    chunk, _ = read_chunk(
        b'{"choices":[],"usage":{"completion_tokens":75,"prompt_tokens":31,"total_tokens":106,'
        b'"prompt_tokens_details":{"cached_tokens":30}},"timings":{"predicted_n":75,"predicted_ms":1.5}}'
    )
    assert chunk.usage is not None
    assert (chunk.usage.prompt_tokens, chunk.usage.completion_tokens, chunk.usage.cached_tokens) == (31, 75, 30)
    assert chunk.timings_dict() == {"predicted_n": 75, "predicted_ms": 1.5}


def test_damaged_characters_are_replaced_and_counted() -> None:
    """A lone byte 9c, or half a surrogate pair, costs one character and one warning, not the request."""
    chunk, repaired = read_chunk(b'{"choices":[{"delta":{"content":"a\x9cb"}}]}')
    assert (chunk.token(), repaired) == ((EventKind.CONTENT, "a\ufffdb"), True)
    chunk, repaired = read_chunk(b'{"choices":[{"delta":{"content":"a\\ud83db"}}]}')
    assert (chunk.token(), repaired) == ((EventKind.CONTENT, "a\ufffdb"), True)
    chunk, repaired = read_chunk(b'{"choices":[{"delta":{"content":"\\ud83d\\udc4d"}}]}')
    assert (chunk.token(), repaired) == ((EventKind.CONTENT, "\U0001f44d"), False)


@pytest.mark.parametrize(
    "payload", [b"", b"secret", b'{"choices":', b"[1]", b"null", b'{"choices":[{"delta":{"content":5}}]}', b"\xff\xfe"]
)
def test_what_is_no_chunk_is_refused_without_quoting_it(payload: bytes) -> None:
    """Broken JSON and members of a wrong type are errors whose text holds nothing of the payload."""
    with pytest.raises(ChunkError) as caught:
        read_chunk(payload)
    assert "secret" not in str(caught.value)


def test_an_error_object_is_recognised_in_every_form() -> None:
    """llama-server's object, plain text, and vLLM's older top-level form."""
    chunk, _ = read_chunk(b'{"error":{"code":500,"message":"boom","type":"server_error"}}')
    error = chunk.server_error()
    assert error is not None
    assert (error.message, error.kind, error.code) == ("boom", "server_error", "500")
    for payload in (b'{"error":"boom"}', b'{"object":"error","message":"boom","code":400}'):
        chunk, _ = read_chunk(payload)
        error = chunk.server_error()
        assert error is not None
        assert error.message == "boom"


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["choices", "delta", "content", "usage", "error", "timings", "tool_calls", "object"]), inner,
        max_size=4),
    max_leaves=12).map(lambda value: json.dumps(value).encode()))  # fmt: skip
def test_any_payload_is_a_chunk_or_a_chunk_error(payload: bytes) -> None:
    """No payload whatever raises anything else."""
    try:
        chunk, _ = read_chunk(payload)
    except ChunkError:
        return
    chunk.token()
    chunk.finish_reason()
    chunk.server_error()
    chunk.timings_dict()


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=20))
def test_replaced_text_can_be_sent(text: str) -> None:
    """Every text becomes valid UTF-8, and text that was valid stays as it is."""
    clean = replace_surrogates(text)
    clean.encode()
    if not any(0xD800 <= ord(c) <= 0xDFFF for c in text):
        assert clean == text
