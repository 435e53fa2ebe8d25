"""Which settings to run: the race of a tuning run, and what its winner gains in rounds of its own."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadgen.analysis.diagnostic import Diagnostic
from loadgen.analysis.estimators.comparison import Call, Comparison, compare, log_ratios
from loadgen.analysis.estimators.intervals import CONFIDENCE, equivalent
from loadgen.analysis.sequential.race import Race, Rates, first, race, to_leader
from loadgen.experiment.race_schedule import race_looks

_UNKNOWN_SIZE = math.inf
"""A candidate whose memory was not predicted goes behind those whose memory was; slots and drafts then decide."""


@dataclass(frozen=True)
class Standing:
    """How a tuning run stands.

    `finalist` goes into the fresh rounds, against the baseline: the leader, or the best of the others where the
    baseline leads; null before the race is over, and where nothing else was measured.
    """

    race: Race
    finalist: str | None


def rates_of(cells: Sequence[Mapping[str, Any]], agents: int) -> dict[str, dict[int, float]]:
    """Tasks per hour of the valid trials at so many agents, by variant and round, from the cells of a summary."""
    return {
        cell["variant"]: {
            one["round"]: one["tasks_per_hour"]
            for one in cell["by_trial"]
            if one["valid"] and one["tasks_per_hour"] is not None
        }
        for cell in cells
        if cell["concurrency"] == agents
    }


def standing(experiment: Mapping[str, Any], rates: Rates, rounds: int, *, reached: int | None = None) -> Standing:
    """How the race stands after the rounds in `rates`.

    Args:
        experiment: as the manifest has it, with `tune`.
        rates: tasks per hour of the valid trials, by variant and round.
        rounds: the rounds of the first plan, from which the looks follow.
        reached: the last round that has ended; null: the last with a valid trial.
    """
    baseline = str(experiment["baseline"])
    order = _order(experiment["tune"]["candidates"])
    run = race(rates, race_looks(rounds), baseline=baseline, order=order, reached=reached)
    if run.ended_after is None:
        return Standing(run, None)
    return Standing(run, _finalist(run, rates, baseline, order))


def tuning(
    experiment: Mapping[str, Any],
    cells: Sequence[Mapping[str, Any]],
    *,
    rounds: int | None,
    memory: Sequence[Mapping[str, Any]] = (),
    diagnostics: Mapping[str, Diagnostic] | None = None,
    comparisons: Sequence[Comparison] = (),
) -> dict[str, Any] | None:
    """The summary's entry `tuning`; null for a run that tunes nothing, or that ended before its plan.

    Gain and call (`speedup`, `call`) are the finalist's against the baseline in the fresh rounds alone: rounds that
    chose it would flatter it. `keep` is what to run, and `command` its command line: the finalist where it pays and
    its memory is not unsafe, else the baseline; null before there is a fresh round, and where the two aren't
    comparable. `same_as_winner` are those that the race can't tell from its winner, `settled` where its rounds also
    show them to be within the smallest effect.

    Args:
        experiment: as the manifest has it.
        cells: those of the summary.
        rounds: the rounds of the first plan (`drawn_rounds`); null where there is no plan.
        memory: the summary's memory entries.
        diagnostics: the diagnostic variants by name.
        comparisons: those of the run: where they say that the finalist can't be compared, nothing is called.
    """
    tune = experiment.get("tune")
    if tune is None or rounds is None:
        return None
    agents, baseline = int(experiment["agents"]), str(experiment["baseline"])
    min_effect = float(experiment["min_effect"])
    rates = rates_of(cells, agents)
    stands = standing(experiment, rates, rounds)
    confirmed = _confirmed(stands, rates, baseline, agents, min_effect)
    refused = [one for c in comparisons if c.variant == stands.finalist and c.level == agents for one in c.refusals]
    used = {entry["variant"]: entry for entry in memory}
    keep = None if refused else _keep(confirmed, baseline, used)
    commands = {one["variant"]: one["command"] for one in tune["candidates"]}
    return {
        "agents": agents,
        "baseline": baseline,
        **_raced(stands, rates, min_effect),
        "finalist": stands.finalist,
        "diagnostic": (diagnostics or {}).get(stands.finalist or ""),
        "keep": keep,
        "command": commands.get(keep or ""),
        **_gain(confirmed, min_effect),
        **({"call": None, "more_rounds": None} if refused else {}),
        "not_comparable": [one.as_json() for one in refused],
        "memory": _memory(used.get(stands.finalist or "")),
        "pruned": [_pruned(one, tune) for one in tune["pruned"]],
        "not_pruned": tune["not_pruned"],
        "candidates": [_candidate(one, used.get(one["variant"])) for one in tune["candidates"]],
    }


def _raced(stands: Standing, rates: Rates, min_effect: float) -> dict[str, Any]:
    """How the race went; without a winner before it is over."""
    run = stands.race
    winner = run.leader if run.ended_after is not None else None
    return {
        "looks": list(run.looks),
        "race_ended_after": run.ended_after,
        "leader": run.leader,
        "winner": winner,
        "dropped": [one.as_json() for one in run.dropped],
        "same_as_winner": _same(run, rates, min_effect) if winner is not None else [],
        "absent": list(run.absent),
    }


def _order(candidates: Sequence[Mapping[str, Any]]) -> list[str]:
    """Of equals the one that takes less memory goes first, then fewer slots, then shorter drafts."""

    def key(one: Mapping[str, Any]) -> tuple[float, int, float]:
        size = one["predicted_bytes"]
        drafts = one["n_max"]
        return (
            _UNKNOWN_SIZE if size is None else size,
            one["slots"],
            math.inf if drafts is None else drafts,
        )

    return [one["variant"] for one in sorted(candidates, key=key)]


def _finalist(run: Race, rates: Rates, baseline: str, order: Sequence[str]) -> str | None:
    """Who is to be measured on.

    A race that is taken up again may judge otherwise than it did: what was measured in the fresh rounds is then the one
    that they can speak of.
    """
    end = run.ended_after or 0
    fresh = {name for name, rounds in rates.items() if name != baseline and any(number > end for number in rounds)}
    raced = {name: {number: x for number, x in rounds.items() if number <= end} for name, rounds in rates.items()}
    others = [name for name in order if name != baseline]
    chosen = run.leader
    if chosen is None or chosen == baseline:
        left = [name for name in others if name in run.standing]
        chosen = first(left, raced, baseline) or first(others, raced, baseline)
    return fresh.pop() if len(fresh) == 1 and chosen not in fresh else chosen


def _confirmed(stands: Standing, rates: Rates, baseline: str, agents: int, min_effect: float) -> Comparison | None:
    """The finalist against the baseline in the rounds behind the race: a family of one, chosen before them."""
    end = stands.race.ended_after
    if stands.finalist is None or end is None:
        return None
    logs = log_ratios(rates.get(stands.finalist, {}), rates.get(baseline, {}))
    fresh = {number: d for number, d in logs.items() if number > end}
    return compare({(stands.finalist, agents): fresh}, baseline=baseline, min_effect=min_effect)[0]


def _keep(confirmed: Comparison | None, baseline: str, memory: Mapping[str, Mapping[str, Any]]) -> str | None:
    if confirmed is None or not confirmed.rounds:
        return None
    unsafe = memory.get(confirmed.variant, {}).get("safety") == "unsafe"
    return confirmed.variant if confirmed.call is Call.PAYS and not unsafe else baseline


def _gain(confirmed: Comparison | None, min_effect: float) -> dict[str, Any]:
    if confirmed is None:
        return {
            "speedup": None,
            "same_low": None,
            "same_high": None,
            "call": None,
            "more_rounds": None,
            "confirmed_rounds": 0,
            "min_effect": min_effect,
        }
    entry = confirmed.as_json()
    names = ("speedup", "same_low", "same_high", "call", "more_rounds", "min_effect")
    return {**{name: entry[name] for name in names}, "confirmed_rounds": len(confirmed.rounds)}


def _same(run: Race, rates: Rates, min_effect: float) -> list[dict[str, Any]]:
    """Those that stood at the end beside the winner, the nearest first."""
    end, winner = run.ended_after or 0, run.leader or ""
    raced = {name: {number: x for number, x in rounds.items() if number <= end} for name, rounds in rates.items()}
    found = []
    for name in run.standing:
        logs = list(log_ratios(raced.get(name, {}), raced.get(winner, {})).values())
        if name != winner and logs:
            ratio = to_leader(name, winner, raced, CONFIDENCE)
            settled = equivalent(logs, math.log1p(min_effect))
            found.append({"variant": name, "speedup_to_winner": ratio.as_json(), "settled": settled})
    return sorted(found, key=lambda one: -one["speedup_to_winner"]["value"])


def _memory(entry: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What the summary's memory entry says of the finalist; null where there is none."""
    names = ("source", "budget_bytes", "peak_bytes", "margin_bytes", "safety", "ledger_bytes")
    return None if entry is None else {name: entry.get(name) for name in names}


def _pruned(one: Mapping[str, Any], tune: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "variant": one["variant"],
        "predicted_bytes": one["predicted_bytes"],
        "budget_bytes": tune["budget_bytes"],
        "margin_bytes": tune["margin_bytes"],
    }


def _candidate(one: Mapping[str, Any], memory: Mapping[str, Any] | None) -> dict[str, Any]:
    return {**one, "peak_bytes": None if memory is None else memory.get("peak_bytes")}
