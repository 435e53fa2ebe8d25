"""Rows of Codex's rollouts become sessions."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.workload.formats import codex, recognise
from loadgen.workload.recorded import RecordedSession
from loadgen.workload.session_check import checked
from tests.workload.formats.reading import FILE, NUMBERS, VALUES, WORDS, objects_of, only, read, survives, texts


def row(at: float, kind: str, **payload: Any) -> dict[str, Any]:
    """A row; times are seconds of a minute."""
    return {"timestamp": f"2026-03-01T10:00:{at:06.3f}Z", "type": kind, "payload": payload}


def item(at: float, kind: str, **payload: Any) -> dict[str, Any]:
    """An item of a prompt or an answer."""
    return row(at, "response_item", type=kind, **payload)


def said(at: float, role: str, text: str) -> dict[str, Any]:
    """A message."""
    kind = "output_text" if role == "assistant" else "input_text"
    return item(at, "message", role=role, content=[{"type": kind, "text": text}])


def call(at: float, number: str, **fields: Any) -> dict[str, Any]:
    """A call of a tool."""
    return item(at, "function_call", call_id=number, **({"name": "shell", "arguments": '{"command":["ls"]}'} | fields))


def result(at: float, name: str, output: Any) -> dict[str, Any]:
    """Its result."""
    return item(at, "function_call_output", call_id=name, output=output)


def used(at: float, tokens: int, cached: int, output: int, *, last: bool = True, **total: int) -> dict[str, Any]:
    """A count of tokens."""
    counts = {"input_tokens": tokens, "cached_input_tokens": cached, "output_tokens": output}
    info: dict[str, Any] = {"total_token_usage": total or counts, "last_token_usage": counts if last else {}}
    return row(at, "event_msg", type="token_count", info=info)


META = row(0, "session_meta", id="c1", cli_version="0.128.0", base_instructions={"text": "You code."}, source="cli")
TASK = [
    META,
    row(0.1, "turn_context", model="gpt-x"),
    row(0.1, "event_msg", type="user_message", message="Fix it"),
    said(0.2, "developer", "Be careful."),
    said(0.5, "user", "Fix it"),
    item(
        3, "reasoning", summary=[{"type": "summary_text", "text": "Look first."}], content=None, encrypted_content="x"
    ),
    said(3.5, "assistant", "I look."),
    call(4, "t1"),
    used(4.1, 900, 0, 40),
    result(6, "t1", "a.py"),
    said(8, "assistant", "Done."),
    used(8.1, 1000, 900, 5),
]


def test_items_up_to_a_count_are_one_answer() -> None:
    """Instructions stand in front, counts belong to the answer before them, a tool runs from its call to its result."""
    session = only(codex, *TASK)
    first, second = session.turns
    assert first.messages == [
        {"role": "system", "content": "You code."},
        {"role": "developer", "content": "Be careful."},
        {"role": "user", "content": "Fix it"},
    ]
    assert first.assistant == {
        "role": "assistant",
        "content": "I look.",
        "reasoning_content": "Look first.",
        "tool_calls": [
            {"id": "t1", "type": "function", "function": {"name": "shell", "arguments": '{"command":["ls"]}'}}
        ],
    }
    assert (first.input_tokens, first.cached_tokens, first.output_tokens, first.kind) == (900, 0, 40, "tool_call")
    assert second.messages == [{"role": "tool", "tool_call_id": "t1", "content": "a.py"}]
    assert (second.delay_s, second.delay_kind, second.cached_tokens) == (2.0, "tool", 900)
    assert session.source == {
        "name": "codex",
        "lacks": "definitions of tools",
        "model": "gpt-x",
        "harness": "codex 0.128.0",
    }


def test_results_between_the_items_of_an_answer_are_the_next_turns() -> None:
    """Two tools at once: each has its own time, the wait is to the later result."""
    rows = [
        META,
        said(0, "user", "Go"),
        call(1, "t1"),
        result(3, "t1", [{"type": "input_text", "text": "one"}]),
        call(2, "t2"),
        used(2.1, 10, 0, 5),
        result(7, "t2", {"content": "two", "success": True}),
        said(8, "assistant", "Done."),
        used(8, 20, 0, 5),
    ]
    first, second = only(codex, *rows).turns
    assert first.assistant is not None
    assert [one["id"] for one in first.assistant["tool_calls"]] == ["t1", "t2"]
    assert [one["content"] for one in second.messages] == ["one", "two"]
    assert (second.delay_s, second.tool_times_s) == (5.0, [2.0, 5.0])


def test_without_counts_inputs_tell_answers_apart() -> None:
    """What comes behind a result is another answer."""
    rows = [one for one in TASK if one["payload"].get("type") != "token_count"]
    turns = only(codex, *rows).turns
    assert [turn.input_tokens for turn in turns] == [None, None]
    assert [turn.messages for turn in turns] == [turn.messages for turn in only(codex, *TASK).turns]


def test_sums_stand_in_for_counts() -> None:
    """Where only sums are told, an answer has what they have grown by."""
    rows = [*TASK[:8], used(4.1, 0, 0, 0, last=False, input_tokens=900, cached_input_tokens=0, output_tokens=40)]
    rows += [*TASK[9:11], used(8.1, 0, 0, 0, last=False, input_tokens=1900, cached_input_tokens=900, output_tokens=45)]
    first, second = only(codex, *rows).turns
    assert (first.input_tokens, first.output_tokens) == (900, 40)
    assert (second.input_tokens, second.cached_tokens, second.output_tokens) == (1000, 900, 5)


def test_other_calls_are_calls_of_tools() -> None:
    """A custom tool's text and a shell's action become arguments in JSON."""
    rows = [
        META,
        said(0, "user", "Go"),
        item(1, "custom_tool_call", call_id="t1", name="apply_patch", input="*** Begin"),
        item(1, "local_shell_call", call_id="t2", action={"type": "exec", "command": ["ls"]}),
        used(1, 10, 0, 5),
        item(2, "custom_tool_call_output", call_id="t1", output="ok"),
        result(2, "t2", "a.py"),
        said(3, "assistant", "Done."),
    ]
    answer = only(codex, *rows).turns[0].assistant
    assert answer is not None
    assert [one["function"] for one in answer["tool_calls"]] == [
        {"name": "apply_patch", "arguments": '{"input": "*** Begin"}'},
        {"name": "local_shell", "arguments": '{"type": "exec", "command": ["ls"]}'},
    ]


def test_a_summed_up_history_begins_anew() -> None:
    """The next prompt is what took its place, behind the instructions."""
    kept = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Summary"}]}]
    after = [said(20, "user", "Go on"), said(22, "assistant", "Yes."), used(22, 50, 0, 2)]
    turns = only(codex, *TASK, row(19, "compacted", message="", replacement_history=kept), *after).turns
    assert turns[2].history_reset == "compact"
    assert [one["content"] for one in turns[2].messages] == ["You code.", "Summary", "Go on"]
    turns = only(codex, *TASK, row(19, "compacted", message="In short"), *after).turns
    assert [one["content"] for one in turns[2].messages] == ["You code.", "In short", "Go on"]


def test_prompts_that_were_taken_back_are_gone() -> None:
    """The history goes on behind what stood before them; what the client put in by itself is no prompt."""
    rows = [
        *TASK,
        said(20, "user", "Wrong"),
        said(21, "user", "<environment_context/>"),
        said(22, "assistant", "Eh."),
        used(22, 50, 0, 2),
        row(23, "event_msg", type="thread_rolled_back", num_turns=1),
        said(30, "user", "Right"),
        said(31, "assistant", "Ah."),
        used(31, 50, 0, 2),
    ]
    turns = only(codex, *rows).turns
    assert [turn.history_reset for turn in turns] == [None, None, None, "edit"]
    assert [one["content"] for one in turns[3].messages] == [
        "You code.",
        "Be careful.",
        "Fix it",
        "I look.",
        "a.py",
        "Done.",
        "Right",
    ]


def family(*rows: dict[str, Any]) -> dict[str, RecordedSession]:
    """The sessions of rows without a problem, by name."""
    sessions, problems = read(codex, *rows)
    assert problems == []
    assert checked(sessions, FILE) == (sessions, [])
    return {session.session_id: session for session in sessions}


def delegating(started: str, ended: str) -> list[dict[str, Any]]:
    """The rows of a session that starts a sub-agent, and in its next call waits for it."""
    return [
        META,
        said(0, "user", "Go"),
        call(2, "t1", name="spawn_agent"),
        used(2, 10, 0, 5),
        result(3, "t1", started),
        call(4, "t2", name="wait_agent"),
        used(4, 20, 0, 5),
        result(12, "t2", ended),
        said(13, "assistant", "Done."),
        used(13, 30, 0, 5),
    ]


def test_a_sub_agents_file_behind_its_parents_is_linked() -> None:
    """The result that names it shows which answer started it, the next that does shows what was waited for."""
    parent = delegating('{"agent_id":"c2"}', '{"status":{"c2":{"completed":"ok"}}}')
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": "c1", "depth": 1}}}
    child = [
        row(3, "session_meta", id="c2", source=spawned),
        said(3.5, "user", "Look"),
        said(11, "assistant", "Here."),
        used(11, 5, 0, 1),
    ]
    found = family(*parent, *child)
    assert found["c2"].parent_session_id == "c1"
    assert found["c2"].turns[0].delay_s == 1.5
    assert [turn.spawn for turn in found["c1"].turns] == [["c2"], [], []]
    assert (found["c1"].turns[2].join, found["c1"].turns[2].delay_s) == (["c2"], 1.0)
    assert family(*child)["c2"].parent_session_id is None


def test_a_sub_agent_that_names_its_call_is_linked_by_it() -> None:
    """Newer files have the id of the call, and results that name the agent by its path."""
    parent = delegating('{"task_name":"look"}', "/root/look is done")
    spawned = {"thread_spawn": {"parent_thread_id": "c1", "spawn_call_id": "t1", "agent_path": "/root/look"}}
    child = [
        row(3, "session_meta", id="c2", source={"subagent": spawned}),
        said(3.5, "user", "Look"),
        said(11, "assistant", "Here."),
        used(11, 5, 0, 1),
    ]
    found = family(*parent, *child)
    assert [turn.spawn for turn in found["c1"].turns] == [["c2"], [], []]
    assert [turn.join for turn in found["c1"].turns] == [None, None, ["c2"]]


def test_rows_that_a_sub_agent_copied_are_what_its_first_prompt_begins_with() -> None:
    """They are its parent's turns, not its own."""
    rows = [one | {"ordinal": number} for number, one in enumerate(TASK)]
    meta = row(0, "session_meta", id="c2", parent_thread_id="c1", subagent_history_start_ordinal=len(TASK))
    own = [said(20, "user", "Look"), said(22, "assistant", "Here."), used(22, 5, 0, 1)]
    numbered = [one | {"ordinal": len(TASK) + number} for number, one in enumerate(own)]
    (turn,) = only(codex, meta, *rows, *numbered).turns
    assert [one["content"] for one in turn.messages] == ["Be careful.", "Fix it", "I look.", "a.py", "Done.", "Look"]
    assert (turn.history_reset, turn.delay_kind, turn.delay_s) == (None, "arrival", 0)


def test_the_first_row_of_a_forked_history_begins_no_session() -> None:
    """A fork's file holds the rows of the session that it was made of."""
    fork = row(0, "session_meta", id="c9", forked_from_id="c1")
    assert sorted(family(fork, *TASK)) == ["c9"]


def test_what_isnt_played_is_named() -> None:
    """Broken rows, items that are no messages, and what stands behind the last answer."""
    rows = [
        7,
        {"type": "response_item"},
        *TASK,
        row(9, "response_item", name="x"),
        item(9, "web_search_call", status="completed"),
        said(9, "user", "Thanks") | {"timestamp": None},
    ]
    assert texts(codex, *rows) == [
        "rows.jsonl:1: skipped: the row is no JSON object",
        "rows.jsonl:2: skipped: the row has no type, or no payload",
        "rows.jsonl:15: skipped: the item has no type",
        "rows.jsonl:3: 'c1': left out: messages behind the last answer (1)",
        "rows.jsonl:3: 'c1': left out: parts that are no text (1)",
        "rows.jsonl:3: 'c1': waits of 0 s: lines without a time (1)",
    ]


def test_its_rows_are_recognised() -> None:
    """By the first of a file."""
    found = recognise(META)
    assert found is not None
    assert found.name == "codex"


IDS = st.sampled_from(["a", "b", "c"])
KINDS = st.sampled_from(
    (
        *("message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "local_shell_call"),
        *("token_count", "task_started", "thread_rolled_back", "ghost_snapshot"),
    )
)
COUNTS = objects_of({"input_tokens": NUMBERS, "cached_input_tokens": NUMBERS, "output_tokens": NUMBERS})
PAYLOADS = objects_of(
    {"type": KINDS, "role": st.sampled_from(["user", "assistant", "developer"]), "content": VALUES, "call_id": IDS}
    | {"id": IDS, "name": WORDS, "arguments": VALUES, "output": VALUES, "summary": VALUES, "num_turns": NUMBERS}
    | {"info": objects_of({"last_token_usage": COUNTS, "total_token_usage": COUNTS}), "message": WORDS}
    | {"replacement_history": st.lists(objects_of({"type": KINDS, "role": WORDS, "content": VALUES})), "model": WORDS}
    | {"source": VALUES, "parent_thread_id": IDS, "forked_from_id": IDS, "base_instructions": VALUES}
    | {"subagent_history_start_ordinal": NUMBERS}
)
ROWS = objects_of(
    {"type": st.sampled_from(["session_meta", "response_item", "event_msg", "compacted", "turn_context"])}
    | {"payload": PAYLOADS, "timestamp": NUMBERS, "ordinal": NUMBERS}
)


@settings(max_examples=50)
@given(st.lists(ROWS, max_size=8))
def test_anything_is_read(values: list[Any]) -> None:
    """No rows make the importer fail."""
    survives(codex, values)
