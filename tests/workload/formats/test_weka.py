"""Weka documents become sessions of made-up text, with their sub-agents."""

import itertools
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.workload.formats import weka
from loadgen.workload.recorded import RecordedSession
from loadgen.workload.session_check import checked
from tests.workload.formats.reading import (
    FILE,
    NUMBERS,
    VALUES,
    WORDS,
    in_full,
    objects_of,
    only,
    read,
    same,
    survives,
    texts,
)


def request(at: float, tokens: int, output: int, **fields: Any) -> dict[str, Any]:
    """A request of the published shape; its full blocks are numbered from 1."""
    blocks = list(range(1, tokens // 64 + 1))
    return {"t": at, "type": "s", "model": "m", "in": tokens, "out": output, "hash_ids": blocks, "stop": ""} | fields


def document(*requests: Any, **fields: Any) -> dict[str, Any]:
    """A document of the published shape."""
    head = {"id": "t1", "models": ["m"], "block_size": 64, "hash_id_scope": "local"}
    return head | {"tool_tokens": 0, "system_tokens": 0, "requests": list(requests)} | fields


def agent(at: float, *requests: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A sub-agent of the published shape."""
    head = {"t": at, "type": "subagent", "agent_id": "a", "subagent_type": "Explore", "status": "completed"}
    return head | {"requests": list(requests), "models": ["m"]} | fields


def test_a_longer_prompt_with_the_same_blocks_goes_on() -> None:
    """What is new is what the prompt has above the one before and its answer; waits are those that the file names."""
    first = request(0.0, 640, 100, output_types=["tool_use"], stop="tool_use", api_time=5.0, think_time=0.0)
    second = request(12.0, 900, 30, input_types=["tool_result"], output_types=["text"], think_time=7.0)
    session = only(weka, document(first, second))
    begin, after = session.turns
    assert begin.messages == [{"role": "user", "tokens": 640, "corpus": "prose", "seed": "weka:t1:0"}]
    assert begin.assistant == {"role": "assistant", "tokens": 100, "corpus": "code", "seed": "weka:t1:0:answer"}
    assert (begin.kind, begin.finish_reason, begin.delay_kind) == ("tool_call", "tool_calls", "arrival")
    assert after.messages == [{"role": "user", "tokens": 160, "corpus": "code", "seed": "weka:t1:1"}]
    assert (after.delay_s, after.delay_kind, after.kind, after.history_reset) == (7.0, "tool", "prose", None)
    assert session.source == {"name": "weka", "licence": "Apache-2.0", "model": "m"}


def test_a_wait_that_isnt_named_is_the_time_since_the_answer() -> None:
    """Without `think_time` the answer's own time is taken off, where it is known."""
    with_api = document(request(0.0, 64, 1, api_time=4.0), request(10.0, 200, 1))
    without = document(request(0.0, 64, 1), request(10.0, 200, 1))
    assert only(weka, with_api).turns[1].delay_s == 6.0
    assert only(weka, without).turns[1].delay_s == 10.0


def test_system_prompt_and_tools_are_a_message_of_their_own() -> None:
    """Their tokens stand in front, and are taken off the rest."""
    session = only(weka, document(request(0.0, 640, 1), tool_tokens=300, system_tokens=100))
    assert [(one["role"], one["tokens"]) for one in session.turns[0].messages] == [("system", 400), ("user", 240)]


def test_the_same_prompt_again_is_the_same_text() -> None:
    """Of a pair of requests the second has the first one's messages, as a history that was edited."""
    session = only(weka, document(request(0.0, 650, 80), request(15.0, 650, 70), request(20.0, 800, 5)))
    first, second, third = session.turns
    assert (second.messages, second.history_reset) == (first.messages, "edit")
    assert third.history_reset is None
    assert [one["tokens"] for one in third.messages] == [80]


def test_a_summed_up_history_keeps_what_its_blocks_share() -> None:
    """A prompt that shrinks is sent whole: the shared beginning, cut, and new text behind it."""
    shrunk = request(20.0, 320, 5, hash_ids=[1, 2, 90, 91, 92])
    session = only(weka, document(request(0.0, 640, 80), shrunk))
    assert session.turns[1].history_reset == "compact"
    assert session.turns[1].messages == [
        {
            "role": "user",
            "tokens": 320,
            "pieces": [
                {"tokens": 128, "corpus": "prose", "seed": "weka:t1:0"},
                {"tokens": 192, "corpus": "prose", "seed": "weka:t1:1"},
            ],
        }
    ]


def test_a_call_beside_the_conversation_doesnt_break_it() -> None:
    """After a prompt that shares nothing, the next one begins again like the one before that."""
    aside = request(5.0, 128, 9, hash_ids=[70, 71])
    session = only(weka, document(request(0.0, 640, 80), aside, request(9.0, 800, 5)))
    first, second, third = session.turns
    assert (second.history_reset, third.history_reset) == ("compact", "edit")
    assert third.messages[:2] == [*first.messages, first.assistant]
    assert sum(one["tokens"] for one in third.messages) == 800


def family(*entries: dict[str, Any], **fields: Any) -> dict[str, RecordedSession]:
    """The sessions of a document that have no problem, by name."""
    sessions, problems = read(weka, document(*entries, **fields))
    assert problems == []
    assert checked(sessions, FILE) == (sessions, [])
    return {session.session_id: session for session in sessions}


def test_a_sub_agent_begins_behind_an_answer_and_is_waited_for() -> None:
    """The parent's next request joins it; its wait is what was left after the sub-agent's end."""
    child = agent(10.0, request(12.0, 64, 5, api_time=1.0), duration_ms=20_000)
    found = family(request(0.0, 64, 5, api_time=8.0), child, request(33.0, 200, 5, think_time=25.0))
    parent, sub = found["t1"], found["t1/a"]
    assert parent.turns[0].spawn == ["t1/a"]
    assert parent.turns[1].join == ["t1/a"]
    assert (parent.turns[1].delay_s, parent.turns[1].delay_kind) == (3.0, "subagent")
    assert sub.parent_session_id == "t1"
    assert (sub.turns[0].delay_s, sub.turns[0].delay_kind) == (4.0, "arrival")


def test_a_sub_agent_in_the_background_is_not_waited_for() -> None:
    """Its status says so."""
    child = agent(10.0, request(12.0, 64, 5), status="async_launched")
    found = family(request(0.0, 64, 5), child, request(33.0, 200, 5))
    assert found["t1"].turns[0].spawn == ["t1/a"]
    assert found["t1"].turns[1].join is None


def test_a_parent_that_goes_on_earlier_joins_later() -> None:
    """The first request that begins when the sub-agent has ended, to the second, waits for it."""
    child = agent(10.0, request(10.0, 64, 5), duration_ms=20_600)
    found = family(request(0.0, 64, 5), child, request(20.0, 200, 5), request(30.0, 300, 5))
    assert [turn.join for turn in found["t1"].turns] == [None, None, ["t1/a"]]


def test_times_of_sub_agents_are_told_apart() -> None:
    """A request before its own sub-agent counts from there; all in the document then do."""
    relative = [
        agent(100.0, request(0.0, 64, 5), request(30.0, 200, 5)),
        agent(200.0, request(250.0, 64, 5), agent_id="b"),
    ]
    found = family(request(90.0, 64, 5), *relative)
    assert found["t1/a"].turns[0].delay_s == 10.0
    assert found["t1/b"].turns[0].delay_s == 360.0
    absolute = [agent(100.0, request(100.0, 64, 5))]
    assert family(request(90.0, 64, 5), *absolute)["t1/a"].turns[0].delay_s == 10.0


def test_sub_agents_have_sub_agents() -> None:
    """They are read to any depth."""
    inner = agent(20.0, request(21.0, 64, 5), agent_id="b")
    found = family(request(0.0, 64, 5), agent(10.0, request(11.0, 64, 5), inner))
    assert found["t1/a/b"].parent_session_id == "t1/a"
    assert found["t1/a"].turns[0].spawn == ["t1/a/b"]


def test_hashes_mean_the_same_everywhere_only_where_the_document_says_so() -> None:
    """With a global scope two documents share text; with a local one never."""
    pair = [document(request(0.0, 128, 5), id=name) for name in ("x", "y")]
    local, _ = read(weka, *pair)
    assert local[0].turns[0].messages != local[1].turns[0].messages
    shared, _ = read(weka, *[one | {"hash_id_scope": "global"} for one in pair])
    assert shared[0].turns[0].messages == shared[1].turns[0].messages


def test_requests_without_hashes_go_on_while_they_grow() -> None:
    """A longer prompt is taken to hold the one before and its answer."""
    session = only(weka, document(request(0.0, 640, 80, hash_ids=[]), request(1.0, 900, 5, hash_ids=[])))
    assert [one["tokens"] for one in session.turns[1].messages] == [180]


def test_what_is_broken_is_skipped_with_its_line() -> None:
    """A request names its session and place; a document that can't be read is skipped whole."""
    bad = document(request(0.0, 64, 5), {"t": 1, "in": 5}, {"type": "x"}, agent(2.0), 5, id="t2")
    assert texts(weka, 3, {"id": "a"}, bad, bad, document(id="t3")) == [
        "rows.jsonl:1: skipped: the row is no JSON object",
        "rows.jsonl:2: skipped: the document has no id, or no requests",
        "rows.jsonl:3: skipped: 't2', requests[1]: t, in or out is missing, or no number",
        "rows.jsonl:3: skipped: 't2', requests[2]: its type is none of s, n, subagent",
        "rows.jsonl:3: skipped: 't2', requests[3]: the sub-agent has no request that can be played",
        "rows.jsonl:3: skipped: 't2', requests[4]: it is no JSON object",
        "rows.jsonl:4: skipped: the id 't2' stands twice",
        "rows.jsonl:5: skipped: 't3' has no request that can be played",
    ]


REQUESTS = objects_of(
    {"t": NUMBERS, "in": NUMBERS, "out": NUMBERS, "hash_ids": st.lists(st.integers(0, 4), max_size=5), "type": WORDS}
    | {"api_time": NUMBERS, "think_time": NUMBERS, "input_types": st.lists(WORDS), "stop": WORDS}
)
AGENTS = objects_of(
    {"t": NUMBERS, "type": st.just("subagent"), "agent_id": WORDS, "duration_ms": NUMBERS, "status": WORDS}
    | {"requests": st.lists(REQUESTS, max_size=3)}
)


@given(
    st.lists(
        objects_of(
            {"id": WORDS, "requests": st.lists(REQUESTS | AGENTS, max_size=6), "block_size": NUMBERS}
            | {"hash_id_scope": st.sampled_from(["local", "global"]), "tool_tokens": NUMBERS}
        )
        | VALUES,
        max_size=3,
    )
)
def test_anything_is_read(values: list[Any]) -> None:
    """No documents make the importer fail."""
    survives(weka, values)


@given(st.lists(st.tuples(st.text("ab", min_size=2, max_size=12), st.integers(0, 90)), min_size=2, max_size=7))
@settings(max_examples=60)
def test_prompts_share_what_their_blocks_share(asked: list[tuple[str, int]]) -> None:
    """Prompts have the tokens that the file says, and any two of a session share those of their common blocks."""
    # A letter stands for 32 tokens: an id is all that its block and those before it hold.
    ids: list[list[Any]] = [[words[: 2 * (n + 1)] for n in range(len(words) // 2)] for words, _ in asked]
    requests = [
        request(at, 32 * len(words), output, hash_ids=blocks)
        for at, ((words, output), blocks) in enumerate(zip(asked, ids, strict=True))
    ]
    prompts = in_full(only(weka, document(*requests, system_tokens=40)))
    assert [len(prompt) for prompt in prompts] == [one["in"] for one in requests]
    for one, other in itertools.combinations(range(len(prompts)), 2):
        blocks = same(ids[one], ids[other])
        shared = same(prompts[one], prompts[other])
        assert shared >= blocks * 64
        assert shared < (blocks + 1) * 64 or blocks >= len(ids[one])
