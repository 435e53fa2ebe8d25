"""Whether what is drawn from the built-in profiles has the quantiles that they state."""

from collections.abc import Iterator
from functools import cache
from math import inf, sqrt
from typing import Any

import pytest
import yaml

from loadgen.workload import library
from loadgen.workload.distribution import Distribution, Fixed, parse
from loadgen.workload.draws import rng
from loadgen.workload.pool import build
from loadgen.workload.profile import Profile
from loadgen.workload.profile_parts import Material, Tokens
from loadgen.workload.session import Workload

DRAWS = 2000
STANDARD_ERRORS = 4.5
"""Each way, of a binomial share. Of some 500 shares one is outside with a chance of 0.3 %; all draws are seeded."""
_PLAIN_SHARES = ("edit_turns", "extract_turns", "cancel", "compact", "shared_prefix.tools")


def written() -> Iterator[tuple[str, str, Any]]:
    """Every value of every built-in profile that stands for a distribution, as its file has it."""
    for name in library.builtin_names():
        for parameter, text in library.written_parameters(name).items():
            value = yaml.safe_load(text)
            if isinstance(value, dict) and "tokens" in value:
                value = value["tokens"]
            if parameter.removeprefix("subagents.") not in _PLAIN_SHARES and not parameter.endswith(".corpus"):
                yield name, parameter, value


def stated(value: Any) -> list[tuple[float, float]]:
    """What a value says of itself: (share, number) such that the share of all draws is at most the number."""
    if isinstance(value, list):
        low, high = value
        return [(share, low + share * (high - low)) for share in (0.25, 0.5, 0.75)]
    if not isinstance(value, dict):
        return []
    if "bins" in value:
        whole = sum(share for share, _ in value["bins"])
        ends = {high for _, (_, high) in value["bins"]}
        return [(sum(share for share, (_, high) in value["bins"] if high <= end) / whole, end) for end in ends]
    if "p50" in value:
        return [(0.5, value["p50"])] + ([(0.9, value["p90"])] if "p90" in value else [])
    weights = {number: weight for number, weight in value.items() if not isinstance(number, str)}
    return [
        (sum(weight for other, weight in weights.items() if other <= number) / sum(weights.values()), number)
        for number in weights
    ]


def share_upto(distribution: Distribution, number: float) -> float:
    """The share of draws at most as large, before `min` and `max`: the quantiles, the other way round."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if distribution.quantile(middle) <= number else (low, middle)
    return low


def expected(value: Any, share: float, number: float) -> float:
    """The stated share behind the redrawing of what lies outside `min` and `max`."""
    if not isinstance(value, dict) or not {"min", "max"} & set(value):
        return share
    least, most = value.get("min", 0), value.get("max", inf)
    if not least <= number <= most:
        return -1
    below = share_upto(parse(value), least)
    above = share_upto(parse(value), most) if most < inf else 1.0
    return (share - below) / (above - below)


def agrees(observed: float, of: float, count: int) -> bool:
    """Whether a share of so many draws is within its binomial interval."""
    return abs(observed - of) <= STANDARD_ERRORS * sqrt(of * (1 - of) / count) + 1e-9


@pytest.mark.parametrize(("name", "parameter", "value"), list(written()))
def test_draws_have_the_stated_quantiles(name: str, parameter: str, value: Any) -> None:
    """Every quantile, bin and weight in every file, behind the limits that stand beside them."""
    source = rng(11, name, parameter)
    drawn = [parse(value).draw(source) for _ in range(DRAWS)]
    for share, number in stated(value):
        of = expected(value, share, number)
        if 0 <= of <= 1:
            assert agrees(sum(one <= number for one in drawn) / DRAWS, of, DRAWS), (share, number)


@cache
def uncut(name: str) -> tuple[Workload, Profile]:
    """Eighty sessions of a profile that nothing cuts: prompts are as short as can be, the context is endless."""
    profile = library.builtin_profile(name)
    one = Fixed(1)
    update = {
        "min_context": 10_000_000,
        "pool": 80,
        "system_tokens": one,
        "shared_prefix": None,
        "parallel_tools": one,
        "first_user": Material.model_validate({"tokens": 1}),
        "tool_result": Material.model_validate({"tokens": 1}),
        "answer": Tokens.model_validate({"tokens": 1}),
        "edit_turns": 0.0,
        "final_output": None,
        "subagents": None,
        "compact": None,
    }
    profile = profile.model_copy(update=update)
    return build(profile, seed=5, chars_per_token=3.3), profile


def shares_upto(
    numbers: list[int], distribution: Distribution, least: float, most: float
) -> Iterator[tuple[float, float]]:
    """At the quartiles and the 90 % quantile: the share of whole numbers at most as large, and what it should be."""
    below, above = share_upto(distribution, least), share_upto(distribution, most) if most < inf else 1.0
    for u in (0.25, 0.5, 0.75, 0.9):
        number = round(distribution.quantile(below + u * (above - below)))
        # A number is rounded to this one from half below to half above.
        of = (share_upto(distribution, min(number + 0.5, most)) - below) / (above - below)
        yield sum(one <= number for one in numbers) / len(numbers), min(max(of, 0.0), 1.0)


@pytest.mark.parametrize("name", library.builtin_names())
@pytest.mark.parametrize("parameter", ["turns", "output"])
def test_sessions_have_the_stated_turns_and_outputs(name: str, parameter: str) -> None:
    """What is played is what was drawn: whole numbers of the same distribution."""
    workload, profile = uncut(name)
    distribution = profile.turns if parameter == "turns" else profile.output.tokens
    sessions = workload.sessions
    numbers = [len(session.turns) for session in sessions]
    if parameter == "output":
        numbers = [turn.output_tokens for session in sessions for turn in session.turns]
    low, high = getattr(distribution, "low", 0.0), getattr(distribution, "high", inf)
    for observed, of in shares_upto(numbers, distribution, low, high):
        assert agrees(observed, of, len(numbers))
