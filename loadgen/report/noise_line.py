"""The noise floor: how much the baseline varies by itself, and what could have been seen beside that."""

from typing import Any

from loadgen.report.numbers import NOT_MEASURED, agents, share


def noise_text(summary: dict[str, Any]) -> str | None:
    """One sentence for all levels; null where nothing was measured."""
    noise, baseline = summary["noise"], summary["run"]["baseline"]
    if not noise:
        return None
    known = [entry for entry in noise if entry["s_ln"] is not None]
    if not known:
        return f"{NOT_MEASURED}, it takes 3 rounds with a valid trial of {baseline}"
    spreads = ", ".join(f"{share(entry['s_ln'])} ({agents(entry['concurrency'])})" for entry in known)
    floors = ", ".join(f"{entry['smallest_speedup']:.2f} ({agents(entry['concurrency'])})" for entry in known)
    return (
        f"{baseline} varies by {spreads} between rounds; by that alone, the smallest speed-up these rounds could "
        f"have called is {floors}"
    )
