"""The line of the noise floor."""

from typing import Any

from loadgen.report.noise_line import noise_text


def text_of(*levels: tuple[int, float | None, float | None]) -> str | None:
    """The line for levels given as concurrency, s of ln X and smallest speed-up."""
    noise: list[dict[str, Any]] = [
        {"concurrency": level, "s_ln": spread, "smallest_speedup": smallest, "n": 3}
        for level, spread, smallest in levels
    ]
    return noise_text({"noise": noise, "run": {"baseline": "off"}})


def test_levels_share_a_line() -> None:
    """The spread of every level, and the smallest speed-up that could have been called there."""
    assert text_of((1, 0.0123, 1.0444), (4, 0.034, 1.1269)) == (
        "off varies by 1.23 % (1 agent), 3.40 % (4 agents) between rounds; by that alone, the smallest speed-up these "
        "rounds could have called is 1.04 (1 agent), 1.13 (4 agents)"
    )


def test_levels_without_three_rounds_are_left_out() -> None:
    """And where no level has them it says what it takes; where nothing was measured there is no line."""
    assert text_of((1, None, None), (4, 0.034, 1.1269)) == (
        "off varies by 3.40 % (4 agents) between rounds; by that alone, the smallest speed-up these rounds could have "
        "called is 1.13 (4 agents)"
    )
    assert text_of((1, None, None)) == "n/a, it takes 3 rounds with a valid trial of off"
    assert text_of() is None
