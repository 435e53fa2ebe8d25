"""Rules of a run at fixed depths: everything is told depth by depth, and called as one family."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from loadgen.analysis.at_depth import depths_in, summary_at
from loadgen.analysis.criteria.gate import gate
from loadgen.analysis.criteria.run_comparison import compare_runs
from loadgen.analysis.criteria.threshold import parse_threshold
from loadgen.analysis.sequential.interim import look
from loadgen.analysis.summary import summarise
from loadgen.cell_key import CellKey
from loadgen.records.manifest import JournalEntry, Look, Plan, PlannedTrial
from tests.analysis.deep import deep_run

OFF = [10.0, 10.1, 9.9, 10.0]
PAYS, COSTS = [20.0, 20.3, 19.8, 20.0], [5.0, 5.1, 4.9, 5.0]
BY_DEPTH = {
    2048: {("off", 1): OFF, ("mtp", 1): PAYS, ("off", 4): OFF, ("mtp", 4): PAYS},
    16384: {("off", 1): OFF, ("mtp", 1): PAYS, ("off", 4): OFF, ("mtp", 4): COSTS},
}


def test_cells_and_comparisons_are_per_level_and_depth(make: Any) -> None:
    """In the order of the depths; each cell's own depth is what was measured."""
    found = make.strict_json(summarise(deep_run(make, BY_DEPTH)))
    assert [(c["depth_asked"], c["concurrency"], c["variant"], c["depth"]["value"]) for c in found["cells"]] == [
        (depth, level, variant, depth) for depth in (2048, 16384) for level in (1, 4) for variant in ("off", "mtp")
    ]
    assert [(c["depth_asked"], c["concurrency"], c["call"]) for c in found["comparisons"]] == [
        (2048, 1, "pays"),
        (2048, 4, "pays"),
        (16384, 1, "pays"),
        (16384, 4, "costs"),
    ]
    assert {c["trials"] for c in found["cells"]} == {4}


def test_all_depths_are_one_family(make: Any) -> None:
    """The largest of four p values is adjusted by 1, the smallest by 4, whatever their depths."""
    found = summarise(deep_run(make, BY_DEPTH))["comparisons"]
    by_p = sorted(found, key=lambda one: one["p_value"])
    assert by_p[0]["p_adjusted"] == pytest.approx(4 * by_p[0]["p_value"])
    alone = summarise(deep_run(make, {16384: BY_DEPTH[16384]}))["comparisons"]
    assert min(one["p_value"] for one in alone) * 2 == pytest.approx(min(one["p_adjusted"] for one in alone))


def test_a_variant_crosses_at_each_depth_by_itself(make: Any) -> None:
    """No crossover at 2k, one between 1 and 4 agents at 16k; sentences name the depth."""
    found = summarise(deep_run(make, BY_DEPTH))
    assert [(one["depth_asked"], one["kind"]) for one in found["crossovers"]] == [(2048, "none_up_to"), (16384, "at")]
    says = found["verdict"]["says"]
    assert "mtp shows no crossover up to 4 agents, 2,048 tokens deep." in says
    assert any(text.startswith("mtp at 4 agents, 16,384 tokens deep: 0.50 times") for text in says)
    assert any(
        text.startswith("mtp stops paying near 2 agents (95 %") and "16,384 tokens deep" in text for text in says
    )


def test_the_decision_is_made_at_each_depth_and_names_it(make: Any) -> None:
    """Kept is what all depths keep: here they disagree."""
    known = {"agents": 4, "memory_budget_bytes": None}
    found = summarise(deep_run(make, BY_DEPTH, **known))
    assert found["operating_point"] is None
    assert [(one["depth_asked"], one["background"]["call"]) for one in found["operating_points"]] == [
        (2048, "pays"),
        (16384, "costs"),
    ]
    verdict = found["verdict"]
    assert (verdict["agents"], verdict["keep"]) == (4, None)
    assert verdict["text"].startswith("At 4 agents, 2,048 tokens deep: mtp, if its memory fits")
    assert "At 4 agents, 16,384 tokens deep run off, not mtp." in verdict["text"]
    alike = summarise(deep_run(make, dict.fromkeys((2048, 16384), BY_DEPTH[16384]), **known))
    assert alike["verdict"]["keep"] == "off"
    answer = alike["operating_points"][1]["answer"]
    assert "four background agents, 16,384 tokens deep: off" in answer


def test_what_is_of_one_depth_can_be_had_alone(make: Any) -> None:
    """Every list that has a concurrency says its depth, and a part of the summary is like a run without depths."""
    found = summarise(deep_run(make, BY_DEPTH, agents=4))
    assert depths_in(found) == [2048, 16384]
    here = summary_at(found, 16384)
    for name in ("cells", "comparisons", "crossovers", "noise", "latency_comparisons", "steps", "why", "scaling"):
        assert {one["depth_asked"] for one in found[name]} == {2048, 16384}
        assert {one["depth_asked"] for one in here[name]} == {16384}
    assert here["operating_point"] == found["operating_points"][1]
    plain = summarise(make.run(BY_DEPTH[2048]))
    assert depths_in(plain) == [None]
    assert summary_at(plain, None) == plain


def test_without_depths_nothing_is_marked(make: Any) -> None:
    """Cells and comparisons have a null; no other entry knows of depths."""
    found = summarise(make.run(BY_DEPTH[2048]))
    assert {one["depth_asked"] for one in [*found["cells"], *found["comparisons"]]} == {None}
    assert not any("depth_asked" in one for name in ("crossovers", "noise", "why", "steps") for one in found[name])
    assert "operating_points" not in found


def test_a_trial_that_does_not_count_is_named_with_its_depth(make: Any) -> None:
    """And so are the warnings of its cell."""
    run = deep_run(make, BY_DEPTH)
    dead = [
        msgspec.structs.replace(one, server_alive=False) if one.trial == "r2-n1-mtp-d16384" else one
        for one in run.trials
    ]
    short = [msgspec.structs.replace(one, short=one.depth == 2048) for one in dead]
    found = summarise(replace(run, trials=short))
    assert [(one["trial"], one["depth_asked"]) for one in found["invalid"]] == [("r2-n1-mtp-d16384", 16384)]
    assert {(one["kind"], one["depth_asked"]) for one in found["warnings"]} == {("short", 2048)}
    assert found["warnings"][0]["text"].startswith("off at 1, 2,048 tokens deep: trials are short")
    assert found["comparisons"][2]["of_rounds"] == [1, 3, 4]


def test_a_gate_judges_every_depth(make: Any) -> None:
    """One depth that fails fails the whole; its criteria name the depth, and all of them are one family."""
    found = gate(summarise(deep_run(make, BY_DEPTH)), at_least=0.97, thresholds=[parse_threshold("speedup@4>=1.5")])
    assert [(one["depth_asked"], one["concurrency"], one["result"]) for one in found["criteria"]] == [
        (2048, 1, "pass"),
        (2048, 4, "pass"),
        (16384, 1, "pass"),
        (16384, 4, "fail"),
        (2048, 4, "pass"),
        (16384, 4, "fail"),
    ]
    assert found["result"] == "fail"
    plain = gate(summarise(make.run(BY_DEPTH[2048])), at_least=0.97)
    assert not any("depth_asked" in one for one in plain["criteria"])


def test_two_runs_are_compared_depth_by_depth(make: Any) -> None:
    """A depth that the other run lacks is not compared."""
    first = deep_run(make, BY_DEPTH)
    second = deep_run(make, {2048: BY_DEPTH[16384]})
    found = compare_runs(first, second, names={"off": "off", "mtp": "mtp"}, min_effect=0.05)
    assert [(one["depth_asked"], one["concurrency"], one["variant"], one["call"]) for one in found["comparisons"]] == [
        (2048, 1, "off", "same"),
        (2048, 1, "mtp", "same"),
        (2048, 4, "off", "same"),
        (2048, 4, "mtp", "slower"),
    ]
    assert {(one["run"], one["depth_asked"]) for one in found["not_compared"]} == {("a", 16384)}


def test_a_look_closes_cells_at_their_depth(make: Any) -> None:
    """What is known at 2k is measured no further there; the noisy one at 16k goes on."""
    noisy = [8.0, 14.0, 9.0, 12.0]
    run = deep_run(make, {2048: {("off", 1): OFF, ("mtp", 1): PAYS}, 16384: {("off", 1): OFF, ("mtp", 1): noisy}})
    trials = [
        PlannedTrial(
            trial=f"r{number}-{variant}-{depth}", round=number, variant=variant, level=1, order=0, turns_per_agent=1,
            short=False, depth=depth,
        )
        for number in range(1, 9) for variant in ("off", "mtp") for depth in (2048, 16384)
    ]  # fmt: skip
    plan = Plan(rounds=8, trials=trials, dropped_levels=[], estimated_s=1, turn_s={}, looks=[4, 6])
    planned = replace(run, plan=plan)
    found = look(planned, 4)
    assert found.open == frozenset({CellKey("mtp", 1, 16384)})
    assert found.note == (
        "look after round 4 of 8: mtp pays at 1, 2,048 tokens deep; measured on: mtp at 1, 16,384 tokens deep"
    )
    closed = JournalEntry(at_ns=0, what="looked", look=Look(round=4, closed=[CellKey("mtp", 1, 2048)]))
    looked = summarise(replace(planned, journal=[closed]))
    assert [one["closed_after"] for one in looked["comparisons"]] == [4, None]
    assert looked["looks"]["closed"] == [{"variant": "mtp", "concurrency": 1, "depth_asked": 2048, "after": 4}]
    assert looked["looks"]["open"] == [{"variant": "mtp", "concurrency": 1, "depth_asked": 16384}]


def test_the_repeated_trial_is_held_against_its_own_depth(make: Any) -> None:
    """The drift is that of the first trial: its depth is told, and the other depth has none."""
    run = deep_run(make, BY_DEPTH)
    again = make.run({("off", 1): OFF}, repeated=10.0)
    drifted = msgspec.structs.replace(again.trials[-1], depth=16384, trial="drift")
    requests = [
        msgspec.structs.replace(one, trial="drift") for one in again.requests if one.trial == again.trials[-1].trial
    ]
    both = replace(run, trials=[*run.trials, drifted], requests=[*run.requests, *requests])
    found = summarise(both)["drift"]
    assert (found["variant"], found["concurrency"], found["depth_asked"]) == ("off", 1, 16384)
    assert found["ratio"] == pytest.approx(1)
