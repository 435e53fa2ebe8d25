"""A tuning run in sentences: what to run, what it gains, what is as good, and what was left behind."""

from collections.abc import Mapping, Sequence
from typing import Any

from loadgen.analysis.estimators.comparison import Call
from loadgen.analysis.estimators.intervals import MIN_ROUNDS
from loadgen.analysis.wording import agents, factor, interval
from loadgen.experiment.llama_flags import MASK
from loadgen.units import bytes_to_mib

_SET = " at the acceptance that was set (diagnostic)"


def tuned(entry: Mapping[str, Any]) -> list[str]:
    """What a tuning run says: the gain of the finalist in rounds of its own, its memory, and what is as good."""
    if entry["winner"] is None:
        return []
    out = [_race(entry)]
    if entry["call"] not in (None, Call.UNRESOLVED.value):
        out.append(_settled(entry))
    out += _memory(entry)
    out += _same(entry["same_as_winner"], entry["winner"])
    return [*out, *_advice(entry)]


def untuned(entry: Mapping[str, Any]) -> list[str]:
    """What a tuning run leaves open."""
    if entry["race_ended_after"] is None:
        lead = "" if entry["leader"] is None else f"; {entry['leader']} leads so far"
        where = f"Which settings are best at {agents(entry['agents'])}"
        return [
            f"{where}: the run ended before its race did{lead}. A longer --time-budget, or fewer candidates, helps."
        ]
    if entry["winner"] is None:
        return [f"Which settings are best at {agents(entry['agents'])}: no candidate has a valid trial."]
    return [_unresolved(entry)] if entry["call"] in (None, Call.UNRESOLVED.value) else []


def raced(entry: Mapping[str, Any]) -> list[str]:
    """How the race went: who was dropped when, who took no part, and why its own figures don't count."""
    names = [one["variant"] for one in entry["candidates"]]
    out = [f"{len(names)} candidates raced at {agents(entry['agents'])}: {', '.join(names)}."]
    out += [_dropped(one, entry["baseline"]) for one in entry["dropped"]]
    if entry["absent"]:
        out.append(f"Without a valid trial in the race: {', '.join(entry['absent'])}.")
    out += _pruned(entry)
    out.append("What the race itself shows flatters its winner, which was picked for it: only fresh rounds count.")
    return out


def _race(entry: Mapping[str, Any]) -> str:
    where = f"at {agents(entry['agents'])}, of {len(entry['candidates'])} candidates"
    if entry["winner"] == entry["baseline"]:
        best = "" if entry["finalist"] is None else f"; best of the others is {entry['finalist']}"
        return f"{entry['winner']} led the race {where}{best}."
    return f"{entry['winner']} won the race {where}."


def _settled(entry: Mapping[str, Any]) -> str:
    value, rounds = entry["speedup"], f"{entry['confirmed_rounds']} fresh rounds"
    note = "" if entry["diagnostic"] is None else _SET
    text = (
        f"In {rounds} {entry['finalist']} does {factor(value['value'])} times the tasks per hour of {entry['baseline']}"
    )
    if entry["call"] == Call.SAME.value:
        bounds = interval(entry["same_low"], entry["same_high"])
        return f"{text} (90 % interval {bounds}): the same within {entry['min_effect']:.0%}{note}."
    return f"{text} (95 % interval {interval(value['low'], value['high'])}): it {entry['call']}{note}."


def _unresolved(entry: Mapping[str, Any]) -> str:
    if entry["finalist"] is None:
        return f"Whether anything beats {entry['baseline']}: nothing else was measured."
    text = f"Whether {entry['finalist']} pays at {agents(entry['agents'])}"
    if entry.get("not_comparable"):
        why = "; ".join(one["text"] for one in entry["not_comparable"])
        return f"{text}: not comparable with {entry['baseline']}: {why}."
    count = entry["confirmed_rounds"]
    if count < MIN_ROUNDS:
        return f"{text}: it takes {MIN_ROUNDS} fresh rounds with a valid trial on both sides; there are {count}."
    value = entry["speedup"]
    more = "more than 999" if entry["more_rounds"] is None else f"about {entry['more_rounds']}"
    return (
        f"{text}: {factor(value['value'])} times {entry['baseline']} in {count} fresh rounds (95 % interval "
        f"{interval(value['low'], value['high'])}) is unresolved; {more} more rounds would settle it."
    )


def _memory(entry: Mapping[str, Any]) -> list[str]:
    used = entry["memory"]
    if used is None or entry["finalist"] is None:
        return []
    if used["peak_bytes"] is not None:
        left = f", {_mib(used['margin_bytes'])} are left" if used["margin_bytes"] is not None else ""
        judged = "" if used["safety"] == "unknown" else f": {used['safety']}"
        return [f"Memory of {entry['finalist']}: {_mib(used['peak_bytes'])} at its peak{left}{judged}."]
    if used["ledger_bytes"] is not None:
        return [f"Memory of {entry['finalist']}: {_mib(used['ledger_bytes'])} by its load log."]
    return []


def _same(found: Sequence[Mapping[str, Any]], winner: str) -> list[str]:
    """Shown to be the same, and merely not told apart, are two things."""
    out = []
    for settled, text in ((True, f"As good as {winner}"), (False, f"Not told apart from {winner}")):
        names = [
            f"{one['variant']} ({factor(one['speedup_to_winner']['value'])} times)"
            for one in found
            if one["settled"] is settled
        ]
        out += [f"{text}: {', '.join(names)}."] if names else []
    return out


def _advice(entry: Mapping[str, Any]) -> list[str]:
    if entry["keep"] is None or entry["command"] is None:
        return []
    key = f" ({MASK} stands for a key)" if MASK in entry["command"] else ""
    if entry["keep"] == entry["finalist"]:
        return [f"Run {entry['keep']}{key}: {entry['command']}"]
    why = "is not shown to pay"
    if entry["call"] == Call.PAYS.value:
        why = "pays, but its memory is unsafe"
    return [f"{entry['finalist']} {why}: stay with {entry['keep']}{key}: {entry['command']}"]


def _dropped(one: Mapping[str, Any], baseline: str) -> str:
    ratio = one["speedup_to_leader"]
    text = (
        f"{factor(ratio['value'])} times {one['leader']} (interval {interval(ratio['low'], ratio['high'])} with all "
        f"candidates and looks at 95 % together)"
    )
    if one["variant"] == baseline:
        return f"{baseline} was out of the race after round {one['after_round']}, with {text}, and is measured on."
    return f"{one['variant']} was dropped after round {one['after_round']}: {text}."


def _pruned(entry: Mapping[str, Any]) -> list[str]:
    if entry["not_pruned"] is not None:
        return [f"Nothing was kept out for its predicted memory: {entry['not_pruned']}."]
    if not entry["pruned"]:
        return []
    names = [f"{one['variant']} ({_mib(one['predicted_bytes'])})" for one in entry["pruned"]]
    margin, budget = (_mib(entry["pruned"][0][name]) for name in ("margin_bytes", "budget_bytes"))
    return [f"Not raced, because their predicted memory leaves less than {margin} of {budget}: {', '.join(names)}."]


def _mib(size: float) -> str:
    return f"{'−' if size < 0 else ''}{bytes_to_mib(abs(size)):,.0f} MiB"
