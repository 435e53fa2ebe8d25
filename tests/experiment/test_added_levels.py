"""Rules of the concurrencies that are added around widths."""

from typing import Any

import pytest

from loadgen.experiment.added_levels import AroundWidth, around_widths, drafted_tokens
from loadgen.experiment.model import Experiment
from loadgen.experiment.variant import LaunchVariant, UrlVariant


def _variant(*args: str, name: str = "mtp", **fields: Any) -> LaunchVariant:
    return LaunchVariant(name=name, program="llama-server", args=args, **fields)


MTP = ("--spec-type", "draft-mtp")


def _around(*drafting: LaunchVariant, levels: tuple[int, ...] = (1, 2, 4, 8), **fields: Any) -> list[AroundWidth]:
    off = LaunchVariant(name="off", program="llama-server", args=("-np", "8"))
    asked = Experiment(variants=(off, *drafting), baseline="off", levels=levels, **fields)
    return around_widths(asked, [one.name for one in asked.variants])


def _drafts(n: int, name: str = "mtp") -> LaunchVariant:
    return _variant(*MTP, "--spec-draft-n-max", str(n), name=name)


def test_both_sides_of_a_width_are_added() -> None:
    """7 drafted tokens: 2 agents are 16 wide and 3 are 24, so 3 is missing; 4 and 5 around 32, so 5 is."""
    assert _around(_drafts(7)) == [AroundWidth(16, 7, (3,)), AroundWidth(32, 7, (5,))]


def test_a_width_between_two_levels_adds_two() -> None:
    """4 drafted tokens: 6 agents are 30 wide, 7 are 35; 1 and 2, 3 and 4 around 8 and 16 are asked for but 3."""
    assert _around(_drafts(4)) == [AroundWidth(16, 4, (3,)), AroundWidth(32, 4, (6, 7))]


def test_nothing_is_added_beyond_what_was_asked() -> None:
    """Both ends stay: 2 drafted tokens pass 16 between 5 and 6 agents and 32 beyond 10; only up to 8 is asked for."""
    assert _around(_drafts(2)) == [AroundWidth(8, 2, (3,)), AroundWidth(16, 2, (5, 6))]
    assert _around(_drafts(2), levels=(1, 2)) == []


def test_no_more_agents_than_slots_are_added() -> None:
    """The excess would queue, and slots set the pace there."""
    asked = Experiment(
        variants=(LaunchVariant(name="off", program="p", args=("-np", "4")), _drafts(5)), baseline="off", levels=(1, 8)
    )
    assert around_widths(asked, ["off", "mtp"], slots=4) == [AroundWidth(8, 5, (2,)), AroundWidth(16, 5, (3,))]


def test_variants_that_draft_differently_each_have_their_widths() -> None:
    """A level is added once, for the first that wants it."""
    assert _around(_drafts(4), _drafts(7, "mtp-7")) == [
        AroundWidth(16, 4, (3,)),
        AroundWidth(32, 4, (6, 7)),
        AroundWidth(32, 7, (5,)),
    ]


@pytest.mark.parametrize("fields", [{"rounds": 5}, {"add_levels": False}, {"levels": (4,)}])
def test_nothing_is_added_where_the_user_said_how_much(fields: dict[str, Any]) -> None:
    """With a number of rounds, with --no-add-levels, and with one level."""
    assert _around(_drafts(4), **fields) == []


def test_the_drafted_tokens_are_read_from_the_command() -> None:
    """The argument, its variable, llama-server's default of 3; null for n-grams, other servers and idle speculation."""
    assert drafted_tokens(_drafts(6)) == 6
    assert drafted_tokens(_variant(*MTP)) == 3
    assert drafted_tokens(_variant(*MTP, env={"LLAMA_ARG_SPEC_DRAFT_N_MAX": "5"})) == 5
    assert drafted_tokens(_variant("--spec-type", "ngram-simple")) is None
    assert drafted_tokens(_variant("-np", "4")) is None
    assert drafted_tokens(_variant(*MTP, overhead=True)) is None
    assert drafted_tokens(UrlVariant(name="mtp", url="http://127.0.0.1:1")) is None
