"""Salts."""

import re

from hypothesis import assume, given
from hypothesis import strategies as st

from loadgen.workload.salt import salt

NAMES = st.tuples(st.text(max_size=8), st.text(max_size=8), st.text(max_size=8))


@given(NAMES, NAMES)
def test_salts_of_different_places_differ(one: tuple[str, str, str], other: tuple[str, str, str]) -> None:
    """Run, trial and session each change the salt, also where their texts joined are the same."""
    assume(one != other)
    assert salt(*one) != salt(*other)


@given(st.text(max_size=6), st.text(max_size=6), st.text(max_size=6))
def test_moving_a_letter_between_the_parts_changes_the_salt(run: str, trial: str, session: str) -> None:
    """("ab", "c") and ("a", "bc") are two places."""
    assert salt(f"{run}x", trial, session) != salt(run, f"x{trial}", session)


@given(NAMES)
def test_a_salt_is_eight_hex_digits_and_stable(place: tuple[str, str, str]) -> None:
    """The same place has the same salt at every call, so that a turn finds the cache of the turn before it."""
    assert re.fullmatch(r"[0-9a-f]{8}", salt(*place))
    assert salt(*place) == salt(*place)


def test_a_thousand_trials_of_one_session_share_no_salt() -> None:
    """A long run has no clash (a fixed set of names, so this can't fail by chance)."""
    assert len({salt("run", f"r{r}-off-{n}", "demo-000") for r in range(250) for n in (1, 2, 4, 8)}) == 1000


def test_the_salt_is_the_sha256_of_the_parts_with_their_lengths() -> None:
    """The value is the same on every machine and in every version."""
    assert salt("run", "trial", "session") == "00e459fa"
