"""Requests read back are lean, and equal to what was written."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.records.lean import LeanReader, Timings
from loadgen.records.model import Sample
from tests.records.make import request

_TOLD: dict[str, Any] = {
    "cache_n": 900,
    "prompt_n": 100,
    "prompt_ms": 50.5,
    "predicted_n": 300,
    "predicted_ms": 6000.25,
}


def _line(**changes: Any) -> bytes:
    return msgspec.json.encode(request(**changes))


_COUNTS = st.none() | st.integers(0, 10**12)
_NUMBERS = st.dictionaries(st.sampled_from(Timings.__struct_fields__), st.integers(0, 1000) | st.floats(0, 1e9))


@given(prompt=_COUNTS, cached=_COUNTS, tokens=_COUNTS, timings=st.none() | _NUMBERS, first=_COUNTS)
def test_a_request_read_back_equals_the_one_written(
    prompt: int | None, cached: int | None, tokens: int | None, timings: dict[str, float] | None, first: int | None
) -> None:
    """On both sides of the comparison, whatever it shares with the requests before it."""
    written = request(
        prompt_tokens=prompt,
        cached_tokens=cached,
        completion_tokens=tokens,
        timings=timings,
        first_token_ns=first,
        first_answer_ns=first,
    )
    reader = LeanReader()
    reader.request(_line())
    read = reader.request(msgspec.json.encode(written))
    assert read == written
    assert written == read
    assert read != msgspec.structs.replace(written, turn=3)
    assert read != msgspec.structs.replace(written, timings={"cache_n": 12345})


def test_timings_are_asked_by_name_and_keep_their_kind() -> None:
    """A count with a point stays one, and what isn't kept is null: quotients, and what the server never sent."""
    read = LeanReader().request(_line(timings={**_TOLD, "prompt_per_second": 20.0, "predicted_n": 300.0}))
    assert read.timings is not None
    assert {name: read.timings.get(name) for name in _TOLD} == {**_TOLD, "predicted_n": 300.0}
    assert type(read.timings.get("predicted_n")) is float
    assert type(read.timings.get("cache_n")) is int
    assert read.timings.get("prompt_per_second") is None
    assert read.timings.get("draft_n") is None


def test_equal_texts_and_numbers_are_one_object() -> None:
    """Of one request, and of several."""
    reader = LeanReader()
    counts = {"prompt_tokens": 1000, "cached_tokens": 900, "completion_tokens": 300, "token_events": 300}
    first, second = (reader.request(_line(timings=_TOLD, **counts)) for _ in range(2))
    assert first.trial is second.trial
    assert first.root is second.session
    assert first.prompt_tokens is second.prompt_tokens
    assert first.timings is not None
    assert first.timings.get("cache_n") is first.cached_tokens
    assert first.timings.get("predicted_n") is first.completion_tokens is first.token_events
    assert first.first_event_ns is first.first_token_ns is first.first_answer_ns


def test_the_end_of_a_turn_is_when_the_next_one_could_begin() -> None:
    """The same time of the same agent is one object; another agent's is its own."""
    reader = LeanReader()
    before = reader.request(_line(end_ns=5_000_000_000))
    after = reader.request(_line(ready_ns=5_000_000_000, scheduled_ns=5_000_000_000))
    assert before.end_ns is after.ready_ns is after.scheduled_ns


def test_samples_share_their_texts() -> None:
    """And are otherwise as written."""
    sample = Sample(
        run="run", trial="t", variant="off", at_ns=1, source="nvml", name="used_bytes", value=1.5, device="GPU-0"
    )
    reader = LeanReader()
    first, second = (reader.sample(msgspec.json.encode(sample)) for _ in range(2))
    assert first == second == sample
    assert first.device is second.device


@pytest.mark.parametrize("line", [b"{", b"{}", b"[]", b'{"run": 1}'])
def test_a_damaged_line_raises_as_msgspec_does(line: bytes) -> None:
    """So that the reader of the folder can name it."""
    with pytest.raises(msgspec.MsgspecError):
        LeanReader().request(line)
