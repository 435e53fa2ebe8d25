"""Classes of work in sentences: what a variant does for each of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from loadgen.analysis.classes.comparisons import TASKS, TPOT, TTFT, Says
from loadgen.analysis.wording import agents, factor, interval

__all__ = ["NOT_CORRECTED", "class_words", "classes_text", "opposed"]

NOT_CORRECTED = "these intervals hold one by one: they are not corrected for several comparisons"
_WHAT = {TASKS: "tasks per hour", TPOT: "time a token", TTFT: "time to the first token"}
_DOES = {Says.MORE: "does more", Says.FEWER: "does less"}

Entry = Mapping[str, Any]


def classes_text(entries: Sequence[Entry]) -> str | None:
    """What one variant does at one level for each class, from its `class_comparisons`; null where there are none."""
    parts = []
    for name, own in _by_class(entries).items():
        said = [_ratio(own[metric]) for metric in _WHAT if metric in own and own[metric]["ratio"]["value"] is not None]
        count = next(iter(own.values()))["agents"]
        parts.append(f"{name} ({agents(count)}): {', '.join(said) or 'not measured on both sides'}")
    if not parts:
        return None
    first = entries[0]
    where = f"{first['variant']} against {first['baseline']} at {agents(first['concurrency'])}"
    return f"By class of work, {where}: {'; '.join(parts)}; {NOT_CORRECTED}."


def class_words(entries: Sequence[Entry]) -> list[str]:
    """The same in few words: `for chat-4k (1 agent): mtp does more`."""
    return [
        f"for {one['work_class']} ({agents(one['agents'])}): {_does(one)}" for one in entries if one["metric"] == TASKS
    ]


def opposed(entries: Sequence[Entry]) -> list[str]:
    """A sentence for each variant and level at which one class does more tasks and another fewer."""
    cells: dict[tuple[str, int], list[Entry]] = {}
    for one in entries:
        cells.setdefault((one["variant"], one["concurrency"]), []).append(one)
    out = []
    for own in cells.values():
        tasks = [one for one in own if one["metric"] == TASKS]
        text = classes_text(tasks)
        if text is not None and {Says.MORE, Says.FEWER} <= {one["says"] for one in tasks}:
            out.append(text)
    return out


def _by_class(entries: Sequence[Entry]) -> dict[str, dict[str, Entry]]:
    """By class and metric."""
    found: dict[str, dict[str, Entry]] = {}
    for one in entries:
        found.setdefault(one["work_class"], {})[one["metric"]] = one
    return found


def _ratio(entry: Entry) -> str:
    if entry["not_comparable"]:
        return f"{_WHAT[entry['metric']]} not comparable ({entry['not_comparable'][0]['text']})"
    ratio, bounds = entry["ratio"], "without an interval"
    if ratio["low"] is not None and ratio["high"] is not None:
        bounds = f"95 % interval {interval(ratio['low'], ratio['high'])}: {entry['says']}"
    return f"{factor(ratio['value'])} times the {_WHAT[entry['metric']]} ({bounds})"


def _does(entry: Entry) -> str:
    does = _DOES.get(entry["says"])
    return str(entry["says"]) if does is None else f"{entry['variant']} {does}"
