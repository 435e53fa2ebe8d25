"""Rules of playing recorded sessions: what goes out, how long it is, and what doesn't fit."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadgen.errors import WorkloadError
from loadgen.records.manifest import Clipped
from loadgen.workload import library
from loadgen.workload.formats.session import write
from loadgen.workload.put_back import put_back
from loadgen.workload.recorded import Cancel, RecordedSession, RecordedTurn
from loadgen.workload.replayed import replay
from loadgen.workload.session import prompt

TOOLS = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}]
CALL = {
    "role": "assistant",
    "reasoning_content": "Look first.",
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command":"ls"}'}}],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "a.py"}


def agent(name: str = "t1", **first: Any) -> RecordedSession:
    """An agent that calls a tool, reads its result, and is asked for more."""
    fields: dict[str, Any] = {
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Fix it"}],
        "assistant": CALL,
        "delay_s": 9.0,
    }
    return RecordedSession(
        session_id=name,
        tools=TOOLS,
        turns=[
            RecordedTurn(**(fields | first)),
            RecordedTurn(
                messages=[RESULT],
                assistant={"role": "assistant", "content": "done"},
                delay_s=0.25,
                delay_kind="tool",
                output_tokens=100,
            ),
            RecordedTurn(
                messages=[{"role": "user", "content": "Thanks. More?"}],
                assistant={"role": "assistant", "content": "no"},
                delay_s=3.0,
                delay_kind="user",
            ),
        ],
    )


def of_text(name: str, *texts: str, **how: Any) -> RecordedSession:
    """A session of user messages with the answer `ok`."""
    answer = {"role": "assistant", "content": "ok"}
    return RecordedSession(
        session_id=name,
        turns=[RecordedTurn(messages=[{"role": "user", "content": text}], assistant=answer, **how) for text in texts],
    )


def test_a_prompt_is_what_was_recorded_behind_its_salt() -> None:
    """Tool calls, reasoning and results of tools go out as they are; only the first message gets the salt."""
    (session,) = replay([agent()], name="mine", chars_per_token=4.0).sessions
    assert session.tools == tuple(TOOLS)
    assert prompt(session, 2, salt="0a1b2c3d", answers={}) == [
        {"role": "system", "content": "0a1b2c3d\nBe brief."},
        {"role": "user", "content": "Fix it"},
        CALL,
        RESULT,
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "Thanks. More?"},
    ]


def test_the_salt_stands_in_front_of_a_list_of_parts() -> None:
    """Content may be a list: then the salt is a part of its own before the others."""
    parts = [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    recorded = agent(messages=[{"role": "user", "content": parts}])
    (session,) = replay([recorded], name="mine").sessions
    salted = [{"type": "text", "text": "0a1b2c3d\n"}, *parts]
    assert prompt(session, 0, salt="0a1b2c3d", answers={}) == [{"role": "user", "content": salted}]


def test_live_answers_keep_the_recorded_calls() -> None:
    """The results of tools that follow answer the recorded calls, so these stay beside the model's own words."""
    (session,) = replay([agent()], name="mine", history="live").sessions
    said = [
        put_back(turn, {"role": "assistant", "content": text})
        for turn, text in zip(session.turns, ("I look.", "fixed"), strict=False)
    ]
    answers = {number: message for number, message in enumerate(said) if message is not None}
    messages = prompt(session, 2, salt="", answers=answers)
    assert messages[2] == {"role": "assistant", "content": "I look.", "tool_calls": CALL["tool_calls"]}
    assert messages[4] == {"role": "assistant", "content": "fixed"}


def test_waits_and_kinds_are_the_recorded_ones() -> None:
    """A root session begins when its agent is free; later turns wait for what was waited for."""
    (session,) = replay([agent()], name="mine").sessions
    assert [(turn.wait_s, turn.wait_kind) for turn in session.turns] == [(0.0, None), (0.25, "tool"), (3.0, "user")]
    assert [turn.kind for turn in session.turns] == ["tool_call", "prose", "prose"]


def test_a_cap_is_half_as_much_again_as_was_recorded_and_64_at_least() -> None:
    """The file's count goes before an estimate; `max_tokens` caps the cap."""
    (session,) = replay([agent()], name="mine", chars_per_token=4.0).sessions
    assert [turn.output_tokens for turn in session.turns] == [64, 150, 64]
    (session,) = replay([agent()], name="mine", chars_per_token=4.0, max_tokens=70).sessions
    assert [turn.output_tokens for turn in session.turns] == [64, 70, 64]


def test_depths_are_the_files_counts_where_its_text_can_have_so_many() -> None:
    """A count within a factor of 2 of the text's length is taken; one far off is of text that the file lacks."""
    text = "four" * 1000
    for count, depth in ((1500, 1509), (5000, 1000 + 15 + 4 + 9)):
        (session,) = replay([of_text("a", text, input_tokens=count)], name="mine", chars_per_token=4.0).sessions
        assert session.turns[0].depth == depth


def test_a_session_ends_before_the_turn_that_does_not_fit() -> None:
    """Prompt and cap may fill 90 % of a slot; the share that is left out is counted and said."""
    sessions = [of_text("a", "four" * 100, "four" * 1000, "go"), of_text("b", "go"), of_text("c", "four" * 2000)]
    workload = replay(sessions, name="mine", chars_per_token=4.0, context=1000)
    assert [(session.id, len(session.turns)) for session in workload.sessions] == [("a", 1), ("b", 1)]
    assert workload.facts.clipped == Clipped(
        context=1000, sessions_cut=1, sessions_left_out=1, turns_left_out=3, turns=5
    )
    assert workload.facts.min_context == 1000
    assert workload.facts.max_depth == 100 + 15 + 4 + 9 + 64
    (note,) = workload.notes
    assert note == (
        "3 of 5 turns (60%) are left out, because they don't fit 1000 tokens of context a slot: 1 sessions end early, "
        "1 are not played at all"
    )
    with pytest.raises(WorkloadError, match="not even one first turn fits 10 tokens"):
        replay(sessions, name="mine", context=10)


def test_what_fits_is_the_same_with_and_without_clipping() -> None:
    """A workload says the context that it needs, and is whole in a slot of that size."""
    whole = replay([agent(), of_text("b", "four" * 500)], name="mine", chars_per_token=4.0)
    assert (
        replay([agent(), of_text("b", "four" * 500)], name="mine", chars_per_token=4.0, context=whole.facts.min_context)
        == whole
    )
    library.check_fits(whole, whole.facts.min_context)
    with pytest.raises(WorkloadError, match="--context-full finish"):
        library.check_fits(whole, whole.facts.min_context - 1)


def test_messages_of_which_only_the_length_is_known_get_text() -> None:
    """So many tokens by characters, always the same; the same seed with fewer tokens is a beginning of it."""
    sized = [{"role": "user", "tokens": 50, "corpus": "code", "seed": "s"}]
    longer = [{"role": "user", "tokens": 80, "corpus": "code", "seed": "s"}]
    recorded = [agent("a", messages=sized), agent("b", messages=longer), agent("c", messages=sized)]
    workload = replay(recorded, name="mine", chars_per_token=4.0)
    short, long, again = (session.turns[0].messages[0]["content"] for session in workload.sessions)
    assert len(short) == 200
    assert len(long) == 320
    assert long.startswith(short)
    assert again == short
    assert replay(recorded, name="mine", chars_per_token=4.0).facts.digest == workload.facts.digest


def test_answers_that_the_file_lacks_are_made_up_and_said() -> None:
    """A later turn needs an answer to go on from; the last turn doesn't."""
    sessions = [of_text("a", "one", "two")]
    lacking = msgspec.structs.replace(
        sessions[0], turns=[msgspec.structs.replace(turn, assistant=None) for turn in sessions[0].turns]
    )
    workload = replay([lacking], name="mine", chars_per_token=4.0)
    assert [len(turn.answer) for turn in workload.sessions[0].turns] == [256, 256]
    assert workload.facts.assumed == ["output"]
    assert workload.notes == ("1 answers that the file lacks are made up, for the turns behind them to go on from",)


def test_an_answer_that_the_agent_dropped_does_not_come_back() -> None:
    """Where the stream was broken off and the file has no answer, the next message follows."""
    recorded = agent(assistant=None, cancel=Cancel(after_tokens=3, then="drop"))
    (session,) = replay([recorded], name="mine").sessions
    assert [message["role"] for message in prompt(session, 1, salt="", answers={})] == ["system", "user", "tool"]


def test_history_begins_anew_where_the_recording_does() -> None:
    """After a reset the messages are the whole prompt, and its depth counts from there."""
    recorded = of_text("a", "four" * 500, "summary", "go")
    recorded.turns[1] = msgspec.structs.replace(recorded.turns[1], history_reset="compact")
    (session,) = replay([recorded], name="mine", chars_per_token=4.0).sessions
    assert [message["content"] for message in prompt(session, 2, salt="", answers={})] == ["summary", "ok", "go"]
    assert [turn.depth for turn in session.turns] == [528, 30, 62]


def test_sub_agents_stand_with_the_turn_that_spawns_them() -> None:
    """A spawned session is no root: it takes no place of its own in the pool, and its waits and turns count."""
    parent, child = of_text("p", "one", "two"), of_text("c", "sub", delay_s=0.5)
    parent.turns[0] = msgspec.structs.replace(parent.turns[0], spawn=["c"])
    parent.turns[1] = msgspec.structs.replace(parent.turns[1], join=["c"], delay_kind="subagent")
    workload = replay([parent, child], name="mine")
    (session,) = workload.sessions
    assert [one.id for one in session.turns[0].spawn] == ["c"]
    assert session.turns[1].join == ("c",)
    assert session.turns[0].spawn[0].turns[0].wait_s == 0.5
    assert (workload.facts.sessions, workload.facts.turns) == (1, 3)
    alone = replay([of_text("p", "one", "two")], name="mine")
    assert alone.facts.digest != workload.facts.digest


def test_the_digest_covers_tools_and_calls() -> None:
    """What is sent is what counts, tool definitions and the shape of answers included."""
    whole = replay([agent()], name="mine").facts.digest
    assert replay([replace_tools(agent(), None)], name="mine").facts.digest != whole
    assert replay([agent(assistant={**CALL, "reasoning_content": "No."})], name="mine").facts.digest != whole
    assert replay([agent(cancel=Cancel(after_s=1.0))], name="mine").facts.digest != whole


def replace_tools(session: RecordedSession, tools: list[dict[str, Any]] | None) -> RecordedSession:
    """The session with other tools."""
    return msgspec.structs.replace(session, tools=tools)


@pytest.mark.parametrize("name", ["mine.jsonl", "mine.jsonl.gz"])
def test_a_file_is_a_workload_of_its_name(tmp_path: Path, name: str) -> None:
    """It is read by its ending, keeps its history unless another is asked for, and says what was skipped."""
    plain = tmp_path / "plain.jsonl"
    with plain.open("wb") as file:
        write([agent()], file)
        file.write(b"{broken\n")
    path = tmp_path / name
    path.write_bytes(plain.read_bytes() if path.suffix == ".jsonl" else gzip.compress(plain.read_bytes()))
    workload = library.load(path, seed=1)
    assert (workload.name, workload.history, len(workload.sessions)) == ("mine", "recorded", 1)
    assert workload.notes == (f"{path}: 1 problems; loadgen workloads check lists what was skipped",)
    assert library.load(str(path), seed=2, history="live").facts.history == "live"
    assert library.load(str(path), seed=2).facts == workload.facts


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    """A sentence with the path."""
    with pytest.raises(WorkloadError, match=r"gone\.jsonl: No such file"):
        library.load(tmp_path / "gone.jsonl", seed=1)


def test_two_processes_play_the_same(tmp_path: Path) -> None:
    """Prompts and everything else of a file are the same in another process, whatever its hash seed."""
    path = tmp_path / "mine.jsonl"
    sized = agent("b", messages=[{"role": "user", "tokens": 500, "corpus": "prose"}])
    with path.open("wb") as file:
        write([agent(), sized], file)
    code = (
        "import json, sys; from loadgen.workload.library import load; from loadgen.workload.session import prompt\n"
        "w = load(sys.argv[1], seed=1, chars_per_token=3.5)\n"
        "print(json.dumps([w.facts.digest, [prompt(s, 2, salt='ab', answers={}) for s in w.sessions]]))"
    )
    said = [
        json.loads(subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, check=True).stdout)
        for _ in range(2)
    ]
    assert said[0] == said[1]
    workload = library.load(path, seed=1, chars_per_token=3.5)
    assert said[0][0] == workload.facts.digest
    assert said[0][1] == [prompt(session, 2, salt="ab", answers={}) for session in workload.sessions]


def test_a_profile_is_clipped_to_a_smaller_slot() -> None:
    """Its sessions end early, and it says how many; in a slot that is large enough it stays as it is."""
    how: dict[str, Any] = {"seed": 1, "chars_per_token": 3.3}
    whole = library.load("batch-agents-2k", **how)
    assert library.load("batch-agents-2k", **how, context=2048) == whole
    cut = library.load("batch-agents-2k", **how, context=1500)
    assert cut.facts.min_context == 1500
    assert cut.facts.max_depth <= 1500
    clipped = cut.facts.clipped
    assert clipped is not None
    assert clipped.turns == whole.facts.turns
    assert clipped.turns_left_out == whole.facts.turns - cut.facts.turns > 0
    (note,) = cut.notes
    assert note == (
        f"{clipped.sessions_cut} of 64 sessions end early, because a slot holds 1500 tokens and the workload needs "
        f"2048; {cut.redrawn} were drawn afresh; {clipped.reuse:.1%} of prompt tokens stood in the prompt before, "
        f"{clipped.whole_reuse:.1%} otherwise"
    )
    # Nothing of the demo's sessions reaches beyond 700 tokens.
    assert library.load("demo", seed=1, context=700).facts.clipped is None
