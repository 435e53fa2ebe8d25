"""What is kept of a server's complaint."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.client.server_error import MAX_MESSAGE, ServerError, read_error_body

TOO_LONG = (
    b'{"error":{"code":400,"message":"request (5002 tokens) exceeds the available context size (2048 tokens), try '
    b'increasing it","type":"exceed_context_size_error","n_prompt_tokens":5002,"n_ctx":2048}}'
)


@pytest.mark.parametrize(
    "body",
    [
        TOO_LONG,
        b'{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}',
        b'{"error":{"message":"The maximum context length is 4096 tokens.","code":"context_length_exceeded"}}',
    ],
)
def test_context_overflow_is_recognised_in_every_form(body: bytes) -> None:
    """Too long on arrival, a shared cache that ran out, and the OpenAI form."""
    error = read_error_body(body)
    assert error is not None
    assert error.is_context_overflow


def test_other_errors_are_no_context_overflow() -> None:
    """A plain server error stays one."""
    error = read_error_body(b'{"error":{"code":500,"message":"out of memory","type":"server_error"}}')
    assert error is not None
    assert not error.is_context_overflow


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}", b'{"error":null}', b'{"detail":"x"}', b"\xff"])
def test_what_holds_no_error_gives_none(body: bytes) -> None:
    """Pages and other JSON are no error objects."""
    assert read_error_body(body) is None


def test_a_message_is_cut_before_json_and_line_ends() -> None:
    """Servers append the offending request to some messages; it begins at a bracket or on the next line."""
    error = ServerError(message='Failed to parse messages; messages = [{"role":"user"}]\nmore', kind="server_error")
    assert error.one_line(b"") == "server_error: Failed to parse messages; messages ="


def test_echoes_of_the_request_are_hidden() -> None:
    """A stretch of 16 characters or more that stands in the request too becomes an ellipsis."""
    sent = b'{"content":"The lighthouse keeper counted seven ships"}'
    error = ServerError(message="bad input: lighthouse keeper counted here")
    assert error.one_line(sent) == "bad input:…here"


def test_echoes_are_found_in_escaped_text() -> None:
    """Quotes and other characters that JSON escapes don't hide an echo."""
    sent = rb'{"content":"say \"open sesame\" now\\then"}'
    error = ServerError(message='bad input: say "open sesame" now\\then')
    assert error.one_line(sent) == "bad input: …"


def test_a_key_is_taken_out_before_the_message_is_cut() -> None:
    """Neither the cap nor a bracket leaves half a key behind."""
    error = ServerError(message="x" * (MAX_MESSAGE - 4) + "key[77]", kind="key[77]")
    line = error.one_line(b"", lambda text: text.replace("key[77]", "***"))
    assert "key" not in line
    assert line.startswith("***: xxx")


@given(message=st.text(max_size=600), kind=st.none() | st.text(max_size=80))
def test_an_error_is_one_short_line(message: str, kind: str | None) -> None:
    """Whatever a server says, one line of bounded length is kept."""
    line = ServerError(message=message, kind=kind).one_line(b"")
    assert len(line) <= MAX_MESSAGE
    assert len(line.splitlines()) <= 1
