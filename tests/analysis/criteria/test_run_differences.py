"""Rules of what forbids a comparison of two runs, and what may be compared."""

from typing import Any

import msgspec

from loadgen.analysis.criteria.run_differences import VOIDS, as_json, run_differences, voiding
from loadgen.records.manifest import Plan, PlannedTrial
from loadgen.records.run import Run

NAMES = {"off": "off"}
TASKS = {("off", 1): [10.0] * 3}


def found(first: Run, second: Run, names: dict[str, str] | None = None) -> dict[str, tuple[Any, Any]]:
    """What differs, by field."""
    return {one["field"]: (one["a"], one["b"]) for one in run_differences(first, second, names or NAMES)}


def with_workload(run: Run, **changes: Any) -> Run:
    """The run with another workload."""
    facts = msgspec.structs.replace(run.manifest.workload, **changes)
    return Run(manifest=msgspec.structs.replace(run.manifest, workload=facts), trials=run.trials, starts=run.starts)


def test_equal_runs_differ_in_nothing(make: Any) -> None:
    """What isn't known on either side is no difference."""
    assert found(make.run(TASKS), make.run(TASKS)) == {}


def test_other_work_forbids_a_comparison_unless_allowed(make: Any) -> None:
    """With one seed another digest is other work."""
    run = make.run(TASKS, seed=1)
    differences = run_differences(run, with_workload(run, digest="e"), NAMES)
    assert [(one["field"], one["a"], one["b"]) for one in differences] == [("workload", "chat d", "chat e")]
    assert voiding(differences, ()) == differences
    assert voiding(differences, ("workload",)) == []
    assert [one["allowed"] for one in as_json(differences, ("workload",))] == [True]


def test_another_seed_is_listed_and_forbids_nothing(make: Any) -> None:
    """It draws other sessions, so that the digest can't tell; the workload's name and shape still can."""
    first, second = make.run(TASKS, seed=1), make.run(TASKS, seed=2)
    assert found(first, with_workload(second, digest="e")) == {"seed": (1, 2)}
    assert voiding(run_differences(first, with_workload(second, digest="e"), NAMES), ()) == []
    assert "workload" in found(first, with_workload(second, name="other"))


def test_another_model_forbids_and_another_build_does_not(make: Any) -> None:
    """By what the first starts of the variants that are held against each other say."""
    first = make.run(TASKS, starts=[make.start("off", model_digest="a" * 64, build="b1", slots=4)])
    second = make.run(TASKS, starts=[make.start("off", model_digest="b" * 64, build="b2", slots=8)])
    differences = run_differences(first, second, NAMES)
    assert {one["field"]: one["voids"] for one in differences} == {"model": True, "slots": True, "build": False}
    assert {one["variant"] for one in differences} == {"off"}
    assert [one["field"] for one in voiding(differences, ("slots",))] == ["model"]


def test_hosts_and_versions_are_what_may_be_compared(make: Any) -> None:
    """CPU, GPU with its driver, and loadgen's version are listed; what one run doesn't know is not."""
    first, second = make.run(TASKS), make.run(TASKS)
    gpu = {"name": "H200", "driver": "570", "sm_mhz": 1000}
    one = msgspec.structs.replace(first.manifest, host={"cpu": "A", "cores": 8, "gpus": [gpu]})
    other = msgspec.structs.replace(
        second.manifest, tool_version="2", host={"cpu": "B", "gpus": [{**gpu, "driver": "580", "sm_mhz": 900}]}
    )
    differences = run_differences(Run(manifest=one), Run(manifest=other), NAMES)
    assert {one["field"]: (one["a"], one["b"]) for one in differences} == {
        "loadgen": ("0.1.0", "2"),
        "cpu": ("A", "B"),
        "gpus": ([{"name": "H200", "driver": "570"}], [{"name": "H200", "driver": "580"}]),
    }
    assert voiding(differences, ()) == []


def test_commands_differ_in_the_arguments_that_are_not_the_same(make: Any) -> None:
    """By the first name of each argument; an argument that one side lacks is null there."""
    first, second = make.run(TASKS), make.run(TASKS)
    runs = []
    for run, program, words, env in (
        (first, "a/llama-server", ["-m", "m", "--threads", "4", "-fa", "on"], {"LLAMA_ARG_SPEC_TYPE": None, "X": "1"}),
        (second, "b/llama-server", ["-m", "m", "-t", "8"], {"X": "2"}),
    ):
        variant = {"kind": "launch", "name": "off", "program": program, "args": words, "env": env}
        asked = {**run.manifest.experiment, "variants": [variant]}
        runs.append(Run(manifest=msgspec.structs.replace(run.manifest, experiment=asked)))
    assert found(runs[0], runs[1]) == {
        "variant program": ("a/llama-server", "b/llama-server"),
        "variant env": ({"X": "1"}, {"X": "2"}),
        "arguments": ({"-t": "4", "-fa": "on"}, {"-t": "8", "-fa": None}),
    }


def test_trial_lengths_are_noted(make: Any) -> None:
    """Measured turns an agent, at the levels that both runs have."""

    def plan(turns: int) -> Plan:
        trial = PlannedTrial(trial="t", round=1, variant="off", level=1, order=0, turns_per_agent=turns, short=False)
        return Plan(rounds=1, trials=[trial], dropped_levels=[], estimated_s=1, turn_s={})

    assert found(make.run(TASKS, plan=plan(8)), make.run(TASKS, plan=plan(8))) == {}
    assert found(make.run(TASKS, plan=plan(8)), make.run(TASKS, plan=plan(16))) == {
        "trial_length": ({"1": 8}, {"1": 16})
    }


def test_other_requests_forbid(make: Any) -> None:
    """Capped answers and extra fields change the work."""
    first, second = make.run(TASKS, body={}), make.run(TASKS, max_tokens=16, body={"temperature": 0})
    assert {one["field"] for one in voiding(run_differences(first, second, NAMES), ())} == {"max_tokens", "body"}
    assert {"max_tokens", "body", "workload", "model"} <= set(VOIDS)
