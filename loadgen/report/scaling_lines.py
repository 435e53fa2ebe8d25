"""Models of speed as the report tells them: break-even, growth with agents, and the equal-memory question."""

from collections.abc import Callable
from typing import Any

from loadgen.analysis.speed.break_even_text import needed_text
from loadgen.analysis.speed.equal_memory_text import equal_memory_sentences
from loadgen.report.numbers import NOT_MEASURED, agents, of, significant


def break_even_lines(summary: dict[str, Any]) -> list[str]:
    """One line a variant and concurrency of which something is known; nothing for those that answer wrongly."""
    void = {one["variant"] for one in summary["comparisons"] if one["void"]}
    return [
        f"{entry['variant']} at {agents(entry['concurrency'])}: {text}"
        for entry in summary["break_even"]
        if not {entry["variant"], *entry["set_variants"]} & void and (text := needed_text(entry)) is not None
    ]


def scaling_lines(summary: dict[str, Any]) -> list[str]:
    """One line a variant whose growth with agents was fitted; coefficients only where the fit is good."""
    return [f"{entry['variant']}: {_law(entry)}" for entry in summary["scaling"] if entry["fit"] is not None]


def equal_memory_lines(summary: dict[str, Any]) -> list[str]:
    """The answers in sentences, where all slots are busy or a decision was asked for; nothing on wrong answers.

    With fewer agents than slots, slots are of no use: that goes without saying, but where somebody asks about it.
    """
    asked = summary["run"]["agents"]
    void = {one["variant"] for one in summary["comparisons"] if one["void"]}
    return equal_memory_sentences(
        [
            entry
            for entry in summary["equal_memory"]
            if entry["variant"] not in void
            and (entry["concurrency"] == asked or entry["slots"] is None or entry["concurrency"] >= entry["slots"])
        ]
    )


def _law(entry: dict[str, Any]) -> str:
    levels = f"{len(entry['levels'])} levels up to {agents(max(entry['levels']))}"
    if entry["gamma"] is None:
        return f"no coefficients of the Universal Scalability Law from {levels}: {entry['reason']}"
    bound = " and ".join(entry["at_bound"])
    at_bound = f"; {bound} came out at the bound of 0" if bound else ""
    peak = entry["peak"]
    most = (
        f"most at {_bounded(peak, significant)} agents" if peak is not None else f"any peak lies {entry['peak_reason']}"
    )
    return (
        f"Universal Scalability Law over {levels} (p = {entry['p_value']:.2g}): "
        f"{_bounded(entry['gamma'], significant)} tasks/h of one agent, contention "
        f"{_bounded(entry['alpha'], significant)}, coherency {_bounded(entry['beta'], significant)}{at_bound}; {most}"
    )


def _bounded(estimate: dict[str, Any] | None, form: Callable[[float | None], str]) -> str:
    """A value with its interval where it has one: `41.2 ms [40.1 ms, 42.3 ms]`, an open end as `…`."""
    value = of(estimate)
    if estimate is None or value is None:
        return NOT_MEASURED
    low, high = estimate.get("low"), estimate.get("high")
    if low is None and high is None:
        return form(value)
    return f"{form(value)} [{'…' if low is None else form(low)}, {'…' if high is None else form(high)}]"
