"""Whether the classes of a mix have the same shares of the agents at every concurrency."""

from collections.abc import Mapping, Sequence
from typing import Any

from loadgen.analysis.wording import agents
from loadgen.experiment.mix import Share, division, is_even

__all__ = ["changes_with_agents", "uneven_mix"]


def changes_with_agents(experiment: Mapping[str, Any], levels: Sequence[int]) -> bool:
    """Whether levels differ in their mix, so that what grows from one to the next is not the agents alone."""
    mix = _mix(experiment)
    return mix is not None and not is_even(mix, levels)


def uneven_mix(experiment: Mapping[str, Any], levels: Sequence[int]) -> list[dict[str, Any]]:
    """The warning of a run whose levels differ in their mix; none where they don't, or there is no mix."""
    mix = _mix(experiment)
    if mix is None or not changes_with_agents(experiment, levels):
        return []
    divisions = "; ".join(f"{agents(level)}: {_told(division(mix, level))}" for level in levels)
    text = (
        "Whole agents can't be divided by the weights of the mix at every concurrency, so that the mix changes with "
        f"the agents ({divisions}): compare variants at one concurrency, not concurrencies with each other."
    )
    return [{"kind": "uneven_mix", "variant": None, "concurrency": None, "text": text}]


def _mix(experiment: Mapping[str, Any]) -> list[Share] | None:
    asked = experiment.get("mix")
    return None if asked is None else [Share(**one) for one in asked]


def _told(parts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in parts.items())
