"""Rules of numbers in sentences."""

import pytest

from loadgen.analysis.wording import agents, change, count, factor, interval


@pytest.mark.parametrize(
    ("x", "text"),
    [(1.5, "1.50"), (1.004, "1.004"), (0.9996, "0.9996"), (1.0, "1.00"), (1.000001, "just above 1"), (0.42, "0.42")],
)
def test_a_ratio_never_hides_on_which_side_of_1_it_lies(x: float, text: str) -> None:
    """Two decimals, more where they would read 1."""
    assert factor(x) == text


def test_one_agent_is_singular() -> None:
    """Counts read as a person would say them."""
    assert [agents(1), agents(4), agents(5.678)] == ["1 agent", "4 agents", "5.68 agents"]


def test_a_change_bears_its_sign() -> None:
    """With one decimal, and a minus sign that is none but a minus sign."""
    assert [change(0.97), change(1.0), change(1.255)] == ["−3.0 %", "+0.0 %", "+25.5 %"]


def test_rates_have_three_digits_and_intervals_two_ends() -> None:
    """No exponents; an interval without ends is said to be none."""
    assert [count(0.1234), count(12.34), count(1234.5)] == ["0.123", "12.3", "1,234"]
    assert [interval(0.96, 1.4), interval(None, 1.4)] == ["0.96 to 1.40", "none"]
