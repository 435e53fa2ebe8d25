"""Intervals of shares against published values."""

import pytest

from loadgen.analysis.estimators.proportion import paired_difference, wilson


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_a_share_has_the_published_score_interval(hits: int, n: int, low: float, high: float) -> None:
    """The four examples of Newcombe, Statistics in Medicine 17 (1998) 857-872, table I, method 3."""
    assert wilson(hits, n) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("cells", "low", "high"),
    [((1, 1, 7, 12), -0.507, -0.026), ((59, 6, 16, 80), -0.1186, -0.0046)],
)
def test_a_paired_difference_has_the_published_interval(
    cells: tuple[int, int, int, int], low: float, high: float
) -> None:
    """Fagerland, Lydersen and Laake (2014) and the R package contingencytables: Bentur 2009, Cavo 2012."""
    assert paired_difference(*cells) == pytest.approx((low, high), abs=5e-4)


def test_two_shares_that_never_differ_still_have_an_interval() -> None:
    """40 items without a single hit: the difference may be 8.8 points either way, not 0."""
    assert paired_difference(0, 0, 0, 40) == pytest.approx((-0.0876, 0.0876), abs=5e-5)


def test_swapping_the_shares_mirrors_the_interval() -> None:
    """First minus second is the negative of second minus first."""
    low, high = paired_difference(3, 9, 2, 26)
    assert paired_difference(3, 2, 9, 26) == pytest.approx((-high, -low))
