"""A recording from its first request to the file that is written of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from loadgen.errors import UsageError
from loadgen.recording.exchange import Exchange, now_s
from loadgen.recording.recorder import Recorder, write_sessions
from loadgen.workload.recorded import Cancel, RecordedSession
from loadgen.workload.session_file import read_sessions

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"


class Recording:
    """A recorder, and what it said."""

    def __init__(self, out: Path) -> None:
        self.told: list[str] = []
        self.places: list[str] = []
        self.recorder = Recorder(
            out, tell=self.told.append, placed=lambda _call, place: self.places.append(f"{place.session}/{place.turn}")
        )

    def begin(self, body: Any, path: str = CHAT, **headers: str) -> Exchange:
        """A request."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        exchange = self.recorder.begin("POST", path, {n.encode(): v.encode() for n, v in headers.items()}, data)
        assert exchange is not None
        return exchange

    def answer(self, body: Any, *pieces: bytes, path: str = CHAT, kind: str = "text/event-stream", **how: Any) -> None:
        """A request and its whole answer."""
        exchange = self.begin(body, path)
        exchange.begin(how.pop("status", 200), [(b"Content-Type", kind.encode())])
        for piece in pieces:
            exchange.take(piece, now_s())
        exchange.finish(**how)
        self.recorder.end(exchange)


def chunks(*texts: str, finish: str | None = "stop") -> bytes:
    """A stream of chat chunks."""
    choices = [{"index": 0, "delta": {"content": text}} for text in texts]
    choices += [{"index": 0, "delta": {}, "finish_reason": finish}] if finish else []
    return b"".join(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n" for choice in choices)


def ask(*texts: str) -> dict[str, Any]:
    """A request in which user and model speak in turns."""
    roles = ("user", "assistant")
    messages = [{"role": roles[number % 2], "content": text} for number, text in enumerate(texts)]
    return {"messages": messages, "stream": True}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The file to be."""
    return tmp_path / "sessions.jsonl"


def test_what_was_recorded_can_be_read(out: Path) -> None:
    """As sessions of our own format, and the journal is gone."""
    recording = Recording(out)
    recording.answer(ask("go"), chunks("so ", "far"), b"data: [DONE]\n\n")
    recording.answer(ask("go", "so far", "on"), chunks("done"))
    assert recording.places == ["session-1/1", "session-1/2"]
    write_sessions(recording.recorder.sessions(), out)
    recording.recorder.close(written=True)
    found = read_sessions(out)
    assert found.problems == []
    assert [turn.assistant for turn in found.sessions[0].turns] == [
        {"role": "assistant", "content": text} for text in ("so far", "done")
    ]
    assert [path.name for path in out.parent.iterdir()] == [out.name]


def test_a_recording_that_ended_badly_goes_on(out: Path) -> None:
    """With its sessions as if it had not ended."""
    first = Recording(out)
    first.answer(ask("go"), chunks("so far"))
    first.recorder.close(written=False)
    second = Recording(out)
    assert second.recorder.calls == 1
    second.answer(ask("go", "so far", "on"), chunks("done"))
    assert second.places == ["session-1/2"]
    (session,) = second.recorder.sessions()
    assert len(session.turns) == 2
    second.recorder.close(written=False)


def test_a_file_that_is_there_is_never_overwritten(out: Path) -> None:
    """Unless a journal says that it is this very recording's."""
    out.write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        Recording(out)
    assert out.read_text() == "mine"


def test_nothing_recorded_leaves_nothing(out: Path) -> None:
    """Not even a journal."""
    Recording(out).recorder.close(written=False)
    assert list(out.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("body", "pieces", "how", "why"),
    [
        (b"no json", (), {}, "its body is no JSON object"),
        ({"messages": []}, (), {}, "messages is empty"),
        ({"messages": [{"role": "bird", "content": "x"}]}, (), {}, "messages[0].role is none of"),
        (ask("go"), (b"{}",), {"status": 400}, "the server answered 400"),
        (ask("go"), (chunks("so f", finish=None),), {}, "its answer ended early"),
        (ask("go"), (chunks("so f", finish=None),), {"broken": "connection lost"}, "connection lost"),
        (ask("go"), (b'data: {"error":{"message":"no"}}\n\n',), {}, "the server reported an error"),
        (ask("go"), (b"<html>",), {"kind": "text/html"}, "its answer ended early, or isn't one"),
    ],
)
def test_what_is_no_whole_answer_is_not_recorded_and_told(
    out: Path, body: Any, pieces: tuple[bytes, ...], how: dict[str, Any], why: str
) -> None:
    """With the reason, and without a word of the text."""
    recording = Recording(out)
    recording.answer(body, *pieces, **how)
    (told,) = recording.told
    assert told.startswith(f"not recorded: /chat/completions: {why}")
    assert (recording.recorder.lost, recording.recorder.calls) == (1, 0)
    recording.recorder.close(written=False)


def test_packed_requests_and_answers_are_told(out: Path) -> None:
    """They pass, but nobody reads them here."""
    recording = Recording(out)
    packed = recording.begin(b"\x28\xb5", **{"content-encoding": "zstd"})
    packed.finish()
    recording.recorder.end(packed)
    answered = recording.begin(ask("go"))
    answered.begin(200, [(b"content-encoding", b"gzip")])
    answered.finish()
    recording.recorder.end(answered)
    assert [told.partition("completions: ")[2] for told in recording.told] == [
        "its body is packed (zstd)",
        "the server compresses its answer though it was asked not to",
    ]
    recording.recorder.close(written=False)


def test_a_client_that_hangs_up_is_recorded_with_what_it_had(out: Path) -> None:
    """After so many token events; one that has the finish reason has the whole answer."""
    recording = Recording(out)
    recording.answer(ask("go"), chunks("so ", "f", finish=None), hung_up=True)
    recording.answer(ask("on"), chunks("so ", "far"), hung_up=True)
    early = recording.begin(ask("at once"))
    early.finish(hung_up=True)
    recording.recorder.end(early)
    turns = [session.turns[0] for session in recording.recorder.sessions()]
    assert [turn.cancel for turn in turns] == [
        Cancel(after_tokens=2, then="drop"),
        None,
        Cancel(after_tokens=0, then="drop"),
    ]
    assert [turn.assistant and turn.assistant["content"] for turn in turns] == ["so f", "so far", None]
    recording.recorder.close(written=False)


def test_an_answer_that_is_named_stands_for_its_history(out: Path) -> None:
    """`previous_response_id`: what it was asked and said, without the instructions, which each request brings."""
    recording = Recording(out)
    for number, (text, before) in enumerate((("go", None), ("on", "r0"), ("off", "unknown"))):
        body = {"input": text, "instructions": "Be brief.", "stream": True, "previous_response_id": before}
        item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": f"said {number}"}]}
        event = {"type": "response.completed", "response": {"id": f"r{number}", "output": [item]}}
        recording.answer(body, b"data: " + json.dumps(event).encode() + b"\n\n", path=RESPONSES)
    (session,) = recording.recorder.sessions()
    assert [turn.messages for turn in session.turns] == [
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "go"}],
        [{"role": "user", "content": "on"}],
    ]
    assert recording.told == [
        "not recorded: /responses: it goes on from an answer that wasn't recorded (previous_response_id)"
    ]
    recording.recorder.close(written=False)


def test_parts_that_are_no_text_are_left_out_and_told(out: Path) -> None:
    """What is recorded can be played."""
    recording = Recording(out)
    parts = [{"type": "image_url", "image_url": {"url": "x"}}, {"type": "text", "text": "what is it?"}]
    recording.answer({"messages": [{"role": "user", "content": parts}]}, chunks("a bird"))
    assert "'image_url'" in recording.told[0]
    assert recording.recorder.sessions()[0].turns[0].messages[0]["content"] == parts[1:]
    recording.recorder.close(written=False)


def test_half_characters_are_replaced(out: Path) -> None:
    """A lone surrogate can be sent to no server again."""
    recording = Recording(out)
    recording.answer(b'{"messages":[{"role":"user","content":"a\\ud800b"}]}', chunks("ok"))
    write_sessions(recording.recorder.sessions(), out)
    recording.recorder.close(written=True)
    assert read_sessions(out).sessions[0].turns[0].messages[0]["content"] == "a\ufffdb"


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """Where it can't be, that is told and nothing else is left."""
    with pytest.raises(UsageError, match="can't write"):
        write_sessions([RecordedSession(session_id="a", turns=[])], tmp_path / "nowhere" / "s.jsonl")
