"""aiperf's conversations that branch."""

from typing import Any

import pytest

from loadgen.workload.formats import aiperf_dag, recognise
from loadgen.workload.recorded import RecordedSession
from loadgen.workload.session_check import checked
from tests.workload.formats.reading import FILE, only, read, texts


def step(text: str, **more: Any) -> dict[str, Any]:
    """A turn in which the user says something."""
    return {"messages": [{"role": "user", "content": text}], **more}


def row(name: Any, *steps: Any, **more: Any) -> dict[str, Any]:
    """A conversation."""
    return {"session_id": name, "turns": list(steps), **more}


def made_up(tokens: int, seed: str) -> dict[str, Any]:
    """An answer of which only the length is known."""
    return {"role": "assistant", "tokens": tokens, "corpus": "prose", "seed": seed}


def family(*values: Any) -> dict[str, RecordedSession]:
    """The sessions of rows that have no problem and can be played, by their ids."""
    sessions, problems = read(aiperf_dag, *values)
    assert problems == []
    assert checked(sessions, FILE) == (sessions, [])
    return {session.session_id: session for session in sessions}


def test_a_conversation_without_branches_is_a_session() -> None:
    """Answers aren't in the file; delays are milliseconds."""
    tools = [{"type": "function", "function": {"name": "ls"}}]
    session = only(aiperf_dag, row("a", step("x", tools=tools, max_tokens=9), step("y", delay=250)))
    assert (session.session_id, session.source, session.tools) == ("a", {"name": "aiperf-dag"}, tools)
    first, second = session.turns
    assert (first.messages, first.assistant, first.output_tokens) == (
        [{"role": "user", "content": "x"}],
        None,
        9,
    )
    assert (second.delay_s, second.delay_kind, second.output_tokens) == (0.25, "user", None)


def test_spawned_children_begin_with_nothing_and_the_next_turn_waits_for_them() -> None:
    """A child may stand before its parent in the file."""
    found = family(
        row("w1", step("one")), row("root", step("plan", spawns=["w1", "w2"]), step("merge")), row("w2", step("two"))
    )
    plan, merge = found["root"].turns
    assert (plan.spawn, plan.join) == (["w1", "w2"], None)
    assert (merge.join, merge.delay_kind) == (["w1", "w2"], "subagent")
    assert [found[name].parent_session_id for name in ("root", "w1", "w2")] == [None, "root", "root"]
    assert found["w1"].turns[0].messages == [{"role": "user", "content": "one"}]


def test_a_later_turn_may_wait_or_none() -> None:
    """`join_at` names the turn; behind the last turn nobody waits."""
    found = family(
        row("root", step("a", spawns=[{"children": ["w1"], "join_at": 2}]), step("b"), step("c", spawns=["w2"])),
        row("w1", step("one")),
        row("w2", step("two")),
    )
    assert [turn.join for turn in found["root"].turns] == [None, None, ["w1"]]
    assert [turn.spawn for turn in found["root"].turns] == [["w1"], [], ["w2"]]


def test_a_forked_child_goes_on_from_what_its_parent_said_and_heard() -> None:
    """The answers that the file hasn't are the same made-up text in both: 9 tokens where that was allowed, else 200."""
    found = family(
        row("root", step("a", max_tokens=9), step("b", forks=["f"])),
        row("f", step("c", forks=[{"child": "g", "background": True}]), step("d")),
        row("g", step("e")),
    )
    assert [turn.assistant for turn in found["root"].turns] == [made_up(9, "root:0"), made_up(200, "root:1")]
    assert found["root"].turns[1].spawn == ["f"]
    assert found["f"].parent_session_id == "root"
    begin = [
        {"role": "user", "content": "a"},
        made_up(9, "root:0"),
        {"role": "user", "content": "b"},
        made_up(200, "root:1"),
        {"role": "user", "content": "c"},
    ]
    assert found["f"].turns[0].messages == begin
    assert [turn.assistant for turn in found["f"].turns] == [made_up(200, "f:0"), None]
    assert found["f"].turns[1].join is None
    assert found["g"].turns[0].messages == [*begin, made_up(200, "f:0"), {"role": "user", "content": "e"}]


def test_whole_prompts_become_turns_of_what_is_new() -> None:
    """Where the conversation says that its turns are whole; the answer stands in the next prompt."""
    prompts = (
        [{"role": "user", "content": "a"}],
        [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "A"},
            {"role": "user", "content": "b"},
        ],
    )
    session = only(
        aiperf_dag, row("a", *({"messages": one} for one in prompts), context_mode="message_array_with_responses")
    )
    first, second = session.turns
    assert first.assistant == {"role": "assistant", "content": "A"}
    assert (second.messages, second.history_reset) == ([{"role": "user", "content": "b"}], None)


def test_a_session_that_is_named_again_is_started_anew() -> None:
    """By the same parent or another; its own children come anew with it."""
    found = family(
        row("a", step("x", spawns=["w"]), step("y", spawns=["w"]), step("z")),
        row("b", step("x", forks=["w"])),
        row("w", step("work", spawns=["v"])),
        row("v", step("more")),
    )
    assert [turn.spawn for turn in found["a"].turns] == [["w"], ["w#2"], []]
    assert [turn.join for turn in found["a"].turns] == [None, ["w"], ["w#2"]]
    assert found["b"].turns[0].spawn == ["w#3"]
    assert [found[name].turns[0].spawn for name in ("w", "w#2", "w#3")] == [["v"], ["v#2"], ["v#3"]]
    assert [message.get("content") for message in found["w#3"].turns[0].messages] == ["x", None, "work"]
    assert len(found) == 8


def test_a_copy_takes_no_other_sessions_name() -> None:
    """Where the file has a `w#2` of its own, the copy is the third."""
    found = family(row("a", step("x", spawns=["w", "w"])), row("w", step("y")), row("w#2", step("z")))
    assert found["a"].turns[0].spawn == ["w", "w#3"]
    assert found["w#2"].parent_session_id is None


def test_copies_end() -> None:
    """Thirteen rows that each name the next one thrice would mean half a million sessions."""
    rows = [row(f"r{at}", step("x", spawns=[f"r{at + 1}"] * 3)) for at in range(12)]
    sessions, problems = read(aiperf_dag, *rows, row("r12", step("x")))
    assert len(sessions) == 10_013
    (problem,) = problems
    assert problem.text.endswith("sessions that are named again are left out: 10000 copies are enough")
    assert checked(sessions, FILE) == (sessions, [])


def test_what_begins_before_the_first_turn_begins_behind_its_answer() -> None:
    """That is told; nobody waits for it."""
    sessions, problems = read(aiperf_dag, row("a", step("x"), step("y"), pre_session_spawns=["w"]), row("w", step("z")))
    assert [str(one) for one in problems] == [
        "rows.jsonl:1: pre_session_spawns begin behind the first answer, not before it (here and further on)"
    ]
    assert [(turn.spawn, turn.join) for turn in sessions[0].turns] == [(["w"], None), ([], None)]


def test_circles_and_missing_children_are_left_to_the_check_of_the_file() -> None:
    """Reading ends, whoever forks whom."""
    sessions, problems = read(
        aiperf_dag,
        row("a", step("x", forks=["b"])),
        row("b", step("x", forks=["a"])),
        row("c", step("x", spawns=["gone"]), step("y")),
        row("d", step("x", forks=["d"])),
        row("e", step("x")),
    )
    assert problems == []
    kept, wrong = checked(sessions, FILE)
    assert [one.session_id for one in kept] == ["e"]
    assert len(wrong) == 4


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("x", "the row is no JSON object"),
        (row("", step("x")), "session_id is missing"),
        (row(5, step("x")), "session_id is no text"),
        (row("a", step("x")), "session_id 'a' stands on line 1 already"),
        (row("b"), "turns is empty"),
        (row("b", 5), "turns is no list of objects"),
        (row("b", {}), "turns[0].messages is no list of messages"),
        (row("b", {"messages": [{"role": "owl"}]}), "turns[0].messages[0].role is none of"),
        (row("b", step("x", delay=-1)), "turns[0].delay is no time from 0 on"),
        (row("b", step("x", max_tokens=True)), "turns[0].max_tokens is no whole number from 0 on"),
        (row("b", step("x", tools=5)), "turns[0].tools is no list of objects"),
        (row("b", step("x", forks="c")), "turns[0].forks is no list of ids"),
        (row("b", step("x", forks=[{"background": True}])), "turns[0].forks has no child"),
        (row("b", step("x", spawns=[5])), "turns[0].spawns is no list of ids"),
        (row("b", step("x", spawns=[{"children": [1]}])), "turns[0].spawns.children is no list of texts"),
        (
            row("b", step("x", spawns=[{"children": ["a"], "join_at": 1}])),
            "turns[0].spawns.join_at is none of the turns behind it",
        ),
        (row("b", step("x"), context_mode="mine"), "context_mode is none of message_array_with_responses, "),
        (row("b", step("x"), pre_session_spawns="c"), "pre_session_spawns is no list of texts"),
        ({"session_id": "b", "orchestrator": True, "spawns": ["a"]}, "an orchestrator sends no request"),
    ],
)
def test_bad_rows_are_skipped_with_the_field_that_is_wrong(value: Any, what: str) -> None:
    """And the others are read."""
    sessions, (problem,) = read(aiperf_dag, row("a", step("x")), value)
    assert len(sessions) == 1
    assert str(problem).startswith(f"rows.jsonl:2: skipped: {what}")


def test_unknown_fields_are_told_once() -> None:
    """Of conversations and turns, with their place; `extra` is known, and not kept."""
    one = row("a", step("x", extra={"seed": 1}, top_k=5), mine=1)
    assert texts(aiperf_dag, one, {**one, "session_id": "b"}) == [
        "rows.jsonl:1: the unknown field 'mine' is left out (here and further on)",
        "rows.jsonl:1: the unknown field 'turns.top_k' is left out (here and further on)",
    ]


@pytest.mark.parametrize(
    "value",
    [
        row("a", step("x")),
        row("a", {"forks": ["b"]}),
        {"session_id": "a", "orchestrator": True, "spawns": ["b"], "turns": []},
    ],
)
def test_its_rows_are_recognised(value: Any) -> None:
    """By turns with messages or branches, or by an orchestrator; rows of our own have a format."""
    found = recognise(value)
    assert found is not None
    assert found.name == "aiperf_dag"
    assert not aiperf_dag.looks_like({**value, "session_id": 5})
