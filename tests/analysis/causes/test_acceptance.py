"""Rules of acceptance: whole, by position, by kind of turn, by depth, and as slots fill."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.causes.acceptance import acceptance, by_position, collapses

DRAFTS = "spec_decode_num_drafts_total"


def position(number: int, *, suffix: str = "_total", more: str = "") -> str:
    """The name of the series of a position, without its prefix."""
    return f'spec_decode_num_accepted_tokens_per_pos{suffix}{{{more}position="{number}"}}'


def answer(make: Any, accepted: int | None, drafted: int | None, **fields: Any) -> Any:
    """An answer with its draft figures, where there are any."""
    told = {"predicted_n": 1000, "draft_n": drafted, "draft_n_accepted": accepted}
    return make.request(timings={name: value for name, value in told.items() if value is not None}, **fields)


def rounds(make: Any, *answers: tuple[int, int], **fields: Any) -> list[Any]:
    """One trial a round with one answer: (accepted, drafted)."""
    return [
        make.trial([answer(make, *counts, round=number, **fields)], round=number)
        for number, counts in enumerate(answers, start=1)
    ]


def test_c22_the_rate_is_a_ratio_of_sums_and_null_without_drafts(make: Any) -> None:
    """347 drafted and 65 accepted are 0.1873; no figures at all are no acceptance, never 0."""
    found = acceptance([make.trial([answer(make, 65, 347)])])
    assert found is not None
    assert (found["drafted"], found["accepted"]) == (347, 65)
    assert found["rate"]["value"] == pytest.approx(0.1873, abs=5e-5)
    assert acceptance([make.trial([answer(make, None, None)])]) is None
    assert acceptance([make.trial([make.request()])]) is None
    assert acceptance([]) is None


def test_drafted_nothing_has_no_rate(make: Any) -> None:
    """0 of 0 is null."""
    found = acceptance([make.trial([answer(make, 0, 0)])])
    assert found is not None
    assert found["rate"]["value"] is None
    assert found["by_turn_kind"][0]["rate"]["value"] is None


@pytest.mark.parametrize("absurd", [(9, 8), (None, 8), (5, None), (-1, 8), (1, 10**12)])
def test_figures_that_cannot_be_are_left_out(make: Any, absurd: tuple[int | None, int | None]) -> None:
    """More accepted than drafted, one figure alone, and more than any answer has."""
    found = acceptance([make.trial([answer(make, 4, 8, session="a"), answer(make, *absurd, session="b")])])
    assert found is not None
    assert (found["drafted"], found["accepted"]) == (8, 4)


def test_kinds_of_turns_and_depths_are_told_apart(make: Any) -> None:
    """Bins begin at 0, 1k, 4k, 16k and 64k tokens; only those with answers appear."""
    requests = [
        answer(make, 8, 10, turn_kind="edit", prompt_tokens=1023, session="a"),
        answer(make, 6, 10, turn_kind="edit", prompt_tokens=1024, session="b"),
        answer(make, 1, 10, turn_kind="prose", prompt_tokens=70_000, session="c"),
        answer(make, None, None, turn_kind="tool", prompt_tokens=None, session="d"),
    ]
    found = acceptance([make.trial(requests)])
    assert found is not None
    kinds = {one["turn_kind"]: (one["accepted"], one["drafted"], one["rate"]["value"]) for one in found["by_turn_kind"]}
    assert kinds == {"edit": (14, 20, 0.7), "prose": (1, 10, 0.1), "tool": (0, 0, None)}
    depths = [(one["from_tokens"], one["to_tokens"], one["rate"]["value"]) for one in found["by_depth"]]
    assert depths == [(0, 1024, 0.8), (1024, 4096, 0.6), (65_536, None, 0.1)]


@pytest.mark.parametrize(("suffix", "more"), [("_total", ""), ("", ""), ("_total", 'spec_type="draft-mtp",')])
def test_c22_positions_come_from_the_counters_of_either_name(make: Any, suffix: str, more: str) -> None:
    """100 drafts, the first token accepted in 80 of them and the second in 30: 0.8 and 0.3, counted from 1."""
    names = [position(number, suffix=suffix, more=more) for number in (0, 1)]
    trial = make.trial(
        [answer(make, 110, 200)],
        counters_before=make.counters(**{DRAFTS: 50, names[0]: 10}),
        counters_after=make.counters(**{DRAFTS: 150, names[0]: 90, names[1]: 30}),
    )
    found = by_position([trial])
    assert [(one["position"], one["accepted"], one["drafts"], one["rate"]["value"]) for one in found] == [
        (1, 80, 100, 0.8),
        (2, 30, 100, 0.3),
    ]


def test_series_of_several_kinds_of_drafts_are_summed(make: Any) -> None:
    """Some builds label each position with the kind of draft."""
    one, other = (position(0, more=f'spec_type="{kind}",') for kind in ("draft-mtp", "ngram-mod"))
    trial = make.trial(
        [answer(make, 1, 2)],
        counters_before=make.counters(**{DRAFTS: 0}),
        counters_after=make.counters(**{DRAFTS: 10, one: 3, other: 2}),
    )
    assert by_position([trial])[0]["rate"]["value"] == 0.5


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({DRAFTS: 100, position(0): 90}, {DRAFTS: 20, position(0): 10}),
        ({DRAFTS: 0, position(0): 90}, {DRAFTS: 20, position(0): 10}),
        ({DRAFTS: 5}, {DRAFTS: 5}),
        ({}, {}),
    ],
)
def test_c54_counters_that_restarted_or_are_absent_tell_no_position(
    make: Any, before: dict[str, float], after: dict[str, float]
) -> None:
    """Nothing is taken from a trial whose server restarted, drafted nothing or counts nothing."""
    trial = make.trial(
        [answer(make, 1, 2)], counters_before=make.counters(**before), counters_after=make.counters(**after)
    )
    assert by_position([trial]) == []
    assert by_position([make.trial([answer(make, 1, 2)])]) == []


def test_a_position_accepted_more_often_than_drafted_has_no_rate(make: Any) -> None:
    """That can't be: null."""
    trial = make.trial(
        [answer(make, 1, 2)],
        counters_before=make.counters(**{DRAFTS: 0}),
        counters_after=make.counters(**{DRAFTS: 10, position(0): 11}),
    )
    assert by_position([trial])[0]["rate"]["value"] is None


def test_acceptance_that_falls_as_slots_fill_raises_the_alarm(make: Any) -> None:
    """60 % alone and 30 % at 8 agents in each of three rounds: about half, surely."""
    found = collapses(
        {1: rounds(make, *[(600, 1000)] * 3), 4: rounds(make, *[(580, 1000)] * 3), 8: rounds(make, *[(300, 1000)] * 3)}
    )
    assert found[1] is None
    assert found[4] is not None
    assert found[8] is not None
    assert (found[4]["alarm"], found[8]["alarm"]) == (False, True)
    assert found[8]["lowest"] == 1
    assert found[8]["ratio"]["value"] == pytest.approx(300.5 / 600.5)


def test_acceptance_that_is_gone_raises_the_alarm(make: Any) -> None:
    """Nothing accepted at all has a ratio too."""
    found = collapses({1: rounds(make, *[(600, 1000)] * 3), 8: rounds(make, (0, 1000), (0, 900), (1, 800))})
    assert found[8] is not None
    assert found[8]["alarm"] is True
    assert 0 < found[8]["ratio"]["value"] < 0.01


def test_noise_raises_no_alarm_and_two_rounds_cannot_tell(make: Any) -> None:
    """A mean that is lower by chance, and too few rounds for a chance to be told."""
    alone = rounds(make, *[(600, 1000)] * 3)
    noisy = collapses({1: alone, 8: rounds(make, (150, 1000), (650, 1000), (400, 1000))})
    few = collapses({1: alone[:2], 8: rounds(make, *[(300, 1000)] * 2)})
    assert noisy[8] is not None
    assert few[8] is not None
    assert (noisy[8]["alarm"], few[8]["alarm"]) == (False, None)


def test_the_alarm_is_adjusted_for_the_levels_looked_at(make: Any) -> None:
    """Of one level, 3 rounds at t = 3.9 are not beyond 4.30; of two, t = 5 is not beyond 6.21 either."""

    def spread(t: float) -> list[Any]:
        """Rounds whose mean log ratio is ln 0.5 and lies t standard errors below 0."""
        s = math.log(2) / t * math.sqrt(3)
        return rounds(make, *[(round(50_000 * math.exp(off)), 100_000) for off in (-s, 0, s)])

    alone = rounds(make, *[(100_000, 100_000)] * 3)
    one = {t: collapses({1: alone, 8: spread(t)})[8] for t in (3.9, 5.0)}
    two = {t: collapses({1: alone, 4: alone, 8: spread(t)})[8] for t in (5.0, 7.0)}
    assert [found and found["alarm"] for found in (*one.values(), *two.values())] == [False, True, False, True]


def test_levels_that_drafted_nothing_are_compared_with_none(make: Any) -> None:
    """The lowest level that drafted is the one to compare with."""
    found = collapses({1: rounds(make, *[(0, 0)] * 3), 2: rounds(make, *[(6, 10)] * 3), 4: []})
    assert found == {1: None, 2: None, 4: None}


def test_kinds_that_differ_beyond_noise_are_named(make: Any) -> None:
    """Edits 80 % and prose 30 % in each of three rounds differ; in two rounds nothing can be told."""

    def trials(count: int) -> list[Any]:
        return [
            make.trial(
                [
                    answer(make, 800, 1000, turn_kind="edit", round=number, session="a"),
                    answer(make, 700, 1000, turn_kind="tool", round=number, session="b"),
                    answer(make, 300, 1000, turn_kind="prose", round=number, session="c"),
                ],
                round=number,
            )
            for number in range(1, count + 1)
        ]

    found = acceptance(trials(3))
    assert found is not None
    differ = found["differences"]["turn_kind"]
    assert (differ["least"]["turn_kind"], differ["most"]["turn_kind"]) == ("prose", "edit")
    assert differ["ratio"]["value"] == pytest.approx(300.5 / 800.5)
    assert found["differences"]["depth"] is None
    few = acceptance(trials(2))
    assert few is not None
    assert few["differences"]["turn_kind"] is None


@given(
    st.lists(
        st.tuples(
            st.integers(-5, 2**70) | st.none(),
            st.integers(-5, 2**70) | st.none(),
            st.integers(0, 10**6),
            st.integers(1, 3),
        ),
        max_size=20,
    )
)
def test_whatever_servers_report_is_strict_json(
    make: Any, answers: list[tuple[int | None, int | None, int, int]]
) -> None:
    """Rates are shares or null."""
    trials = [
        make.trial(
            [
                answer(make, accepted, drafted, prompt_tokens=depth, session=str(index))
                for index, (accepted, drafted, depth, where) in enumerate(answers)
                if where == number
            ],
            round=number,
        )
        for number in (1, 2, 3)
    ]
    found = make.strict_json(acceptance(trials))
    make.strict_json({str(level): one for level, one in collapses({1: trials[:1], 2: trials[1:]}).items()})
    parts = [] if found is None else [found, *found["by_turn_kind"], *found["by_depth"]]
    assert all(one["rate"]["value"] is None or 0 <= one["rate"]["value"] <= 1 for one in parts)
