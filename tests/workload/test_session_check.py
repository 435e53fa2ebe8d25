"""What is refused between the parts of recorded sessions."""

from typing import Any

import msgspec
import pytest

from loadgen.workload.recorded import Cancel, RecordedSession, RecordedTurn
from loadgen.workload.session_check import checked

USER = {"role": "user", "content": "hi"}
ANSWER = {"role": "assistant", "content": "ok"}
CALL = {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "ls", "arguments": "{}"}}]}


def turn(**changes: Any) -> RecordedTurn:
    """A turn of a question and an answer, changed."""
    return msgspec.structs.replace(RecordedTurn(messages=[USER], assistant=ANSWER), **changes)


def session(name: str = "a", *turns: RecordedTurn, parent: str | None = None) -> RecordedSession:
    """A session of these turns; of one where there are none."""
    return RecordedSession(session_id=name, parent_session_id=parent, turns=list(turns) or [turn()])


def told(*sessions: RecordedSession) -> list[str]:
    """The problems, without the file's name in front."""
    return [one.text for one in checked(sessions, "f")[1]]


def result(asked: str | None) -> RecordedTurn:
    """A turn that gives back what a tool said."""
    return turn(messages=[{"role": "tool", "tool_call_id": asked, "content": "x"}])


def test_good_sessions_pass_as_they_are() -> None:
    """Nothing is changed and nothing told; their order stays."""
    family = [
        session("p", turn(spawn=["c"]), turn(messages=[], assistant=ANSWER), turn(join=["c"], delay_kind="subagent")),
        session("c", turn(assistant=CALL), result("c1"), parent="p"),
        session("alone", turn(cancel=Cancel(after_tokens=3)), turn(tool_times_s=[0.5], history_reset="compact")),
    ]
    assert checked(family, "f") == (family, [])


def test_a_second_session_of_an_id_goes() -> None:
    """The first one stays."""
    first, second = session("a"), session("a", turn(), turn())
    kept, problems = checked([first, second], "f")
    assert kept == [first]
    assert [str(one) for one in problems] == ["f: session 'a' skipped: its id stands twice"]


def test_the_line_is_told_where_it_is_known() -> None:
    """By the id of the session."""
    _, problems = checked([session("a", turn(delay_s=-1.0))], "f", {"a": 7})
    assert [str(one) for one in problems] == ["f:7: session 'a' skipped: turns[0].delay_s is no time from 0 on"]


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (turn(messages=[], assistant=None), "turns[1] has no message"),
        (turn(delay_s=-0.5), "turns[1].delay_s is no time from 0 on"),
        (turn(delay_s=float("nan")), "turns[1].delay_s is no time from 0 on"),
        (turn(delay_s=float("inf")), "turns[1].delay_s is no time from 0 on"),
        (turn(tool_times_s=[0.1, -1.0]), "turns[1].tool_times_s has a time that is none"),
        (turn(output_tokens=-1), "turns[1].output_tokens is below 0"),
        (turn(cancel=Cancel()), "turns[1].cancel doesn't say when"),
        (turn(cancel=Cancel(after_s=-1.0)), "turns[1].cancel has a time or length below 0"),
        (turn(assistant=USER), "turns[1].assistant.role is not 'assistant'"),
        (turn(messages=[], history_reset="edit"), "turns[1] has no message"),
    ],
)
def test_a_turn_that_cannot_be_played_takes_its_session_along(wrong: RecordedTurn, what: str) -> None:
    """The turn and its field are named."""
    assert told(session("a", turn(), wrong)) == [f"session 'a' skipped: {what}"]


def test_an_empty_turn_and_an_empty_session_are_refused() -> None:
    """A later turn may have no message, if it has an answer: some agents call twice."""
    assert told(session("a", turn(messages=[]))) == ["session 'a' skipped: turns[0] has no message"]
    assert told(RecordedSession(session_id="a", turns=[])) == ["session 'a' skipped: it has no turn"]
    assert told(session("a", turn(), turn(messages=[]))) == []


@pytest.mark.parametrize(
    ("message", "what"),
    [
        ({"content": "x"}, ".role is none of assistant, developer, system, tool, user"),
        ({"role": ["user"], "content": "x"}, ".role is none of assistant, developer, system, tool, user"),
        ({"role": "user"}, ".content is missing"),
        ({"role": "user", "content": 5}, ".content is neither text nor a list of parts"),
        ({"role": "user", "content": ["x"]}, ".content is neither text nor a list of parts"),
        ({"role": "tool", "tool_call_id": [], "content": "x"}, ".tool_call_id is no text"),
        ({"role": "assistant", "tool_calls": {"id": "c"}}, ".tool_calls is no list of objects"),
        ({"role": "user", "tokens": 0}, ".tokens is no whole number from 1 to 16777216"),
        ({"role": "user", "tokens": True}, ".tokens is no whole number from 1 to 16777216"),
        ({"role": "user", "tokens": "9"}, ".tokens is no whole number from 1 to 16777216"),
        ({"role": "user", "tokens": 9, "corpus": "poems"}, ".corpus is none of code, prose, listing, diff, log, json"),
        ({"role": "user", "tokens": 9, "pieces": [{}]}, ".pieces is no list of texts with tokens"),
        ({"role": "user", "tokens": 9, "pieces": [{"tokens": -1}]}, ".pieces.tokens is no whole number from 1 to"),
    ],
)
def test_a_message_that_is_none_is_named(message: dict[str, Any], what: str) -> None:
    """By its turn, its place in it, and its field."""
    (problem,) = told(session("a", turn(messages=[USER, message])))
    assert problem.startswith(f"session 'a' skipped: turns[0].messages[1]{what}")


def test_messages_with_parts_and_made_up_ones_pass() -> None:
    """A list of parts, and a text of which only the length is known."""
    parts = {"role": "user", "content": [{"type": "text", "text": "x"}]}
    made_up = {"role": "assistant", "tokens": 50, "corpus": "log", "pieces": [{"tokens": 50, "corpus": "log"}]}
    assert told(session("a", turn(messages=[parts], assistant=made_up))) == []


def test_a_tools_result_needs_a_call() -> None:
    """Of an answer before it, or of one that the file doesn't show."""
    refused = ["session 'a' skipped: turns[1].messages[0] is a tool's result that answers no call"]
    assert told(session("a", turn(), result("c1"))) == refused
    assert told(session("a", turn(), result(None))) == refused
    assert told(session("a", turn(assistant=CALL), result("c2"))) == refused
    assert told(session("a", turn(assistant=CALL), result("c1"))) == []
    assert told(session("a", turn(assistant=CALL), result(None))) == []
    assert told(session("a", turn(assistant=None), result("c9"))) == []
    assert told(session("a", turn(assistant={"role": "assistant", "tokens": 9}), result("c9"))) == []
    assert told(session("a", turn(), turn(messages=[CALL, *result("c1").messages]))) == []


def test_a_result_at_the_beginning_may_answer_what_stood_before_the_file() -> None:
    """A recording may begin, and begin again, in the middle of a session."""
    assert told(session("a", result("c1"))) == []
    assert told(session("a", turn(), msgspec.structs.replace(result("c1"), history_reset="compact"))) == []


def test_what_is_not_there_cannot_be_spawned_or_joined() -> None:
    """The turn and the name are told."""
    assert told(session("a", turn(spawn=["b"]))) == [
        "session 'a' skipped: turns[0].spawn names 'b', which isn't there, or was skipped"
    ]
    assert told(session("a", turn(), turn(join=["b"])), session("b")) == [
        "session 'a' skipped: turns[1].join names 'b', which no turn before it spawns"
    ]
    assert told(session("a", turn(spawn=["b"], join=["b"])), session("b", parent="a"))[0] == (
        "session 'a' skipped: turns[0].join names 'b', which no turn before it spawns"
    )


def test_a_session_is_spawned_once() -> None:
    """By one parent, in one turn."""
    assert told(session("a", turn(spawn=["c"]), turn(spawn=["c"])), session("c"))[0] == (
        "session 'a' skipped: turns[1].spawn names 'c', which 'a' spawns already"
    )
    assert told(session("a", turn(spawn=["c"])), session("b", turn(spawn=["c"])), session("c")) == [
        "session 'b' skipped: turns[0].spawn names 'c', which 'a' spawns already"
    ]


def test_circles_are_refused_with_all_that_hangs_on_them() -> None:
    """A session that spawns itself, two that spawn each other, and their children."""
    circle = "its sub-agents spawn each other in a circle"
    assert told(session("a", turn(spawn=["a"]))) == [f"session 'a' skipped: {circle}"]
    kept, problems = checked(
        [session("a", turn(spawn=["b"])), session("b", turn(spawn=["a", "c"])), session("c"), session("d")], "f"
    )
    assert [one.session_id for one in kept] == ["d"]
    assert problems[0].text == f"session 'a' skipped: {circle}"
    assert len(problems) == 3


def test_a_broken_sub_agent_takes_its_parents_along() -> None:
    """They would have waited for it; a sub-agent that lost its parent goes on alone, and that is told."""
    kept, problems = checked(
        [
            session("a", turn(spawn=["b", "d"])),
            session("b", turn(spawn=["c"]), parent="a"),
            session("c", turn(delay_s=-1.0), parent="b"),
            session("d", parent="a"),
        ],
        "f",
    )
    assert kept == [session("d")]
    assert [one.text for one in problems] == [
        "session 'c' skipped: turns[0].delay_s is no time from 0 on",
        "session 'b' skipped: turns[0].spawn names 'c', which isn't there, or was skipped",
        "session 'a' skipped: turns[0].spawn names 'b', which isn't there, or was skipped",
        "session 'd' isn't spawned by 'a', which it names as its parent: it is an agent of its own",
    ]


def test_who_spawns_a_session_is_its_parent() -> None:
    """Where it names none that is filled in; where it names another that is told."""
    kept, problems = checked([session("a", turn(spawn=["b"])), session("b")], "f")
    assert (kept[1], problems) == (session("b", parent="a"), [])
    kept, problems = checked([session("a", turn(spawn=["b"])), session("b", parent="x")], "f")
    assert kept[1] == session("b", parent="a")
    assert [one.text for one in problems] == [
        "session 'b' isn't spawned by 'x', which it names as its parent: 'a' does"
    ]
