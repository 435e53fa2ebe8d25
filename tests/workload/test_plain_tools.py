"""Tools told in plain text."""

import json
import re
from collections.abc import Callable
from typing import Any

from loadgen.records.sizes import Sizes
from loadgen.workload import library
from loadgen.workload.making import Making
from loadgen.workload.plain_tools import with_plain_tools
from loadgen.workload.pool import build
from loadgen.workload.profile import Profile
from loadgen.workload.server_sizer import ServerSizer
from loadgen.workload.session import digest, prompt

Make = Callable[..., Profile]

AGENT: dict[str, Any] = {
    "corpus": "code",
    "min_context": 8192,
    "turns": 4,
    "system_tokens": None,
    "shared_prefix": {"system_tokens": 40, "tools": 2, "tool_tokens": 200, "kind": "coding"},
    "parallel_tools": 2,
    "output": {"tokens": 80, "mode": "natural"},
    "answer": None,
}


def test_definitions_calls_and_results_become_text(make_profile: Make) -> None:
    """Definitions stand in the system message, calls in answers, and results of one answer in one user message."""
    workload = build(make_profile(**AGENT), seed=1)
    plain = with_plain_tools(workload)
    for before, after in zip(workload.sessions, plain.sessions, strict=True):
        assert after.tools == ()
        messages = prompt(after, 3, salt="", answers={})
        assert [message["role"] for message in messages] == ["system", *["user", "assistant"] * 3, "user"]
        assert all(message.keys() == {"role", "content"} for message in messages)
        for tool in before.tools:
            assert json.dumps(tool["function"]) in messages[0]["content"]
        for index, turn in enumerate(before.turns[:-1]):
            call = (turn.assistant or {})["tool_calls"][0]["function"]
            assert (
                f'{{"name": "{call["name"]}", "arguments": {call["arguments"]}}}' in messages[2 + 2 * index]["content"]
            )
            results = [message["content"] for message in before.turns[index + 1].messages]
            assert messages[3 + 2 * index]["content"] == "\n\n".join(results)
    assert plain.facts.tools_as_text is True
    assert plain.facts.digest == digest(plain.sessions) != workload.facts.digest
    assert plain.depths == workload.depths


def test_what_begins_anew_is_told_of_the_tools_again(make_profile: Make) -> None:
    """Its prompt has nothing of what was before."""
    workload = with_plain_tools(build(make_profile(**AGENT, compact=1), seed=1))
    for session in workload.sessions:
        heads = [turn.messages[0]["content"] for turn in session.turns if turn.begins_anew or turn is session.turns[0]]
        assert len(heads) == 2
        assert heads[0] == heads[1]
        assert '"name": "bash"' in heads[0]


def test_sub_agents_are_told_in_text_too(make_profile: Make) -> None:
    """A tree is played by one server."""
    child = {name: value for name, value in AGENT.items() if name not in ("answer", "system_tokens")}
    child |= {"version": 1, "name": "child", "description": "Looks.", "history": "recorded", "sources": {}}
    child |= {"first_user": {"tokens": 20}, "tool_result": {"tokens": 20}, "tool_time_s": 0}
    profile = make_profile(**AGENT, subagents={"at_turn": 0, "count": 1, "profile": child})
    for session in with_plain_tools(build(profile, seed=1)).sessions:
        (below,) = session.turns[0].spawn
        assert below.tools == ()
        assert all(message["role"] != "tool" for turn in below.turns for message in turn.messages)


def test_a_workload_without_tools_stays_as_it_is(make_profile: Make) -> None:
    """The very same one."""
    workload = build(make_profile(), seed=1)
    assert with_plain_tools(workload) is workload


def test_a_workload_is_made_with_plain_tools_where_the_server_asks_for_it() -> None:
    """Through the library, as a run does it."""
    how: dict[str, Any] = {"seed": 1, "chars_per_token": 3.3}
    plain = library.load("subagent-fanout-8k", **how, making=Making(tools_as_text=True))
    assert plain == with_plain_tools(library.load("subagent-fanout-8k", **how))


def test_depths_are_counted_again_where_tokens_are(make_profile: Make) -> None:
    """By the server's tokenizer: of every prompt with its salt, what the template puts around messages included."""
    sizes = Sizes(chars_per_token=4.0, message_tokens=5, prompt_tokens=3, by_line=True)
    sizer = ServerSizer(sizes, lambda text: [piece.encode() for piece in re.findall(r"\n+|[^\n]{1,4}", text)])
    plain = with_plain_tools(build(make_profile(**AGENT), seed=1, sizer=sizer), sizer)
    for session in plain.sessions:
        for number, turn in enumerate(session.turns):
            messages = prompt(session, number, salt="", answers={})
            assert turn.depth == 9 + sum(sizer.tokens(one["content"]) + 5 for one in messages) + 3
