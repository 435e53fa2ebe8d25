"""Calls are put together to sessions by what their prompts begin with."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from loadgen.recording.call import Call
from loadgen.recording.sessions import Sessions
from loadgen.workload.recorded import Cancel, RecordedSession
from loadgen.workload.replayed import replay
from loadgen.workload.session import prompt
from loadgen.workload.session_check import checked

Message = dict[str, Any]
SYSTEM = {"role": "system", "content": "You are an agent that works in a shell."}
TOOLS = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}]


def user(text: str) -> Message:
    """What a user says."""
    return {"role": "user", "content": text}


def said(text: str, *calls: tuple[str, dict[str, Any]], **fields: Any) -> Message:
    """What the model says, and the ids and arguments of its calls."""
    message: Message = {"role": "assistant", "content": text, **fields}
    if calls:
        message["tool_calls"] = [
            {"id": name, "type": "function", "function": {"name": "bash", "arguments": json.dumps(arguments)}}
            for name, arguments in calls
        ]
    return message


def result(name: str, text: str) -> Message:
    """What a tool gave."""
    return {"role": "tool", "tool_call_id": name, "content": text}


def call(begun: float, ended: float, *messages: Message, answer: Message | None = None, **fields: Any) -> Call:
    """A call with these times."""
    return Call(begun_s=begun, ended_s=ended, messages=list(messages), answer=answer, **fields)


def sessions(*calls: Call) -> list[RecordedSession]:
    """The sessions of calls; what is made must always be fit to be played."""
    found = Sessions()
    for one in calls:
        found.add(one)
    recorded = found.recorded()
    assert checked(recorded, "f") == (recorded, [])
    return recorded


LOOK = said("I look.", ("c1", {"command": "ls"}))
FIRST = call(0, 2, SYSTEM, user("Fix it"), answer=LOOK, tools=TOOLS, output_tokens=9)
SECOND = call(3.5, 5, SYSTEM, user("Fix it"), LOOK, result("c1", "a.py"), answer=said("Done it."), tools=TOOLS)


def test_a_prompt_that_goes_on_from_the_last_is_the_next_turn() -> None:
    """With what is new in it, and the time between the answer and the call."""
    again = call(65, 70, *SECOND.messages, said("Done it."), user("Thanks"), answer=said("Bye."), tools=TOOLS)
    (session,) = sessions(FIRST, SECOND, again)
    assert session.tools == TOOLS
    assert [turn.messages for turn in session.turns] == [
        [SYSTEM, user("Fix it")],
        [result("c1", "a.py")],
        [user("Thanks")],
    ]
    assert [(turn.delay_kind, turn.delay_s) for turn in session.turns] == [("arrival", 0), ("tool", 1.5), ("user", 60)]
    assert [turn.kind for turn in session.turns] == ["tool_call", "prose", "prose"]


def test_the_answer_is_played_as_the_client_sends_it_back() -> None:
    """With its blanks and its way of writing arguments; the reasoning that it leaves out is kept beside."""
    given = said(" I look.\n", ("c1", {"command": "ls"}), reasoning_content="Hm")
    back = said("I look.")
    back["tool_calls"] = [
        {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command":"ls"}'}}
    ]
    (session,) = sessions(
        call(0, 2, user("Fix it"), answer=given), call(3, 4, user("Fix it"), back, result("c1", "a.py"))
    )
    assert session.turns[0].assistant == back
    assert session.turns[0].extra == {"reasoning_content": "Hm"}
    (kept,) = sessions(call(0, 2, user("Fix it"), answer=given), call(3, 4, user("Fix it"), given, result("c1", "a")))
    assert kept.turns[0].assistant == given
    assert kept.turns[0].extra == {}
    other = said("I look.", ("c1", {"command": "ls"}), reasoning="Hm")
    (kept,) = sessions(call(0, 2, user("Fix it"), answer=given), call(3, 4, user("Fix it"), other, result("c1", "a")))
    assert kept.turns[0].assistant == other
    assert kept.turns[0].extra == {}


def test_an_answer_that_the_client_changed_is_still_the_turns_own() -> None:
    """Where nothing else fits better."""
    (session,) = sessions(
        call(0, 2, user("Fix it"), answer=said("one")), call(3, 4, user("Fix it"), said("two"), user("go"))
    )
    assert session.turns[0].assistant == said("two")


def test_equal_prompts_are_sessions_of_their_own_and_go_on_by_their_answers() -> None:
    """As when one task is tried several times at once."""
    starts = [call(0, 2 + n, user("Fix it"), answer=said(f"way {n}")) for n in range(3)]
    goes_on = [call(9 + n, 10 + n, user("Fix it"), said(f"way {n}"), user(f"more {n}")) for n in (1, 2, 0)]
    found = sessions(*starts, *goes_on)
    assert [session.turns[1].messages for session in found] == [[user(f"more {n}")] for n in range(3)]
    assert [session.parent_session_id for session in found] == [None] * 3


def test_a_branch_is_a_session_that_begins_behind_the_turn_where_it_forks() -> None:
    """It has the whole prompt, and the time from that turn's answer on."""
    other = call(8, 9, SYSTEM, user("Fix it"), LOOK, result("c1", "b.py"), answer=said("Other."), tools=TOOLS)
    main, branch = sessions(FIRST, SECOND, other)
    assert main.turns[0].spawn == [branch.session_id]
    assert branch.parent_session_id == main.session_id
    assert branch.turns[0].messages == other.messages
    assert (branch.turns[0].delay_kind, branch.turns[0].delay_s) == ("arrival", 6)


def test_other_tools_begin_a_branch() -> None:
    """A session has one list of tools, and a prompt begins with it."""
    more = [*TOOLS, {"type": "function", "function": {"name": "web", "parameters": {"type": "object"}}}]
    main, branch = sessions(FIRST, call(3, 5, *SECOND.messages, answer=said("Done."), tools=more))
    assert main.turns[0].spawn == [branch.session_id]
    assert branch.tools == more


def test_a_history_that_was_cut_or_changed_is_a_turn_with_all_of_it() -> None:
    """As long as the last answer is in it: shorter is `compact`, longer is `edit`."""
    cut = call(6, 7, SYSTEM, LOOK, result("c1", "a.py"), said("Done it, and tested it."), user("On"), tools=TOOLS)
    long = call(3.5, 5, *SECOND.messages, answer=said("Done it, and tested it."), tools=TOOLS)
    (session,) = sessions(FIRST, long, cut)
    assert [turn.history_reset for turn in session.turns] == [None, None, "compact"]
    assert session.turns[2].messages == cut.messages
    changed = [SYSTEM, user("Fix it " * 9), LOOK, result("c1", "a.py"), said("Done it, and tested it."), user("On")]
    (session,) = sessions(FIRST, long, call(6, 7, *changed, tools=TOOLS))
    assert [turn.history_reset for turn in session.turns] == [None, None, "edit"]


def test_a_prompt_that_begins_with_the_summary_that_was_asked_for_goes_on() -> None:
    """Clients take marks off the summary and put words in front."""
    summary = "The user wants issue 12 fixed; a.py was read, and the fault lies in the loop at line 7 of it."
    asked = call(
        6, 9, *SECOND.messages, said("Done it."), user("Summarise what was done."), answer=said(f"<s>{summary}</s>")
    )
    fresh = call(9.5, 11, user(f"This goes on from an earlier talk. {summary} Go on."), answer=said("I go on."))
    other = call(9.5, 11, user("Another job altogether, with nothing of the words before."), answer=said("Yes."))
    first, second = (call(one.begun_s, one.ended_s, *one.messages, answer=one.answer) for one in (FIRST, SECOND))
    (session,) = sessions(first, second, asked, fresh)
    assert [turn.history_reset for turn in session.turns] == [None, None, None, "compact"]
    assert session.turns[3].messages == fresh.messages
    assert len(sessions(first, second, asked, other)) == 2


def test_an_answer_that_was_broken_off_and_asked_for_again_is_one_turn() -> None:
    """It has the answer of the second call, and says after how many tokens the first ended."""
    broken = call(0, 1, user("go"), answer=said("So f"), cancel=Cancel(after_tokens=2))
    (session,) = sessions(broken, call(1.5, 4, user("go"), answer=said("So far."), output_tokens=3))
    (turn,) = session.turns
    assert turn.cancel == Cancel(after_tokens=2, then="resume")
    assert (turn.assistant, turn.output_tokens, turn.delay_s) == (said("So far."), 3, 0)


def test_an_answer_that_was_broken_off_and_dropped_leaves_nothing_in_the_prompt() -> None:
    """The next turn goes on from the question."""
    broken = call(0, 1, user("go"), answer=said("So f"), cancel=Cancel(after_tokens=2))
    (session,) = sessions(broken, call(5, 6, user("go"), user("no, stop"), answer=said("Stopped.")))
    assert session.turns[0].cancel == Cancel(after_tokens=2, then="drop")
    assert session.turns[0].assistant is None
    assert session.turns[1].messages == [user("no, stop")]


def test_an_answer_that_was_broken_off_and_kept_stays_in_the_prompt() -> None:
    """As far as it came."""
    broken = call(0, 1, user("go"), answer=said("So f"), cancel=Cancel(after_tokens=2))
    (session,) = sessions(broken, call(5, 6, user("go"), said("So f"), user("no, stop"), answer=said("Stopped.")))
    assert session.turns[0].cancel == Cancel(after_tokens=2, then="drop")
    assert session.turns[0].assistant == said("So f")


TASK = "Look through the whole tree for every caller of the function and list them all."
REPORT = "There are three callers: a.py, b.py and c.py."


def test_a_session_that_begins_with_what_a_tool_was_told_is_its_callers_sub_agent() -> None:
    """And the turn that brings its last answer waited for it."""
    ask = said("", ("c1", {"prompt": TASK}))
    start = call(0, 2, user("Who calls it?"), answer=ask)
    sub = call(2.5, 6, {"role": "system", "content": "You search."}, user(f"{TASK}\n"), answer=said(REPORT))
    back = call(7, 9, user("Who calls it?"), ask, result("c1", f"Result: {REPORT}"), answer=said("Three."))
    main, child = sessions(start, sub, back)
    assert (main.turns[0].spawn, main.turns[1].join) == ([child.session_id], [child.session_id])
    assert (main.turns[1].delay_kind, main.turns[1].delay_s) == ("subagent", 1)
    assert (child.parent_session_id, child.turns[0].delay_s) == (main.session_id, 0.5)


def test_what_is_known_of_a_session_is_where_it_comes_from() -> None:
    """The model, the API, and what the client calls itself."""
    (session,) = sessions(call(0, 1, user("go"), model="m", agent="an-agent/1", api="messages"))
    assert session.source == {"name": "record", "api": "messages", "model": "m", "harness": "an-agent/1"}


WORDS = st.sampled_from(["go", "look", "a longer text that is known again", "done"])


@given(
    shape=st.lists(st.tuples(st.integers(0, 30), WORDS, WORDS, st.booleans()), min_size=1, max_size=12),
    changed=st.booleans(),
)
def test_whatever_calls_come_their_prompts_are_played_again(
    shape: list[tuple[int, str, str, bool]], changed: bool
) -> None:
    """Each call goes on from an earlier one or begins; every prompt is that of some turn, whatever became of it."""
    histories: list[list[Message]] = [[SYSTEM]]
    calls = []
    for number, (base, asked, answered, hangs_up) in enumerate(shape):
        messages = [*histories[base % len(histories)], user(asked)]
        answer = said(answered)
        cancel = Cancel(after_tokens=1) if hangs_up else None
        calls.append(call(2 * number, 2 * number + 1, *messages, answer=answer, cancel=cancel))
        histories.append([*messages, said(f"{answered}!" if changed else answered)])
    recorded = sessions(*calls)
    workload = replay(recorded, name="f")
    played = set()
    stack = list(workload.sessions)
    while stack:
        session = stack.pop()
        stack += [child for turn in session.turns for child in turn.spawn]
        for turn in range(len(session.turns)):
            played.add(json.dumps(prompt(session, turn, salt="", answers={})))
    assert {json.dumps(one.messages) for one in calls} <= played
