"""The verdict at the operating point: what it says in every case, word for word."""

import math
import re
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.comparison_text import settled
from loadgen.analysis.decision.operating_point import operating_point
from loadgen.analysis.diagnostic import Diagnostic
from tests.analysis.decision_grounds import (
    COSTS,
    OPEN,
    PAYS,
    SAME,
    check,
    equal_memory,
    grounds,
    latencies,
    latency,
    memory,
    objective,
    task_limit,
)

IT_PAYS = "mtp at 4 agents: 1.36 times the tasks per hour of off (95 % interval 1.33 to 1.40, 3 rounds): it pays."
IT_COSTS = "mtp at 4 agents: 0.73 times the tasks per hour of off (95 % interval 0.72 to 0.75, 3 rounds): it costs."
SAFE = (
    "{} takes 20,000 MiB of memory at its peak and leaves 4,576 MiB of 24,576 MiB, where 1,229 MiB are asked for: that "
    "is safe."
)
UNSAFE = (
    "{} takes 24,000 MiB of memory at its peak and leaves 576 MiB of 24,576 MiB, where 1,229 MiB are asked for: that "
    "is unsafe."
)
WAITS = "what one user of 4 agents waits for; what one user alone waits for"
UNMEASURED = f"Not measured: {WAITS}; the quality of the answers."


def text_of(logs: Sequence[float], **known: Any) -> str:
    """What is said of `mtp` at 4 agents."""
    text: str = operating_point(grounds({("mtp", 4): logs}, **known))["text"]
    return text


def test_a_variant_that_pays_is_run() -> None:
    """With its gain, what a user of it waits for, its memory and what wasn't measured."""
    found = operating_point(grounds({("mtp", 4): PAYS}, latencies=latencies("mtp", 4, 0.73)))
    assert (found["agents"], found["keep"], found["binds"], found["instead"]) == (4, "mtp", None, None)
    assert found["answer"] == "four background agents: keep mtp"
    assert found["text"] == " ".join(
        [
            "At 4 agents run mtp.",
            IT_PAYS,
            (
                "For one user among 4 agents mtp takes 0.73 times the time a token of off (95 % interval 0.68 to 0.78: "
                "faster) and 1.00 times the time to the first token (95 % interval 0.95 to 1.05: no difference shown)."
            ),
            SAFE.format("mtp"),
            "Not measured: what one user alone waits for; the quality of the answers.",
        ]
    )
    assert found["background"] == {
        "keep": "mtp", "variant": "mtp", "standing": "keep", "standings": {"mtp": "keep"}, "call": "pays",
        "speedup": grounds({("mtp", 4): PAYS}).comparisons[0].speedup.as_json(), "text": IT_PAYS,
    }  # fmt: skip
    assert found["because"] == [IT_PAYS, "mtp shows no crossover up to 4 agents.", SAFE.format("mtp")]


def test_one_user_may_keep_what_four_agents_do_without() -> None:
    """The published shape: it pays for one, and costs four agents, whose memory is spent on slots."""
    known = grounds(
        {("mtp", 1): PAYS, ("mtp", 4): COSTS},
        latencies=[*latencies("mtp", 1, 0.63), *latencies("mtp", 4, 1.64, 1.10)],
        memory=[memory("off"), memory("mtp", slots_worth=3.24)],
    )
    found = operating_point(known)
    assert found["answer"] == "one interactive user: keep mtp; four background agents: off, spend the memory on slots"
    assert (found["keep"], found["interactive"]["keep"], found["background"]["keep"]) == ("off", "mtp", "off")
    assert found["binds"]["limit"] == "throughput"
    assert found["instead"] == "spend the memory of mtp on 3.24 more slots, and keep mtp for 1 agent"
    assert found["text"] == " ".join(
        [
            "At 4 agents run off, not mtp.",
            IT_COSTS,
            (
                "For one user among 4 agents mtp takes 1.64 times the time a token of off (95 % interval 1.59 to 1.69: "
                "slower) and 1.10 times the time to the first token (95 % interval 1.05 to 1.15: slower); for one user "
                "alone mtp takes 0.63 times the time a token of off (95 % interval 0.58 to 0.68: faster) and 1.00 "
                "times the time to the first token (95 % interval 0.95 to 1.05: no difference shown); one interactive "
                "user should run mtp."
            ),
            SAFE.format("off").replace(" safe.", " safe; what mtp takes beyond it would buy 3.24 more slots."),
            (
                "The limit that binds is throughput: mtp does fewer tasks per hour than off; spend the memory of mtp "
                "on 3.24 more slots, and keep mtp for 1 agent."
            ),
            "Not measured: off with the slots that the memory of mtp buys; the quality of the answers.",
        ]
    )
    assert "mtp stops paying near 2 agents (95 % interval 1.89 to 2.11)." in found["because"]


def test_one_agent_is_said_once() -> None:
    """Its user is alone."""
    found = operating_point(grounds({("mtp", 1): PAYS}, agents=1, latencies=latencies("mtp", 1, 0.63)))
    assert found["answer"] == "one interactive user: keep mtp; one background agent: keep mtp"
    assert found["interactive"]["text"] == (
        "For one user alone mtp takes 0.63 times the time a token of off (95 % interval 0.58 to 0.68: faster) and 1.00 "
        "times the time to the first token (95 % interval 0.95 to 1.05: no difference shown); one interactive user "
        "should run mtp."
    )
    assert found["not_measured"] == ["the quality of the answers"]


def test_the_same_keeps_the_baseline() -> None:
    """With the interval that it rests on."""
    assert text_of(SAME) == (
        "At 4 agents run off, not mtp. mtp at 4 agents: 1.00 times the tasks per hour of off (90 % interval 0.998 to "
        f"1.002), the same within 5%. {SAFE.format('off')} The limit that binds is throughput: mtp does no more tasks "
        f"per hour than off that would be worth acting on. {UNMEASURED}"
    )


def test_an_open_question_says_how_many_rounds_it_takes() -> None:
    """And keeps nothing."""
    found = operating_point(grounds({("mtp", 4): OPEN}))
    assert (found["keep"], found["answer"]) == (None, "four background agents: open")
    assert found["instead"] == "measure about 4 more rounds (--resume)"
    assert found["text"] == (
        "At 4 agents nothing shows whether mtp or off does more. Whether mtp pays at 4 agents: 1.11 times off (95 % "
        "interval 0.86 to 1.42) is unresolved; about 4 more rounds would settle it. "
        f"{SAFE.format('mtp')} {UNMEASURED}"
    )
    never = operating_point(grounds({("mtp", 4): (-5.0, 5.0, 0.049)}))
    assert never["instead"] == "ask for a larger --min-effect: more rounds would not settle it"


def test_one_round_says_what_it_takes() -> None:
    """Three rounds."""
    found = operating_point(grounds({("mtp", 4): PAYS[:1]}))
    assert (found["keep"], found["instead"]) == (None, "measure about 2 more rounds (--resume)")
    assert found["text"].startswith(
        "At 4 agents nothing shows whether mtp or off does more. Whether mtp pays at 4 agents: it takes 3 rounds with "
        "a valid trial on both sides; there are 1. "
    )


def test_without_a_valid_pair_nothing_is_said() -> None:
    """No speed, and why."""
    assert text_of(()) == (
        "At 4 agents nothing can be said of mtp: no round has a valid trial on both sides. Whether mtp pays at 4 "
        f"agents: it takes 3 rounds with a valid trial on both sides; there are 0. {SAFE.format('mtp')} Find out why "
        f"its trials don't count. Not measured: mtp against off at 4 agents; {WAITS}; the quality of the answers."
    )


def test_memory_that_nobody_knows_is_a_condition() -> None:
    """It pays, and isn't kept for that; what to give is said."""
    found = operating_point(grounds({("mtp", 4): PAYS}, memory=[memory("mtp", "unknown")]))
    assert (found["keep"], found["instead"], found["binds"]["limit"]) == (None, "give --memory-budget", "memory")
    assert found["answer"] == "four background agents: mtp, if its memory fits"
    reason = "no budget was given to hold it against"
    assert found["text"] == (
        f"At 4 agents: mtp, if its memory fits: give --memory-budget. {IT_PAYS} mtp takes 20,000 MiB of memory at its "
        f"peak, and whether that is safe is unknown: {reason}. The limit that binds is memory: nobody knows whether "
        f"that of mtp suffices. Not measured: {WAITS}; whether memory suffices for mtp ({reason}); the quality of the "
        "answers."
    )
    unseen = text_of(PAYS, memory=[])
    assert "What memory mtp takes was not seen." in unseen
    assert "whether memory suffices for mtp (no memory was seen)" in unseen


def test_unsafe_memory_says_what_to_do_instead() -> None:
    """It pays, but can't be kept as it is; a baseline that is unsafe can't either."""
    unsafe = [memory("off"), memory("mtp", "unsafe")]
    assert text_of(PAYS, memory=unsafe) == (
        f"At 4 agents run off, not mtp. {IT_PAYS} {UNSAFE.format('mtp')} The limit that binds is memory: mtp leaves "
        "less than was asked for; give mtp fewer slots, a smaller --spec-draft-n-max or a smaller context, and measure "
        f"again. {UNMEASURED}"
    )
    reason = "GPU-b alone has less left than asked for"
    alone = text_of(PAYS, memory=[memory("off"), memory("mtp", "unsafe", safety_reason=reason)])
    assert f"that is unsafe ({reason})." in alone
    both = operating_point(grounds({("mtp", 4): COSTS}, memory=[memory("off", "unsafe"), memory("mtp", "unsafe")]))
    assert (both["keep"], both["binds"]["limit"]) == (None, "memory")
    assert both["text"] == (
        "At 4 agents nothing that was measured can be kept: off leaves less memory than was asked for. "
        f"{IT_COSTS} {UNSAFE.format('off')} The limit that binds is memory: off leaves less than was asked for; give "
        f"off fewer slots or a smaller context, and measure again. {UNMEASURED}"
    )


_KEEPS = (
    "97 % of 200 requests of {} keep every limit (95 % interval 96 % to 98 %), 95 % are asked for; 1,200 good requests "
    "per hour: it meets the objective."
)
_MISSES = (
    "80 % of 200 requests of {} keep every limit (95 % interval 79 % to 81 %), 95 % are asked for; 1,200 good requests "
    "per hour: it misses the objective."
)


def test_a_missed_objective_says_which_limit_binds() -> None:
    """And for how many agents it is met; both variants' attainments are among the reasons."""
    entries = [
        objective("mtp", 4, "no", 0.8, binds="ttft_s"),
        objective("off", 4, "yes"),
        objective("mtp", 1, "yes"),
        objective("mtp", 2, "yes"),
    ]
    found = operating_point(grounds({("mtp", 4): PAYS}, goodput=entries))
    assert (found["keep"], found["binds"]["limit"]) == ("off", "ttft_s")
    assert found["text"] == (
        f"At 4 agents run off, not mtp. {IT_PAYS} {SAFE.format('mtp')} {_MISSES.format('mtp')} The limit that binds is "
        "the time to the first token of mtp, 2 s at most; run mtp for 2 agents at most, where it meets the objective. "
        f"{UNMEASURED}"
    )
    assert found["because"][-2:] == [_KEEPS.format("off"), _MISSES.format("mtp")]


def test_an_objective_that_nothing_meets_keeps_nothing() -> None:
    """Fewer agents, or a faster server."""
    missed = [objective(name, 4, "no", 0.8, binds="failures") for name in ("mtp", "off")]
    found = operating_point(grounds({("mtp", 4): PAYS}, goodput=missed))
    assert (found["keep"], found["binds"]) == (
        None,
        {"limit": "failures", "text": "the limit that binds is the number of failed requests of off"},
    )
    assert found["instead"] == "no concurrency that was measured meets the objective: it takes a faster server"
    assert found["text"].startswith("At 4 agents nothing that was measured can be kept: off misses the objective. ")
    fewer = operating_point(grounds({("mtp", 4): PAYS}, goodput=[*missed, objective("off", 1, "yes")]))
    assert fewer["instead"] == "run off for 1 agent at most, where it meets the objective"


def test_an_objective_that_may_be_missed_is_a_condition() -> None:
    """Where the share lies below the one asked for; above, its sentence says that it isn't settled."""
    short = [objective("mtp", 4, "unresolved", 0.94, binds="ttft_s")]
    found = operating_point(grounds({("mtp", 4): PAYS}, goodput=short))
    assert (found["keep"], found["binds"]["limit"]) == (None, "ttft_s")
    assert found["answer"] == "four background agents: mtp, if it meets the objective"
    assert found["instead"] == "measure more rounds (--resume)"
    assert found["text"].startswith("At 4 agents: mtp, if it meets the objective, which is not shown. ")
    likely = text_of(PAYS, goodput=[objective("mtp", 4, "unresolved", 0.96)])
    assert likely.startswith("At 4 agents run mtp. ")
    assert "whether it meets the objective is unresolved." in likely


def test_what_of_the_objective_was_not_measured_is_said() -> None:
    """Whole tasks, and limits for which no request has a value."""
    entry = objective("mtp", 4, "unresolved", 0.97)
    nothing = {"value": None, "low": None, "high": None, "n": 0}
    entry["limits"] += [task_limit(estimated=False), {**entry["limits"][0], "limit": "tpot_s", "attainment": nothing}]
    found = operating_point(grounds({("mtp", 4): PAYS}, goodput=[entry]))
    assert found["not_measured"][2:4] == ["whole tasks of mtp", "the time a token of mtp"]


def test_an_output_check_that_told_nothing_is_a_condition() -> None:
    """Not made, off, or without a result."""

    def condition(**known: Any) -> str:
        return text_of(PAYS, **known).split(". ")[0].removeprefix("At 4 agents run mtp")

    assert condition() == ""
    assert condition(output_check=[]) == ", provided that its answers are right (the output check was off)"
    made = ", provided that its answers are right (the output check was not made)"
    assert condition(output_check=[], check_asked=True) == made
    assert condition(output_check=[check("off")]) == made
    why = "the model copies none of the code words"
    assert condition(output_check=[check("mtp", "n/a", why)]) == f", provided that its answers are right ({why})"
    assert f"whether answers of mtp keep to their session ({why})" in text_of(
        PAYS, output_check=[check("mtp", "n/a", why)]
    )


def test_of_a_variant_that_answers_wrongly_no_speed_is_said() -> None:
    """Nor of any, where the baseline does."""
    wrong = [check("off"), check("mtp", "failed", "slot 1 is dead")]
    found = operating_point(grounds({("mtp", 4): PAYS}, latencies=latencies("mtp", 4, 0.7), output_check=wrong))
    assert found["text"] == (
        f"At 4 agents run off, not mtp. The output check failed for mtp (slot 1 is dead). {SAFE.format('off')} Not "
        "measured: what one user alone waits for; the quality of the answers."
    )
    assert found["because"] == ["The output check failed for mtp: slot 1 is dead.", SAFE.format("off")]
    assert (found["background"]["call"], found["interactive"]["at"]) == (None, None)
    base = operating_point(grounds({("mtp", 4): PAYS}, output_check=[check("off", "failed", "slot 1 is dead")]))
    assert (base["keep"], base["instead"]) == (None, "find out why off answers wrongly")
    assert base["text"].startswith(
        "At 4 agents nothing can be advised: the output check failed for off, the baseline (slot 1 is dead). Against a "
        "baseline that answers wrongly no speed-up counts. "
    )
    assert base["because"] == ["The output check failed for off: slot 1 is dead."]
    assert "pays" not in base["text"]


def test_several_variants_are_described_beside_the_one_that_is_kept() -> None:
    """Intervals that overlap don't say which does more; every other standing has its words."""
    logs: dict[tuple[str, int], Sequence[float]] = {
        ("a", 4): PAYS, ("b", 4): (0.28, 0.35, 0.42), ("c", 4): (0.10, 0.11, 0.12), ("d", 4): COSTS, ("e", 4): SAME,
        ("f", 4): OPEN, ("g", 4): (), ("h", 4): PAYS, ("i", 4): PAYS, ("j", 4): PAYS, ("k", 4): PAYS, ("l", 4): PAYS,
    }  # fmt: skip
    found = operating_point(
        grounds(
            logs,
            output_check=[*(check(name) for name in "abcdefgijkl"), check("h", "failed", "slot 1 is dead")],
            memory=[
                *(memory(name) for name in ("off", *"abcdefghkl")),
                memory("i", "unsafe"),
                memory("j", "unknown"),
            ],
            goodput=[
                objective("k", 4, "no", 0.8, binds="ttft_s"),
                objective("l", 4, "unresolved", 0.94, binds="ttft_s"),
            ],
        )
    )
    sentence = re.search(r"it pays; .*?\. a takes", found["text"])
    assert sentence is not None
    assert sentence[0] == (
        "it pays; b pays too (1.19 to 1.69), and nothing shows which of the two does more; c pays too (1.09 to 1.14); "
        "d costs; e does the same as off; whether f pays is unresolved; no round has a valid trial of g and of off; "
        "the output check failed for h (slot 1 is dead); i leaves less memory than was asked for; j pays too (1.33 to "
        "1.40), if its memory fits, and nothing shows which of the two does more; k misses the objective; l pays too "
        "(1.33 to 1.40), if it meets the objective, and nothing shows which of the two does more. a takes"
    )
    assert found["not_measured"][:2] == ["g against off at 4 agents", "whether f pays (unresolved)"]


def test_several_open_ones_are_named() -> None:
    """Which of three does most."""
    found = operating_point(grounds({("a", 4): OPEN, ("b", 4): OPEN, ("c", 4): COSTS}))
    assert found["text"].startswith("At 4 agents nothing shows whether a, b or off does most. Whether a pays at ")
    assert found["text"].split(". ")[1].endswith("; whether b pays is unresolved; c costs")


def test_equal_memory_is_part_of_the_answer() -> None:
    """Measured it decides, predicted it is said, and said to be no measurement."""
    measured = equal_memory("mtp", "measured", 0.8, 0.9, "off-np6")
    found = operating_point(grounds({("mtp", 4): PAYS}, equal_memory=[measured]))
    assert (found["keep"], found["instead"], found["binds"]["limit"]) == (None, "run off-np6", "memory")
    assert found["text"] == (
        f"At 4 agents don't keep mtp: its memory does more as slots. {IT_PAYS} {SAFE.format('mtp')} With 2 more slots "
        "in its memory off does more than mtp (measured). The limit that binds is memory: mtp does less than its "
        f"memory does as slots; run off-np6. {UNMEASURED}"
    )
    unnamed = operating_point(grounds({("mtp", 4): PAYS}, equal_memory=[{**measured, "other_variant": None}]))
    assert unnamed["instead"] == "run off with 2 more slots"
    nowhere = {**measured, "other_variant": None, "slots_bought": None}
    assert operating_point(grounds({("mtp", 4): PAYS}, equal_memory=[nowhere]))["instead"] == "run off with more slots"
    predicted = operating_point(grounds({("mtp", 4): PAYS}, equal_memory=[equal_memory("mtp", "predicted", 0.8, 0.9)]))
    assert predicted["keep"] == "mtp"
    assert "With 2 more slots in its memory off does more than mtp (predicted)." in predicted["because"]
    assert "off with the slots that the memory of mtp buys (predicted)" in predicted["not_measured"]


def test_more_slots_for_more_agents_do_not_decide_for_these() -> None:
    """What they would do is said, in one sentence; where it is the comparison over again it isn't said twice."""
    said = "The memory that mtp takes would buy 2 slots more of off. Measured: off-np6 does more with 6 agents."
    entry = {**equal_memory("mtp", "measured", 0.8, 0.9, "off-np6"), "other_concurrency": 6, "text": said}
    found = operating_point(grounds({("mtp", 4): PAYS}, equal_memory=[entry]))
    assert found["keep"] == "mtp"
    one = "The memory that mtp takes would buy 2 slots more of off; measured: off-np6 does more with 6 agents."
    assert one in found["text"]
    same = {**entry, "other_variant": "off", "other_concurrency": 4}
    again = operating_point(grounds({("mtp", 4): PAYS}, equal_memory=[same]))
    assert one not in again["text"]
    assert said in again["because"]


def test_slots_that_would_stay_idle_are_no_advice() -> None:
    """4 agents with 8 slots need no more."""
    for slots, answer in ((8, "off"), (4, "off, spend the memory on slots")):
        entries = [memory("off"), memory("mtp", slots_worth=3.24, slots=slots)]
        found = operating_point(grounds({("mtp", 4): COSTS}, memory=entries))
        assert found["answer"] == f"four background agents: {answer}"


def test_a_concurrency_that_was_not_measured_is_no_verdict() -> None:
    """Dropped for the time budget, or never run; nothing is taken from its neighbours."""
    known = grounds({("mtp", 1): PAYS, ("mtp", 2): PAYS}, dropped_levels=[4], latencies=latencies("mtp", 4, 0.7))
    found = operating_point(known)
    assert (found["keep"], found["instead"]) == (None, "give a larger --time-budget, or fewer levels")
    assert found["text"] == (
        "At 4 agents nothing was measured (the time budget left them out), so nothing says what to run. The "
        f"concurrencies that were measured, 1, 2, say nothing of 4 agents. {SAFE.format('mtp')} Give a larger "
        "--time-budget, or fewer levels. Not measured: 4 agents; what one user alone waits for; the quality of the "
        "answers."
    )
    never = operating_point(grounds({("mtp", 1): PAYS}))
    assert never["instead"] == "measure 4 agents too"
    assert never["text"].startswith("At 4 agents nothing was measured (no trial was run), so nothing says what to run.")


def test_a_variant_without_another_is_not_chosen() -> None:
    """One variant, or only diagnostics beside it: its own rate is said."""
    found = operating_point(grounds({("mtp", 4): PAYS}, diagnostics={"mtp": Diagnostic.SYNTHETIC}))
    assert found["text"] == (
        "At 4 agents there is nothing to choose: off is the only variant that could be kept. off does 12.5 tasks per "
        f"hour (95 % interval 12 to 13). {SAFE.format('off')} Compare it with a variant that speculates. Not measured: "
        "what one user alone waits for; the quality of the answers."
    )
    cells = [{"variant": "off", "concurrency": 4, "tasks_per_hour": {"value": 12.5, "low": None, "high": None}}]
    single = operating_point(grounds({}, cells=cells))
    assert "off does 12.5 tasks per hour (without an interval)." in single["text"]
    cells[0]["tasks_per_hour"] = {"value": None, "low": None, "high": None}
    assert "No valid trial of off says how much it does." in operating_point(grounds({}, cells=cells))["text"]


_LOGS = st.lists(st.floats(-700, 700), max_size=5) | st.sampled_from([PAYS, COSTS, SAME, OPEN])
_RATIOS = st.none() | st.floats(1e-3, 1e3)
_VARIANT = st.tuples(
    _LOGS,
    st.sampled_from(["safe", "unsafe", "unknown"]),
    st.sampled_from(["passed", "failed", "n/a"]),
    st.sampled_from([("yes", 0.97, None), ("no", 0.8, "ttft_s"), ("unresolved", 0.94, "ttft_s"), (None, None, None)]),
    _RATIOS,
    st.none() | st.floats(-3, 30),
)


@given(st.dictionaries(st.sampled_from(["off", "a", "b", "c"]), _VARIANT, min_size=1), st.sampled_from([1, 4, 8]))
def test_any_grounds_have_an_answer_of_four_to_eight_sentences(variants: Any, agents: int) -> None:
    """No NaN, no crash, and no sentence whose interval disagrees with its call."""
    known = grounds(
        {(name, 4): variants[name][0] for name in variants if name != "off"},
        agents=agents,
        memory=[memory(name, one[1], slots_worth=one[5]) for name, one in variants.items()],
        output_check=[check(name, one[2], "a reason") for name, one in variants.items()],
        goodput=[objective(name, 4, one[3][0], one[3][1], binds=one[3][2]) for name, one in variants.items()],
        latencies=[latency(name, level, "median_tpot_s", one[4]) for name, one in variants.items() for level in (1, 4)],
    )
    found = operating_point(known)
    assert 4 <= len(re.findall(r"\.(?: |$)", found["text"])) <= 8
    assert not re.search(r"\b(?:nan|None|null|inf)\b", found["text"])
    for c in known.comparisons:
        if c.speedup.low is not None and settled(c) in found["because"] and c.call == "pays":
            assert c.speedup.low > 1
    assert all(math.isfinite(x) for x in _numbers(found))


def _numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [x for one in value.values() for x in _numbers(one)]
    if isinstance(value, list):
        return [x for one in value for x in _numbers(one)]
    return [value] if isinstance(value, int | float) else []
