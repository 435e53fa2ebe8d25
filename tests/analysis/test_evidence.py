"""Rules of what a verdict rests on: checks, diagnostics and variants given up, from the records to the sentence."""

from typing import Any

import msgspec

from loadgen.analysis.summary import summarise
from loadgen.records.run import Run
from tests.records.make import journal


def test_a_failed_output_check_voids_the_comparison(make: Any) -> None:
    """The document has what was checked, marks the comparison, and the verdict says why there is none."""
    tasks = {("off", 1): [10.0, 10.1, 9.9], ("mtp", 1): [20.0, 20.1, 19.9]}
    found = summarise(make.run(tasks, checks=[make.check("off"), make.check("mtp", crossed=True)], check_output="on"))
    assert [(entry["variant"], entry["result"]) for entry in found["output_check"]] == [
        ("off", "passed"),
        ("mtp", "failed"),
    ]
    assert found["comparisons"][0]["void"] is True
    assert found["verdict"]["keep"] is None
    assert found["verdict"]["text"].startswith(
        "No verdict: the output check failed for mtp: agent 0 got text of agent 1's session on slot 0."
    )
    passed = summarise(make.run(tasks, checks=[make.check("off"), make.check("mtp")], check_output="on"))
    assert passed["comparisons"][0]["void"] is False
    assert passed["verdict"]["says"][0].endswith("it pays.")
    assert summarise(make.run(tasks))["output_check"] == []


def test_a_variant_that_was_given_up_is_in_the_document(make: Any) -> None:
    """With its reason, and the rest of the run stands."""
    run = make.run({("off", 1): [10.0] * 3, ("mtp", 1): []}, journal=[journal("given_up", "mtp: no answer")])
    found = summarise(run)
    assert found["given_up"] == [{"variant": "mtp", "reason": "no answer"}]
    assert "mtp was given up: no answer." in found["verdict"]["says"]


def test_an_overhead_variant_must_not_draft_and_is_not_warned_of_for_that(make: Any) -> None:
    """It speculates and drafts nothing by design; a trial in which it drafts does not count."""
    name = "mtp-overhead"
    variants = [{"name": "off"}, {"name": name, "speculative": True, "overhead": True}]
    run = make.run(
        {("off", 1): [10.0] * 3, (name, 1): [9.7] * 3}, variants=variants, starts=[make.start("off"), make.start(name)]
    )
    found = summarise(run)
    assert (found["invalid"], found["warnings"]) == ([], [])
    assert found["comparisons"][0]["diagnostic"] == "overhead"
    assert found["verdict"]["says"][0].endswith(
        "(mtp-overhead, diagnostic): −3.0 % tasks per hour (95 % interval −3.0 % to −3.0 %, 3 rounds)."
    )
    drafting = [msgspec.structs.replace(request, timings={"draft_n": 4}) for request in run.requests]
    broken = summarise(Run(manifest=run.manifest, starts=run.starts, trials=run.trials, requests=drafting))
    assert {entry["trial"]: entry["reasons"] for entry in broken["invalid"]}["r1-n1-mtp-overhead"] == ["drafted"]
