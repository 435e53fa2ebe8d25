"""Lines of Claude Code's logs become sessions."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.workload.formats import claude_code, recognise
from loadgen.workload.recorded import RecordedSession
from loadgen.workload.session_check import checked
from tests.workload.formats.reading import FILE, NUMBERS, VALUES, WORDS, objects_of, only, read, survives, texts


def line(kind: str, at: float, uuid: str, parent: str | None, content: Any, **fields: Any) -> dict[str, Any]:
    """A line with a message, as the log has it; times are seconds of a minute."""
    head = {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s1",
        "isSidechain": False,
        "version": "2.1.0",
    }
    message = {"role": kind, "content": content} | fields.pop("message", {})
    return head | {"timestamp": f"2026-03-01T10:00:{at:06.3f}Z", "message": message} | fields


def user(at: float, uuid: str, parent: str | None, content: Any, **fields: Any) -> dict[str, Any]:
    """A prompt, or results of tools."""
    return line("user", at, uuid, parent, content, **fields)


def answer(at: float, uuid: str, parent: str | None, message: str, block: Any, **fields: Any) -> dict[str, Any]:
    """A block of an answer."""
    usage = {"input_tokens": 3, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20}
    usage |= {"output_tokens": fields.pop("output", 1)}
    said = {"id": message, "model": "claude-x", "usage": usage, "stop_reason": fields.pop("stop", None)}
    return line("assistant", at, uuid, parent, [block], message=said, requestId=f"req-{message}", **fields)


def result(name: str, content: Any) -> list[dict[str, Any]]:
    """The result of a tool."""
    return [{"type": "tool_result", "tool_use_id": name, "content": content}]


def call(name: str, tool: str = "Bash", **arguments: Any) -> dict[str, Any]:
    """A call of a tool."""
    return {"type": "tool_use", "id": name, "name": tool, "input": arguments}


THOUGHT = {"type": "thinking", "thinking": "Look first.", "signature": "x"}
WORDS_SAID = {"type": "text", "text": "I look."}
DONE = {"type": "text", "text": "Done."}
TASK = [
    user(0, "u1", None, "Fix it"),
    answer(4, "a1", "u1", "m1", THOUGHT),
    answer(5, "a2", "a1", "m1", WORDS_SAID),
    answer(6, "a3", "a2", "m1", call("t1", command="ls"), output=40, stop="tool_use"),
    user(8.5, "u2", "a3", result("t1", "a.py")),
    answer(10, "a4", "u2", "m2", DONE, output=2, stop="end_turn"),
]


def test_lines_of_one_answer_are_one_turn() -> None:
    """Its blocks are put together, its count is that of the last line, and the cached part counts to the prompt."""
    session = only(claude_code, *TASK)
    first, second = session.turns
    assert first.messages == [{"role": "user", "content": "Fix it"}]
    assert first.assistant == {
        "role": "assistant",
        "content": "I look.",
        "reasoning_content": "Look first.",
        "tool_calls": [
            {"id": "t1", "type": "function", "function": {"name": "Bash", "arguments": '{"command": "ls"}'}}
        ],
    }
    assert (first.input_tokens, first.output_tokens, first.cached_tokens) == (123, 40, 100)
    assert (first.finish_reason, first.kind, first.delay_kind, first.delay_s) == (
        "tool_calls",
        "tool_call",
        "arrival",
        0,
    )
    assert second.messages == [{"role": "tool", "tool_call_id": "t1", "content": "a.py"}]
    assert (second.delay_s, second.delay_kind, second.finish_reason) == (2.5, "tool", "stop")
    assert session.source == {
        "name": "claude_code",
        "lacks": "system prompt, definitions of tools",
        "model": "claude-x",
        "harness": "claude-code 2.1.0",
    }


def test_repeated_and_growing_blocks_are_one() -> None:
    """A line that is written again, or written early and then whole, adds nothing twice."""
    lines = [
        user(0, "u1", None, "Hi"),
        answer(1, "a1", "u1", "m1", {"type": "text", "text": "He"}, output=5),
        answer(2, "a2", "a1", "m1", {"type": "text", "text": "Hello."}, output=90),
        answer(2, "a3", "a2", "m1", {"type": "text", "text": "Hello."}, output=7),
    ]
    (turn,) = only(claude_code, *lines).turns
    assert turn.assistant == {"role": "assistant", "content": "Hello."}
    assert turn.output_tokens == 90


def test_a_result_between_the_lines_of_an_answer_is_the_next_turns() -> None:
    """Tools may be done before the answer's last line is written; each has its time."""
    lines = [
        user(0, "u1", None, "Fix it"),
        answer(1, "a1", "u1", "m1", call("t1")),
        user(3, "u2", "a1", result("t1", [{"type": "text", "text": "one"}])),
        answer(4, "a2", "a1", "m1", call("t2"), output=9),
        user(9, "u3", "a2", result("t2", "two")),
        answer(10, "a3", "u3", "m2", DONE),
    ]
    first, second = only(claude_code, *lines).turns
    assert first.assistant is not None
    assert [one["id"] for one in first.assistant["tool_calls"]] == ["t1", "t2"]
    assert [one["content"] for one in second.messages] == ["one", "two"]
    assert (second.delay_s, second.tool_times_s) == (5.0, [0.0, 5.0])


def test_a_prompt_behind_an_earlier_line_takes_back_what_came_since() -> None:
    """The history then goes on from that line."""
    again = user(20, "u3", "a3", "Stop. Do something else")
    turns = only(claude_code, *TASK, again, answer(22, "a5", "u3", "m3", DONE)).turns
    assert turns[2].history_reset == "edit"
    assert [one["role"] for one in turns[2].messages] == ["user", "assistant", "user"]
    assert (turns[2].delay_s, turns[2].delay_kind) == (10.0, "user")


def test_a_summed_up_history_begins_anew() -> None:
    """Behind the boundary the summary is the whole prompt."""
    lines = [
        {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None, "sessionId": "s1"},
        user(20, "u3", "b", "Summary of before", isCompactSummary=True),
        user(21, "u4", "u3", "Go on"),
        answer(23, "a5", "u4", "m3", DONE),
        user(24, "u5", "a5", "More"),
        answer(25, "a6", "u5", "m4", DONE),
    ]
    turns = only(claude_code, *TASK, *lines).turns
    assert [turn.history_reset for turn in turns] == [None, None, "compact", None]
    assert [one["content"] for one in turns[2].messages] == ["Summary of before", "Go on"]
    assert turns[3].messages == [{"role": "user", "content": "More"}]


def test_lines_that_are_no_messages_are_passed_over() -> None:
    """Titles, snapshots, and what the client writes for a failed call are no turns, and no problems."""
    lines = [
        {"type": "summary", "summary": "Fixing", "leafUuid": "a4"},
        {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
        *TASK,
        {"type": "attachment", "uuid": "x1", "sessionId": "s1", "attachment": {}},
        answer(30, "a9", "a4", "m9", DONE, isApiErrorMessage=True),
        line("assistant", 31, "a10", "a9", "API Error", message={"model": "<synthetic>"}),
    ]
    session = only(claude_code, *lines)
    assert (session.session_id, len(session.turns)) == ("s1", 2)


def family(*lines: dict[str, Any]) -> dict[str, RecordedSession]:
    """The sessions of lines without a problem, by name."""
    sessions, problems = read(claude_code, *lines)
    assert problems == []
    assert checked(sessions, FILE) == (sessions, [])
    return {session.session_id: session for session in sessions}


CALLED = answer(5, "a1", "u1", "m1", call("t1", "Task", prompt="Find the tests"), output=9)
AGENT: dict[str, Any] = {"isSidechain": True, "agentId": "ab12"}
SUB = [
    user(6, "x1", None, "Find the tests", **AGENT),
    answer(8, "x2", "x1", "n1", call("y1"), **AGENT),
    user(9, "x3", "x2", result("y1", "tests/"), **AGENT),
    answer(12, "x4", "x3", "n2", DONE, **AGENT),
]


def test_a_sub_agents_lines_are_a_session_that_its_parent_waits_for() -> None:
    """The result of the call that started it names it: its parent waits for it before sending that."""
    ended = {"agentId": "ab12", "status": "completed"}
    back = user(13.5, "u2", "a1", result("t1", "In tests/"), toolUseResult=ended)
    found = family(user(0, "u1", None, "Fix it"), CALLED, *SUB, back, answer(15, "a2", "u2", "m2", DONE))
    main, sub = found["s1"], found["s1/ab12"]
    assert (main.parent_session_id, sub.parent_session_id) == (None, "s1")
    assert main.turns[0].spawn == ["s1/ab12"]
    assert (main.turns[1].join, main.turns[1].delay_kind, main.turns[1].delay_s) == (["s1/ab12"], "subagent", 1.5)
    assert [turn.delay_s for turn in sub.turns] == [1.0, 1.0]


def test_a_sub_agent_in_the_background_isnt_waited_for() -> None:
    """Its call has a result at once."""
    ended = {"agentId": "ab12", "status": "async_launched"}
    back = user(5.5, "u2", "a1", result("t1", "Started"), toolUseResult=ended)
    found = family(user(0, "u1", None, "Fix it"), CALLED, back, answer(15, "a2", "u2", "m2", DONE), *SUB)
    assert found["s1"].turns[0].spawn == ["s1/ab12"]
    assert found["s1"].turns[1].join is None


def test_older_side_chains_are_known_by_their_first_prompt() -> None:
    """They have no id: the lines hang together by their parents, and the first says what the call said."""
    chain = [{name: value for name, value in one.items() if name != "agentId"} for one in SUB]
    back = user(13.5, "u2", "a1", result("t1", "In tests/"))
    found = family(user(0, "u1", None, "Fix it"), CALLED, *chain, back, answer(15, "a2", "u2", "m2", DONE))
    assert sorted(found) == ["s1", "s1/sidechain-1"]
    assert found["s1"].turns[1].join == ["s1/sidechain-1"]


def test_a_sub_agents_file_alone_is_a_session_of_its_own() -> None:
    """Nobody in the file starts it."""
    session = only(claude_code, *SUB)
    assert (session.session_id, session.parent_session_id) == ("s1/ab12", None)


def test_what_isnt_played_is_named() -> None:
    """Broken lines, images, answers without a prompt, and what stands behind the last answer."""
    lines = [
        7,
        {"sessionId": "s1"},
        {"type": "user", "sessionId": "s1"},
        answer(0, "a0", None, "m0", DONE),
        *TASK,
        user(20, "u9", "a4", [{"type": "image", "source": {}}, {"type": "text", "text": "See"}], timestamp="late"),
    ]
    assert texts(claude_code, *lines) == [
        "rows.jsonl:1: skipped: the row is no JSON object",
        "rows.jsonl:2: skipped: the line has no type",
        "rows.jsonl:3: skipped: the line has no message, or one without content",
        "rows.jsonl:3: 's1': left out: answers before the first prompt (1)",
        "rows.jsonl:3: 's1': left out: messages behind the last answer (1)",
        "rows.jsonl:3: 's1': left out: parts that are no text (1)",
        "rows.jsonl:3: 's1': waits of 0 s: lines without a time (1)",
    ]


def test_its_lines_are_recognised() -> None:
    """By any line that a log may begin with."""
    for first in (TASK[0], {"type": "summary", "leafUuid": "x"}, {"type": "mode", "sessionId": "s1"}):
        found = recognise(first)
        assert found is not None
        assert found.name == "claude_code"


BLOCKS = objects_of(
    {"type": st.sampled_from(["text", "thinking", "tool_use", "tool_result"]), "text": WORDS, "thinking": WORDS}
    | {"id": WORDS, "tool_use_id": WORDS, "input": st.fixed_dictionaries({"prompt": WORDS}), "content": VALUES}
)
IDS = st.sampled_from(["a", "b", "c", "d"])
MESSAGES = objects_of(
    {"id": IDS, "model": WORDS, "content": WORDS | st.lists(BLOCKS, max_size=3), "stop_reason": WORDS}
    | {"usage": objects_of({"input_tokens": NUMBERS, "output_tokens": NUMBERS})}
)
LINES = objects_of(
    {"type": st.sampled_from(["user", "assistant", "system"]), "uuid": IDS, "parentUuid": IDS, "timestamp": NUMBERS}
    | {"message": MESSAGES, "isSidechain": st.booleans(), "agentId": st.none() | IDS, "sessionId": IDS}
    | {"toolUseResult": objects_of({"agentId": IDS, "status": WORDS}), "isCompactSummary": st.booleans()}
    | {"subtype": st.sampled_from(["compact_boundary", "x"])}
)


@settings(max_examples=50)
@given(st.lists(LINES, max_size=8))
def test_anything_is_read(values: list[Any]) -> None:
    """No lines make the importer fail."""
    survives(claude_code, values)
