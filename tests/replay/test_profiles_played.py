"""Whole runs over profiles: tools that a template takes or doesn't, the tiers' name, sub-agents, a full context."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from loadgen.experiment.model import Experiment
from loadgen.gguf.tiny import write_tiny_model
from loadgen.records.model import Outcome, Phase
from loadgen.records.run import Run
from loadgen.records.run_folder import RunWriter, read_run
from loadgen.replay.lineup import Lineup
from loadgen.replay.repertoire import choose
from loadgen.replay.repertoire import recorded as taken_up
from loadgen.replay.sweep import Sweep
from loadgen.workload.session import Workload
from tests.replay.notes import Notes
from tests.servers.standins.llama import EmbeddedBackend, FakeLlama
from tests.servers.standins.web import Exchange

AGENT = """\
version: 1
name: agent
description: Three turns with a tool.
min_context: 2048
pool: 3
corpus: code
history: recorded
shared_prefix: {system_tokens: 20, tools: 2, tool_tokens: 150, kind: coding}
first_user: {tokens: 40}
turns: 3
tool_result: {tokens: 30}
output: {tokens: 40, mode: natural}
tool_time_s: 0
sources: {}
"""

FAMILY = """\
version: 1
name: family
description: A parent that spawns two sub-agents, breaks answers off, and sums up.
min_context: 512
pool: 4
corpus: words
history: live
system_tokens: 4
first_user: {tokens: 6}
turns: 4
tool_result: {tokens: 6}
output: {tokens: 8, mode: exact}
tool_time_s: 0
cancel: {share: 0.2, after_tokens: 2}
compact: {share: 0.5, summary_tokens: 10}
subagents:
  at_turn: 0.3
  count: 2
  profile:
    version: 1
    name: child
    description: Looks twice.
    min_context: 256
    corpus: words
    history: live
    system_tokens: 4
    first_user: {tokens: 6}
    turns: 2
    tool_result: {tokens: 6}
    output: {tokens: 8, mode: exact}
    tool_time_s: 0
    sources: {}
sources: {}
"""

LONG = """\
version: 1
name: long
description: Twenty turns, each with 38 tokens more than the one before.
min_context: 2048
pool: 4
corpus: words
history: recorded
system_tokens: 4
first_user: {tokens: 6}
turns: 20
tool_result: {tokens: 20}
answer: {tokens: 8}
output: {tokens: 8, mode: exact}
tool_time_s: 0
sources: {}
"""


class Templated(FakeLlama):
    """Puts messages into a template that takes tools, refuses their results, or leaves definitions and calls out."""

    def __init__(self, tools: str) -> None:
        super().__init__()
        self._tools = tools

    def post(self, exchange: Exchange) -> None:
        """The template, and everything else."""
        if exchange.route != "/apply-template":
            super().post(exchange)
            return
        messages = exchange.asked["messages"]
        if self._tools == "refused" and any(message["role"] == "tool" for message in messages):
            exchange.fail(500, "Conversation roles must alternate user/assistant", "server_error")
            return
        if self._tools == "left out":
            exchange.say({"prompt": " ".join(str(message.get("content")) for message in messages)})
            return
        exchange.say({"prompt": json.dumps(messages) + json.dumps(exchange.asked.get("tools"))})


def experiment(url: str, workload: str, **fields: Any) -> Experiment:
    """One running server, one agent, one round, no output check."""
    return Experiment.model_validate(
        {
            "variants": [{"kind": "url", "name": "off", "url": url}],
            "baseline": "off",
            "levels": (1,),
            "workload": workload,
            "rounds": 1,
            "time_budget_s": 1,
            "warmup_s": 0.1,
            "check_output": "off",
            **fields,
        }
    )


def saved(folder: Path, text: str) -> str:
    """A file of this profile."""
    path = folder / "profile.yaml"
    path.write_text(text)
    return str(path)


async def play(folder: Path, asked: Experiment) -> Run:
    """Run it."""
    writer = RunWriter(folder)
    try:
        await Sweep(asked, writer, Notes(), asyncio.Event()).run()
    finally:
        writer.close()
    return read_run(folder)


async def chosen(folder: Path, asked: Experiment) -> tuple[Workload, list[str]]:
    """The workload of the experiment, and what is said of it before anything is measured."""
    writer, observer = RunWriter(folder), Notes()
    lineup = Lineup(asked, writer, observer, asyncio.Event())
    try:
        return await choose(await lineup.open("off", round_=0), asked, observer.note), observer.notes
    finally:
        await lineup.close()
        writer.close()


@pytest.fixture
async def tiny(tmp_path: Path) -> AsyncIterator[str]:
    """Address of a real server with the tiny model and 512 tokens a slot, which is ended."""
    model = str(write_tiny_model(tmp_path / "small.gguf"))
    server = EmbeddedBackend("-m", model, "-np", "2", "-c", "1024", "-t", "1", "--poll", "0", "--metrics")
    try:
        while not server.ready():
            assert server.exit_code() is None
            await asyncio.sleep(0.02)
        yield server.address
    finally:
        server.stop()


async def test_tools_go_out_where_the_template_takes_them(tmp_path: Path) -> None:
    """Definitions with every request, calls in the history, results with the role `tool`."""
    with Templated("taken") as server:
        await play(tmp_path / "run", experiment(server.address, saved(tmp_path, AGENT)))
    bodies = [body for body in server.bodies if body["stream"]]
    assert {len(body["messages"]) for body in bodies} == {2, 4, 6}
    for body in bodies:
        assert [tool["function"]["name"] for tool in body["tools"]] == ["bash", "read_file"]
        roles = [message["role"] for message in body["messages"]]
        assert roles == ["system", "user", "assistant", "tool", "assistant", "tool"][: len(roles)]


@pytest.mark.parametrize(
    ("tools", "why"), [("refused", "refuses tools"), ("left out", "leaves out tool definitions and tool calls")]
)
async def test_tools_are_told_in_text_where_the_template_takes_none(tmp_path: Path, tools: str, why: str) -> None:
    """It is said, nothing of role `tool` is sent, and an earlier run is taken up in the same way."""
    with Templated(tools) as server:
        asked = experiment(server.address, saved(tmp_path, AGENT))
        workload, notes = await chosen(tmp_path / "chosen", asked)
    said = f"workload {asked.workload}: the server's chat template {why}: tools are told in the system message, and "
    assert any(note.startswith(said) for note in notes)
    assert workload.facts.tools_as_text is True
    assert not any(session.tools for session in workload.sessions)
    roles = {message["role"] for session in workload.sessions for turn in session.turns for message in turn.messages}
    assert roles == {"system", "user"}
    assert taken_up(workload.facts, asked).sessions == workload.sessions


@pytest.mark.parametrize("name", [None, "batch-agents"])
async def test_the_name_of_the_tiers_is_the_largest_that_fits(tmp_path: Path, name: str | None) -> None:
    """As without a name: the server has 4,096 tokens a slot. What was played is found again by its own name."""
    with FakeLlama() as server:
        asked = experiment(server.address, "x").model_copy(update={"workload": name})
        workload, notes = await chosen(tmp_path / "chosen", asked)
    assert workload.name == "batch-agents-4k"
    assert any(note.startswith("workload: batch-agents-4k, the largest built-in one") for note in notes)
    assert taken_up(workload.facts, asked).sessions == workload.sessions


@pytest.mark.live
async def test_a_profile_with_sub_agents_plays_on_a_real_server(tiny: str, tmp_path: Path) -> None:
    """Trees of three sessions; answers are broken off and asked for again; nothing fails."""
    run = await play(tmp_path / "run", experiment(tiny, saved(tmp_path, FAMILY), wait_s=20))
    requests = [one for one in run.requests if one.round == 1]
    assert {one.outcome for one in requests} <= {Outcome.OK, Outcome.CANCELLED}
    measured = [one for one in requests if one.phase is not Phase.WARMUP]
    trees = {one.root: {other.session for other in measured if other.root == one.root} for one in measured}
    assert max(map(len, trees.values())) == 3
    assert any(one.attempt == 2 for one in measured)
    assert all(trial.complete and trial.aborted is None for trial in run.trials)


@pytest.mark.live
async def test_a_turn_that_is_meant_to_fail_is_the_servers_to_refuse(tiny: str, tmp_path: Path) -> None:
    """Sent all the same, its outcome is that the context overflows; no turn before it fails."""
    path = saved(tmp_path, LONG)
    asked = experiment(tiny, path, context_full="fail", wait_s=20)
    workload, notes = await chosen(tmp_path / "chosen", asked)
    assert any("sessions end with a turn whose prompt, by the estimate, doesn't fit" in note for note in notes)
    assert all(session.turns[-2].depth <= 512 < session.turns[-1].depth for session in workload.sessions)
    run = await play(tmp_path / "run", asked)
    requests = [one for one in run.requests if one.round == 1]
    last = len(workload.sessions[0].turns) - 1
    outcomes = {one.outcome for one in requests if one.turn == last}
    assert outcomes == {Outcome.CONTEXT_OVERFLOW}
    assert {one.outcome for one in requests if one.turn < last} <= {Outcome.OK, Outcome.CANCELLED}
