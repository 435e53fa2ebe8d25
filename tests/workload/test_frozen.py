"""Frozen history: what was heard becomes sessions that are played as they were recorded."""

import io
from dataclasses import replace
from pathlib import Path

from loadgen.records.manifest import WorkloadFacts
from loadgen.workload.formats.session import write
from loadgen.workload.frozen import Heard, frozen_sessions, frozen_workload
from loadgen.workload.recorded import Cancel, RecordedSession
from loadgen.workload.session import Message, Session, Turn, Workload, prompt
from loadgen.workload.session_file import read_sessions
from loadgen.workload.waits import Pace

FACTS = WorkloadFacts(
    name="mine", digest="d", sessions=9, turns=99, min_context=512, max_depth=9, history="frozen", exact_length=True,
    chars_per_token=4.0, assumed=["turns"],
)  # fmt: skip
SOURCE = {"name": "mine"}
CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}


def turn(text: str, *, role: str = "user", **how: object) -> Turn:
    """A turn of the workload, with an answer of its own that is not to be heard again."""
    message: Message = {"role": role, "content": text} | ({"tool_call_id": "c1"} if role == "tool" else {})
    plain = Turn((message,), "not mine", 0.5, "tool", 40, "edit", 77)
    return replace(plain, **how)  # type: ignore[arg-type] # any field of a turn


def heard(*answers: Message | None) -> dict[int, Heard]:
    """Answers to the turns from 0 on, to prompts of 100, 200 … tokens."""
    return {number: Heard(answer, 100 * (number + 1), 7, 50, "stop") for number, answer in enumerate(answers)}


def said(text: str) -> Message:
    """An answer."""
    return {"role": "assistant", "content": text}


def through_a_file(folder: Path, sessions: list[RecordedSession]) -> list[RecordedSession]:
    """Written and read again, without a problem."""
    file = io.BytesIO()
    write(sessions, file)
    (folder / "frozen.jsonl").write_bytes(file.getvalue())
    back = read_sessions(folder / "frozen.jsonl")
    assert back.problems == []
    assert back.sessions == sessions
    return back.sessions


def played(sessions: list[RecordedSession], pace: Pace | None = None) -> Workload:
    """The workload of these sessions."""
    return frozen_workload(sessions, FACTS, file_digest="f", pace=pace or Pace())


def test_prompts_are_those_of_the_recording(tmp_path: Path) -> None:
    """Messages and tools of the workload, answers of the model: with reasoning and tool calls, as they were sent."""
    answers: dict[int, Message] = {
        0: {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [CALL]},
        1: {"role": "assistant", "content": "", "reasoning_content": "so"},
    }
    session = Session("s", (turn("one"), turn("two", role="tool"), turn("three")), tools=({"type": "function"},))
    sessions = through_a_file(
        tmp_path, frozen_sessions(session, {"s": heard(answers[0], answers[1], said("C"))}, SOURCE)
    )
    (back,) = played(sessions).sessions
    assert back.tools == session.tools
    for number in range(3):
        assert prompt(back, number, salt="0", answers={}) == prompt(session, number, salt="0", answers=answers)
    assert back.turns[2].recorded == said("C")


def test_everything_else_is_the_workload_s_or_the_server_s(tmp_path: Path) -> None:
    """Caps, kinds and waits stay, whatever was generated; depths are the server's counts."""
    session = Session("s", (turn("one", wait_s=0.0, wait_kind=None), turn("two", begins_anew=True)))
    (recorded,) = through_a_file(tmp_path, frozen_sessions(session, {"s": heard(said("A"), said("B"))}, SOURCE))
    first = recorded.turns[0]
    assert (first.input_tokens, first.output_tokens, first.cached_tokens, first.finish_reason) == (100, 7, 50, "stop")
    workload = played([recorded])
    (back,) = workload.sessions
    assert [one.output_tokens for one in back.turns] == [40, 40]
    assert [one.kind for one in back.turns] == ["edit", "edit"]
    assert [(one.wait_s, one.wait_kind) for one in back.turns] == [(0.0, None), (0.5, "tool")]
    assert [one.begins_anew for one in back.turns] == [False, True]
    assert workload.depths == ((100, 200),)
    facts = workload.facts
    assert (facts.name, facts.sessions, facts.turns, facts.max_depth) == ("mine", 1, 2, 240)
    assert (facts.history, facts.frozen, facts.assumed) == ("frozen", "f", ["turns"])
    assert (workload.history, workload.exact_length, facts.min_context) == ("recorded", True, 512)


def test_waits_are_paced_when_it_is_played() -> None:
    """The file has them as the workload states them; another pace is another digest."""
    sessions = frozen_sessions(Session("s", (turn("one"), turn("two"))), {"s": heard(said("A"), said("B"))}, SOURCE)
    as_stated, halved = played(sessions), played(sessions, Pace(scale=0.5))
    assert as_stated.sessions[0].turns[1].wait_s == 0.5
    assert halved.sessions[0].turns[1].wait_s == 0.25
    assert as_stated.facts.digest != halved.facts.digest
    assert played(sessions).facts == as_stated.facts


def test_reading_a_pool_back_gives_the_same_facts() -> None:
    """Made from its own facts instead of those of the workload that was recorded."""
    sessions = frozen_sessions(Session("s", (turn("one"), turn("two"))), {"s": heard(said("A"), said("B"))}, SOURCE)
    first = played(sessions)
    assert frozen_workload(sessions, first.facts, file_digest="f", pace=Pace()) == first


def test_a_session_is_cut_where_the_recording_ends() -> None:
    """From two turns on; with fewer it isn't played, unless it has no more."""
    session = Session("s", (turn("one"), turn("two"), turn("three")))
    (cut,) = frozen_sessions(session, {"s": heard(said("A"), said("B"))}, SOURCE)
    assert len(cut.turns) == 2
    assert frozen_sessions(session, {"s": heard(said("A"))}, SOURCE) == []
    assert frozen_sessions(session, {}, SOURCE) == []
    (short,) = frozen_sessions(Session("s", (turn("one"),)), {"s": heard(said("A"))}, SOURCE)
    assert len(short.turns) == 1


def test_an_answer_that_cannot_go_back_is_the_workload_s(tmp_path: Path) -> None:
    """One that said nothing, and one that the agent breaks off and drops: prompts go on as they did."""
    dropped = turn("two", cancel=Cancel(after_tokens=3, then="drop"), assistant={})
    session = Session("s", (turn("one"), dropped, turn("three")))
    sessions = through_a_file(tmp_path, frozen_sessions(session, {"s": heard(None, None, said("C"))}, SOURCE))
    (back,) = played(sessions).sessions
    assert prompt(back, 2, salt="", answers={}) == [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "not mine"},
        {"role": "user", "content": "two"},
        {"role": "user", "content": "three"},
    ]
    assert back.turns[1].cancel == Cancel(after_tokens=3, then="drop")


def test_sub_agents_are_recorded_with_the_turn_that_spawns_them(tmp_path: Path) -> None:
    """Each as far as it was heard; one of which nothing was is neither spawned nor waited for."""
    whole, cut, silent = (Session(name, (turn("a"), turn("b"))) for name in ("whole", "cut", "silent"))
    first = turn("one", spawn=(whole, cut, silent))
    session = Session("s", (first, turn("two", join=("whole", "silent")), turn("three", join=("cut",))))
    answers = {
        "s": heard(said("A"), said("B"), said("C")),
        "whole": heard(said("W"), said("X")),
        "cut": heard(said("Y")),
    }
    sessions = through_a_file(tmp_path, frozen_sessions(session, answers, SOURCE))
    assert [(one.session_id, one.parent_session_id, len(one.turns)) for one in sessions] == [
        ("s", None, 3),
        ("whole", "s", 2),
        ("cut", "s", 1),
    ]
    workload = played(sessions)
    (back,) = workload.sessions
    assert [child.id for child in back.turns[0].spawn] == ["whole", "cut"]
    assert [one.join for one in back.turns] == [(), ("whole",), ("cut",)]
    assert back.turns[0].spawn[0].turns[1].depth == 200
    assert workload.facts.turns == 6
