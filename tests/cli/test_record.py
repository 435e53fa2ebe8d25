"""`loadgen record`: agents at work through the command, and what it writes."""

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from loadgen.errors import UsageError
from loadgen.recording.server import Listen, require
from loadgen.workload.copy_rate import UNIT
from loadgen.workload.session_file import read_sessions
from tests.cli.conftest import API_KEY, Running, loadgen
from tests.cli.invoked import invoked
from tests.servers.standins.llama import FakeLlama

SECRET = "the password of alice is hunter2"


class Recording:
    """`loadgen record` in front of a server, and an agent that uses it."""

    def __init__(self, process: Running) -> None:
        self._process = process
        process.until("base URL for agents: ")
        self.url = process.said[-1].partition("base URL for agents: ")[2].partition("/v1")[0]

    def turn(self, *texts: str) -> str:
        """A call in which user and model have spoken in turns; what the model says."""
        roles = ("user", "assistant")
        messages = [{"role": roles[number % 2], "content": text} for number, text in enumerate(texts)]
        body = {"model": "m", "messages": messages, "max_tokens": 4, "stream": True}
        headers = {"Authorization": f"Bearer {API_KEY}"}
        reply = httpx.post(f"{self.url}/v1/chat/completions", json=body, headers=headers).raise_for_status()
        chunks = [json.loads(line[6:]) for line in reply.text.splitlines() if line.startswith("data: {")]
        return "".join(choice["delta"].get("content") or "" for one in chunks for choice in one["choices"])

    def end(self, how: signal.Signals = signal.SIGINT) -> subprocess.CompletedProcess[str]:
        """End it."""
        self._process.process.send_signal(how)
        result = self._process.finish()
        return subprocess.CompletedProcess([], result.code, result.out, result.err)


Start = Callable[..., Running]


def recording(running: Start, server: FakeLlama, out: Path, *options: str) -> Recording:
    """The command on a free port."""
    return Recording(
        running("record", "--upstream", server.address, "--listen", "127.0.0.1:0", "-o", str(out), *options)
    )


def test_an_agents_work_becomes_a_file_that_can_be_played(running: Start, tmp_path: Path) -> None:
    """One line a call, a summary and what to do next at the end; the key is nowhere; Ctrl-C is how it ends."""
    out = tmp_path / "mine.jsonl"
    with FakeLlama(key=API_KEY) as server:
        agent = recording(running, server, out)
        said = agent.turn("go")
        agent.turn("go", said, "on")
        done = agent.end()
    assert done.returncode == 0
    lines = done.stderr.splitlines()
    assert lines[0] == f"listening on {agent.url}, passing on to {server.address}"
    assert lines[2] == "session-1 turn 1: 8 tokens in, 4 out"
    assert lines[3].startswith("session-1 turn 2: 8 tokens in, 4 out, waited ")
    assert lines[3].endswith(" for the user")
    assert f"{out}: 1 sessions, 2 turns, 2 calls" in done.stdout
    assert f"loadgen workloads stats {out}" in done.stdout
    assert f"loadgen sweep {server.address} -c 1,2,4 --workload {out}" in done.stdout
    found = read_sessions(out)
    assert found.problems == []
    assert [turn.messages for turn in found.sessions[0].turns] == [
        [{"role": "user", "content": "go"}],
        [{"role": "user", "content": "on"}],
    ]
    assert API_KEY not in out.read_text() + done.stderr + done.stdout
    assert [path.name for path in tmp_path.iterdir()] == [out.name]


def test_a_recording_that_was_killed_goes_on_where_it_was(running: Start, tmp_path: Path) -> None:
    """What had been answered is in the journal, and in the file when the next one ends; the journal is then gone.

    So it is also when the texts are to be replaced: by others of as many words, and none of it is left.
    """
    out = tmp_path / "mine.jsonl"
    with FakeLlama() as server:
        agent = recording(running, server, out)
        asked = " ".join([SECRET, *(f"word{number}" for number in range(114))])
        said = agent.turn(asked)
        agent.end(signal.SIGKILL)
        assert [path.name for path in tmp_path.iterdir()] == ["mine.jsonl.journal"]
        agent = recording(running, server, out, "--redact")
        agent.turn(asked, said, "on")
        done = agent.end(signal.SIGTERM)
    assert "going on with 1 calls of a recording that ended badly" in done.stderr
    assert "session-1 turn 2: " in done.stderr
    assert "texts are replaced by others, as long in tokens" in done.stderr
    (session,) = read_sessions(out).sessions
    assert len(session.turns) == 2
    assert len(UNIT.findall(session.turns[0].messages[0]["content"])) == 120
    assert not any(word in out.read_text() for word in ("password", "alice", "hunter2"))
    assert [path.name for path in tmp_path.iterdir()] == [out.name]


def test_nothing_recorded_writes_nothing(running: Start, tmp_path: Path) -> None:
    """And says so; what isn't a call passes."""
    with FakeLlama() as server:
        agent = recording(running, server, tmp_path / "mine.jsonl")
        assert httpx.get(f"{agent.url}/props").json()["total_slots"] == 2
        done = agent.end()
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.endswith("nothing was recorded\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--listen", "8089"), "--listen '8089' is not HOST:PORT"),
        (("--listen", "127.0.0.1:99999"), "--listen '127.0.0.1:99999' is not HOST:PORT"),
        (("--listen", "192.0.2.1:8089"), "can't listen on 192.0.2.1:8089"),
        (("--api-key-env", "LOADGEN_NO_SUCH_KEY"), "LOADGEN_NO_SUCH_KEY, which is not set"),
        (("--upstream", "ftp://host"), "use http:// or https://"),
    ],
)
def test_bad_options_are_told(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    """Exit 2 and a sentence, and nothing is written."""
    out = tmp_path / "mine.jsonl"
    result = invoked("record", "--upstream", "http://127.0.0.1:1", "-o", str(out), *options)
    assert result.code == 2
    assert message in result.err
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_is_kept(tmp_path: Path) -> None:
    """Another name is asked for."""
    out = tmp_path / "mine.jsonl"
    out.write_text("mine")
    result = invoked("record", "--upstream", "http://127.0.0.1:1", "--listen", "127.0.0.1:0", "-o", str(out))
    assert result.code == 2
    assert "exists already; name another file with -o" in result.err
    assert out.read_text() == "mine"


def test_a_missing_server_package_is_told_with_the_extra_that_has_it() -> None:
    """As pip takes it."""
    with pytest.raises(UsageError, match=r"no_such_package: pip install 'loadgen\[record\]'"):
        require("no_such_package")


@pytest.mark.parametrize(
    ("text", "host", "port", "only_here"),
    [
        ("127.0.0.1:8089", "127.0.0.1", 8089, True),
        ("localhost:0", "localhost", 0, True),
        ("[::1]:80", "::1", 80, True),
        ("192.0.2.7:8089", "192.0.2.7", 8089, False),
        ("box.lan:8089", "box.lan", 8089, False),
    ],
)
def test_an_address_says_who_can_reach_it(text: str, host: str, port: int, only_here: bool) -> None:
    """Beyond this machine only when it is asked for."""
    listen = Listen.parse(text)
    assert (listen.host, listen.port, listen.is_loopback) == (host, port, only_here)


def test_a_file_is_redacted_by_import(tmp_path: Path) -> None:
    """Any known format becomes sessions without their content; never rows as they came."""
    given, out = tmp_path / "given.jsonl", tmp_path / "out.jsonl"
    given.write_text(json.dumps({"messages": [{"role": "user", "content": f"{SECRET} " * 9}]}) + "\n")
    assert loadgen("workloads", "import", str(given), "-o", str(out), "--redact").code == 0
    content = read_sessions(out).sessions[0].turns[0].messages[0]["content"]
    assert "hunter2" not in content
    assert len(UNIT.findall(content)) == 9 * 6
    refused = invoked("workloads", "import", str(given), "-o", str(tmp_path / "x"), "--redact", "--to", "mlperf")
    assert refused.code == 2
    assert "--to session" in refused.err
