"""Rules of stalls."""

from typing import Any

import pytest

from loadgen.analysis.causes.stalls import smaller_batch, stalls
from loadgen.records.model import Phase


def reader(make: Any, *steps: float, at: int = 1, **fields: Any) -> tuple[Any, dict[int, Any]]:
    """An answer whose steps come at these seconds, and its events."""
    plain = {"first": steps[0], "last": steps[-1], "token_events": len(steps), "events_at": at}
    return make.request(**{**plain, **fields}), {at: make.events(steps)}


def test_a_gap_above_1_s_over_another_prefill_is_a_stall(make: Any) -> None:
    """Steps at 1, 1.5 and 4 s, another prompt read from 1.6 to 3.9 s: 2.5 s in one stall, and 1 of 2 tasks each."""
    request, events = reader(make, 1.0, 1.5, 4.0)
    other = make.request(start=1.6, first=3.9, last=4.5, agent=1, session="b")
    found = stalls([make.trial([request, other], events=events, segments=[(0, 5), (0, 5)])])
    assert found is not None
    assert (found["count"], found["seconds"], found["longest_s"]) == (1, 2.5, 2.5)
    assert found["seconds_per_task"]["value"] == pytest.approx(1.25)
    assert found["share"]["value"] == pytest.approx(0.25)


@pytest.mark.parametrize("times", [(4.0, 5.0), (0.2, 1.5), (1.5, 1.5)])
def test_a_gap_without_a_prefill_in_it_is_none(make: Any, times: tuple[float, float]) -> None:
    """A prompt that was read before or after explains nothing."""
    request, events = reader(make, 1.0, 1.5, 4.0)
    other = make.request(start=times[0], first=times[1], last=6.0, agent=1, session="b")
    found = stalls([make.trial([request, other], events=events)])
    assert found is not None
    assert (found["count"], found["seconds"], found["longest_s"]) == (0, 0, None)


def test_up_to_1_s_is_slow_and_no_stall(make: Any) -> None:
    """The definition says above."""
    request, events = reader(make, 1.0, 2.0, 3.0)
    other = make.request(start=1.0, first=3.0, last=6.0, agent=1, session="b")
    found = stalls([make.trial([request, other], events=events)])
    assert found is not None
    assert found["count"] == 0


def test_a_prompt_read_in_warm_up_or_by_a_failed_request_stalls_too(make: Any) -> None:
    """The server reads it all the same; a request without a first token is read until it ends."""
    request, events = reader(make, 1.0, 1.5, 4.0)
    for other in (
        make.request(start=2.0, first=3.0, last=9.0, agent=1, session="b", phase=Phase.WARMUP),
        make.failed(start=2.0, end=3.0, agent=1, session="b"),
    ):
        found = stalls([make.trial([request, other], events=events)])
        assert found is not None
        assert found["count"] == 1


def test_waiting_for_a_slot_is_no_prefill(make: Any) -> None:
    """Sent at 0, taken at 4.5 s, first token at 5 s: by its headers, or by prompt_ms where these tell nothing."""
    request, events = reader(make, 1.0, 1.5, 4.0)
    fields: dict[str, Any] = {"start": 0.0, "first": 5.0, "last": 6.0, "agent": 1, "session": "b"}
    by_headers = make.request(headers=4.5, **fields)
    by_timings = make.request(headers=0.1, timings={"prompt_ms": 500}, **fields)
    unknown = make.request(**fields)
    counts = []
    for other, told in ((by_headers, True), (unknown, True), (by_timings, False), (unknown, False)):
        found = stalls([make.trial([request, other], events=events, headers_tell_slot=told)])
        assert found is not None
        counts.append(found["count"])
    assert counts == [0, 0, 0, 1]


def test_a_burst_is_one_step(make: Any) -> None:
    """Tokens of one read don't hide the gap before them."""
    events = {1: make.events([1.0, 1.0, 3.0, 3.0], [True, False, True, False])}
    request = make.request(first=1.0, last=3.0, token_events=4, events_at=1)
    other = make.request(start=1.5, first=2.5, last=3.0, agent=1, session="b")
    found = stalls([make.trial([request, other], events=events)])
    assert found is not None
    assert (found["count"], found["seconds"]) == (1, 2.0)


def test_without_events_or_tasks_it_is_null(make: Any) -> None:
    """No step gap was seen: not measured. No task was earned: no seconds per task."""
    assert stalls([]) is None
    assert stalls([make.trial([make.request()])]) is None
    request, events = reader(make, 1.0, 1.5, 4.0, turn=0, turns=2)
    lost = make.failed(start=2.0, end=3.0, agent=1, session="b", turn=3, turns=4)
    found = stalls([make.trial([request, lost], events=events)])
    assert found is not None
    assert found["count"] == 1
    assert found["seconds_per_task"]["value"] is None


def test_the_batch_to_try_is_the_physical_one_then_half_of_it() -> None:
    """Smaller pieces of a prompt; without settings no number is made up."""
    assert smaller_batch({"batch": 2048, "ubatch": 512}) == "-b 512 (now 2048)"
    assert smaller_batch({"batch": 512, "ubatch": 512}) == "-b 256 -ub 256 (now 512)"
    assert smaller_batch({"batch": "not given", "ubatch": 512}) == "a smaller -b"
    assert smaller_batch({}) == "a smaller -b"
