"""Rules of the time of day of records."""

from datetime import UTC, datetime

import pytest

from loadgen.analysis.wall_clock import WallClock, epoch_s
from loadgen.records.manifest import JournalEntry
from tests.analysis.conftest import Maker

S = 10**9
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC).timestamp()


def sitting(what: str, at_s: int, iso: str | None) -> JournalEntry:
    """An entry that noted both clocks."""
    return JournalEntry(at_ns=at_s * S, what=what, detail=iso)


def test_iso_times_have_a_zone_or_are_utc() -> None:
    """A time without a zone is one in UTC."""
    assert epoch_s("2026-01-01T12:00:00+00:00") == epoch_s("2026-01-01T12:00:00Z") == NOON
    assert epoch_s("2026-01-01T12:00:00") == NOON
    assert epoch_s("2026-01-01T13:00:00+01:00") == NOON


def test_a_run_in_one_sitting_counts_from_its_start(make: Maker) -> None:
    """The journal notes both clocks; without it the manifest does."""
    clock = WallClock(make.manifest(["off"]), [sitting("started", 100, "2026-01-01T12:00:00+00:00")])
    assert clock.tell([100 * S, 101 * S + S // 2]) == [NOON, NOON + 1.5]
    assert WallClock(make.manifest(["off"]), []).tell([60 * S]) == [epoch_s("2026-01-01T00:01:00Z")]


def test_a_resumed_run_leaves_the_night_out_of_its_times(make: Maker) -> None:
    """Records behind the second sitting's begin count from it, also where the machine was suspended in between."""
    journal = [
        sitting("started", 100, "2026-01-01T12:00:00+00:00"),
        sitting("resumed", 200, "2026-01-02T12:00:00+00:00"),
    ]
    clock = WallClock(make.manifest(["off"]), journal)
    assert clock.tell([150 * S, 210 * S]) == [NOON + 50, NOON + 86_410]


def test_a_clock_that_began_anew_is_noticed_by_the_order_of_the_records(make: Maker) -> None:
    """After a restart of the machine readings are smaller: the first such one is of the next sitting."""
    journal = [
        sitting("started", 5000, "2026-01-01T12:00:00+00:00"),
        sitting("resumed", 30, "2026-01-01T13:00:00+00:00"),
    ]
    clock = WallClock(make.manifest(["off"]), journal)
    assert clock.tell([5001 * S, 5002 * S, 31 * S, 40 * S]) == [NOON + 1, NOON + 2, NOON + 3601, NOON + 3610]
    assert clock.tell([31 * S]) == [NOON + 3601]


@pytest.mark.parametrize("detail", [None, "yesterday"])
def test_entries_without_a_time_are_none(make: Maker, detail: str | None) -> None:
    """An older journal, or one that somebody edited, leaves the manifest's clock."""
    clock = WallClock(make.manifest(["off"]), [sitting("started", 7, detail)])
    assert clock.tell([0]) == [epoch_s("2026-01-01T00:00:00Z")]
