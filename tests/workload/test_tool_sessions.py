"""Sessions with tools, sub-agents, answers that are broken off, and summaries."""

import json
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from math import ceil
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.workload.as_recorded import as_recorded
from loadgen.workload.pool import build
from loadgen.workload.profile import Profile
from loadgen.workload.recorded import Cancel
from loadgen.workload.session import Session, Turn, Workload, prompt
from loadgen.workload.session_check import checked
from loadgen.workload.tools.definitions import HEAD_TOKENS

Make = Callable[..., Profile]

TOOLS = {"system_tokens": 40, "tools": 3, "tool_tokens": 400, "kind": "coding", "scope": "run"}
AGENT: dict[str, Any] = {
    "corpus": "code",
    "min_context": 8192,
    "pool": 20,
    "system_tokens": None,
    "shared_prefix": TOOLS,
    "turns": 6,
    "first_user": {"tokens": 90},
    "tool_result": {"tokens": 60, "corpus": {"view": 2, "grep": 1, "listing": 1}},
    "answer": None,
    "output": {"tokens": 80, "mode": "natural"},
}
"""What makes the small profile an agent with three tools."""


def roles(messages: list[dict[str, Any]]) -> str:
    """First letters of the roles."""
    return "".join(message["role"][0] for message in messages)


def tokens(text: str) -> int:
    """By 3 characters a token, rounded up."""
    return ceil(len(text) / 3)


def recounted(session: Session, upto: int) -> int:
    """The depth of a turn by the messages of its whole prompt: text, calls, 15 around each, 4 for the answer's head."""
    tools = HEAD_TOKENS + sum(tokens(json.dumps(one)) for one in session.tools) if session.tools else 0
    total = 9 + tools + 4
    for message in prompt(session, upto, salt="", answers={}):
        total += tokens(message["content"]) + 15
        for call in message.get("tool_calls", ()):
            total += 15 + tokens(call["function"]["name"]) + tokens(call["function"]["arguments"])
    return total


def the_tree(session: Session) -> list[Session]:
    """A session and its sub-agents."""
    return [session, *(one for turn in session.turns for child in turn.spawn for one in the_tree(child))]


def test_every_result_of_a_tool_answers_a_call_of_the_answer_before(make_profile: Make) -> None:
    """Definitions go with the session; calls name them; the last answer calls nothing."""
    for session in build(make_profile(**AGENT), seed=1).sessions:
        names = {tool["function"]["name"] for tool in session.tools}
        assert names == {"bash", "read_file", "edit_file"}
        assert roles(prompt(session, 5, salt="", answers={})) == "su" + "at" * 5
        for before, after in pairwise(session.turns):
            calls = (before.assistant or {})["tool_calls"]
            assert [call["id"] for call in calls] == [message["tool_call_id"] for message in after.messages]
            assert {call["function"]["name"] for call in calls} <= names
            assert all(len(call["id"]) == 9 and call["id"].isalnum() for call in calls)
        assert session.turns[-1].assistant is None
        assert {turn.kind for turn in session.turns[:-1]} == {"tool_call"}
        assert session.turns[-1].kind == "prose"


def test_ids_of_calls_are_unique_in_a_session(make_profile: Make) -> None:
    """Templates and servers tell results apart by them."""
    for session in build(make_profile(**AGENT, parallel_tools=[1, 4]), seed=1).sessions:
        ids = [
            message["tool_call_id"] for turn in session.turns for message in turn.messages if "tool_call_id" in message
        ]
        assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("history", ["recorded", "live"])
def test_depths_count_definitions_calls_and_results(make_profile: Make, history: str) -> None:
    """The stated depth of every turn is that of its prompt, to the token."""
    profile = make_profile(**AGENT, history=history, parallel_tools={1: 1, 2: 1, 3: 1}, user_turns=2, edit_turns=0.3)
    for session in build(profile, seed=1).sessions:
        assert [turn.depth for turn in session.turns] == [recounted(session, index) for index in range(6)]


def test_parallel_calls_share_the_length_of_one(make_profile: Make) -> None:
    """Three calls at once bring three results of a third each, so that a turn adds as much as it says."""
    one, three = (build(make_profile(**AGENT, parallel_tools=count), seed=1).sessions[0] for count in (1, 3))
    assert [len(turn.messages) for turn in three.turns] == [2, 3, 3, 3, 3, 3]
    lengths = [sum(len(message["content"]) for message in turn.messages) for turn in (one.turns[2], three.turns[2])]
    assert lengths == [180, 180]


def test_an_answer_that_calls_a_tool_has_the_drawn_length_with_its_call(make_profile: Make) -> None:
    """80 tokens: what the call takes is taken from the text."""
    for session in build(make_profile(**AGENT), seed=1).sessions:
        for turn in session.turns[:-1]:
            (call,) = (turn.assistant or {})["tool_calls"]
            taken = 15 + tokens(call["function"]["name"]) + tokens(call["function"]["arguments"])
            # Whitespace at the cut is dropped.
            assert 80 - 8 <= taken + tokens(turn.answer) <= 80
            assert (turn.assistant or {})["content"] == turn.answer


def test_users_who_speak_up_are_answered_in_words(make_profile: Make) -> None:
    """Before a message of the user's no tool is called; the user waits the think time."""
    profile = make_profile(**AGENT, user_every=2, think_time_s=7)
    for session in build(profile, seed=1).sessions:
        assert roles(prompt(session, 5, salt="", answers={})) == "suatauatauat"
        waits = [(turn.wait_kind, turn.wait_s) for turn in session.turns]
        assert waits == [(None, 0.0), ("tool", 0.25), ("user", 7.0), ("tool", 0.25), ("user", 7.0), ("tool", 0.25)]
        assert [turn.kind for turn in session.turns] == ["tool_call", "prose"] * 3


@pytest.mark.parametrize(("every", "users"), [(1, 6), (2, 3), (4, 2), (100, 1)])
def test_user_every_gives_the_number_of_user_turns(make_profile: Make, every: int, users: int) -> None:
    """Six turns hold a user message to so many of them, and one at least."""
    (session,) = build(make_profile(turns=6, pool=1, user_every=every), seed=1).sessions
    assert sum(turn.wait_kind in (None, "user") for turn in session.turns) == users


@pytest.mark.parametrize(("scope", "different"), [("run", 1), ("group:4", 4), ("session", 20)])
def test_a_scope_says_who_has_the_same_prefix(make_profile: Make, scope: str, different: int) -> None:
    """System message and definitions are alike within it."""
    workload = build(make_profile(**AGENT | {"shared_prefix": TOOLS | {"scope": scope}}), seed=1)
    prefixes = [(one.turns[0].messages[0]["content"], json.dumps(one.tools)) for one in workload.sessions]
    assert len(set(prefixes)) == different
    if scope == "group:4":
        assert prefixes[0] == prefixes[4] != prefixes[1]


def test_the_last_turn_may_have_an_output_of_its_own(make_profile: Make) -> None:
    """A report at the end is longer than what was said on the way."""
    profile = make_profile(**AGENT, final_output={"tokens": 300})
    for session in build(profile, seed=1).sessions:
        assert [turn.output_tokens for turn in session.turns] == [80] * 5 + [300]
        assert tokens(session.turns[-1].answer) == 300


def test_broken_off_answers_have_their_share_and_place(make_profile: Make) -> None:
    """A quarter of 400 turns within 4 standard errors, each before its cap; the turn itself stays as it is."""
    plain = make_profile(pool=100, turns=4)
    broken = make_profile(pool=100, turns=4, cancel={"share": 0.25, "after_tokens": [2, 40]})
    turns = [turn for session in build(broken, seed=1).sessions for turn in session.turns]
    cancels = [turn.cancel for turn in turns if turn.cancel is not None]
    assert len(cancels) == pytest.approx(100, abs=35)
    assert all(cancel.then == "resume" and 2 <= (cancel.after_tokens or 0) <= 9 for cancel in cancels)
    as_they_are = [turn for session in build(plain, seed=1).sessions for turn in session.turns]
    assert [(one.messages, one.answer) for one in turns] == [(one.messages, one.answer) for one in as_they_are]


def test_what_is_dropped_stays_as_far_as_it_was_read_and_the_user_speaks(make_profile: Make) -> None:
    """No tool answers a call that was broken off; roles keep alternating; the next turn is the user's."""
    profile = make_profile(**AGENT, cancel={"share": 1, "after_tokens": 5, "then": "drop"}, think_time_s=3)
    for session in build(profile, seed=1).sessions:
        assert roles(prompt(session, 5, salt="", answers={})) == "su" + "au" * 5
        assert all(turn.cancel == Cancel(after_tokens=5, then="drop") for turn in session.turns)
        assert all(0 < tokens(turn.answer) <= 5 for turn in session.turns)
        assert [turn.wait_s for turn in session.turns] == [0.0, *[3.0] * 5]
        assert [turn.depth for turn in session.turns] == [recounted(session, index) for index in range(6)]


def test_a_cap_below_a_break_moves_the_break(make_profile: Make) -> None:
    """An answer of four tokens is broken off after three, and one of one token not at all."""
    profile = make_profile(cancel={"share": 1, "after_tokens": 8})
    of_four, of_one = (build(profile, seed=1, max_tokens=cap).sessions[0].turns for cap in (4, 1))
    assert [turn.cancel for turn in of_four] == [Cancel(after_tokens=3)] * 2
    assert [turn.cancel for turn in of_one] == [None, None]


def test_summed_up_sessions_have_their_share_and_begin_anew(make_profile: Make) -> None:
    """From the third turn on, once: the prompt is the system message and a summary with what is new."""
    profile = make_profile(**AGENT | {"pool": 100}, compact={"share": 0.3, "summary_tokens": 50})
    anew = [session for session in build(profile, seed=1).sessions if any(turn.begins_anew for turn in session.turns)]
    assert len(anew) == pytest.approx(30, abs=18)
    places: Counter[int] = Counter()
    for session in anew:
        (place,) = [index for index, turn in enumerate(session.turns) if turn.begins_anew]
        places[place] += 1
        turn = session.turns[place]
        assert roles(prompt(session, place, salt="", answers={})) == "su"
        assert turn.messages[0] == session.turns[0].messages[0]
        assert str(turn.messages[1]["content"]).startswith("This is what has happened so far, summed up:\n\n")
        assert turn.depth < session.turns[place - 1].depth
        assert [one.depth for one in session.turns] == [recounted(session, index) for index in range(6)]
    assert set(places) == {2, 3, 4, 5}


CHILD: dict[str, Any] = {
    "version": 1,
    "name": "child",
    "description": "Looks.",
    "min_context": 256,
    "corpus": "words",
    "history": "recorded",
    "system_tokens": 2,
    "first_user": {"tokens": 5},
    "turns": {2: 1, 3: 1},
    "tool_result": {"tokens": 6},
    "output": {"tokens": 9, "mode": "exact"},
    "tool_time_s": 0.1,
    "sources": {},
}


def spawning(make_profile: Make, **changes: Any) -> Workload:
    """Sessions of five turns that spawn sub-agents in the middle."""
    below = {"at_turn": 0.5, "count": {1: 1, 2: 1}, "profile": CHILD, **changes}
    return build(make_profile(turns=5, pool=30, subagents=below), seed=1)


def test_sub_agents_begin_behind_one_turn_and_end_before_the_next(make_profile: Make) -> None:
    """Each has an id and texts of its own, and the parent waits for nothing else at that turn."""
    workload = spawning(make_profile)
    for session in workload.sessions:
        spawned = session.turns[2].spawn
        assert [len(turn.spawn) for turn in session.turns] == [0, 0, len(spawned), 0, 0]
        assert [child.id for child in spawned] == [f"{session.id}.{number + 1}" for number in range(len(spawned))]
        assert session.turns[3].join == tuple(child.id for child in spawned)
        assert (session.turns[3].wait_s, session.turns[3].wait_kind) == (0.0, "subagent")
        assert all(2 <= len(child.turns) <= 3 for child in spawned)
    children = [child for session in workload.sessions for child in session.turns[2].spawn]
    assert Counter(len(session.turns[2].spawn) for session in workload.sessions).keys() == {1, 2}
    assert len({str(child.turns[0].messages) for child in children}) == len(children)


def test_sub_agents_in_the_background_are_waited_for_at_the_end_alone(make_profile: Make) -> None:
    """No turn joins them."""
    for session in spawning(make_profile, join="background").sessions:
        assert session.turns[2].spawn
        assert not any(turn.join for turn in session.turns)
        assert session.turns[3].wait_kind == "tool"


def test_facts_count_sub_agents(make_profile: Make) -> None:
    """Their turns and their depths too."""
    workload = spawning(make_profile)
    turns = [turn for session in workload.sessions for one in the_tree(session) for turn in one.turns]
    assert workload.facts.turns == len(turns) > 150
    assert workload.facts.max_depth == max(turn.depth + turn.output_tokens for turn in turns)


def test_a_session_that_is_cut_spawns_within_what_is_left(make_profile: Make) -> None:
    """Eight turns are wanted, five fit: the middle is that of the five."""
    below = {"at_turn": 0.5, "count": 1, "profile": CHILD | {"min_context": 128}}
    workload = build(make_profile(turns=8, min_context=128, subagents=below), seed=1)
    assert workload.cut == 5
    for session in workload.sessions:
        assert [len(turn.spawn) for turn in session.turns] == [0, 0, 1, 0, 0]


def test_sub_agents_that_report_to_an_agent_with_tools_are_called_and_answer(make_profile: Make) -> None:
    """One call of the `task` tool each, and one report each, in prose."""
    child = CHILD | {"corpus": "code", "history": "recorded", "min_context": 4096, "output": AGENT["output"]}
    below = {"at_turn": 0.5, "count": 3, "profile": child}
    agent = AGENT | {"shared_prefix": TOOLS | {"tools": 12, "tool_tokens": 1500}}
    for session in build(make_profile(**agent, subagents=below), seed=1).sessions:
        calls = (session.turns[3].assistant or {})["tool_calls"]
        assert [call["function"]["name"] for call in calls] == ["task"] * 3
        assert roles(list(session.turns[4].messages)) == "ttt"
        assert [turn.depth for turn in session.turns] == [recounted(session, index) for index in range(6)]


def test_what_is_written_to_a_file_can_be_played_again(make_profile: Make) -> None:
    """Calls, results, sub-agents, summaries and breaks pass every check of recorded sessions."""
    child = CHILD | {"corpus": "code", "min_context": 4096, "output": AGENT["output"], "shared_prefix": TOOLS}
    del child["system_tokens"]
    profile = make_profile(
        **AGENT,
        cancel={"share": 0.2, "then": "drop"},
        compact=0.5,
        parallel_tools=[1, 3],
        subagents={"at_turn": [0, 1], "count": [0, 2], "profile": child},
    )
    workload = build(profile, seed=1)
    rows = [row for session in workload.sessions for row in as_recorded(session, workload)]
    kept, problems = checked(rows, "f.jsonl")
    assert problems == []
    assert len(kept) == len(rows) == sum(len(the_tree(session)) for session in workload.sessions) > 20


def alternates(turn_roles: str) -> bool:
    """Whether a prompt is one that chat templates take: calls are answered, and nobody speaks twice in a row."""
    spoken = turn_roles.removeprefix("s")
    return spoken[0] == "u" and "uu" not in spoken and "aa" not in spoken and "ut" not in spoken and "tu" not in spoken


@settings(deadline=None, max_examples=15)
@given(
    st.integers(0, 1000),
    st.sampled_from(["finish", "compact", "fail"]),
    st.sampled_from(["recorded", "live"]),
    st.sampled_from([None, {"share": 0.3}, {"share": 0.3, "then": "drop"}]),
    st.integers(1500, 4000),
)
def test_whatever_is_drawn_prompts_are_well_formed_and_fit(
    seed: int, context_full: str, history: str, cancel: dict[str, Any] | None, context: int
) -> None:
    """Roles alternate, depths are those of the prompts, and no turn but one that is meant to fail goes beyond."""
    profile = Profile.model_validate(
        {
            **{name: CHILD[name] for name in ("version", "name", "description", "tool_time_s", "sources")},
            **{name: value for name, value in AGENT.items() if name not in ("answer", "system_tokens")},
            "history": history,
            "context_full": context_full,
            "cancel": cancel,
            "pool": 2,
            "min_context": context,
            "turns": [2, 25],
            "user_every": 5,
            "parallel_tools": [1, 3],
            "compact": 0.3,
        }
    )
    workload = build(profile, seed=seed)
    for session in workload.sessions:
        for index, turn in enumerate(session.turns):
            assert alternates(roles(prompt(session, index, salt="", answers={})))
            assert turn.depth == recounted(session, index)
            last = index == len(session.turns) - 1
            assert turn.depth <= context or (last and context_full == "fail")
    if context_full != "fail":
        assert workload.facts.max_depth <= 0.9 * context


def test_a_turn_says_nothing_blank(make_profile: Make) -> None:
    """At one token of everything nothing is empty that a template would refuse, but the text beside a call."""
    small = {"first_user": {"tokens": 1}, "tool_result": {"tokens": 1}, "output": {"tokens": 2, "mode": "natural"}}
    for session in build(make_profile(**AGENT | small, parallel_tools=3), seed=1).sessions:
        for message in prompt(session, 5, salt="", answers={}):
            assert message["content"].strip() or message.get("tool_calls")


def kinds(turns: tuple[Turn, ...]) -> list[str]:
    """The kinds of turns."""
    return [turn.kind for turn in turns]


def test_edits_and_lists_of_agents_with_tools_end_in_their_request(make_profile: Make) -> None:
    """Their answer is what was asked for, in full, with the next call behind it; the command stands in the call."""
    profile = make_profile(**AGENT, edit_turns=0.5, extract_turns=0.5)
    for session in build(profile, seed=1).sessions:
        assert set(kinds(session.turns)) <= {"edit", "extract"}
        for before, turn in pairwise(session.turns):
            text = turn.messages[-1]["content"]
            assert not text.startswith("$ ")
            assert text.endswith("Add nothing else.")
            assert (before.assistant or {})["content"] == before.answer != ""
