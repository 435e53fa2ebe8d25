"""Rules of warnings."""

from typing import Any

from loadgen.analysis.caveats import caveats, length_ratio, missed_length_share


def _kinds(cells: Any, **known: Any) -> list[tuple[str, str]]:
    found = caveats(cells, **{"baseline": "off", "slots": {}, "speculative": set(), **known})
    return [(entry["kind"], entry["variant"]) for entry in found]


def _rounds(make: Any, variant: str, lengths: list[int], **fields: Any) -> list[Any]:
    """One trial a round with an answer of so many tokens."""
    return [
        make.trial(
            [make.request(completion_tokens=tokens, round=number, variant=variant, **fields)],
            round=number,
            variant=variant,
        )
        for number, tokens in enumerate(lengths, start=1)
    ]


def test_c08_more_agents_than_slots_is_said(make: Any) -> None:
    """8 agents on 4 slots queue; 4 on 4 don't, and unknown slots say nothing."""
    cells = {("off", 8): _rounds(make, "off", [10]), ("off", 4): _rounds(make, "off", [10])}
    assert _kinds(cells, slots={"off": 4}) == [("over_slots", "off")]
    assert _kinds(cells) == []
    text = caveats(cells, baseline="off", slots={"off": 4}, speculative=set())[0]["text"]
    assert text.startswith("off at 8: 8 agents share 4 slots")


def test_c47_missed_exact_lengths_are_said(make: Any) -> None:
    """Asked for 20 and got 13: not honoured. Natural lengths can't be missed."""
    missed = _rounds(make, "off", [13, 20], exact_length=True, max_tokens=20)
    assert missed_length_share(missed) == 0.5
    assert _kinds({("off", 1): missed}) == [("length_missed", "off")]
    assert missed_length_share(_rounds(make, "off", [13], max_tokens=20)) is None


def test_unequal_lengths_are_said_when_surely_more_than_5_percent(make: Any) -> None:
    """Twice as long in every round warns; 4 % longer doesn't, and two rounds can't tell."""
    base = _rounds(make, "off", [100, 100, 100])
    longer = _rounds(make, "mtp", [200, 201, 202])
    assert length_ratio(longer, base).value is not None
    assert _kinds({("off", 1): base, ("mtp", 1): longer}) == [("unequal_lengths", "mtp")]
    assert _kinds({("off", 1): base, ("mtp", 1): _rounds(make, "mtp", [104, 104, 104])}) == []
    assert _kinds({("off", 1): base[:2], ("mtp", 1): longer[:2]}) == []


def test_a_speculating_server_that_drafts_nothing_is_said(make: Any) -> None:
    """`/slots` says that it speculates, and no answer reports a draft."""
    cells = {("mtp", 1): _rounds(make, "mtp", [10])}
    assert _kinds(cells, speculative={"mtp"}) == [("nothing_drafted", "mtp")]
    assert _kinds(cells) == []
    drafted = _rounds(make, "mtp", [10], timings={"draft_n": 4, "draft_n_accepted": 0})
    assert _kinds({("mtp", 1): drafted}, speculative={"mtp"}) == []


def test_c42_counted_events_are_said(make: Any) -> None:
    """An estimate of the tokens is flagged as a lower bound."""
    trial = make.trial([make.request(completion_tokens=None)])
    assert _kinds({("off", 1): [trial]}) == [("estimated_tokens", "off")]


def test_c46_history_that_is_not_reused_is_said(make: Any) -> None:
    """Nothing cached at any later turn; with 90 % cached nothing is said."""

    def turns(share: float) -> Any:
        return make.trial(
            [
                make.request(
                    turn=turn, turns=3, prompt_tokens=1000 * (turn + 1), cached_tokens=int(1000 * turn * share)
                )
                for turn in range(3)
            ]
        )

    assert _kinds({("off", 1): [turns(0.0)]}) == [("history_not_reused", "off")]
    assert _kinds({("off", 1): [turns(0.95)]}) == []


def test_c54_a_restarted_server_is_said(make: Any) -> None:
    """Counters that fell started anew."""
    trial = make.trial(
        [make.request()], counters_before=make.counters(n_total=9), counters_after=make.counters(n_total=1)
    )
    assert _kinds({("off", 1): [trial]}) == [("counters_reset", "off")]


def test_a_server_started_anew_between_trials_is_no_reset(make: Any) -> None:
    """Every block starts its own server by design: only a fall within one trial is one."""
    trials = [
        make.trial([make.request()], counters_before=make.counters(n_total=0), counters_after=make.counters(n_total=9)),
        make.trial([make.request()], counters_before=make.counters(n_total=1), counters_after=make.counters(n_total=8)),
    ]
    assert _kinds({("off", 1): trials}) == []


def test_short_trials_and_lost_work_are_said(make: Any) -> None:
    """Trials with few turns, and trials that lost what they earned."""
    assert _kinds({("off", 1): [make.trial([make.request()], short=True)]}) == [("short", "off")]
    lost = make.trial([make.failed(turn=3, turns=4)])
    assert _kinds({("off", 1): [lost]}) == [("no_progress", "off"), ("failed_turns", "off")]
