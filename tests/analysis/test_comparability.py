"""Rules of what may be compared: equal work at equal depth."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from loadgen.analysis.comparability import depth_refusal, length_refusal, unequal_depths
from loadgen.analysis.criteria.gate import gate
from loadgen.analysis.criteria.run_comparison import compare_runs
from loadgen.analysis.criteria.threshold import parse_threshold
from loadgen.analysis.estimators.comparison import Refusal, compare
from loadgen.analysis.sequential.interim import look
from loadgen.analysis.summary import summarise
from loadgen.cell_key import CellKey
from loadgen.records.manifest import Plan
from loadgen.records.model import Outcome
from tests.analysis.deep import with_prompts
from tests.analysis.sequential.test_looks import planned

OFF, PAYS = [10.0, 10.1, 9.9, 10.0], [20.0, 20.3, 19.8, 20.0]
WHY = {"reason": "depth", "text": "mean depth 3,100 against 3,900 tokens"}


def rounds(make: Any, depths: list[list[int]], variant: str = "off", **fields: Any) -> list[Any]:
    """One trial a round with turns of these depths."""
    return [
        make.trial(
            [make.request(prompt_tokens=depth, round=number, variant=variant, **fields) for depth in of_round],
            round=number,
            variant=variant,
        )
        for number, of_round in enumerate(depths, start=1)
    ]


@pytest.mark.parametrize(
    ("ours", "theirs", "refused"),
    [(1100, 1000, False), (1101, 1000, True), (1000, 1100, False), (1000, 1101, True), (None, 1000, False)],
)
def test_more_than_ten_percent_of_depth_is_other_work(ours: float | None, theirs: float, refused: bool) -> None:
    """To either side; what nobody knows forbids nothing."""
    assert (unequal_depths(ours, theirs) is not None) is refused


def test_means_are_pooled_over_the_turns_of_all_paired_rounds(make: Any) -> None:
    """A round that is 30 % deeper is within 10 % over four; turns weigh alike, and the text has both means."""
    base = rounds(make, [[1000, 1000]] * 4)
    assert depth_refusal(rounds(make, [[1300, 1300], *[[1000, 1000]] * 3], "mtp"), base) is None
    found = depth_refusal(rounds(make, [[3100]] * 3, "mtp"), rounds(make, [[3900, 3900], [3900], [3900]]))
    assert found == Refusal("depth", "mean depth 3,100 against 3,900 tokens")


def test_rounds_without_a_valid_trial_on_both_sides_say_nothing_of_depth(make: Any) -> None:
    """Of rounds 1 to 4 on one side and 1 on the other only the first is a pair."""
    assert depth_refusal(rounds(make, [[1000]], "mtp"), rounds(make, [[1000], [5000], [5000], [5000]])) is None
    assert depth_refusal(rounds(make, [[1000]], "mtp"), []) is None


def test_failed_turns_have_no_depth(make: Any) -> None:
    """The rule is on the turns that ended well, as the depth of a cell is."""
    failing = rounds(make, [[9000]] * 3, "mtp", outcome=Outcome.HTTP_ERROR)
    assert depth_refusal(failing, rounds(make, [[1000]] * 3)) is None


def test_requests_of_another_length_are_not_counted_against_each_other(make: Any) -> None:
    """Surely 20 % longer refuses, with the interval; 4 % longer doesn't, and two rounds can't tell."""

    def of(*lengths: int) -> list[Any]:
        return [
            make.trial([make.request(completion_tokens=one, round=number)], round=number)
            for number, one in enumerate(lengths, start=1)
        ]

    found = length_refusal(of(120, 120, 120), of(100, 100, 100), "off")
    assert found == Refusal(
        "output_length", "answers are 1.20 times as long as those of off (95 % interval 1.20 to 1.20)"
    )
    assert length_refusal(of(104, 104, 104), of(100, 100, 100), "off") is None
    assert length_refusal(of(120, 120), of(100, 100), "off") is None


def test_what_is_refused_is_no_part_of_the_family() -> None:
    """The p values of the others are adjusted over those that are called; the ratio stays, the call is null."""
    logs = {1: 0.30, 2: 0.31, 3: 0.32, 4: 0.305}
    pairs = {CellKey("mtp", n): logs for n in (1, 2)}
    why = {CellKey("mtp", 2): (Refusal("depth", "deeper"),)}
    first, second = compare(pairs, baseline="off", min_effect=0.05, refused=why)
    alone = compare({CellKey("mtp", 1): logs}, baseline="off", min_effect=0.05)[0]
    assert first == alone
    assert second.as_json() == {
        **first.as_json(), "concurrency": 2, "sim_low": None, "sim_high": None, "same_low": None, "same_high": None,
        "p_value": None, "p_adjusted": None, "call": None, "not_comparable": [{"reason": "depth", "text": "deeper"}],
    }  # fmt: skip


def unequal(make: Any, **known: Any) -> Any:
    """`mtp` does twice as much at 1 and 2 agents; at 2 its prompts are shorter."""
    tasks = {("off", 1): OFF, ("mtp", 1): PAYS, ("off", 2): OFF, ("mtp", 2): PAYS}
    run = make.run(tasks, **known)
    requests = [
        msgspec.structs.replace(one, prompt_tokens=3100 if (one.variant, one.level) == ("mtp", 2) else 3900)
        for one in run.requests
    ]
    return replace(run, requests=requests)


def test_a_summary_calls_nothing_of_cells_at_unequal_depth(make: Any) -> None:
    """The other level keeps its call; the sentence says why, and no latency is compared either."""
    found = make.strict_json(summarise(unequal(make)))
    one, two = found["comparisons"]
    assert (one["call"], one["not_comparable"]) == ("pays", [])
    assert (two["call"], two["not_comparable"], two["p_value"]) == (None, [WHY], None)
    assert two["speedup"]["value"] == pytest.approx(2, rel=0.01)
    assert {(entry["concurrency"], bool(entry["not_comparable"])) for entry in found["latency_comparisons"]} == {
        (1, False),
        (2, True),
    }
    assert (
        "Whether mtp pays at 2 agents: not comparable with off: mean depth 3,100 against 3,900 tokens."
        in found["verdict"]["does_not_answer"]
    )
    assert found["crossovers"][0]["concurrency"]["value"] == 1
    assert [cell["depth"]["value"] for cell in found["cells"]] == [3900, 3900, 3900, 3100]


def test_the_decision_is_open_where_the_two_did_other_work(make: Any) -> None:
    """Nothing is kept, and the text says that nothing can be said and why."""
    point = summarise(unequal(make, agents=2))["operating_point"]
    assert (point["keep"], point["background"]["call"]) == (None, None)
    assert point["background"]["standing"] == "not_comparable"
    assert point["text"].startswith(
        "At 2 agents nothing can be said of mtp: the turns of off are of another depth, so that the two are not "
        "comparable. Whether mtp pays at 2 agents: not comparable with off: mean depth 3,100 against 3,900 tokens."
    )
    assert point["interactive"]["at"] is None
    assert "mtp against off at 2 agents" in point["not_measured"]


def test_a_gate_cannot_tell_where_the_two_did_other_work(make: Any) -> None:
    """Neither non-inferiority nor a threshold on a ratio; a level at equal depth passes, and is alone in its family."""
    thresholds = [parse_threshold("speedup@2>=1.1"), parse_threshold("speedup.ttft@2>=0.5")]
    found = gate(summarise(unequal(make)), at_least=0.97, thresholds=thresholds)
    assert [(one["concurrency"], one["result"]) for one in found["criteria"]] == [
        (1, "pass"),
        (2, "unknown"),
        (2, "unknown"),
        (2, "unknown"),
    ]
    reason = "mtp and off are not comparable at 2: mean depth 3,100 against 3,900 tokens"
    assert [one["reason"] for one in found["criteria"]] == [None, reason, reason, reason]
    assert (found["result"], found["criteria"][1]["more_rounds"]) == ("unknown", None)


def test_requests_per_hour_are_not_judged_where_answers_differ_in_length(make: Any) -> None:
    """Tasks per hour keep their call; a threshold on requests per hour can't be told."""
    run = make.run({("off", 1): OFF, ("mtp", 1): PAYS})
    requests = [
        msgspec.structs.replace(one, completion_tokens=12 if one.variant == "mtp" else 10) for one in run.requests
    ]
    found = summarise(replace(run, requests=requests))
    assert found["comparisons"][0]["call"] == "pays"
    (entry,) = [one for one in found["latency_comparisons"] if one["metric"] == "requests_per_hour"]
    text = "answers are 1.20 times as long as those of off (95 % interval 1.20 to 1.20)"
    assert entry["not_comparable"] == [{"reason": "output_length", "text": text}]
    assert entry["ratio"]["value"] == pytest.approx(2, rel=0.01)
    (judged,) = gate(found, at_least=None, thresholds=[parse_threshold("speedup.requests_per_hour>=1")])["criteria"]
    assert (judged["result"], judged["reason"]) == ("unknown", f"mtp and off are not comparable at 1: {text}")
    equal = summarise(run)
    (judged,) = gate(equal, at_least=None, thresholds=[parse_threshold("speedup.requests_per_hour>=1")])["criteria"]
    assert judged["result"] == "pass"


def test_a_look_leaves_open_what_was_done_at_another_depth(make: Any) -> None:
    """It would pay, but is not known: depths may yet even out."""
    tasks = {("off", 1): OFF, ("mtp", 1): PAYS}
    plan = Plan(rounds=8, trials=planned(dict.fromkeys(tasks, 8), 8), dropped_levels=[], estimated_s=1, turn_s={})
    run = make.run(tasks, plan=msgspec.structs.replace(plan, looks=[4, 6]))
    assert look(run, 4).open == frozenset()
    assert look(with_prompts(run, {"mtp": 80}), 4).open == frozenset({CellKey("mtp", 1)})


def test_two_runs_at_unequal_depth_are_not_called(make: Any) -> None:
    """Twice as fast in the second run, at prompts a fifth shorter; equal prompts have a call."""
    first = make.run({("off", 1): OFF})
    second = make.run({("off", 1): PAYS})
    names = {"off": "off"}
    (one,) = compare_runs(first, second, names=names, min_effect=0.05)["comparisons"]
    assert (one["call"], one["not_comparable"]) == ("faster", ())
    (other,) = compare_runs(first, with_prompts(second, {"off": 80}), names=names, min_effect=0.05)["comparisons"]
    assert (other["call"], other["p_value"]) == (None, None)
    assert other["not_comparable"] == ({"reason": "depth", "text": "mean depth 100 against 80 tokens"},)
    assert other["ratio"]["value"] == pytest.approx(2, rel=0.01)


def test_the_winner_of_a_race_is_not_called_at_another_depth(make: Any) -> None:
    """Nothing is advised, and the sentence says why."""
    tune = {
        "candidates": [
            {"variant": name, "n_max": number, "slots": 1, "command": name, "predicted_bytes": None}
            for number, name in enumerate(("off", "mtp"))
        ],
        "pruned": [], "budget_bytes": None, "margin_bytes": None, "not_pruned": "no --memory-budget was given",
    }  # fmt: skip
    tasks = {("off", 1): OFF * 2, ("mtp", 1): PAYS * 2}
    plan = Plan(rounds=8, trials=[], dropped_levels=[], estimated_s=1, turn_s={}, drawn_rounds=8)
    run = make.run(tasks, plan=plan, agents=1, tune=tune)
    called = summarise(run)["tuning"]
    assert (called["call"], called["keep"], called["not_comparable"]) == ("pays", "mtp", [])
    found = summarise(with_prompts(run, {"mtp": 80}))
    assert (found["tuning"]["call"], found["tuning"]["keep"], found["tuning"]["command"]) == (None, None, None)
    why = "Whether mtp pays at 1 agent: not comparable with off: mean depth 80 against 100 tokens."
    assert why in found["verdict"]["does_not_answer"]
