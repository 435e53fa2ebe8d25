"""The line on history: whose answers went back, and what caches held of them."""

from typing import Any

from loadgen.analysis.causes.history import history
from loadgen.report.history_lines import history_text


def cell(**known: Any) -> dict[str, Any]:
    """What is known of a cell: nothing but what is given."""
    flagged = {"turns": known.pop("flagged", 0), "seconds": known.pop("seconds", 0.0)}
    names = ("answers_equal", "answers_compared", "answers_kept", "answers_known")
    plain = {"turns": 0, "expected_tokens": 0, "cached_tokens": 0, **dict.fromkeys(names)}
    return {**plain, **known, "flagged": flagged}


def summary(mode: str, *cells: tuple[str, dict[str, Any] | None]) -> dict[str, Any]:
    """A summary with these cells by variant."""
    return {
        "setup": {"workload": {"history": mode}},
        "history": history([{"variant": variant, "cache": cache} for variant, cache in cells]),
    }


def test_answers_and_cached_tokens_of_a_variant_are_summed_over_its_cells() -> None:
    """Equal answers of those compared, tokens a turn, and flagged turns with their seconds."""
    one = cell(turns=10, expected_tokens=9000, cached_tokens=8500, answers_equal=9, answers_compared=10)
    two = cell(
        turns=30,
        expected_tokens=41_000,
        cached_tokens=40_500,
        answers_equal=21,
        answers_compared=30,
        flagged=2,
        seconds=1.5,
    )
    plain = cell(turns=4, expected_tokens=4000, cached_tokens=4000)
    assert history_text(summary("frozen", ("off", one), ("off", two), ("ngram", plain), ("url", None))) == (
        "frozen; off: 75.0 % of 40 answers equal the recording, 1,225 of 1,250 tokens a turn found in the cache (98.0 "
        "%), less than 90 % in 2 of 40 turns, 1.50 s lost; ngram: 1,000 of 1,000 tokens a turn found in the cache "
        "(100 %)"
    )


def test_of_live_history_it_is_told_how_many_answers_went_back_whole() -> None:
    """There is no recording that they could equal."""
    live = cell(answers_kept=3, answers_known=4)
    assert history_text(summary("live", ("off", live))) == "live; off: 75.0 % of 4 answers went back whole"
    both = cell(answers_kept=0, answers_known=2, answers_equal=1, answers_compared=2)
    assert history_text(summary("recorded", ("off", both))) == "recorded; off: 50.0 % of 2 answers equal the recording"


def test_seconds_that_nobody_knows_are_left_out() -> None:
    """The flagged turns are told all the same."""
    text = history_text(summary("live", ("off", cell(turns=2, expected_tokens=20, flagged=2, seconds=None))))
    assert text == "live; off: 0 of 10 tokens a turn found in the cache (0 %), less than 90 % in 2 of 2 turns"


def test_where_nothing_was_measured_there_is_no_line() -> None:
    """No turn followed another, or the server tells nothing."""
    assert history_text(summary("frozen")) is None
    assert history_text(summary("frozen", ("off", None))) is None
