"""Rules of shortened waits."""

from loadgen.workload import library
from loadgen.workload.recorded import RecordedSession, RecordedTurn
from loadgen.workload.replayed import replay
from loadgen.workload.session import Workload
from loadgen.workload.waits import Pace, paced


def waiting() -> Workload:
    """A tool that takes 10 s and one that takes 1 s, and a user who thinks for 20 s."""
    turns = [
        RecordedTurn(
            messages=[{"role": "user", "content": "go"}],
            assistant={"role": "assistant", "content": "ok"},
            delay_s=seconds,
            delay_kind="user" if seconds == 20 else "tool",
        )
        for seconds in (0.0, 10.0, 1.0, 20.0)
    ]
    return replay([RecordedSession(session_id="a", turns=turns)], name="mine")


def waits(workload: Workload) -> list[float]:
    """Of its one session."""
    return [turn.wait_s for turn in workload.sessions[0].turns]


def test_tool_waits_are_capped_and_then_all_waits_scaled() -> None:
    """The cap is of recorded time, and a user's time isn't capped; both are said, and the digest tells."""
    changed = paced(waiting(), Pace(5.0, 0.1))
    assert waits(changed) == [0.0, 0.5, 0.1, 2.0]
    assert changed.notes == (
        "waits for tools are capped at 5 s: 1 of 2 were longer",
        "waits are multiplied by 0.1",
    )
    assert changed.facts.digest != waiting().facts.digest


def test_a_pace_that_changes_nothing_leaves_the_workload_as_it_is() -> None:
    """A cap above every wait, a factor of 1: the same digest and no note."""
    assert paced(waiting(), Pace(60.0)) == waiting()
    assert library.load("demo", seed=1, pace=Pace()) == library.load("demo", seed=1)


def test_a_factor_of_0_leaves_no_wait() -> None:
    """For profiles too."""
    workload = library.load("demo", seed=1, pace=Pace(scale=0))
    assert {turn.wait_s for session in workload.sessions for turn in session.turns} == {0.0}
