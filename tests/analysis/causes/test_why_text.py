"""Rules of the reasons in sentences: what stands out is said once, and nothing else."""

from typing import Any

import pytest

from loadgen.analysis.causes.why_text import why_sentences

NOTHING: dict[str, Any] = {"value": None, "low": None, "high": None, "n": 0}


def about(value: float | None, spread: float = 0.01) -> dict[str, Any]:
    """An estimate with an interval of so many times its value to each side."""
    if value is None:
        return NOTHING
    return {"value": value, "low": value * (1 - spread), "high": value * (1 + spread), "n": 3}


def entry(variant: str = "mtp", level: int = 8, **known: Any) -> dict[str, Any]:
    """An entry of which nothing is known but what is given."""
    plain: dict[str, Any] = {
        "variant": variant, "concurrency": level, "diagnostic": None, "tokens_per_step": NOTHING, "promised": NOTHING,
        "step_time": {}, "decode_speedup": NOTHING, "beyond_decode": NOTHING, "wasted_drafts_per_hour": NOTHING,
        "realised": {"output_tokens_per_s": NOTHING, "tpot": NOTHING, "tasks_per_hour": NOTHING},
        "acceptance": None, "acceptance_by_slots": None, "stalls": None, "redone_prefill": None,
        "cache": None,
    }  # fmt: skip
    step: dict[str, Any] = {
        "s": None, "baseline_s": None, "ratio": NOTHING, "verify_width": None, "overhead_variant": None,
        "overhead": NOTHING, "drafting_and_verifying": NOTHING, "wide_level": None, "verification_at_most": None,
        "drafting_at_least": None,
    }  # fmt: skip
    return {**plain, **known, "step_time": {**step, **known.get("step_time", {})}}


def stepping(promised: float, ratio: float, **more: Any) -> dict[str, Any]:
    """The fields of a variant that promises so much and whose steps take so long."""
    step = {"ratio": about(ratio), "verify_width": 28.8, **more.pop("step_time", {})}
    return {
        "tokens_per_step": about(promised), "promised": about(promised), "decode_speedup": about(promised / ratio),
        "step_time": step, **more,
    }  # fmt: skip


def drafted(rate: float, drafted_tokens: int = 1000, **parts: Any) -> dict[str, Any]:
    """Acceptance at a rate, with its parts."""
    plain = {
        "drafted": drafted_tokens, "accepted": round(rate * drafted_tokens), "rate": about(rate), "by_position": [],
        "by_turn_kind": [], "by_depth": [], "differences": {"turn_kind": None, "depth": None},
    }  # fmt: skip
    return {**plain, **parts}


def test_nothing_stands_out_of_what_is_not_known() -> None:
    """No sentence."""
    assert why_sentences([entry("off"), entry()], "off") == []
    assert why_sentences([], "off") == []


def test_steps_that_eat_the_promise_are_named_at_the_worst_level() -> None:
    """At 8 agents 2.41 of 2.6 is gone; at 1 agent a quarter of the logarithm is, and nothing is said."""
    mild = entry(level=1, **stepping(2.6, 1.25))
    worst = entry(level=8, **stepping(2.6, 2.41))
    assert why_sentences([mild, entry(level=4, **stepping(2.6, 2.0)), worst], "off") == [
        (
            "mtp at 8 agents promises 2.60 times off with 2.60 tokens a step, but a step takes 2.41 times as long (it "
            "evaluates about 28.8 tokens): that leaves 1.08 in decoding. Try fewer draft tokens, or fewer agents at "
            "once."
        ),
    ]
    assert why_sentences([mild], "off") == []


def test_a_step_time_that_may_be_none_is_not_named() -> None:
    """Its interval holds 1."""
    unsure = stepping(1.2, 1.15)
    unsure["step_time"]["ratio"] = about(1.15, 0.2)
    assert why_sentences([entry(**unsure)], "off") == []


def test_drafting_is_named_where_it_is_surely_part_of_it() -> None:
    """And only there. What a diagnostic shows is told without advice."""
    known = entry(diagnostic="synthetic_acceptance", **stepping(2.6, 2.41, step_time={"drafting_at_least": about(1.3)}))
    (text,) = why_sentences([known], "off")
    assert "times as long (it evaluates about 28.8 tokens), at least 1.30 times of it by drafting: that" in text
    assert text.endswith("in decoding.")
    unsure = entry(**stepping(2.6, 2.41, step_time={"drafting_at_least": about(1.05, 0.2)}))
    assert "drafting" not in why_sentences([unsure], "off")[0]


def test_overhead_is_named_where_it_is_worth_a_word() -> None:
    """20 % is, 2 % isn't."""

    def told(overhead: float) -> list[str]:
        step = {
            "overhead_variant": "mtp-overhead",
            "overhead": about(overhead),
            "drafting_and_verifying": about(1.6 / overhead),
        }
        return why_sentences([entry(step_time=step)], "off")

    assert told(1.2) == [
        (
            "Before anything is drafted a step of mtp at 8 agents takes 1.20 times as long (mtp-overhead); drafting "
            "and verifying make it 1.33 times that."
        ),
    ]
    assert told(1.02) == []


def test_a_gain_in_decoding_that_does_not_arrive_is_named() -> None:
    """1.6 times in decoding and 1.1 times the tasks: most is lost on the way. 1.5 of 1.6 arrives well enough."""

    def told(beyond: float) -> list[str]:
        realised = {"tasks_per_hour": about(1.6 * beyond)}
        return why_sentences([entry(decode_speedup=about(1.6), beyond_decode=about(beyond), realised=realised)], "off")

    assert told(1.1 / 1.6) == [
        (
            "mtp at 8 agents decodes 1.60 times as fast as off, but does 1.10 times its tasks per hour: the rest goes "
            "to reading prompts, waits and queues."
        ),
    ]
    assert told(1.5 / 1.6) == []


def test_a_collapse_of_acceptance_is_an_alarm() -> None:
    """It says how much, that it is a fault, and what to try; without an alarm nothing is said."""
    alone = entry(level=1, acceptance=drafted(0.58))
    full = entry(acceptance=drafted(0.24), acceptance_by_slots={"lowest": 1, "ratio": about(0.41, 0.1), "alarm": True})
    assert why_sentences([alone, full], "off") == [
        (
            "Acceptance of mtp collapses as slots fill: 58 % at 1 agent, 24 % at 8 agents (0.41 times, 95 % interval "
            "0.37 to 0.45). All levels play the same workload, so it is a fault: with some drafters and builds, "
            "drafts of many slots disturb each other. Try --spec-draft-n-max 1, fewer slots, or another build."
        ),
    ]
    for alarm in (False, None):
        calm = entry(acceptance=drafted(0.5), acceptance_by_slots={"lowest": 1, "ratio": about(0.9), "alarm": alarm})
        assert why_sentences([alone, calm], "off") == []


def position(number: int, rate: float, spread: float = 0.1) -> dict[str, Any]:
    """The acceptance of one position."""
    return {"position": number, "accepted": 1, "drafts": 1, "rate": about(rate, spread)}


@pytest.mark.parametrize("level", [1, 8])
def test_drafts_longer_than_what_is_accepted_are_named(level: int) -> None:
    """6 % reach the third token, surely below 10 %: at the level that drafted most. Set acceptance is no finding."""
    positions = [position(1, 0.6), position(2, 0.3), position(3, 0.06), position(4, 0.01)]
    told = entry(level=level, acceptance=drafted(0.3, by_position=positions))
    other = entry(level=4, acceptance=drafted(0.3, 10))
    place = "1 agent" if level == 1 else "8 agents"
    assert why_sentences([told, other], "off") == [
        f"Of the drafts of mtp at {place}, 6 % are accepted as far as token 3: drafts of 2 would waste less."
    ]
    assert why_sentences([{**told, "diagnostic": "synthetic_acceptance"}], "off") == []


@pytest.mark.parametrize("positions", [[position(1, 0.01)], [position(1, 0.6), position(2, 0.09, 0.5)]])
def test_drafts_that_never_work_or_may_work_are_not_shortened(positions: list[dict[str, Any]]) -> None:
    """There is nothing shorter than one token, and 4 to 14 % may be enough."""
    assert why_sentences([entry(acceptance=drafted(0.3, by_position=positions))], "off") == []


def test_kinds_and_depths_that_differ_have_a_line_each() -> None:
    """The lowest and the highest with their rates."""
    kinds = {"least": {"turn_kind": "prose", "rate": about(0.3)}, "most": {"turn_kind": "edit", "rate": about(0.8)}}
    depths = {
        "least": {"from_tokens": 65_536, "to_tokens": None, "rate": about(0.4)},
        "most": {"from_tokens": 0, "to_tokens": 1024, "rate": about(0.7)},
    }
    told = entry(acceptance=drafted(0.5, differences={"turn_kind": kinds, "depth": depths}))
    assert why_sentences([told], "off") == [
        "Acceptance of mtp at 8 agents is lowest in prose turns (30 %) and highest in edit turns (80 %).",
        (
            "Acceptance of mtp at 8 agents is lowest from 65,536 tokens of context on (40 %) and highest at 0 to "
            "1,024 tokens of context (70 %)."
        ),
    ]


def stalled(share: float, per_task: float | None, advice: str | None = "-b 512 (now 2048)") -> dict[str, Any]:
    """Stalls that take a share of the time."""
    return {"count": 3, "seconds": 9.0, "longest_s": 4.0, "seconds_per_task": about(per_task), "share": about(share),
            "try": advice}  # fmt: skip


def test_stalls_of_all_cells_share_a_sentence() -> None:
    """The worst has its figures; below 5 % of the time nothing is said."""
    cells = [
        entry("off", 4, stalls=stalled(0.06, 1.0)),
        entry("off", 8, stalls=stalled(0.08, 2.0)),
        entry("mtp", 8, stalls=stalled(0.12, 3.25)),
        entry("mtp", 1, stalls=stalled(0.04, 9.0)),
    ]
    assert why_sentences(cells, "off") == [
        (
            "Text stands still for more than 1 s at a time while the server reads another prompt (off at 4, 8 agents, "
            "mtp at 8 agents): 12 % of the time with mtp at 8 agents, 3.25 s a task. Try -b 512 (now 2048)."
        ),
    ]
    assert why_sentences([entry(stalls=stalled(0.06, None, None))], "off") == [
        (
            "Text stands still for more than 1 s at a time while the server reads another prompt (mtp at 8 agents): 6 "
            "% of the time with mtp at 8 agents."
        ),
    ]


def redone(of_cached: float, per_task: float | None, cause: str | None, advice: str | None) -> dict[str, Any]:
    """Redone prefill."""
    return {"tokens": 1, "share": about(0.1), "of_cached": of_cached, "seconds": 1.0, "slots": 4,
            "seconds_per_task": about(per_task), "cause": cause, "try": advice}  # fmt: skip


def test_redone_prefill_is_told_with_its_cause_from_a_tenth_on() -> None:
    """Cells of one cause share a sentence."""
    cells = [
        entry("off", 8, redone_prefill=redone(0.34, 12.0, "fewer_slots", "-np 8")),
        entry("mtp", 8, redone_prefill=redone(0.3, 9.0, "fewer_slots", "-np 8")),
        entry("mtp", 1, redone_prefill=redone(0.1, 9.0, None, None)),
    ]
    assert why_sentences(cells, "off") == [
        (
            "Prompt tokens that were in the cache are evaluated again (off at 8 agents, mtp at 8 agents): 34 % of "
            "them with off at 8 agents, 12 s a task. Likely cause: sessions that share a slot push each other out of "
            "it. Try -np 8."
        ),
    ]
    assert why_sentences([entry(redone_prefill=redone(0.5, None, None, None))], "off") == [
        "Prompt tokens that were in the cache are evaluated again (mtp at 8 agents): 50 % of them with mtp at 8 agents."
    ]


def test_of_variants_whose_answers_are_wrong_nothing_is_said() -> None:
    """Not even why they are fast."""
    assert why_sentences([entry(**stepping(2.6, 2.41))], "off", void={"mtp"}) == []


def cached(flagged: int, turns: int, seconds: float | None) -> dict[str, Any]:
    """The cached tokens of a cell in which so many turns are flagged."""
    return {"turns": turns, "flagged": {"turns": flagged, "share": flagged / turns, "seconds": seconds}}


def test_single_turns_that_miss_their_cache_are_named_where_they_are_more_than_one_in_twenty() -> None:
    """The cell with the largest share, and what they cost there; below that, and where nothing is known, nothing."""
    seldom, some, often = (
        entry("off", 1, cache=cached(1, 40, 0.1)),
        entry("off", 2, cache=cached(2, 40, 1.0)),
        entry(level=2, cache=cached(10, 40, 7.5)),
    )
    (text,) = why_sentences([seldom, some, often], "off")
    assert text == (
        "Single turns find less than 90 % of what the turn before left in the cache (off at 2 agents, mtp at 2 "
        "agents): 10 of 40 with mtp at 2 agents, which takes 7.5 s in all."
    )
    assert why_sentences([seldom], "off") == []
    (untimed,) = why_sentences([entry(cache=cached(10, 40, None))], "off")
    assert untimed.endswith("10 of 40 with mtp at 8 agents.")


def test_a_cell_that_redoes_its_history_is_named_once_with_its_turns() -> None:
    """Behind what all turns lose together."""
    redone = {"of_cached": 0.5, "cause": "other_prompt", "try": None, "seconds_per_task": NOTHING}
    (text,) = why_sentences([entry(redone_prefill=redone, cache=cached(30, 40, 9.0))], "off")
    assert text == (
        "Prompt tokens that were in the cache are evaluated again (mtp at 8 agents): 50 % of them with mtp at 8 "
        "agents. 30 of 40 turns find less than 90 % of it. Likely cause: a later prompt does not begin as the one "
        "before, as with a template that drops reasoning."
    )
