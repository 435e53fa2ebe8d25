"""Whole runs over recorded sessions: what is sent, what is broken off, and who waits for whom."""

import asyncio
import json
import threading
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from loadgen.errors import WorkloadError
from loadgen.experiment.model import Experiment
from loadgen.gguf.tiny import write_tiny_model
from loadgen.records.model import Outcome, Phase, RequestRecord
from loadgen.records.run import Run
from loadgen.records.run_folder import RunWriter, read_run
from loadgen.replay.lineup import Lineup
from loadgen.replay.repertoire import choose
from loadgen.replay.repertoire import recorded as taken_up
from loadgen.replay.sweep import Sweep
from loadgen.workload.formats.session import write
from loadgen.workload.recorded import Cancel, RecordedSession, RecordedTurn
from loadgen.workload.session import Workload
from tests.replay.notes import Notes
from tests.servers.standins.llama import EmbeddedBackend, FakeLlama
from tests.servers.standins.web import Exchange

CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command":"ls"}'}}],
}
TOOLS = [{"type": "function", "function": {"name": "bash", "description": "Run it.", "parameters": {"type": "object"}}}]


class Templated(FakeLlama):
    """Puts messages into a template: of text alone or of all that there is, with a long head, or none with results."""

    def __init__(self, *, tools_first: bool = False, refuses_tools: bool = False, keeps: bool = False) -> None:
        super().__init__()
        self._keeps = keeps
        self._tools_first = tools_first
        self._refuses_tools = refuses_tools

    def post(self, exchange: Exchange) -> None:
        """The template, and everything else."""
        if exchange.route != "/apply-template":
            super().post(exchange)
            return
        messages = exchange.asked["messages"]
        if self._refuses_tools and any(message["role"] == "tool" for message in messages):
            exchange.fail(500, "Conversation roles must alternate user/assistant", "server_error")
            return
        head = "tool " * 100 if self._tools_first else ""
        body = json.dumps(messages) if self._keeps else " ".join(str(message.get("content")) for message in messages)
        exchange.say({"prompt": head + (json.dumps(exchange.asked.get("tools")) if self._keeps else "") + body})


def turn(role: str, text: str, answer: dict[str, Any] | None = None, **how: Any) -> RecordedTurn:
    """A turn with one message."""
    message = {"role": role, "content": text} | ({"tool_call_id": "c1"} if role == "tool" else {})
    return RecordedTurn(messages=[message], assistant=answer or {"role": "assistant", "content": "ok"}, **how)


def with_tool() -> RecordedSession:
    """An agent that calls a tool and reads its result."""
    return RecordedSession(session_id="a", tools=TOOLS, turns=[turn("user", "Fix it", CALL), turn("tool", "a.py")])


def saved(folder: Path, *sessions: RecordedSession) -> Path:
    """A file of these sessions."""
    path = folder / "mine.jsonl"
    with path.open("wb") as file:
        write(sessions, file)
    return path


def experiment(url: str, path: Path, **fields: Any) -> Experiment:
    """One running server, one agent, one round, no output check."""
    return Experiment.model_validate(
        {
            "variants": [{"kind": "url", "name": "off", "url": url}],
            "baseline": "off",
            "levels": (1,),
            "workload": str(path),
            "rounds": 1,
            "time_budget_s": 1,
            "warmup_s": 0.2,
            "check_output": "off",
            **fields,
        }
    )


async def play(folder: Path, asked: Experiment) -> tuple[Run, Notes]:
    """Run it."""
    writer, observer = RunWriter(folder), Notes()
    try:
        await Sweep(asked, writer, observer, asyncio.Event()).run()
    finally:
        writer.close()
    return read_run(folder), observer


async def chosen(folder: Path, asked: Experiment) -> tuple[Workload, list[str]]:
    """The workload of the experiment, and what is said of it before anything is measured."""
    writer, observer = RunWriter(folder), Notes()
    lineup = Lineup(asked, writer, observer, asyncio.Event())
    try:
        return await choose(await lineup.open("off", round_=0), asked, observer.note), observer.notes
    finally:
        await lineup.close()
        writer.close()


def of_round_1(run: Run) -> list[RequestRecord]:
    """The requests of the one trial behind its warm-up, in the order of their start."""
    kept = [one for one in run.requests if one.round == 1 and one.phase is not Phase.WARMUP]
    return sorted(kept, key=lambda one: one.start_ns)


def plays(requests: Sequence[RequestRecord]) -> list[list[RequestRecord]]:
    """The requests by root session, each whole one but the first and the last."""
    groups = [list(group) for _, group in groupby(requests, key=lambda one: one.root)]
    return groups[1:-1]


async def test_tools_and_results_of_tools_go_out_as_recorded(tmp_path: Path) -> None:
    """Every request carries the definitions, and the second turn the call and its result; only the salt is new."""
    with FakeLlama() as server:
        await play(tmp_path / "run", experiment(server.address, saved(tmp_path, with_tool())))
    bodies = [body for body in server.bodies if body["stream"]]  # what looks at the server first streams nothing
    assert {len(body["messages"]) for body in bodies} == {1, 3}
    for body in bodies:
        assert body["tools"] == TOOLS
        salt, _, text = body["messages"][0]["content"].partition("\n")
        assert (len(salt), text) == (8, "Fix it")
        assert body["messages"][1:] in ([], [CALL, {"role": "tool", "content": "a.py", "tool_call_id": "c1"}])


async def test_a_template_that_refuses_tools_is_said_before_anything_is_measured(tmp_path: Path) -> None:
    """The server's own words, which turn, and what to do."""
    words = r"refuses turn 2 of session a: server_error: Conversation roles must alternate.*Choose another template"
    with Templated(refuses_tools=True) as server:
        with pytest.raises(WorkloadError, match=words):
            await chosen(tmp_path / "run", experiment(server.address, saved(tmp_path, with_tool())))
        assert not any(body["stream"] for body in server.bodies)


@pytest.mark.parametrize("tools_first", [True, False])
async def test_tools_in_front_of_the_salt_are_noted(tmp_path: Path, tools_first: bool) -> None:
    """Then prompts are alike up to the salt, and first turns find that much in the cache."""
    with Templated(tools_first=tools_first) as server:
        _, notes = await chosen(tmp_path / "run", experiment(server.address, saved(tmp_path, with_tool())))
    assert any("puts 500 characters" in note for note in notes) is tools_first


@pytest.mark.parametrize("keeps", [True, False])
async def test_what_a_template_leaves_out_is_noted(tmp_path: Path, keeps: bool) -> None:
    """Of what the recording has: here definitions and calls, and no reasoning."""
    with Templated(keeps=keeps) as server:
        _, notes = await chosen(tmp_path / "run", experiment(server.address, saved(tmp_path, with_tool())))
    said = [note.partition(" leaves out ")[2] for note in notes if " leaves out " in note]
    words = "tool definitions and tool calls, without a word: prompts lack what the recording has"
    assert said == ([] if keeps else [words])


async def test_a_file_that_does_not_fit_is_refused_or_clipped(tmp_path: Path) -> None:
    """With the numbers; clipped on request, and the share is noted; resuming finds the same workload."""
    long = RecordedSession(session_id="a", turns=[turn("user", "go"), turn("user", "word " * 5000)])
    path = saved(tmp_path, long)
    with FakeLlama() as server:
        with pytest.raises(WorkloadError, match=r"Workload mine needs 5\d\d\d tokens .* this server has 4096"):
            await chosen(tmp_path / "refused", experiment(server.address, path))
        asked = experiment(server.address, path, context_full="finish", max_tokens=16)
        workload, notes = await chosen(tmp_path / "clipped", asked)
    assert any("1 of 2 turns (50%) are left out" in note for note in notes)
    assert [len(session.turns) for session in workload.sessions] == [1]
    assert workload.facts.clipped is not None
    assert taken_up(workload.facts, asked) == workload


async def test_answers_are_broken_off_and_asked_for_again_or_dropped(tmp_path: Path) -> None:
    """A cancelled call has the tokens so far; asked again, the turn counts once; dropped, the next turn follows."""
    ways = Cancel(after_tokens=3, then="resume"), Cancel(after_s=0, then="resume"), Cancel(after_tokens=2, then="drop")
    turns = [*(turn("user", "go", cancel=cancel) for cancel in ways), turn("user", "more")]
    with Slow() as server:
        path = saved(tmp_path, RecordedSession(session_id="a", turns=turns))
        run, _ = await play(tmp_path / "run", experiment(server.address, path))
    whole = plays(of_round_1(run))
    assert whole
    for group in whole:
        assert [(one.turn, one.attempt, one.outcome) for one in group] == [
            (0, 1, Outcome.CANCELLED),
            (0, 2, Outcome.OK),
            (1, 1, Outcome.CANCELLED),
            (1, 2, Outcome.OK),
            (2, 1, Outcome.CANCELLED),
            (3, 1, Outcome.OK),
        ]
        for cancelled, again in ((group[0], group[1]), (group[2], group[3])):
            assert 1 <= cancelled.token_events < again.token_events == 12
            assert again.ready_ns == again.scheduled_ns == cancelled.end_ns
    (trial,) = [one for one in run.trials if one.round == 1]
    measured = {(one.root, one.turn) for one in of_round_1(run) if one.phase is Phase.SEGMENT}
    assert len(measured) == trial.turns_per_agent


class Slow(FakeLlama):
    """Sends every token by itself, so that whoever listens can leave in between."""

    def __init__(self) -> None:
        super().__init__()
        self._pause = threading.Event()

    def _chat(self, exchange: Exchange) -> None:
        exchange.send_response(200)
        exchange.send_header("Content-Type", "text/event-stream")
        exchange.end_headers()
        piece = b'data: {"choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}\n\n'
        try:
            for _ in range(12):
                exchange.wfile.write(piece)
                exchange.wfile.flush()
                self._pause.wait(0.005)
            exchange.wfile.write(b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n')
            exchange.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            exchange.close_connection = True


def family() -> tuple[RecordedSession, ...]:
    """A parent that spawns two sub-agents, waits for one, and ends before the other; one has a sub-agent of its own."""
    parent = RecordedSession(
        session_id="p",
        turns=[
            turn("user", "plan", spawn=["c1", "c2"]),
            turn("user", "go on", join=["c1"], delay_kind="subagent", delay_s=0.001),
        ],
    )
    one = RecordedSession(session_id="c1", turns=[turn("user", "look", spawn=["g"]), turn("user", "and", join=["g"])])
    two = RecordedSession(session_id="c2", turns=[turn("user", "search"), turn("user", "more"), turn("user", "last")])
    return parent, one, two, RecordedSession(session_id="g", turns=[turn("user", "deep")])


async def test_sub_agents_run_beside_their_parent_which_waits_for_them(tmp_path: Path) -> None:
    """They begin when the spawning turn is answered; a join waits for their end; the job ends with the last of them.

    A segment is k turns of root sessions, however many calls their sub-agents make meanwhile.
    """
    with Slow() as server:
        run, _ = await play(tmp_path / "run", experiment(server.address, saved(tmp_path, *family())))
    whole = plays(of_round_1(run))
    assert whole
    for group in whole:
        root = group[0].root
        assert root.startswith("p@a0.")
        tree = {
            name: [one for one in group if one.session == root.replace("p", name, 1)] for name in ("p", "c1", "c2", "g")
        }
        assert {name: [one.turn for one in calls] for name, calls in tree.items()} == {
            "p": [0, 1], "c1": [0, 1], "c2": [0, 1, 2], "g": [0],
        }  # fmt: skip
        assert sum(map(len, tree.values())) == len(group)
        parent, child, grandchild = tree["p"], tree["c1"], tree["g"]
        assert child[0].ready_ns == tree["c2"][0].ready_ns == parent[0].end_ns
        assert grandchild[0].ready_ns == child[0].end_ns
        assert child[1].scheduled_ns >= grandchild[0].end_ns
        assert parent[1].wait_kind == "subagent"
        assert parent[1].scheduled_ns == child[1].end_ns + 1_000_000
        assert all(one.outcome is Outcome.OK for one in group)
    ends = [max(one.end_ns for one in group) for group in whole]
    starts = [group[0].ready_ns for group in whole]
    assert starts[1:] == ends[:-1]
    (trial,) = [one for one in run.trials if one.round == 1]
    measured = [one for one in of_round_1(run) if one.phase is Phase.SEGMENT]
    assert sum(one.session == one.root for one in measured) == trial.turns_per_agent
    assert any(one.session != one.root for one in measured)
    assert {one.active_agents for one in measured} == {1}
    assert max(one.in_flight for one in measured) > 1


@pytest.mark.live
async def test_a_real_server_takes_tools_and_is_stopped_in_mid_answer(tmp_path: Path) -> None:
    """Against llama.cpp: calls and results go through its template, a cancelled answer ends on the server too."""
    sessions = (
        with_tool(),
        RecordedSession(
            session_id="b", turns=[turn("user", "go", cancel=Cancel(after_tokens=4)), turn("user", "more")]
        ),
    )
    model = str(write_tiny_model(tmp_path / "small.gguf"))
    server = EmbeddedBackend("-m", model, "-np", "2", "-c", "4096", "-t", "1", "--poll", "0", "--metrics")
    try:
        while not server.ready():
            await asyncio.sleep(0.02)
            assert server.exit_code() is None
        run, _ = await play(tmp_path / "run", experiment(server.address, saved(tmp_path, *sessions)))
    finally:
        server.stop()
    requests = of_round_1(run)
    assert {one.outcome for one in requests} <= {Outcome.OK, Outcome.CANCELLED}
    assert {one.turn_kind for one in requests if one.outcome is Outcome.OK} == {"tool_call", "prose"}
    assert all(trial.complete and trial.aborted is None for trial in run.trials)
    firsts = [one for one in requests if one.turn == 0 and one.attempt == 1 and one.outcome is Outcome.OK]
    assert firsts
    assert {one.cached_tokens for one in firsts} == {0}
