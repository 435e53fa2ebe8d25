"""Rules of the journal: how a run ended, was resumed, and gave variants up."""

from typing import Any

import msgspec

from loadgen.analysis.measured.course import Course, course, given_up
from loadgen.records.manifest import Plan, PlannedTrial
from loadgen.records.run import Run
from tests.records.make import journal


def test_the_last_ending_counts() -> None:
    """Interrupted, resumed and completed is complete; interrupted alone is not."""
    first = [journal("started"), journal("interrupted", "during r1-off-c1")]
    assert course(first) == Course("interrupted", "during r1-off-c1", 0)
    again = [*first, journal("resumed", "2026-01-01T00:00:00+00:00"), journal("complete")]
    assert course(again) == Course("complete", None, 1)
    assert course(again).complete


def test_a_run_that_was_killed_has_no_ending() -> None:
    """Neither at first nor after it was resumed: an ending before that is over."""
    assert course([journal("started")]) == Course(None, None, 0)
    killed = [journal("started"), journal("complete", "the budget ended"), journal("resumed"), journal("resumed")]
    assert course(killed) == Course(None, None, 2)
    assert course([]) == Course(None, None, 0)


def test_marks_end_nothing() -> None:
    """A variant given up and a cut line are happenings of a run that went on."""
    entries = [journal("started"), journal("complete"), journal("torn_tail_cut", "requests.jsonl: 3 bytes")]
    assert course(entries).complete
    assert course([journal("started"), journal("given_up", "mtp: no answer")]).ended is None
    assert course([journal("started"), journal("looked", "after round 4")]).ended is None


def _run(make: Any, *entries: Any, complete: bool = False) -> Run:
    run = make.run({("off", 1): [10.0], ("mtp", 1): [10.0]}, journal=entries)
    planned = [
        PlannedTrial(
            trial=one.trial, round=one.round, variant=one.variant, level=one.level, order=one.order,
            turns_per_agent=1, short=False,
        )
        for one in run.trials
    ]  # fmt: skip
    trials = [msgspec.structs.replace(one, complete=complete) for one in run.trials]
    plan = Plan(rounds=1, trials=planned, dropped_levels=[], estimated_s=1.0, turn_s={})
    return Run(manifest=run.manifest, plan=plan, trials=trials, requests=run.requests, journal=run.journal)


def test_a_variant_that_was_given_up_is_named_with_its_last_reason(make: Any) -> None:
    """One entry a variant; what follows the first colon is the reason, colons and all."""
    twice = [journal("given_up", "mtp: no answer"), journal("resumed"), journal("given_up", "mtp: died: signal 9")]
    assert given_up(_run(make, *twice)) == [{"variant": "mtp", "reason": "died: signal 9"}]
    assert given_up(_run(make, journal("given_up", "mtp"))) == [{"variant": "mtp", "reason": None}]


def test_a_variant_whose_trials_were_all_done_later_is_not_given_up(make: Any) -> None:
    """The run was resumed, and then it worked."""
    entries = [journal("given_up", "mtp: no answer"), journal("resumed"), journal("complete")]
    assert given_up(_run(make, *entries, complete=True)) == []
