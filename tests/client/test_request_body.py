"""The body of a request."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from loadgen.client.chat import build_body

MESSAGES = [{"role": "user", "content": "hi"}]


def build(**changes: Any) -> dict[str, Any]:
    """A body, decoded."""
    asked: dict[str, Any] = {"model": None, "max_tokens": 7, "exact_length": False, "extra": {}, **changes}
    decoded: dict[str, Any] = json.loads(build_body(MESSAGES, **asked))
    return decoded


def test_a_body_has_no_sampling_fields_of_its_own() -> None:
    """Streamed, with usage and a limit; the server's own sampling applies."""
    assert build() == {
        "messages": MESSAGES,
        "max_tokens": 7,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_end_of_text_is_ignored_only_for_exact_lengths() -> None:
    """ignore_eos is sent only where exactly max_tokens are to come, and a model only where one is named."""
    assert build(exact_length=True)["ignore_eos"] is True
    assert build(model="m")["model"] == "m"


def test_extra_fields_add_but_dont_override() -> None:
    """Sampling fields go through; fields that the measurement rests on stay."""
    body = build(extra={"temperature": 0.6, "stream": False, "max_tokens": 9999, "stream_options": None})
    assert (body["temperature"], body["stream"], body["max_tokens"]) == (0.6, True, 7)
    assert body["stream_options"] == {"include_usage": True}


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=30))
def test_any_text_can_be_sent(text: str) -> None:
    """Lone surrogates don't crash: they become U+FFFD; everything else arrives as it was."""
    body = build_body(
        [{"role": "user", "content": text}], model=None, max_tokens=1, exact_length=False, extra={"stop": [text]}
    )
    content = json.loads(body.decode())["messages"][0]["content"]
    if any(0xD800 <= ord(c) <= 0xDFFF for c in text):
        assert not any(0xD800 <= ord(c) <= 0xDFFF for c in content)
    else:
        assert content == text


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    """Half of an emoji, as data sets hold them, is sent as U+FFFD."""
    body = build_body([{"role": "user", "content": "a\ud83db"}], model=None, max_tokens=1, exact_length=False, extra={})
    assert json.loads(body)["messages"][0]["content"] == "a\ufffdb"
