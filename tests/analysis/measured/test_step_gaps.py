"""Step gaps of many answers at once are those of each by itself."""

import tempfile
from array import array
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.measured.request import measure, step_gaps_ns, step_starts_ns
from loadgen.analysis.measured.step_gaps import sorted_s, step_gaps_us
from loadgen.records.events import EventFiles, pack_events
from loadgen.records.model import EventKind, RequestRecord, TokenEvent
from tests.records.make import request

_EVENT = st.tuples(
    st.one_of(st.integers(0, 4_000), st.integers(0, 5_000_000)), st.sampled_from(EventKind), st.booleans()
)
"""Microseconds since the event before it, kind, and whether it begins a socket read."""
_TIMINGS = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {"predicted_ms": st.floats(0, 1000), "predicted_n": st.integers(0, 100), "draft_n_accepted": st.integers(0, 50)}
    ),
)


def _written(folder: Path, answers: list[tuple[list[tuple[int, EventKind, bool]], Any]]) -> list[RequestRecord]:
    """Requests with these events, all in the file of one trial."""
    requests, data = [], b""
    for raw, timings in answers:
        at_ns, events = 1_000, []
        for gap_us, kind, new_read in raw:
            at_ns += gap_us * 1_000
            events.append(TokenEvent(at_ns=at_ns, kind=kind, new_read=new_read))
        requests.append(request(token_events=len(events), events_at=len(data) if events else None, timings=timings))
        data += pack_events(1_000, events)
    (folder / "r1-off-c1.bin").write_bytes(data)
    return requests


@given(st.lists(st.tuples(st.lists(_EVENT, max_size=12), _TIMINGS), max_size=6))
def test_all_at_once_is_one_by_one(answers: list[tuple[list[tuple[int, EventKind, bool]], Any]]) -> None:
    """Whatever the events, and whatever merge limit the timings of each answer give."""
    with tempfile.TemporaryDirectory() as folder:
        requests, files = _written(Path(folder), answers), EventFiles(Path(folder))
        several = [one for one in requests if one.token_events > 1]
        alone = [gap for one in several for gap in step_gaps_ns(step_starts_ns(one, files(one)))]
        together = step_gaps_us([measure(one) for one in requests], files)
        assert [us * 1_000 for us in together] == alone
        assert list(together) == list(step_gaps_us([measure(one) for one in requests], files.__call__))


def test_an_unknown_kind_of_event_is_damage(tmp_path: Path) -> None:
    """As where the events are read one by one."""
    (tmp_path / "r1-off-c1.bin").write_bytes(b"\x01\x00\x00\x00\x81\x01\x00\x00\x00\x87")
    with pytest.raises(ValueError, match="unknown event kind 7"):
        step_gaps_us([measure(request(token_events=2, events_at=0))], EventFiles(tmp_path))


def test_gaps_are_sorted_in_seconds() -> None:
    """1500 and 2 µs are 2 µs and 1.5 ms; nothing is nothing."""
    assert list(sorted_s(array("I", [1500, 2]))) == [0.000002, 0.0015]
    assert list(sorted_s(array("I"))) == []


def test_a_gap_longer_than_an_entry_can_say_is_capped() -> None:
    """Two hours are told as 71 minutes."""
    hour = 3600 * 10**9
    events = [TokenEvent(at_ns=at, kind=EventKind.CONTENT, new_read=new) for at, new in ((0, True), (2 * hour, True))]
    one = msgspec.structs.replace(request(token_events=2), events_at=0)
    assert list(step_gaps_us([measure(one)], lambda _: events)) == [0xFFFF_FFFF]
