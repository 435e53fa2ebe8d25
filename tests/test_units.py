"""Conversions between what is kept and what is shown."""

import pytest

from loadgen.units import (
    bytes_to_mib,
    khz_to_mhz,
    mib_to_bytes,
    microwatts_to_watts,
    milliwatts_to_watts,
    ns_to_s,
    parse_duration_s,
    per_hour,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("90", 90), ("90s", 90), ("15m", 900), ("1h30m", 5400), ("500ms", 0.5), (" 2M ", 120), ("1.5h", 5400)],
)
def test_durations_are_read(text: str, expected: float) -> None:
    """Durations are seconds, or numbers with units that add up."""
    assert parse_duration_s(text) == expected


@pytest.mark.parametrize("text", ["", "m", "15x", "1m 2", "-5s", "5s later"])
def test_other_texts_are_no_durations(text: str) -> None:
    """Anything else is refused."""
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration_s(text)


def test_bytes_and_nanoseconds() -> None:
    """MiB are 2^20 bytes, seconds are 10^9 ns, rates are per 3,600 s."""
    assert mib_to_bytes(26.25) == 27_525_120
    assert bytes_to_mib(27_525_120) == 26.25
    assert ns_to_s(1_500_000_000) == 1.5
    assert per_hour(9, 9.0) == 3600


def test_what_the_kernel_and_drivers_tell() -> None:
    """Frequencies in kHz, power in milliwatts or microwatts."""
    assert khz_to_mhz(3_600_000) == 3600
    assert milliwatts_to_watts(700_000) == 700
    assert microwatts_to_watts(303_000_000) == 303
