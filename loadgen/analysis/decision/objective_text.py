"""A service level objective in sentences: how many requests and tasks keep the limits, and whether that is enough."""

from collections.abc import Mapping
from typing import Any

from loadgen.analysis.decision.goodput import FAILURES, Meets
from loadgen.analysis.measured.attempt import TASK
from loadgen.analysis.wording import count

LIMITS = {
    "ttft_s": "time to the first token",
    "tpot_s": "time a token",
    "step_gap_s": "longest pause between steps",
    "request_s": "time of a request",
    TASK: "time of a task",
    FAILURES: "number of failed requests",
}
"""What the limits of an objective are called in a sentence."""
_MEETS = {
    Meets.YES: "it meets the objective",
    Meets.NO: "it misses the objective",
    Meets.UNRESOLVED: "whether it meets the objective is unresolved",
}
_EXACT = 1e-9
"""Shares are ratios of counts: two percentages that differ by less are the same one, rounded differently."""


def objective(entry: Mapping[str, Any]) -> str:
    """An entry of `goodput` as one sentence, of a mix as one for each class that has a limit."""
    classes = entry.get("classes") or []
    if not classes:
        return _sentence(entry, entry["variant"])
    return " ".join(_sentence(one, whose(entry["variant"], one["work_class"])) for one in classes)


def whose(variant: str, work_class: str | None) -> str:
    """A variant, or a class of work with a variant."""
    return variant if work_class is None else f"{work_class} with {variant}"


def _sentence(entry: Mapping[str, Any], name: str) -> str:
    asked, requests = entry["attainment_asked"], entry["requests"]
    share = requests["attainment"]
    if not entry["limits"] and requests["per_hour"]["n"]:
        return f"No limit applies to any work that {name} did here."
    if share["value"] is None:
        return f"Whether {name} meets the objective is unknown: no valid trial of it is left."
    first = f"{percent(share['value'], asked)} of {requests['attempted']} requests of {name} keep every limit"
    parts = [f"{first} ({_bounds(share, asked)}), {percent(asked)} are asked for"]
    parts += [_tasks(entry, one) for one in entry["limits"] if one["limit"] == TASK]
    if requests["per_hour"]["value"] is not None:
        parts.append(f"{count(requests['per_hour']['value'])} good requests per hour")
    return f"{'; '.join(parts)}: {_MEETS[entry['meets']]}."


def percent(x: float, beside: float | None = None) -> str:
    """A share in percent; with more digits where it would otherwise read 0, 100, or the share that it stands beside."""
    exact = x * 100
    marks = [0.0, 100.0] if beside is None else [0.0, 100.0, beside * 100]
    for digits in (1, 2, 3):
        text = f"{exact:.{digits}f}"
        if all(abs(float(text) - mark) > _EXACT or abs(exact - mark) < _EXACT for mark in marks):
            return f"{text.rstrip('0').rstrip('.')} %"
    nearest = min(marks, key=lambda mark: abs(exact - mark))
    return f"just {'above' if exact > nearest else 'below'} {nearest:g} %"


def _bounds(share: Mapping[str, Any], asked: float) -> str:
    if share["low"] is None or share["high"] is None:
        return "without an interval"
    return f"95 % interval {percent(share['low'], asked)} to {percent(share['high'], asked)}"


def _tasks(entry: Mapping[str, Any], limit: Mapping[str, Any]) -> str:
    """The task limit, which only whole tasks can be held against; else the mean that their turns give."""
    bound, share = f"{count(limit['asked_s'])} s", limit["attainment"]
    if share["value"] is not None:
        asked = entry["attainment_asked"]
        kept = f"{percent(share['value'], asked)} of its {limit['attempted']} whole tasks keep {bound}"
        return f"{kept} ({_bounds(share, asked)})"
    mean = entry["task_s_estimated"]
    if mean["value"] is None:
        return f"no whole task was seen to hold against {bound}"
    bounds = ""
    if mean["low"] is not None and mean["high"] is not None:
        bounds = f", 95 % interval {count(mean['low'])} to {count(mean['high'])} s"
    return (
        f"no whole task was seen to hold against {bound}, and by its turns one takes {count(mean['value'])} s on "
        f"average (estimated{bounds})"
    )
