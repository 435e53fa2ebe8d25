"""A mix: classes of work that run together, each on its share of the agents. Pure data."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import PurePath
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from loadgen.experiment.slo import Slo

__all__ = ["Mix", "Share", "check_mix", "divided", "division", "division_lines", "is_even", "label", "read_mix"]

FEWEST = 2
"""A mix of one class is a workload."""
_ENDINGS = frozenset({".yaml", ".yml", ".json", ".jsonl", ".gz", ".zst"})
"""Endings of files that a workload may be, left out of the name of its class."""
_EXAMPLE = "such as chat:1,batch-agents-4k:3"


class Share(BaseModel):
    """One class of work: the workload that its agents play, and how many of the agents they are."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    workload: str = Field(min_length=1, description="built-in name, YAML file, or file of recorded sessions")
    weight: float = Field(
        default=1, gt=0, allow_inf_nan=False, description="its share of the agents, over the sum of all weights"
    )

    @property
    def name(self) -> str:
        """What the class is called: the workload's name, or that of its file without folder and endings."""
        name = PurePath(self.workload).name
        while (path := PurePath(name)).suffix in _ENDINGS and path.stem:
            name = path.stem
        return name or self.workload


def read_mix(value: Any) -> Any:
    """The shares in a text such as `chat:1,batch-agents-4k:3`, or in a mapping of workloads to weights.

    Without a weight it is 1. Anything else is handed back as it is. Raises `ValueError`.
    """
    if isinstance(value, str):
        return tuple(_share(part.strip()) for part in value.split(","))
    if isinstance(value, Mapping):
        return tuple(_made(str(name), weight) for name, weight in value.items())
    return value


Mix = Annotated[
    tuple[Share, ...],
    BeforeValidator(read_mix),
    WithJsonSchema(
        {
            "anyOf": [
                {
                    "type": "object",
                    "minProperties": FEWEST,
                    "additionalProperties": {"type": "number", "exclusiveMinimum": 0},
                },
                {"type": "string"},
            ]
        }
    ),
]
"""Classes of work in the order in which they were named."""


def check_mix(
    mix: Sequence[Share] | None,
    *,
    workload: str | None,
    slo: Slo | None = None,
    depths: Sequence[int] = (),
    history: str | None = None,
) -> None:
    """Raises `ValueError` where a mix is none, or an objective names a class that isn't there.

    Args:
        mix: the classes; null: there is no mix.
        workload: the workload that was named beside it.
        slo: the objective, which may have limits for single classes.
        depths: the fixed depths that were asked for.
        history: whose answers go back, where that was asked for.
    """
    names = [share.name for share in mix or ()]
    if mix is not None:
        if workload is not None:
            raise ValueError(f"a mix names its own workloads: leave out either the mix or the workload {workload}")
        if len(names) < FEWEST:
            raise ValueError("a mix has two classes at least; one alone is a workload")
        if depths:
            raise ValueError("fixed depths are measured of one workload: leave out either the mix or the depths")
        if history == "frozen":
            raise ValueError(
                "frozen history is recorded of one workload: record each class alone, and mix the files "
                "(RUN/frozen.jsonl, each under a name of its own)"
            )
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two classes of the mix are called {name}: rename a file, or leave one out")
    unknown = [name for name in (slo and slo.classes) or () if name not in names]
    if unknown and mix is None:
        raise ValueError(f"the objective has limits for the class {unknown[0]}, and there is no mix of classes")
    if unknown:
        raise ValueError(f"the objective has limits for {unknown[0]}, which is none of the classes {', '.join(names)}")


def divided(weights: Sequence[float], level: int) -> tuple[int, ...]:
    """How many of `level` agents each class gets, by largest remainder (Hamilton's method).

    Each gets the whole part of its quota, level · weight ÷ Σ weights; who has the largest remainder gets one of those
    that are left, of equal remainders the class that was named first. So nothing is drawn, and the shares are nearest
    to the weights. A class may get none.
    """
    # As written: 0.1 and 0.2 are one to two, which their binary fractions are not quite.
    exact = [Fraction(str(weight)) for weight in weights]
    quotas = [level * weight / sum(exact) for weight in exact]
    counts = [int(quota) for quota in quotas]
    by_remainder = sorted(range(len(quotas)), key=lambda index: counts[index] - quotas[index])
    for index in by_remainder[: level - sum(counts)]:
        counts[index] += 1
    return tuple(counts)


def division(mix: Sequence[Share], level: int) -> dict[str, int]:
    """The agents of every class at a level, by its name; 0 for a class that plays nothing there."""
    counts = divided([share.weight for share in mix], level)
    return {share.name: count for share, count in zip(mix, counts, strict=True)}


def is_even(mix: Sequence[Share], levels: Sequence[int]) -> bool:
    """Whether the classes have the same shares of the agents at every level, so that levels compare like with like."""
    shares = {
        tuple(Fraction(count, level) for count in divided([share.weight for share in mix], level)) for level in levels
    }
    return len(shares) <= 1


def division_lines(mix: Sequence[Share], levels: Sequence[int]) -> list[str]:
    """The division at each level as text: `at 1: batch-agents-4k 1; none for chat`."""
    lines = []
    for level in levels:
        parts = division(mix, level)
        idle = [name for name, count in parts.items() if not count]
        playing = ", ".join(f"{name} {count}" for name, count in parts.items() if count)
        none_for = f"; none for {', '.join(idle)}" if idle else ""
        lines.append(f"at {level}: {playing}{none_for}")
    return lines


def label(mix: Sequence[Share]) -> str:
    """A mix as the command line writes it, with classes by their names: `chat:1,batch-agents-4k:3`."""
    return ",".join(f"{share.name}:{share.weight:g}" for share in mix)


def _share(part: str) -> Share:
    """One class of the text. A name that holds a colon has its weight behind the last one."""
    name, colon, weight = part.rpartition(":")
    if not colon:
        name, weight = part, "1"
    return _made(name, weight)


def _made(name: str, value: Any) -> Share:
    """A share. Raises `ValueError` where it has no name, or no weight above 0."""
    if not name.strip():
        raise ValueError(f"a class of work has no name; write WORKLOAD:WEIGHT, {_EXAMPLE}")
    try:
        weight = 0.0 if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        weight = 0.0
    if not 0 < weight < float("inf"):
        raise ValueError(f"{name.strip()}: {value!r} is no weight; write a number above 0, {_EXAMPLE}")
    return Share(workload=name.strip(), weight=weight)
