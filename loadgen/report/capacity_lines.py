"""The capacity of a run on a terminal: the table, what bounds each variant, what is best where, and what to run."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from loadgen.analysis.capacity.reading import TRIALS
from loadgen.analysis.decision.objective_text import percent
from loadgen.report.capacity_table import EXTRAPOLATED, bounded, capacity_table
from loadgen.report.lines import print_hanging, print_named
from loadgen.report.numbers import NOT_MEASURED, agents, seconds, significant
from loadgen.units import BYTES_PER_GIB

_STANDS = {
    "best": "{keep} does most",
    "alike": "{keep} ({others} no better by as much as is worth acting on)",
    "alone": "{keep}, the only one that keeps the limits and may be recommended",
    "none": "none keeps the limits and may be recommended",
}
_BETWEEN_LIMITS = (
    "Between two measured levels the distance to a limit is linear in log₂ N; N counts up to the first miss. Its "
    "interval is where the ends of the figures' 95 % intervals miss (percentiles: one-sided order-statistic bounds). "
    "A level of which it can't be told is passed over where a larger one keeps the limit."
)
_BETWEEN_RATES = (
    "Tasks per hour between levels are linear in the logarithms of both, round by round. Nothing is said beyond the "
    "largest level."
)
_MIX_CHANGES = (
    "The mix of classes changes with the number of agents, so that nothing lies between levels: N is the last one that "
    "keeps every limit."
)
_PERCENTILES = (
    "Percentiles are of the requests that ended well; a trial of which 1 % failed doesn't count, and a cell of "
    "which 1 % failed has none that does."
)
_SERVERS = (
    "Servers go by both ends of the interval of N, with the spare ones by its lower end: so many surely are enough if "
    "the load spreads evenly and the servers don't disturb each other."
)


def print_capacity(document: dict[str, Any], console: Console) -> None:
    """Print a document of `loadgen-capacity/1`. Text from runs is printed as it is, never as markup."""
    run = document["run"]
    ended = "complete" if run["complete"] else "incomplete, the rounds that it has count"
    print_named(console, "run", f"{run['id']}, {run['workload']}: {ended}")
    print_named(console, "asked", asked_text(document["asked"]))
    for part in document["parts"]:
        _print_part(part, console)
    _print_list("How", method_lines(document), console)


def _print_part(part: dict[str, Any], console: Console) -> None:
    console.print()
    if part["depth_asked"] is not None:
        console.print(Text(f"At a depth of {part['depth_asked']:,} tokens", style="bold"))
    console.print(capacity_table(part))
    for title, lines in (
        ("What to run", [] if part["answer"] is None else [part["answer"]["text"]]),
        ("Best at each concurrency", best_lines(part)),
        ("What bounds it", bound_lines(part)),
        ("With the load on all servers", load_lines(part)),
        ("What a task costs", cost_lines(part)),
        ("Never recommended", excluded_lines(part)),
        ("Not known, and taken for granted", granted_lines(part)),
    ):
        _print_list(title, lines, console)


def asked_text(asked: dict[str, Any]) -> str:
    """The load, the limits and what else was given, in a line."""
    parts = []
    if asked["agents"] is not None:
        parts.append(agents(asked["agents"]))
    if asked["tasks_per_hour"] is not None:
        parts.append(f"{significant(asked['tasks_per_hour'])} tasks per hour")
    if parts:
        parts.append(f"{percent(asked['headroom'])} headroom, {asked['spare']} spare")
    parts.append(_limits_text(asked))
    if asked["memory_budget_bytes"] is not None:
        parts.append(f"memory {significant(asked['memory_budget_bytes'] / BYTES_PER_GIB)} GiB")
    if asked["server_price_per_hour"] is not None:
        parts.append(f"{asked['server_price_per_hour']:g} a server-hour")
    if asked["energy_price_per_kwh"] is not None:
        parts.append(f"{asked['energy_price_per_kwh']:g} a kWh")
    return "; ".join(parts)


def best_lines(part: dict[str, Any]) -> list[str]:
    """What does most at each concurrency, of what keeps the limits and may be recommended; those alike share a line."""
    by_text: dict[str, list[int]] = {}
    for one in part["best"]:
        by_text.setdefault(_best(one), []).append(one["concurrency"])
    return [f"{_levels(levels)}: {text}" for text, levels in by_text.items()]


def bound_lines(part: dict[str, Any]) -> list[str]:
    """How far each limit alone lets agents go, where there are several; and what isn't monotone."""
    by_text: dict[str, list[str]] = {}
    for entry in part["variants"]:
        if text := _limits(entry["by_limit"]):
            by_text.setdefault(text, []).append(entry["variant"])
    lines = [f"{', '.join(names)}: {text}" for text, names in by_text.items()]
    for entry in part["variants"]:
        if entry["kept_again"]:
            levels = " and ".join(map(str, entry["kept_again"]))
            lines.append(
                f"{entry['variant']} keeps every limit at {levels} again, which it missed at {entry['largest']['at']}: "
                "the first miss counts"
            )
        most = entry["most"]
        if most is not None and most["agents"] != entry["largest"]["value"]:
            lines.append(
                f"{entry['variant']} does most with {agents(most['agents'])}, fewer than it could carry: "
                f"{bounded(most['tasks_per_hour'])} tasks per hour"
            )
    return lines


def load_lines(part: dict[str, Any]) -> list[str]:
    """What each server has, and what all do together, with the agents spread evenly over all of them."""
    lines = []
    for entry in part["variants"]:
        even = entry["even_load"]
        if even is None or even["agents_per_server"] is None or entry["excluded"]:
            continue
        does = f"{NOT_MEASURED} (fewer agents a server than were measured)"
        if even["tasks_per_hour"] is not None:
            does = f"about {significant(even['tasks_per_hour'])}"
        lines.append(
            f"{entry['variant']}: {significant(even['agents_per_server'])} agents on each of "
            f"{entry['servers']['total']:,} servers, spare ones included; tasks per hour of all: {does}"
        )
    return lines


def cost_lines(part: dict[str, Any]) -> list[str]:
    """The parts of a task's cost at the largest N of one server and with all servers, and why one is missing."""
    lines = []
    for entry in part["variants"]:
        if entry["excluded"]:
            continue
        for where, cost in (("at the largest N", entry["cost"]), ("with all servers", entry["cost_of_load"])):
            if cost is not None:
                parts = [f"{name} {bounded(cost[name])}" for name in ("server", "energy") if cost[name] is not None]
                why = f" ({cost['reason']})" if cost["reason"] is not None else ""
                lines.append(f"{entry['variant']} {where}: {', '.join(parts)}{why}")
    return lines


def excluded_lines(part: dict[str, Any]) -> list[str]:
    """Why variants are left out of every recommendation."""
    return [reason for entry in part["variants"] for reason in entry["excluded"]]


def granted_lines(part: dict[str, Any]) -> list[str]:
    """What isn't known of the variants that may be recommended."""
    return [gap for entry in part["variants"] if not entry["excluded"] for gap in entry["not_known"]]


def method_lines(document: dict[str, Any]) -> list[str]:
    """How the numbers came about; only what applies."""
    limited, run = document["asked"]["limits"] is not None, document["run"]
    entries = [entry for part in document["parts"] for entry in part["variants"]]
    lines = [] if limited else ["No limit was asked for: the largest N is the largest that was measured."]
    if run["mix_changes"]:
        lines.append(_MIX_CHANGES)
    else:
        lines += [_BETWEEN_LIMITS, _BETWEEN_RATES] if limited else [_BETWEEN_RATES]
    if limited and document["asked"]["limits"]["percentiles"]:
        lines.append(_PERCENTILES)
    if any(entry["largest"]["extrapolated"] for entry in entries):
        lines.append(f"{EXTRAPOLATED}: between levels beyond the slots, where agents wait for one another.")
    if any(part["answer"] is not None for part in document["parts"]):
        lines.append(_SERVERS)
    if document["asked"]["energy_price_per_kwh"] is not None:
        lines.append("Energy is that of the devices that were watched, not of the whole machine.")
    if run["random_weights"]:
        lines.append("The model's weights are random: how a real one does is not answered.")
    return lines


def _limits_text(asked: dict[str, Any]) -> str:
    limits = asked["limits"]
    if limits is None:
        return "no limits"
    parts = [one["limit"] for one in limits["percentiles"]]
    objective = limits["objective"]
    if objective is not None:
        parts += [
            f"{'' if one is None else f'{one}: '}{name.removesuffix('_s').replace('_', '-')} {seconds(own[name])}"
            for one, own in [(None, objective), *(objective.get("classes") or {}).items()]
            for name in own
            if name.endswith("_s") and own[name] is not None
        ]
        parts.append(f"kept by {percent(objective['attainment'])} of all attempts")
    return ", ".join(parts) + (" (as the run asked)" if asked["limits_from"] == "run" else "")


def _limits(by_limit: Sequence[dict[str, Any]]) -> str:
    """How far each limit lets agents go; limits that do alike share a clause. Nothing where no trial counts at all."""
    texts: list[str] = []
    stopped = next((one for one in by_limit if one["limit"] == TRIALS and one["ends"] == "not_told"), None)
    if stopped is not None:
        if stopped["agents"] is None:
            return ""
        texts.append(f"at {agents(stopped['at'])} {stopped['reason']}")
    by_text: dict[str, list[str]] = {}
    for one in by_limit:
        # Without a trial nothing can be told of any limit: that is said once.
        lost = stopped is not None and (one["ends"], one["at"]) == ("not_told", stopped["at"])
        if one["limit"] != TRIALS and not lost:
            by_text.setdefault(_ends(one), []).append(one["limit"])
    return "; ".join([*texts, *(f"{_and(names)} {text}" for text, names in by_text.items())])


def _ends(one: dict[str, Any]) -> str:
    match one["ends"]:
        case "limit":
            return f"up to {agents(one['agents'])}"
        case "below":
            return f"missed at {agents(one['at'])} already"
        case "measured":
            return f"kept up to {agents(one['agents'])}, the most that were measured"
        case _:
            why = "" if one["reason"] is None else f" ({one['reason']})"
            return f"can't be told at {agents(one['at'])}{why}"


def _levels(levels: Sequence[int]) -> str:
    """`1 agent`, `1, 2 and 4 agents`."""
    return _and([*map(str, levels[:-1]), agents(levels[-1])])


def _and(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _best(one: dict[str, Any]) -> str:
    if one["call"] != "unresolved":
        others = _and([name for name in one["among"] if name != one["keep"]]) if one["among"] else ""
        return _STANDS[one["call"]].format(keep=one["keep"], others=others)
    text = f"unresolved between {_and(one['among'])}" if len(one["among"]) > 1 else "unresolved"
    unknown = [name for name in one["among"] if name in one["not_told"]]
    if not unknown:
        return text
    keeps = f"whether {_and(unknown)} keep{'s' if len(unknown) == 1 else ''} the limits can't be told"
    most = "" if one["most"] is None or len(one["among"]) == 1 else f"; {one['most']} does most"
    return f"{text}: {keeps}{most}"


def _print_list(title: str, lines: Sequence[str], console: Console) -> None:
    if not lines:
        return
    console.print()
    console.print(Text(title, style="bold"))
    for line in lines:
        print_hanging(console, "  - ", line)
