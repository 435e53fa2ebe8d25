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
    parse_size,
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("24GiB", 24 << 30),
        ("1.5 G", 3 << 29),
        ("512m", 512 << 20),
        ("7325 MiB", 7325 << 20),
        ("16GB", 16_000_000_000),
        ("100 kB", 100_000),
        ("127600748k", 127600748 * 1024),
        ("2T", 2 << 40),
        (" 512 ", 512),
        ("512B", 512),
        ("0", 0),
    ],
)
def test_sizes_are_read(text: str, expected: int) -> None:
    """Bytes; a letter alone or with iB is binary, with B decimal."""
    assert parse_size(text) == expected


@pytest.mark.parametrize(
    "text", ["", "GiB", "-1", "1e9", "1 2", "12 MiBs", "12 bits", "nan", "0x10", "[N/A]", "9" * 400]
)
def test_other_texts_are_no_sizes(text: str) -> None:
    """Anything else is refused, and so is more than any machine has."""
    with pytest.raises(ValueError, match=r"is not a size|more memory than any device has"):
        parse_size(text)


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
