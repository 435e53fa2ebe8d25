"""Memory of a variant: what its server's log attributes, what was watched meanwhile, and whether that is safe."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from loadgen.analysis.at_depth import marked
from loadgen.analysis.estimators.intervals import Estimate
from loadgen.analysis.measured.trial import Trial
from loadgen.analysis.memory.energy import energy
from loadgen.analysis.memory.growth import CACHE_OVERHEAD, growth, leaks, lives, without
from loadgen.analysis.memory.margin import use
from loadgen.analysis.memory.series import (
    LOG,
    HostUse,
    Series,
    brought_up_ns,
    host_use,
    loads_ns,
    reads_proportional,
    series,
    unaccounted,
)
from loadgen.analysis.memory.slots_worth import HOST_SIDE, on_host, scarce, slot_bytes, slots_worth
from loadgen.records.model import Sample, ServerStart, TrialRecord
from loadgen.records.run import Run
from loadgen.units import BYTES_PER_MIB

PREDICTED = "predicted"
"""Source of a ledger that no log told."""

Cells = Mapping[tuple[str, int], Sequence[Trial]]
"""The valid trials by variant and level."""


def memories(run: Run, names: Sequence[str], baseline: str, slices: Mapping[int | None, Cells]) -> list[dict[str, Any]]:
    """The memory entries of a run, one a variant: each with its difference to the baseline, and with its energy.

    `slices` are the valid trials by fixed depth, under null alone in a run without.
    """
    asked = run.manifest.experiment
    again = superseded(run.trials)
    read = [one for one in run.samples if one.trial not in again]
    levels = {record.trial: record.level for record in run.trials}
    # By one size for all variants: the two aren't comparable.
    proportional = all(reads_proportional(one for one in read if one.variant == name) for name in names)
    entries = []
    for name in names:
        starts = [start for start in run.starts if start.variant == name]
        samples = [one for one in read if one.variant == name]
        entry = memory(
            name,
            starts,
            samples,
            budget_bytes=asked.get("memory_budget_bytes"),
            margin_bytes=asked.get("memory_margin_bytes"),
            levels=levels,
            proportional=proportional,
        )
        if asked.get("coresident") and entry["safety"] == "unsafe":
            entry["safety_reason"] = "the servers of all variants were up beside each other"
        entries.append({**entry, "energy": _energy(name, slices, samples, brought_up_ns(starts))})
    base = next((entry for entry in entries if entry["variant"] == baseline), None)
    for entry in entries:
        worth = None
        if base is not None and entry is not base and entry["ledger_source"] == base["ledger_source"]:
            worth = slots_worth(entry["ledger"], base["ledger"], base["slot_bytes"])
        entry["slots_worth"] = worth
    return entries


def _energy(
    name: str, slices: Mapping[int | None, Cells], samples: Sequence[Sample], loads_ns: Sequence[int]
) -> dict[str, Any] | None:
    """The energy of a variant at each concurrency of each depth."""
    by_depth = {
        depth: energy(
            {level: found for (one, level), found in cells.items() if one == name}, samples, loads_ns=loads_ns
        )
        for depth, cells in (slices or {None: {}}).items()
    }
    first = next(iter(by_depth.values()))
    if first is None:
        return None
    levels = [marked(found["by_concurrency"], depth) for depth, found in by_depth.items() if found is not None]
    return {**first, "by_concurrency": [entry for several in levels for entry in several]}


def memory(
    variant: str,
    starts: Sequence[ServerStart],
    samples: Sequence[Sample],
    *,
    budget_bytes: int | None = None,
    margin_bytes: int | None = None,
    levels: Mapping[str, int] | None = None,
    proportional: bool | None = None,
) -> dict[str, Any]:
    """Ledger, use, margin and growth of one variant.

    The budget is the one asked for, else what the devices that were watched have together. Margin = budget − peak. It
    is safe from `margin_bytes` on (default: the larger of 1 GiB and 5 % of the budget), on every device too where the
    budget is theirs. What can't be seen is unknown, never safe.

    Args:
        variant: its name.
        starts: server starts of the run.
        samples: samples of the run.
        budget_bytes: what the server may use.
        margin_bytes: what must be left of it.
        levels: the concurrency of each trial.
        proportional: whether to go by the proportional size of a process; null: where it was read often enough.
    """
    starts = [start for start in starts if start.variant == variant]
    samples = [one for one in samples if one.variant == variant]
    loaded = _attributed(starts)
    source = _source(loaded)
    host = host_use(samples)
    ledger = [*_loaded(loaded), *_host_lines(host, starts)]
    on_device = any(not on_host(line["device"]) for line in ledger) if source == LOG else None
    if proportional is None:
        proportional = reads_proportional(samples)
    watched = series(samples, starts, on_device=on_device, proportional=proportional)
    slots = next((start.facts.slots for start in starts if start.facts.slots is not None), None)
    return {
        "variant": variant,
        "source": watched.source if watched is not None else None,
        **use(watched, budget_bytes, margin_bytes, _devices_of(ledger)),
        **_growth(watched, host, starts, levels or {}),
        "ledger": ledger,
        "ledger_source": source,
        "ledger_missing": _missing(starts) if source != LOG else None,
        "ledger_bytes": sum(line["bytes"] for line in scarce(ledger)) if loaded is not None else None,
        "unexplained_bytes": _unexplained(watched, ledger, is_predicted=source == PREDICTED) if loaded else None,
        "unaccounted": unaccounted(samples),
        "slots": slots,
        "slot_bytes": slot_bytes(ledger, slots),
        "slots_worth": None,
    }


def _attributed(starts: Sequence[ServerStart]) -> ServerStart | None:
    """The first start with a ledger, one that a log told before one that is predicted."""
    with_ledger = [start for start in starts if start.ledger]
    return next((start for start in with_ledger if _source(start) == LOG), next(iter(with_ledger), None))


def _source(start: ServerStart | None) -> str | None:
    """`log`, or `predicted` from the model's header and the command."""
    if start is None:
        return None
    return LOG if all(line.source == LOG for line in start.ledger) else PREDICTED


def _missing(starts: Sequence[ServerStart]) -> str | None:
    """Why no log told the ledger."""
    return next((start.ledger_missing for start in starts if start.ledger_missing is not None), None)


def superseded(trials: Sequence[TrialRecord]) -> set[str]:
    """Trials that were done again when the run was resumed, by name; those that left no record too.

    Another attempt has the number of it behind the name (`replay.plan.unused`).
    """
    out: set[str] = set()
    for record in trials:
        if record.attempt > 1:
            name = record.trial.removesuffix(f".{record.attempt}")
            out |= {name, *(f"{name}.{number}" for number in range(2, record.attempt))}
    return out


def _loaded(start: ServerStart | None) -> list[dict[str, Any]]:
    return [
        {
            "component": line.component,
            "bytes": line.bytes,
            "source": line.source,
            "device": line.device,
            "rows": line.rows,
        }
        for line in (start.ledger if start is not None else ())
    ]


def _host_lines(host: HostUse, starts: Sequence[ServerStart]) -> list[dict[str, Any]]:
    """Prompt cache and checkpoints at their peak, with their limits; nothing where no log tells."""
    plain = {"source": "log", "device": "Host", "rows": None}
    lines: list[dict[str, Any]] = []
    if host.prompt_cache is not None:
        cache = {"component": HOST_SIDE[0], "bytes": round(host.prompt_cache), **plain}
        lines.append({**cache, "limit_bytes": _cache_limit(starts)})
    if host.checkpoints is not None:
        held = {"component": HOST_SIDE[1], "bytes": round(host.checkpoints), **plain}
        each = round(host.checkpoint) if host.checkpoint is not None else None
        lines.append({**held, "taken": host.taken, "each_bytes": each, "per_slot": _setting(starts, "ctx_checkpoints")})
    return lines


def _setting(starts: Sequence[ServerStart], name: str) -> int | None:
    found = [start.facts.settings.get(name) for start in starts if start.facts.settings is not None]
    return next((value for value in found if isinstance(value, int) and value >= 0), None)


def _cache_limit(starts: Sequence[ServerStart]) -> int | None:
    limit = _setting(starts, "cache_ram_mib")
    return None if limit is None else limit * BYTES_PER_MIB


def _devices_of(ledger: Sequence[Mapping[str, Any]]) -> set[str]:
    return {line["device"] for line in ledger if not on_host(line["device"])}


def _growth(
    watched: Series | None, host: HostUse, starts: Sequence[ServerStart], levels: Mapping[str, int]
) -> dict[str, Any]:
    if watched is None or not watched.points:
        nothing = Estimate(None, estimable=False).as_json()
        return {"growth_bytes_per_hour": nothing, "growth_less": None, "watched_s": None, "leak": None}
    edges = loads_ns(starts)
    processes = lives(watched.points, edges)
    subtracted = watched.holds_host_memory and host.timed
    if subtracted:
        held = {bisect_right(edges, one[0].at_ns): one for one in lives(host.points, edges)}
        processes = [without(life, held.get(bisect_right(edges, life[0].at_ns), [])) for life in processes]
    found = growth(processes, levels)
    allowance: float | None = 0.0
    if subtracted:
        allowance = CACHE_OVERHEAD * (host.peak or 0.0)
    elif watched.holds_host_memory:
        allowance = host.peak if host.peak is not None else _cache_limit(starts)
    peak = max(point.value for point in watched.points)
    return {
        "growth_bytes_per_hour": found.per_hour.as_json(),
        "growth_less": "prompt cache and checkpoints" if subtracted else None,
        "watched_s": found.watched_s,
        "leak": leaks(found, peak=peak, allowance=allowance),
    }


def _unexplained(watched: Series | None, ledger: Sequence[Mapping[str, Any]], *, is_predicted: bool) -> int | None:
    """What was seen at the peak beyond the ledger: of a device its growth since before the load, where that is known.

    Negative where something was reserved and never written, which takes no memory of a process.
    A prediction doesn't say what lies on devices: null, unless all memory is one.
    """
    if watched is None or not watched.points:
        return None
    if is_predicted and (watched.missing or not watched.holds_host_memory):
        return None
    peak = max(point.value for point in watched.points)
    if watched.is_device:
        peak -= watched.before or 0.0
    mine = [line for line in ledger if watched.holds_host_memory or not on_host(line["device"])]
    if not watched.holds_device_memory:
        mine = [line for line in mine if on_host(line["device"])]
    explained: int = sum(line["bytes"] for line in mine)
    return round(peak) - explained
