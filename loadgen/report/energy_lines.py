"""Energy of the variants, where power was sampled."""

from typing import Any

from loadgen.analysis.at_depth import ASKED, deep
from loadgen.report.numbers import NOT_MEASURED, agents, of, significant


def energy_lines(summary: dict[str, Any]) -> list[str]:
    """One line a variant and concurrency; nothing where no power was sampled."""
    return [
        f"{entry['variant']} at {_place(level)}: {_level(level, entry['energy'])}"
        for entry in summary["memory"]
        if entry["energy"] is not None
        for level in entry["energy"]["by_concurrency"]
    ]


def _place(level: dict[str, Any]) -> str:
    return f"{agents(level['concurrency'])}{deep(level.get(ASKED))}"


def _level(level: dict[str, Any], energy: dict[str, Any]) -> str:
    if level["watts"] is None:
        return f"{NOT_MEASURED}, power was read for too little of its trials"
    idle = energy["idle_watts"]
    text = (
        f"{significant(level['watts'])} W by {energy['source']}, {_joules(level['joules_per_task'])} per task, "
        f"{_joules(level['joules_per_output_token'])} per output token"
    )
    if idle is None:
        return f"{text}; idle power was not measured"
    return (
        f"{text}; above the idle {significant(idle)} W {_joules(level['joules_per_task_above_idle'])} and "
        f"{_joules(level['joules_per_output_token_above_idle'])}"
    )


def _joules(estimate: dict[str, Any] | None) -> str:
    value = of(estimate)
    if estimate is None or value is None:
        return NOT_MEASURED
    if estimate.get("low") is None or estimate.get("high") is None:
        return f"{significant(value)} J"
    return f"{significant(value)} J [{significant(estimate['low'])}, {significant(estimate['high'])}]"
