"""What the answers of a check amount to."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from loadgen.analysis.output_check import Judgement, answers, judge, output_check_summary
from loadgen.records.output_check import AnswerComparison, CheckedAnswer, OutputCheck

if TYPE_CHECKING:
    from tests.analysis.conftest import Maker


def answer(agent: int = 0, **fields: Any) -> CheckedAnswer:
    """An answer that holds its own code word and no other."""
    plain: dict[str, Any] = {
        "slot": agent, "alone": False, "outcome": "ok", "characters": 120, "own": True, "foreign": [],
        "drafted": None, "accepted": None,
    }  # fmt: skip
    return CheckedAnswer(agent=agent, **{**plain, **fields})


def check(*given: CheckedAnswer, variant: str = "mtp", **fields: Any) -> OutputCheck:
    """The check of a variant with 4 agents."""
    plain: dict[str, Any] = {"skipped": None, "comparison": None}
    return OutputCheck(run="run", variant=variant, level=4, at_ns=0, answers=list(given), **{**plain, **fields})


OFF = check(answer(0), answer(1), variant="off")


def failed(*reasons: str) -> Judgement:
    """A check that failed for these reasons."""
    return Judgement("failed", reasons)


def test_a_check_passes_when_every_answer_keeps_to_its_session() -> None:
    """Each has its own code word; one slot without drafts is no dead slot."""
    assert judge(check(answer(0, drafted=20, accepted=10), answer(1)), OFF) == Judgement("passed")


def test_a_code_word_of_another_agent_fails() -> None:
    """Even where the own word is there too; the same slot and agents are named once."""
    crossed = answer(1, foreign=[3])
    assert judge(check(answer(0), crossed, crossed), OFF) == failed("agent 1 got text of agent 3's session on slot 1")


@pytest.mark.parametrize("fields", [{"outcome": "empty"}, {"outcome": "ok"}])
def test_an_answer_without_text_fails(fields: dict[str, Any]) -> None:
    """No token event, or tokens without a character."""
    empty = answer(1, characters=0, own=False, **fields)
    assert judge(check(answer(0), empty), OFF) == failed("agent 1 got an empty answer on slot 1")


def test_a_request_that_fails_says_nothing_of_answers() -> None:
    """A limit of a proxy or a full cache is no wrong answer: trials count it; where it was sent alone it says so."""
    lost = answer(1, slot=None, outcome="connection_lost", characters=0, own=False, alone=True)
    why = "the request of agent 1 ended in connection_lost with nothing else on the server"
    assert judge(check(answer(0), lost), OFF) == Judgement("n/a", (why,))


def test_a_wrong_answer_beside_a_failed_request_fails() -> None:
    """What was answered wrongly stays wrong."""
    lost = answer(1, outcome="rate_limited", characters=0, own=False)
    assert judge(check(answer(0, foreign=[2]), lost), OFF) == failed("agent 0 got text of agent 2's session on slot 0")


@pytest.mark.parametrize(
    ("slots", "dead"),
    [
        ([(40, 30), (8, 0)], "slot 1 accepted 0 of 8 drafted tokens, the other slots 75%"),
        ([(40, 4), (101, 1)], "slot 1 accepted 1 of 101 drafted tokens, the other slots 10%"),
        ([(40, 30), (7, 0)], None),  # too few to tell
        ([(40, 30), (100, 1)], None),  # 1 %
        ([(40, 3), (40, 0)], None),  # drafting hardly works anywhere
        ([(40, 0), (40, 0)], None),
        ([(40, 0)], None),
        ([(40, 30), (None, None)], None),
    ],
)
def test_a_slot_is_dead_when_its_drafts_fail_and_those_of_the_others_dont(
    slots: Sequence[tuple[int | None, int | None]], dead: str | None
) -> None:
    """From 8 drafted tokens, with less than 1 % accepted there and 10 % in the other slots."""
    given = [answer(slot, drafted=drafted, accepted=accepted) for slot, (drafted, accepted) in enumerate(slots)]
    assert judge(check(*given), OFF) == (failed(dead) if dead else Judgement("passed"))


def test_a_slot_is_judged_by_all_that_it_drafted() -> None:
    """One text that drafts badly doesn't make a slot dead when the next one drafts well there."""
    waves = [answer(0, slot=1, drafted=48, accepted=0), answer(1, slot=0, drafted=40, accepted=30)]
    again = [answer(0, slot=0, drafted=40, accepted=30), answer(1, slot=1, drafted=40, accepted=30)]
    assert judge(check(*waves, *again), OFF) == Judgement("passed")


def test_a_word_that_only_an_agent_alone_gets_fails() -> None:
    """Concurrency loses it, whatever the baseline does."""
    lost = [answer(1), answer(1, own=False), answer(1, alone=True)]
    why = "agent 1's code word is missing among others, and there with nothing else on the server"
    assert judge(check(answer(0), *lost), None) == failed(why)


def test_a_word_that_the_baseline_gets_and_the_variant_never_fails() -> None:
    """The variant loses it."""
    lost = [answer(1, own=False), answer(1, own=False, alone=True)]
    why = "agent 1's code word is missing, and there in the baseline's answer to the same prompt"
    assert judge(check(answer(0), *lost), OFF) == failed(why)


def test_a_prompt_that_nobody_copies_tells_nothing() -> None:
    """It is left out, and with no other the check knows nothing: no failure."""
    lost = [answer(0, own=False), answer(0, own=False, alone=True)]
    deaf = check(*lost, variant="off")
    unknown = Judgement("n/a", ("the model copies none of the code words, so answers can't be told apart",))
    assert judge(check(*lost), deaf) == unknown
    assert judge(deaf, deaf) == unknown
    assert judge(check(*lost, answer(1)), check(*lost, answer(1), variant="off")) == Judgement("passed")


def test_a_word_that_comes_only_now_and_then_tells_nothing() -> None:
    """The model copies badly: missing once among others and once alone is no loss."""
    unsure = [answer(0), answer(0, own=False), answer(0, own=False, alone=True)]
    assert judge(check(*unsure, answer(1)), check(*unsure, answer(1), variant="off")) == Judgement("passed")


def test_a_check_that_was_skipped_is_no_result() -> None:
    """Its reason is kept."""
    assert judge(check(skipped="the model's weights are random"), OFF) == Judgement(
        "n/a", ("not checked: the model's weights are random",)
    )


def compared(changed: set[int], *, prompts: int = 40, missing: int = 0, variant: str = "mtp") -> OutputCheck:
    """A full check in which these prompts have another answer than the reference, and the last have none."""
    told: list[bool | None] = [number not in changed for number in range(prompts - missing)]
    return check(answer(), variant=variant, comparison=AnswerComparison(agents=4, equal=told + [None] * missing))


@pytest.mark.parametrize(
    ("noise", "changed", "low", "high", "call"),
    [
        (range(5), range(2, 7), -0.1236, 0.1236, "no"),
        (range(5), range(5, 10), -0.1619, 0.1619, "unresolved"),
        (range(5), range(8), -0.0272, 0.1890, "unresolved"),
        (range(5), range(4, 23), 0.1309, 0.5285, "yes"),
        (range(0), range(0), -0.0876, 0.0876, "no"),
    ],
)
def test_answers_change_beyond_batch_noise_when_the_interval_says_so(
    noise: range, changed: range, low: float, high: float, call: str
) -> None:
    """Paired by prompt: above 0 is yes, below 15 points no, else unresolved."""
    told = answers(compared(set(changed)), compared(set(noise), variant="off"))
    assert told is not None
    assert (told["call"], told["margin"], told["agents"]) == (call, 0.15, 4)
    assert told["difference"] == {
        "value": pytest.approx((len(changed) - len(noise)) / 40),
        "low": pytest.approx(low, abs=5e-5),
        "high": pytest.approx(high, abs=5e-5),
        "n": 40,
    }
    assert told["changed"]["value"] == len(changed) / 40
    assert told["batch_noise"]["value"] == len(noise) / 40


def test_only_prompts_with_both_answers_are_compared() -> None:
    """A missing answer is no change."""
    told = answers(compared({0}, missing=4), compared({1}, variant="off"))
    assert told is not None
    assert (told["changed"]["n"], told["batch_noise"]["n"], told["difference"]["n"]) == (36, 40, 36)
    assert told["changed"]["value"] == 1 / 36


def test_the_baselines_own_entry_has_no_call() -> None:
    """It is the noise; nor has a variant without a baseline one, and no full check gives null."""
    off = compared({3}, variant="off")
    own, without = answers(off, off), answers(compared({3}), None)
    assert own is not None
    assert without is not None
    assert (own["batch_noise"]["value"], own["difference"]["value"], own["call"]) == (1 / 40, None, None)
    assert (without["batch_noise"]["value"], without["changed"]["value"], without["call"]) == (None, 1 / 40, None)
    assert answers(check(answer()), off) is None


def test_the_summary_has_one_entry_a_variant(make: "Maker") -> None:
    """In the order of the experiment; the last check of a variant counts; counts are null where none was reported."""
    first = check(answer(0, own=False, foreign=[1]), answer(1))
    last = check(answer(0, drafted=40, accepted=30), answer(1, drafted=20, accepted=5))
    run = replace(make.run({("off", 4): [1.0], ("mtp", 4): [1.0]}), checks=[first, last, OFF])
    assert make.strict_json(output_check_summary(run)) == [
        {
            "variant": "off", "concurrency": 4, "result": "passed", "reasons": [], "drafted": None, "accepted": None,
            "answers": None,
        },
        {
            "variant": "mtp", "concurrency": 4, "result": "passed", "reasons": [], "drafted": 60, "accepted": 35,
            "answers": None,
        },
    ]  # fmt: skip
    assert output_check_summary(replace(run, checks=[])) == []
