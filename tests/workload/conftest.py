"""Profiles to vary."""

from typing import Any

import pytest

from loadgen.workload.profile import Profile


def profile_fields(**changes: Any) -> dict[str, Any]:
    """The fields of a small profile, changed."""
    fields: dict[str, Any] = {
        "version": 1,
        "name": "small",
        "description": "Two turns of words.",
        "min_context": 256,
        "pool": 5,
        "corpus": "words",
        "history": "recorded",
        "system_tokens": 4,
        "first_user": {"tokens": 6},
        "turns": 2,
        "tool_result": {"tokens": 7},
        "answer": {"tokens": 3},
        "output": {"tokens": 10, "mode": "exact"},
        "tool_time_s": 0.25,
        "sources": {},
    }
    return fields | changes


class ProfileMaker:
    """Makes profiles that differ from a small one in the named fields."""

    def __call__(self, **changes: Any) -> Profile:
        """The changed profile."""
        return Profile.model_validate(profile_fields(**changes))


@pytest.fixture
def make_profile() -> ProfileMaker:
    """A maker of changed profiles."""
    return ProfileMaker()
