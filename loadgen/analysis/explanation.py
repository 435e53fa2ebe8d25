"""What lies behind the calls: goodput, models of speed, why, tuning, and the decision for a number of agents."""

from collections.abc import Sequence
from typing import Any

from loadgen.analysis.at_depth import marked
from loadgen.analysis.causes.why import why
from loadgen.analysis.classes.shares import changes_with_agents
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


def explanations(run: Run, slices: Sequence[Judged], evidence: Evidence) -> dict[str, Any]:
    """The `explanation` of every fixed depth, each from what is of that depth; of the run as a whole without any.

    With fixed depths the entries of lists say of which they are, and there is a decision for each: `operating_points`
    in the place of `operating_point`.
    """
    parts = {facts.depth: explanation(run, facts, evidence.at(facts.depth)) for facts in slices}
    first = next(iter(parts.values()))
    if None in parts:
        return first
    lists = {
        name: [entry for depth, part in parts.items() for entry in marked(part[name], depth)]
        for name, value in first.items()
        if isinstance(value, list)
    }
    points = [
        entry
        for depth, part in parts.items()
        if part["operating_point"] is not None
        for entry in marked([part["operating_point"]], depth)
    ]
    return {**first, **lists, "operating_point": None, "operating_points": points}


def explanation(run: Run, facts: Judged, evidence: Evidence) -> dict[str, Any]:
    """The keys `goodput`, `steps`, `break_even`, `scaling`, `equal_memory`, `why`, `tuning` and `operating_point`.

    A comparison of a variant with itself explains nothing: its lists are empty.
    How tasks per hour grow with the agents is said of no mix that changes with their number.
    """
    experiment = run.manifest.experiment
    slots = {start.variant: start.facts.slots for start in run.starts if start.facts.slots is not None}
    names, baseline, kinds = list(facts.names), facts.baseline, evidence.diagnostics
    levels = sorted({level for _, level in facts.tried})
    found: dict[str, Any] = {
        "goodput": goodputs(facts.valid, experiment.get("slo")),
        "steps": [],
        "break_even": [],
        "scaling": [] if changes_with_agents(experiment, levels) else scaling(facts.valid, names, slots),
        "equal_memory": [],
        "why": [],
        "tuning": tuning(
            experiment,
            evidence.cells,
            rounds=(run.plan.drawn_rounds or run.plan.rounds) if run.plan is not None else None,
            comparisons=evidence.comparisons,
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
        found["operating_point"] = operating_point(_grounds(run, evidence, found, facts.depth))
    return found


def _grounds(run: Run, evidence: Evidence, found: dict[str, Any], depth: int | None) -> Grounds:
    return Grounds(
        agents=int(run.manifest.experiment["agents"]),
        depth=depth,
        baseline=evidence.baseline,
        variants=evidence.variants,
        comparisons=evidence.comparisons,
        crossovers=evidence.crossovers,
        latencies=evidence.latencies,
        cells=evidence.cells,
        class_comparisons=evidence.class_comparisons,
        memory=evidence.memory,
        output_check=evidence.output_check,
        check_asked=evidence.check_asked,
        diagnostics=evidence.diagnostics,
        goodput=found["goodput"],
        equal_memory=found["equal_memory"],
        dropped_levels=run.plan.dropped_levels if run.plan is not None else (),
    )
