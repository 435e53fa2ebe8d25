"""How two runs differ beside what they measured: what voids a comparison between them, and what may be compared."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from loadgen.experiment.arguments import parts, values_of
from loadgen.records.differences import VOIDS as SERVER_VOIDS
from loadgen.records.differences import differences
from loadgen.records.model import ServerFacts
from loadgen.records.run import Run

VOIDS = ("workload", "output_length", "max_tokens", "body", "thinking", *SERVER_VOIDS)
"""A difference in one of these makes it a comparison of two different things: other work, or another model."""

_EXPERIMENT = ("max_tokens", "body", "seed", "depths", "coresident", "restart_per_level", "max_request_rate")
_HOST = ("cpu", "cores", "cpus_allowed", "cpu_quota", "cpu_governors", "memory_bytes", "kernel", "container", "gpus")
_GPU = ("name", "driver", "memory_bytes", "power_limit_w", "mig")
"""Of a GPU, as far as the run knows it: what doesn't change by itself."""
_COMMAND = ("program", "url", "preset", "model", "env", "cpus", "command", "body")
_SERVERS = "server"
"""How a run asked for reasoning that knew no other way: not at all."""
_SHOWN = 12
"""Characters of a digest: enough to tell two apart."""


def run_differences(first: Run, second: Run, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """What differs: `{"field", "variant", "a", "b", "voids"}` each, with a null variant for what is of the whole run.

    `names` are the variants that are held against each other: of the first run, and of the second. What one of the runs
    doesn't tell differs from nothing.
    """
    found = [*_of_runs(first, second), *_of_hosts(first.manifest.host, second.manifest.host)]
    ours, theirs = _facts(first), _facts(second)
    for name, other in names.items():
        found += _of_commands(name, _variant(first, name), _variant(second, other))
        if name in ours and other in theirs:
            found += [
                _entry(one.field, one.baseline, one.variant, variant=name)
                for one in differences(ours[name], theirs[other])
            ]
    return found


def voiding(found: Sequence[Mapping[str, Any]], allowed: Sequence[str]) -> list[Mapping[str, Any]]:
    """The differences that forbid a comparison: they void it, and nobody allowed them."""
    return [one for one in found if one["voids"] and one["field"] not in allowed]


def _entry(field: str, ours: Any, theirs: Any, *, variant: str | None = None) -> dict[str, Any]:
    plain = {"field": field, "variant": variant, "a": ours, "b": theirs}
    return {**plain, "voids": field in VOIDS}


def _of_runs(first: Run, second: Run) -> list[dict[str, Any]]:
    ours, theirs = first.manifest, second.manifest
    pairs = {
        "workload": _workloads(first, second),
        "output_length": _output_lengths(first, second),
        **{name: (ours.experiment.get(name), theirs.experiment.get(name)) for name in _EXPERIMENT},
        "thinking": (ours.experiment.get("thinking", _SERVERS), theirs.experiment.get("thinking", _SERVERS)),
        "trial_length": _trial_lengths(first, second),
        "loadgen": (ours.tool_version, theirs.tool_version),
    }
    return [_entry(name, a, b) for name, (a, b) in pairs.items() if (a or None) != (b or None)]


def _workloads(first: Run, second: Run) -> tuple[Any, Any]:
    """With one seed the digests tell; another seed draws other sessions, so that only the shape of the work can."""
    facts = first.manifest.workload, second.manifest.workload
    if first.manifest.experiment.get("seed") == second.manifest.experiment.get("seed"):
        ours, theirs = facts[0].digest, facts[1].digest
        if ours == theirs:
            return None, None
        return f"{facts[0].name} {ours[:_SHOWN]}", f"{facts[1].name} {theirs[:_SHOWN]}"
    shapes = [
        {
            "name": one.name,
            "sessions": one.sessions,
            "min_context": one.min_context,
            "history": one.history,
            "exact_length": one.exact_length,
        }
        for one in facts
    ]
    return (None, None) if shapes[0] == shapes[1] else (shapes[0], shapes[1])


def _output_lengths(first: Run, second: Run) -> tuple[Any, Any]:
    """How answers end: the digest of a workload, which covers its sessions, doesn't tell."""
    ours, theirs = ("exact" if run.manifest.workload.exact_length else "natural" for run in (first, second))
    return (None, None) if ours == theirs else (ours, theirs)


def _trial_lengths(first: Run, second: Run) -> tuple[Any, Any]:
    """Measured turns an agent by level, where both runs have the level and differ."""
    ours, theirs = _turns(first), _turns(second)
    levels = [level for level in ours if level in theirs and ours[level] != theirs[level]]
    if not levels:
        return None, None
    return {str(level): ours[level] for level in levels}, {str(level): theirs[level] for level in levels}


def _turns(run: Run) -> dict[int, int]:
    planned = run.plan.trials if run.plan is not None else []
    return {one.level: one.turns_per_agent for one in sorted(planned, key=lambda one: one.level) if one.round > 0}


def _of_hosts(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[dict[str, Any]]:
    out = []
    for name in _HOST:
        a, b = ours.get(name), theirs.get(name)
        if name == "gpus":
            a, b = _gpus(a), _gpus(b)
        if a is not None and b is not None and a != b:
            out.append(_entry(name, a, b))
    return out


def _gpus(found: Any) -> list[dict[str, Any]] | None:
    if not isinstance(found, list):
        return None
    return [{name: one[name] for name in _GPU if name in one} for one in found if isinstance(one, dict)]


def _facts(run: Run) -> dict[str, ServerFacts]:
    """The facts of each variant's first start."""
    found: dict[str, ServerFacts] = {}
    for start in run.starts:
        found.setdefault(start.variant, start.facts)
    return found


def _variant(run: Run, name: str) -> Mapping[str, Any]:
    variants: list[dict[str, Any]] = run.manifest.experiment.get("variants", [])
    return next((one for one in variants if one["name"] == name), {})


def _of_commands(name: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """How two variants are brought up otherwise: their program, and the arguments that differ, by their first names."""
    fields = [(field, _told(ours.get(field)), _told(theirs.get(field))) for field in _COMMAND]
    out = [_entry(f"variant {field}", a, b, variant=name) for field, a, b in fields if a != b]
    before, after = parts(ours.get("args") or ()), parts(theirs.get("args") or ())
    changed = [
        argument
        for argument in dict.fromkeys(part.name for part in (*before, *after) if part.name is not None)
        if values_of(before, argument) != values_of(after, argument)
    ]
    if changed:
        a, b = ({one: _words(given, one) for one in changed} for given in (before, after))
        out.append(_entry("arguments", a, b, variant=name))
    return out


def _told(value: Any) -> Any:
    """A field of a variant; of an environment only what is set, since most of what is removed was never there."""
    if not isinstance(value, dict):
        return value
    return {name: one for name, one in value.items() if one is not None} or None


def _words(given: Any, argument: str) -> str | None:
    values = values_of(given, argument)
    return " ".join(" ".join(one) for one in values) if values else None


def as_json(found: Sequence[Mapping[str, Any]], allowed: Sequence[str]) -> list[dict[str, Any]]:
    """The differences as JSON values, each with whether it was `allowed`."""
    return [{**msgspec.to_builtins(dict(one)), "allowed": one["field"] in allowed} for one in found]
