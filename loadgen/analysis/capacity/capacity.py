"""The capacity of a finished run: how many agents each variant carries within limits, and what that takes.

The document, `loadgen-capacity/1`. Estimates are `{"value", "low", "high", "n"}` as in a summary; what wasn't asked
for, or can't be told, is null. Times are in seconds, shares of 1.

    {"schema": "loadgen-capacity/1",
     "run": {"id", "workload", "baseline", "complete", …, "random_weights", "mix_changes"},
     "asked": {"limits": {"percentiles": [{"limit", "metric", "work_class", "asked_s"}], "objective": {…}},
               "limits_from": "option|run", "agents", "tasks_per_hour", "headroom", "spare", "memory_budget_bytes",
               "server_price_per_hour", "energy_price_per_kwh"},
     "parts": [{"depth_asked",
       "variants": [{"variant", "slots",
                     "levels": [{"concurrency", "tasks_per_hour": {}, "meets": "yes|no|unresolved",
                                 "limits": [{"limit", "asked", "figure": {}, "meets", "reason"}]}],
                     "largest": {"value", "low", "high", "open_high", "ends": "limit|below|measured|not_told",
                                 "binds", "at", "reason", "extrapolated"},
                     "by_limit": [{"limit", "agents", "ends", "at", "reason"}], "kept_again": [16],
                     "tasks_per_hour": {}, "most": {"agents", "tasks_per_hour": {}},
                     "servers": {"value", "fewest", "most", "settled", "spare", "total", "at"},
                     "even_load": {"agents_per_server", "tasks_per_hour"},
                     "cost": {"server": {}, "energy": {}, "all": {}, "reason"}, "cost_of_load": {…},
                     "excluded": ["…"], "not_known": ["…"]}],
       "best": [{"concurrency", "keep", "call": "best|alike|alone|unresolved|none", "among", "not_told", "most"}],
       "answer": {"keep", "call", "among", "servers", "misses", "not_told", "text"}}]}

A run without fixed depths has one part, its `depth_asked` null; else each depth is a question of its own.

`largest` is the largest N that keeps every limit, `by_limit` what each alone would let go, `kept_again` levels beyond
it that keep all of them; `tasks_per_hour` is there, `most` with how many agents up to there it does most. `servers`
carry the load: `most` surely are enough, with fewer than `fewest` it surely can't be done, `total` is `most` with the
spare ones, and `even_load` what each of these has. `cost` is of a task at the largest N of one server, `cost_of_load`
with all of `total` paid for. `excluded` says why a variant is never recommended, `not_known` what a recommendation
takes for granted. `best` is what does most at a measured level, `answer` what to run for the load.
In a run whose mix of classes changes with its agents (`mix_changes`) nothing is interpolated between levels.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from loadgen.analysis.at_depth import depths_in, summary_at
from loadgen.analysis.capacity.answer import Candidate, answer
from loadgen.analysis.capacity.best import Rivals, best_by_level
from loadgen.analysis.capacity.largest import Ends, Largest, kept_again, largest, reach
from loadgen.analysis.capacity.limit import Limits, recorded_limits
from loadgen.analysis.capacity.prices import Prices, cost_of_load, cost_per_task
from loadgen.analysis.capacity.rates import NOT_MEASURED, Rates, rates
from loadgen.analysis.capacity.reading import Reading, overall, readings
from loadgen.analysis.capacity.servers import Demand, Servers, even_load, servers
from loadgen.analysis.capacity.standing import excluded, not_known
from loadgen.analysis.classes.shares import changes_with_agents
from loadgen.analysis.decision.goodput import Meets
from loadgen.analysis.diagnostic import diagnostics
from loadgen.analysis.summary import measured
from loadgen.records.run import Run

SCHEMA = "loadgen-capacity/1"
_MIN_EFFECT = 0.05


@dataclass(frozen=True)
class Asked:
    """What is asked of a run. Null limits and budget: those that it was made with."""

    limits: Limits | None = None
    memory_budget_bytes: int | None = None
    demand: Demand = field(default_factory=Demand)
    prices: Prices = field(default_factory=Prices)


@dataclass(frozen=True)
class _Found:
    """One variant, worked out."""

    name: str
    slots: int | None
    reasons: Sequence[str]
    by_limit: Mapping[str, Sequence[Reading]]
    largest: Largest
    rates: Rates
    servers: Servers
    between: bool

    @property
    def by_level(self) -> dict[int, list[Reading]]:
        out: dict[int, list[Reading]] = {}
        for several in self.by_limit.values():
            for one in several:
                out.setdefault(one.concurrency, []).append(one)
        return dict(sorted(out.items()))

    @property
    def level(self) -> int | None:
        """The largest measured level that it carries."""
        return max((level for level in self.by_level if level <= (self.largest.value or 0)), default=None)


def capacity_of(run: Run, asked: Asked) -> dict[str, Any]:
    """The `loadgen-capacity/1` document of a run, from its facts alone."""
    experiment = run.manifest.experiment
    limits = asked.limits if asked.limits is not None else recorded_limits(experiment)
    summary = measured(_held_against(run, limits, asked.memory_budget_bytes))
    changes = changes_with_agents(experiment, sorted({cell["concurrency"] for cell in summary["cells"]}))
    return {
        "schema": SCHEMA,
        "run": {**summary["run"], "random_weights": run.manifest.random_weights, "mix_changes": changes},
        "asked": _asked(asked, limits),
        "parts": [_part(run, summary, depth, asked, limits, between=not changes) for depth in depths_in(summary)],
    }


def _held_against(run: Run, limits: Limits, budget: int | None) -> Run:
    """The run as if it had been made with these limits and this budget, so that its summary judges by them."""
    slo = limits.for_goodput
    experiment = {**run.manifest.experiment, "slo": None if slo is None else slo.model_dump(mode="json")}
    if budget is not None:
        experiment["memory_budget_bytes"] = budget
    return dataclasses.replace(run, manifest=msgspec.structs.replace(run.manifest, experiment=experiment))


def _part(
    run: Run, whole: Mapping[str, Any], depth: int | None, asked: Asked, limits: Limits, *, between: bool
) -> dict[str, Any]:
    """The capacity at one fixed depth, or of a run without any."""
    summary, kinds, experiment = summary_at(whole, depth), diagnostics(run), run.manifest.experiment
    baseline = summary["run"]["baseline"]
    names = list(dict.fromkeys([*_named(run), *(cell["variant"] for cell in summary["cells"])]))
    found = []
    for name in names:
        reasons = excluded(summary, kinds, name)
        found.append(_variant(name, summary, depth, limits, asked.demand, reasons, between=between))
    standing = [one for one in found if not one.reasons]
    min_effect = float(experiment.get("min_effect", _MIN_EFFECT))
    rivals = Rivals(summary, {one.name: one.rates for one in found}, min_effect)
    candidates = [Candidate(one.name, one.largest, one.servers, one.level) for one in standing]
    check_asked = experiment.get("check_output", "off") != "off"
    return {
        "depth_asked": depth,
        "variants": [
            {
                **_entry(one, asked),
                "excluded": list(one.reasons),
                "not_known": not_known(summary, one.name, check_asked=check_asked),
            }
            for one in found
        ],
        "best": best_by_level(_within(standing), rivals, baseline),
        "answer": answer(asked.demand, candidates, rivals, baseline),
    }


def _named(run: Run) -> list[str]:
    return [str(variant["name"]) for variant in run.manifest.experiment.get("variants", [])]


def _variant(  # noqa: PLR0917 - what a variant is looked at by
    name: str,
    summary: Mapping[str, Any],
    depth: int | None,
    limits: Limits,
    demand: Demand,
    reasons: Sequence[str],
    *,
    between: bool,
) -> _Found:
    """Of a variant that answers wrongly nothing is said but that."""
    wrong = any(one["variant"] == name and one["result"] == "failed" for one in summary["output_check"])
    by_limit = readings(summary, limits, "" if wrong else name)
    known = rates(summary, "" if wrong else name, depth, between=between)
    slots = next((one["slots"] for one in summary["memory"] if one["variant"] == name), None)
    found = largest(by_limit, slots, between=between)
    return _Found(name, slots, reasons, by_limit, found, known, servers(demand, found, known), between)


def _entry(one: _Found, asked: Asked) -> dict[str, Any]:
    n, demand = one.largest.value, asked.demand
    most = None if n is None else one.rates.most(n)
    total = None if one.servers.most is None else one.servers.most + demand.spare
    there = NOT_MEASURED if n is None else one.rates.tasks_per_hour(n)
    return {
        "variant": one.name,
        "slots": one.slots,
        "levels": [_level(level, several, one.rates) for level, several in one.by_level.items()],
        "largest": one.largest.as_json(),
        "by_limit": _by_limit(one) if len(one.by_limit) > 1 else [],
        "kept_again": kept_again(one.by_limit, one.largest),
        "tasks_per_hour": there.as_json(),
        "most": None if most is None else {"agents": most, "tasks_per_hour": one.rates.tasks_per_hour(most).as_json()},
        "servers": one.servers.as_json(demand.spare) if demand.is_asked else None,
        "even_load": dict(even_load(demand, total, one.rates)) if demand.is_asked else None,
        "cost": cost_per_task(asked.prices, one.rates, n),
        "cost_of_load": cost_of_load(asked.prices, demand, total, one.rates) if demand.is_asked else None,
    }


def _level(level: int, several: Sequence[Reading], known: Rates) -> dict[str, Any]:
    meets = overall(several)
    return {
        "concurrency": level,
        "tasks_per_hour": known.tasks_per_hour(level).as_json(),
        "meets": None if meets is None else meets.value,
        "limits": [one.as_json() for one in several],
    }


def _by_limit(one: _Found) -> list[dict[str, Any]]:
    """How far each limit alone lets agents go; what tells misses only, where it ends them."""
    out = []
    for limit, several in one.by_limit.items():
        found = reach(several, lambda reading: reading.excess, between=one.between)
        if not several or (several[0].only_misses and found.ends not in (Ends.LIMIT, Ends.BELOW)):
            continue
        out.append(
            {
                "limit": limit,
                "agents": found.agents or None,
                "ends": found.ends.value,
                "at": None if found.at is None else found.at.concurrency,
                "reason": None if found.at is None else found.at.reason,
            }
        )
    return out


def _within(standing: Sequence[_Found]) -> dict[int, dict[str, bool | None]]:
    """By level and variant, whether every limit is kept there; null where that can't be told, or nobody looked."""
    levels = sorted({level for one in standing for level in one.by_level})
    return {level: {one.name: _kept(one.by_level.get(level, ())) for one in standing} for level in levels}


def _kept(several: Sequence[Reading]) -> bool | None:
    return {Meets.YES: True, Meets.NO: False}.get(overall(several) or Meets.UNRESOLVED) if several else None


def _asked(asked: Asked, limits: Limits) -> dict[str, Any]:
    shown = limits.as_json()
    source = None if shown is None else "run" if asked.limits is None else "option"
    return {
        "limits": shown,
        "limits_from": source,
        "agents": asked.demand.agents,
        "tasks_per_hour": asked.demand.tasks_per_hour,
        "headroom": asked.demand.headroom,
        "spare": asked.demand.spare,
        "memory_budget_bytes": asked.memory_budget_bytes,
        "server_price_per_hour": asked.prices.server_per_hour,
        "energy_price_per_kwh": asked.prices.energy_per_kwh,
    }
