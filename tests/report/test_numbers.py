"""Numbers as people read them."""

import pytest

from loadgen.report.numbers import mebibytes, ratio_with_interval, seconds, share, significant


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "n/a"), (0, "0"), (1234.6, "1,235"), (123.4, "123"), (12.34, "12.3"), (1.234, "1.23"), (0.04123, "0.0412")],
)
def test_three_digits_say_all_there_is(value: float | None, text: str) -> None:
    """Rates have three significant digits, and what was not measured is n/a."""
    assert significant(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "n/a"),
        (0.000412, "412 µs"),
        (0.0521, "52.1 ms"),
        (0.9999, "1,000 ms"),
        (1.84, "1.84 s"),
        (125.0, "2:05 min"),
    ],
)
def test_times_carry_the_unit_that_suits_them(value: float | None, text: str) -> None:
    """µs below a millisecond, ms below a second, minutes from two on."""
    assert seconds(value) == text


def test_shares_and_bytes() -> None:
    """Percentages, and MiB as logs print them."""
    assert share(0.8234) == "82.3 %"
    assert share(None) == "n/a"
    assert mebibytes(27_525_120) == "26.25 MiB"


def test_a_ratio_shows_its_interval_or_its_lack() -> None:
    """Without an interval the text says so instead of showing a bare number."""
    assert ratio_with_interval({"value": 1.1512, "low": 1.09, "high": 1.213, "n": 4}) == "1.151 [1.090, 1.213]"
    assert ratio_with_interval({"value": 1.15, "low": None, "high": None, "n": 2}) == "1.150 [n/a]"
    assert ratio_with_interval({"value": None, "low": None, "high": None, "n": 0}) == "n/a"
    assert ratio_with_interval(None) == "n/a"
