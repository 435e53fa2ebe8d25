"""The verdict at the operating point of runs with something wrong in them: what can be said, in strict JSON."""

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from loadgen.analysis import pairs
from loadgen.analysis.decision.goodput import goodputs
from loadgen.analysis.decision.grounds import Grounds
from loadgen.analysis.decision.operating_point import operating_point
from loadgen.analysis.measured.trial import trials_of
from loadgen.analysis.measured.validity import reasons
from loadgen.records.model import Outcome
from loadgen.records.run import Run
from tests.analysis.decision_grounds import memory

if TYPE_CHECKING:
    from tests.analysis.conftest import Maker


def decide(run: Run, *, agents: int = 2, slo: dict[str, Any] | None = None) -> dict[str, Any]:
    """The decision from a run's valid trials."""
    trials = trials_of(run)
    valid: dict[tuple[str, int], list[Any]] = {}
    for trial in trials:
        cell = valid.setdefault((trial.record.variant, trial.record.level), [])
        cell += [] if reasons(trial) else [trial]
    compared = pairs.comparisons({None: valid}, "off", 0.05)
    return operating_point(
        Grounds(
            agents=agents,
            baseline="off",
            variants=["off", "mtp"],
            comparisons=compared,
            crossovers=pairs.crossovers(compared),
            latencies=pairs.described(valid, "off"),
            cells=[{"variant": name, "concurrency": level, "tasks_per_hour": {"value": None}} for name, level in valid],
            memory=[memory("off"), memory("mtp")],
            goodput=goodputs(valid, slo),
        )
    )


_SLO = {"ttft_s": 1.0, "task_s": 900.0}


@pytest.mark.parametrize(
    ("tasks", "keep", "begins"),
    [
        ({("off", 2): [10.0, 10.1, 10.2], ("mtp", 2): [14.0, 14.1, 14.2]}, "mtp", "At 2 agents run mtp, provided "),
        ({("off", 2): [10.0] * 3, ("mtp", 2): [14.0] * 3}, "mtp", "At 2 agents run mtp, provided "),
        ({("off", 2): [10.0] * 3, ("mtp", 2): [10.0] * 3}, "off", "At 2 agents run off, not mtp."),
        ({("off", 2): [10.0], ("mtp", 2): [14.0]}, None, "At 2 agents nothing shows whether mtp or off does more."),
        (
            {("off", 2): [10.0] * 3, ("mtp", 1): [14.0] * 3},
            None,
            "At 2 agents nothing can be said of mtp: no round has a valid trial on both sides.",
        ),
        (
            {("mtp", 2): [14.0] * 3, ("off", 1): [10.0] * 3},
            None,
            "At 2 agents nothing can be said of mtp: no round has a valid trial on both sides.",
        ),
        ({("off", 1): [10.0] * 3, ("mtp", 1): [14.0] * 3}, None, "At 2 agents nothing was measured (no trial was run)"),
    ],
    ids=["plain", "zero variance", "equal", "one round", "no variant", "no baseline", "no level"],
)
def test_a_run_has_an_answer(make: "Maker", tasks: Any, keep: str | None, begins: str) -> None:
    """One round, zero variance, a variant or the level missing: it says what can be said, in strict JSON."""
    found = decide(make.run(tasks), slo=_SLO)
    assert make.strict_json(found) == found
    assert found["keep"] == keep
    assert found["text"].startswith(begins)


def test_all_requests_of_a_variant_failed(make: "Maker") -> None:
    """Its trials are invalid, so nothing can be said of it."""
    run = make.run({("off", 2): [10.0] * 3, ("mtp", 2): [14.0] * 3})
    failed = [
        msgspec.structs.replace(request, outcome=Outcome.HTTP_ERROR) if request.variant == "mtp" else request
        for request in run.requests
    ]
    found = decide(Run(manifest=run.manifest, trials=run.trials, requests=failed), slo=_SLO)
    assert found["keep"] is None
    assert found["text"].startswith("At 2 agents nothing can be said of mtp: no round has a valid trial on both sides.")
    assert "Whether mtp meets the objective is unknown: no valid trial of it is left." in found["text"]
    assert make.strict_json(found) == found


def test_a_run_of_invalid_trials_gives_no_verdict(make: "Maker") -> None:
    """None of them counts."""
    run = make.run({("off", 2): [10.0] * 3, ("mtp", 2): [14.0] * 3})
    aborted = [msgspec.structs.replace(trial, complete=False, aborted="interrupted") for trial in run.trials]
    found = decide(Run(manifest=run.manifest, trials=aborted, requests=run.requests), slo=_SLO)
    assert found["keep"] is None
    assert (found["background"]["call"], found["interactive"]["at"]) == (None, None)
    assert make.strict_json(found) == found
