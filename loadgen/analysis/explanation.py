"""What lies behind the calls: goodput, models of speed, why, tuning, and the decision for a number of agents."""

from typing import Any

from loadgen.analysis.causes.why import why
from loadgen.analysis.decision.goodput import goodputs
from loadgen.analysis.decision.grounds import Grounds
from loadgen.analysis.decision.operating_point import operating_point
from loadgen.analysis.evidence import Evidence
from loadgen.analysis.measured.valid_cells import Judged
from loadgen.analysis.sequential.tuning import tuning
from loadgen.analysis.speed.break_even import break_even
from loadgen.analysis.speed.equal_memory import equal_memory
from loadgen.analysis.speed.scaling import scaling
from loadgen.analysis.speed.set_acceptance import settings
from loadgen.analysis.speed.step_model import step_times
from loadgen.records.run import Run


def explanation(run: Run, facts: Judged, evidence: Evidence) -> dict[str, Any]:
    """The keys `goodput`, `steps`, `break_even`, `scaling`, `equal_memory`, `why`, `tuning` and `operating_point`.

    A comparison of a variant with itself explains nothing: its lists are empty.
    """
    experiment = run.manifest.experiment
    slots = {start.variant: start.facts.slots for start in run.starts if start.facts.slots is not None}
    names, baseline, kinds = list(facts.names), facts.baseline, evidence.diagnostics
    found: dict[str, Any] = {
        "goodput": goodputs(facts.valid, experiment.get("slo")),
        "steps": [],
        "break_even": [],
        "scaling": scaling(facts.valid, names, slots),
        "equal_memory": [],
        "why": [],
        "tuning": tuning(
            experiment,
            evidence.cells,
            rounds=(run.plan.drawn_rounds or run.plan.rounds) if run.plan is not None else None,
            memory=evidence.memory,
            diagnostics=kinds,
        ),
        "operating_point": None,
    }
    if evidence.aa:
        return found
    found["steps"] = step_times(facts.valid, baseline, off=facts.off)
    found["break_even"] = break_even(
        facts.valid,
        names,
        baseline,
        off=facts.off,
        diagnostics=kinds,
        comparisons=evidence.comparisons,
        settings=settings(experiment.get("variants", []), run.starts),
    )
    found["equal_memory"] = equal_memory(
        facts.valid, names, baseline, off=facts.off, memory=evidence.memory, starts=run.starts, diagnostics=kinds
    )
    found["why"] = why(
        facts.valid,
        baseline=baseline,
        cells=evidence.cells,
        comparisons=evidence.comparisons,
        diagnostics=kinds,
        starts=run.starts,
    )
    if experiment.get("agents") is not None and found["tuning"] is None and len(names) > 1:
        found["operating_point"] = operating_point(_grounds(run, evidence, found))
    return found


def _grounds(run: Run, evidence: Evidence, found: dict[str, Any]) -> Grounds:
    return Grounds(
        agents=int(run.manifest.experiment["agents"]),
        baseline=evidence.baseline,
        variants=evidence.variants,
        comparisons=evidence.comparisons,
        crossovers=evidence.crossovers,
        latencies=evidence.latencies,
        cells=evidence.cells,
        memory=evidence.memory,
        output_check=evidence.output_check,
        check_asked=evidence.check_asked,
        diagnostics=evidence.diagnostics,
        goodput=found["goodput"],
        equal_memory=found["equal_memory"],
        dropped_levels=run.plan.dropped_levels if run.plan is not None else (),
    )
