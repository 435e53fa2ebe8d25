"""Workloads made to the measure of a server: its tokenizer, its chat template, and the files that text is of."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadgen.client.control import Control
from loadgen.client.endpoint import Endpoint
from loadgen.client.transport import HttpTransport
from loadgen.errors import RunFolderError, WorkloadError
from loadgen.experiment.model import Experiment
from loadgen.gguf.tiny import write_tiny_model
from loadgen.records.manifest import WorkloadFacts
from loadgen.records.run_folder import RunWriter
from loadgen.records.sizes import Sizes, read_sizes
from loadgen.replay.line_cache import fingerprint, read_lines, write_lines
from loadgen.replay.lineup import Lineup
from loadgen.replay.repertoire import choose, recorded
from loadgen.replay.sizing import made_by_tokenizer
from loadgen.workload.library import load
from loadgen.workload.server_sizer import ServerSizer
from loadgen.workload.session import Workload, prompt
from loadgen.workload.sizing import Sizer
from tests.replay.notes import Notes
from tests.servers.standins.llama import EmbeddedBackend, FakeLlama
from tests.servers.standins.web import Exchange

PROFILE = """
version: 1
name: small
description: Three jobs of four turns.
min_context: 4096
pool: 3
corpus: code
history: recorded
system_tokens: 60
first_user: {tokens: 300}
turns: 4
tool_result: {tokens: [100, 250]}
answer: {tokens: 60}
output: {tokens: 90, mode: natural}
tool_time_s: 0
edit_turns: 0.3
extract_turns: 0.3
sources: {}
"""
_LONG = 1000
"""Characters of a prompt."""
TOKEN = re.compile(r"<\|\w+\|>|\s?[^\s<]{1,6}|\s|<")


def tokens(text: str) -> list[str]:
    """Marks of the template, and words in pieces of six letters with the blank before them."""
    return TOKEN.findall(text)


class Counting(FakeLlama):
    """Has a tokenizer with pieces and a chat template, which it can count. `head` stands in front of long ones."""

    def __init__(self, *, pieces: bool = True, counts: bool = True, head: str = "", reasons: str = "keep") -> None:
        super().__init__()
        self._pieces = pieces
        self._counts = counts
        self._head = head
        self._reasons = reasons
        self.sized = 0

    def post(self, exchange: Exchange) -> None:
        """The tokenizer, the template and its count, and everything else."""
        if exchange.route == "/tokenize":
            found = tokens(exchange.asked["content"])
            if exchange.asked.get("with_pieces") and self._pieces:
                self.sized += 1
                exchange.say({"tokens": [{"id": 1, "piece": piece} for piece in found]})
            else:
                exchange.say({"tokens": [1] * len(found)})
        elif exchange.route == "/apply-template":
            if self._reasons == "refuse" and "reasoning_content" in json.dumps(exchange.asked):
                exchange.fail(500, "no reasoning, please", "server_error")
            else:
                exchange.say({"prompt": self.templated(exchange.asked["messages"])})
        elif exchange.route == "/v1/chat/completions/input_tokens" and self._counts:
            exchange.say({"input_tokens": len(tokens(self.templated(exchange.asked["messages"])))})
        else:
            super().post(exchange)

    def templated(self, messages: list[dict[str, Any]]) -> str:
        """Two marks around every message, and one behind them all."""
        parts = [
            f"<|{message['role']}|>{self._reasoning(message)}{message.get('content') or ''}<|end|>"
            for message in messages
        ]
        head = self._head if len("".join(parts)) > _LONG else ""
        return f"{head}{''.join(parts)}<|assistant|>"

    def _reasoning(self, message: dict[str, Any]) -> str:
        return str(message.get("reasoning_content", "")) if self._reasons == "keep" else ""


def experiment(url: str, workload: Path, **fields: Any) -> Experiment:
    """One running server."""
    variants = [{"kind": "url", "name": "off", "url": url}]
    return Experiment.model_validate(
        {"variants": variants, "baseline": "off", "levels": (1,), "workload": str(workload), **fields}
    )


async def chosen(
    folder: Path, asked: Experiment, known: WorkloadFacts | None = None
) -> tuple[Workload, list[str], dict[str, Sizes]]:
    """The workload, what is said of it, and the sizes as the run folder has them."""
    writer, observer = RunWriter(folder), Notes()
    lineup = Lineup(asked, writer, observer, asyncio.Event())
    try:
        target = await lineup.open("off", round_=0)
        workload = await choose(target, asked, observer.note, known=known, keep=writer.sizes)
        return workload, observer.notes, read_sizes(folder)
    finally:
        await lineup.close()
        writer.close()


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    """A small profile of code."""
    path = tmp_path / "small.yaml"
    path.write_text(PROFILE)
    return path


async def test_prompts_are_as_deep_as_the_server_counts_them(tmp_path: Path, profile: Path) -> None:
    """Texts, and what the template puts around them; what is left is the salt, for which nine tokens are kept."""
    with Counting() as server:
        workload, notes, sizes = await chosen(tmp_path / "run", experiment(server.address, profile))
        for session in workload.sessions:
            for number, turn in enumerate(session.turns):
                messages = prompt(session, number, salt="0a1b2c3d", answers={})
                assert 0 <= turn.depth - len(tokens(server.templated(messages))) <= 9
    facts = workload.facts
    assert (facts.sized, facts.corpus, facts.reasoning) == ("tokenizer", None, None)
    assert facts.depth_error is not None
    assert 0 <= facts.depth_error < 0.02
    assert "chars_per_token" not in facts.assumed
    assert (sizes["small"].message_tokens, sizes["small"].prompt_tokens) == (2, 1)
    assert any("tokens by the server's own count" in note for note in notes)


def rewrite(profile: Path) -> None:
    """Another first message."""
    profile.write_text(PROFILE.replace("300", "310"))


async def test_the_same_workload_is_made_again_without_the_server(tmp_path: Path, profile: Path) -> None:
    """Of what its tokenizer said. Without that, or with another profile, it is refused."""
    with Counting() as server:
        asked = experiment(server.address, profile)
        workload, _, sizes = await chosen(tmp_path / "run", asked)
    assert recorded(workload.facts, asked, sizes) == workload
    with pytest.raises(RunFolderError, match=r"lacks the sizes of workload small \(sizes.json\)"):
        recorded(workload.facts, asked, {})
    rewrite(profile)
    with pytest.raises(RunFolderError, match="the workload small is not what it was when the run began"):
        recorded(workload.facts, asked, sizes)


async def test_a_server_without_pieces_or_counts_is_asked_for_an_average(tmp_path: Path, profile: Path) -> None:
    """Of a sample; the template is then counted by its text, or the usual room is left."""
    with Counting(pieces=False, counts=False) as server:
        workload, _, sizes = await chosen(tmp_path / "run", experiment(server.address, profile))
    assert (workload.facts.sized, sizes) == ("ratio", {})
    assert workload.facts.chars_per_token is not None
    assert workload.facts.depth_error is not None


async def test_a_run_taken_up_again_sizes_as_it_did(tmp_path: Path, profile: Path) -> None:
    """By the average where that was used, whatever the server can do by now."""
    with Counting(pieces=False) as server:
        before, _, _ = await chosen(tmp_path / "run", experiment(server.address, profile))
    with Counting() as server:
        asked = experiment(server.address, profile)
        again, _, _ = await chosen(tmp_path / "again", asked, before.facts)
        assert server.sized == 0
        other, _, _ = await chosen(tmp_path / "other", asked)
    assert again.facts.digest == before.facts.digest != other.facts.digest


async def test_a_prompt_that_does_not_fit_by_the_servers_count_is_refused(tmp_path: Path, profile: Path) -> None:
    """With its numbers: a template may put anything in front."""
    with Counting(head="word " * 4000) as server:
        words = (
            r"Turn 4 of session small-\d+ has \d{4} prompt tokens by the server's own count \(\d+ were expected\), and "
            r"takes up to \d+ more; a slot has 4096"
        )
        with pytest.raises(WorkloadError, match=words):
            await chosen(tmp_path / "run", experiment(server.address, profile))


async def test_text_is_of_the_users_own_files(tmp_path: Path, profile: Path) -> None:
    """Their folder's name and digest are recorded; where a file has changed, the run is not gone on with."""
    own = tmp_path / "mine"
    own.mkdir()
    (own / "a.py").write_text("def zebra(stripes):\n    return paint(stripes)\n\n\n" * 60)
    with Counting() as server:
        asked = experiment(server.address, profile, corpus=str(own))
        workload, _, sizes = await chosen(tmp_path / "run", asked)
    texts = [message["content"] for session in workload.sessions for turn in session.turns for message in turn.messages]
    assert sum("zebra" in text for text in texts) > len(texts) / 2
    assert workload.facts.corpus == "mine"
    assert workload.facts.corpus_digest is not None
    assert recorded(workload.facts, asked, sizes) == workload
    (own / "a.py").write_text("def giraffe(stripes):\n    return paint(stripes)\n\n\n" * 60)
    with pytest.raises(RunFolderError, match="its file, the files of its corpus, the tokenizer or"):
        recorded(workload.facts, asked, sizes)


def reasoned(folder: Path) -> Path:
    """A file of one session, in which an answer has reasoning."""
    answer = {"role": "assistant", "content": "Found.", "reasoning_content": "Where could it be?"}
    turns = [
        {"messages": [{"role": "user", "content": "Look."}], "assistant": answer},
        {"messages": [{"role": "user", "content": "And now?"}], "assistant": {"role": "assistant", "content": "Ok."}},
    ]
    path = folder / "mine.jsonl"
    path.write_text(json.dumps({"format": "agent-session/1", "session_id": "a", "turns": turns}) + "\n")
    return path


@pytest.mark.parametrize(("reasons", "kept"), [("keep", True), ("drop", False), ("refuse", False)])
async def test_reasoning_is_sent_where_the_template_keeps_it(tmp_path: Path, reasons: str, kept: bool) -> None:
    """One that leaves it out, or refuses it, gets none: so depths count what the prompt has. It is said."""
    with Counting(reasons=reasons) as server:
        asked = experiment(server.address, reasoned(tmp_path))
        workload, notes, sizes = await chosen(tmp_path / "run", asked)
    messages = prompt(workload.sessions[0], 1, salt="", answers={})
    assert ("reasoning_content" in messages[1]) is kept
    assert messages[1]["content"] == "Found."
    assert workload.facts.reasoning is kept
    assert any("leaves recorded reasoning out" in note for note in notes) is not kept
    assert recorded(workload.facts, asked, sizes) == workload


async def test_a_slow_tokenizer_is_given_up(tmp_path: Path, profile: Path) -> None:
    """After as many seconds as one has patience; then it is said how far it came, and what it said is kept."""
    seconds: Iterator[float] = iter([0, 0, 1, 3, 30, 31, 32])
    notes: list[str] = []

    def make(sizer: Sizer) -> Workload:
        for text in ("one", "two", "three", "four"):
            sizer.tokens(text)
        return load(str(profile), seed=1)

    with Counting() as server:
        async with HttpTransport(Endpoint.parse(server.address)) as transport:
            sizes = Sizes(chars_per_token=4.0, message_tokens=2, prompt_tokens=1)
            tokenizer = await fingerprint(Control(transport))
            made = await made_by_tokenizer(
                make,
                sizes,
                Control(transport),
                notes.append,
                patience_s=20,
                clock=lambda: next(seconds),
                cache=tmp_path,
            )
    assert made is None
    assert len(read_lines(tmp_path, tokenizer)) == 3
    assert notes[0] == "sizing the workload with the server's tokenizer"
    assert re.search(r"answered too slowly \(\d texts in \d+ s\): texts are sized by its average", notes[1])


@pytest.mark.live
async def test_a_real_tokenizer_makes_prompts_as_deep_as_stated(tmp_path: Path, profile: Path) -> None:
    """By the count that llama-server itself makes of the requests: within a hundredth, of which the salt is most."""
    model = str(write_tiny_model(tmp_path / "tiny.gguf"))
    server = EmbeddedBackend("-m", model, "-np", "1", "-c", "4096", "-t", "1", "--poll", "0")
    try:
        while not server.ready():
            await asyncio.sleep(0.02)
            assert server.exit_code() is None
        asked = experiment(server.address, profile)
        workload, _, sizes = await chosen(tmp_path / "run", asked)
    finally:
        server.stop()
    assert workload.facts.sized == "tokenizer"
    assert workload.facts.depth_error is not None
    assert workload.facts.depth_error < 0.01
    assert recorded(workload.facts, asked, sizes) == workload


async def test_lines_are_known_from_earlier_runs(tmp_path: Path) -> None:
    """By the tokenizer, whoever serves it; what was kept is not asked again, and a damaged file is none."""
    with Counting() as server, Counting() as other:
        async with (
            HttpTransport(Endpoint.parse(server.address)) as one,
            HttpTransport(Endpoint.parse(other.address)) as two,
        ):
            tokenizer = await fingerprint(Control(one))
            assert tokenizer == await fingerprint(Control(two))
    assert tokenizer is not None
    lines: dict[bytes, bytes] = {}
    sizes = Sizes(chars_per_token=4.0, message_tokens=2, prompt_tokens=1, by_line=True)
    ServerSizer(sizes, lambda text: [piece.encode() for piece in re.findall(r"\S+|\s", text)], lines).tokens(
        "one two\nthree\n"
    )
    write_lines(tmp_path, tokenizer, lines)
    again = ServerSizer(msgspec.structs.replace(sizes, counts={}), None, read_lines(tmp_path, tokenizer))
    assert again.tokens("three\none two\n") == 6
    (tmp_path / tokenizer).write_bytes(b"\xc1")
    assert read_lines(tmp_path, tokenizer) == read_lines(tmp_path, None) == {}


async def test_what_a_template_leaves_out_is_not_counted(tmp_path: Path) -> None:
    """Of a recording with tools, played on a template that knows none: depths are those of what it makes of it."""
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command":"ls -l Lib"}'}}
    tool = {"type": "function", "function": {"name": "bash", "description": "Run it.", "parameters": {}}}
    turns = [
        {
            "messages": [{"role": "user", "content": "Look around, please."}],
            "assistant": {"role": "assistant", "content": "I do.", "tool_calls": [call]},
        },
        {"messages": [{"role": "tool", "tool_call_id": "c1", "content": "a.py\nb.py"}]},
    ]
    path = tmp_path / "mine.jsonl"
    row = {"format": "agent-session/1", "session_id": "a", "tools": [tool], "turns": turns}
    write_row(path, row)
    with Counting() as server:
        asked = experiment(server.address, path)
        workload, _, sizes = await chosen(tmp_path / "run", asked)
        messages = prompt(workload.sessions[0], 1, salt="0a1b2c3d", answers={})
        assert messages[1]["tool_calls"] == [call]
        assert 0 <= workload.sessions[0].turns[1].depth - len(tokens(server.templated(messages))) <= 9
    assert workload.facts.left_out == ["tool calls", "tool definitions"]
    assert recorded(workload.facts, asked, sizes) == workload


def write_row(path: Path, row: dict[str, Any]) -> None:
    """A file of one session."""
    path.write_text(json.dumps(row) + "\n")
