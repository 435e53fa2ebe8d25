"""Rules of the server's counters."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.measured.counters import ACCEPTED, grown, increase, restarted


def test_c54_a_restart_starts_the_count_anew() -> None:
    """1000, 1400, 50, 250 grew by 400 + 50 + 200, with one restart; two readings alone can't tell."""
    assert increase([1000, 1400, 50, 250]) == (650, 1)
    assert increase([1000, 250]) == (None, 1)
    assert increase([1000]) == (None, 0)


@given(st.lists(st.integers(0, 10**9), max_size=20))
def test_an_increase_is_never_negative(readings: list[int]) -> None:
    """Whatever is read, a counter does not shrink."""
    value, resets = increase(readings)
    assert value is None or value >= 0
    assert 0 <= resets < max(len(readings), 1)


def test_c22_a_counter_is_found_with_and_without_its_suffix(make: Any) -> None:
    """Builds differ in `_total`; positions are another series and never summed in."""
    for suffix in ("", "_total"):
        record = make.record(
            counters_before=make.counters(**{f"spec_decode_num_accepted_tokens{suffix}": 100}),
            counters_after=make.counters(
                **{f"spec_decode_num_accepted_tokens{suffix}": 400, 'x_per_pos_total{position="0"}': 7}
            ),
        )
        assert grown(record, ACCEPTED) == 300
    assert grown(make.record(), ACCEPTED) is None


def test_only_counters_tell_of_a_restart(make: Any) -> None:
    """A falling gauge is no restart; a falling counter is one."""
    gauge = make.record(
        counters_before=make.counters(requests_processing=4), counters_after=make.counters(requests_processing=0)
    )
    counter = make.record(counters_before=make.counters(n_total=4), counters_after=make.counters(n_total=0))
    assert not restarted(gauge)
    assert restarted(counter)
