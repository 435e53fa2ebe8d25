"""What was run, on what: the facts at the head of every report."""

from collections.abc import Mapping
from typing import Any

import msgspec

from loadgen.analysis.measured.course import course
from loadgen.analysis.measured.trial import superseded_trials
from loadgen.experiment.request_fields import sampling_of
from loadgen.records.model import ServerStart
from loadgen.records.run import Run


def setup(run: Run) -> dict[str, Any]:
    """Host, servers and workload as the run recorded them, and how the run ended."""
    went = course(run.journal)
    return {
        "started_at": run.manifest.started_at,
        "host": run.manifest.host,
        "workload": msgspec.to_builtins(run.manifest.workload),
        "waits": {name: run.manifest.experiment.get(name) for name in ("tool_time_cap_s", "time_scale")},
        "asked": _asked(run.manifest.experiment),
        "random_weights": run.manifest.random_weights,
        "rounds_planned": run.plan.rounds if run.plan is not None else None,
        "servers": _servers(run),
        "superseded_trials": superseded_trials(run),
        "ended": went.ended,
        "ended_detail": went.detail,
    }


def _asked(experiment: Mapping[str, Any]) -> dict[str, Any]:
    """What every request says of sampling and reasoning; older runs said nothing of the latter."""
    return {"sampling": sampling_of(experiment.get("body") or {}), "thinking": experiment.get("thinking") or "server"}


def _servers(run: Run) -> list[dict[str, Any]]:
    """One entry a variant, in the order of the experiment: what a start of it said, and how often it started."""
    named = [str(variant["name"]) for variant in run.manifest.experiment.get("variants", [])]
    starts: dict[str, list[ServerStart]] = {name: [] for name in named}
    for start in run.starts:
        starts.setdefault(start.variant, []).append(start)
    return [
        {
            "variant": variant,
            "target": several[0].target,
            "command": several[0].command,
            "starts": len(several),
            "ready_s": max((one.ready_s for one in several if one.ready_s is not None), default=None),
            "facts": msgspec.to_builtins(_most_telling(several).facts),
        }
        for variant, several in starts.items()
        if several
    ]


def _most_telling(starts: list[ServerStart]) -> ServerStart:
    """The start that was probed for drafts, else the first."""
    return next((start for start in starts if start.facts.drafted is not None), starts[0])
