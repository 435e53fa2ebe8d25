"""Servers that speak the chat completions API and nothing else."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import FailingHandler, loadgen, serving


class ChatOnlyHandler(FailingHandler):
    """Lists a model and streams five tokens; knows none of llama-server's own routes."""

    answers = {"/v1/models": {"data": [{"id": "some-model"}]}}  # noqa: RUF012 - never changed

    def do_POST(self) -> None:  # noqa: N802 - the base class names it so
        """Stream an answer, or refuse a request that names no model."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions" or asked.get("model") != "some-model":
            self._answer(404, {"error": {"message": "no such route or model"}})
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for text in "abcde":
            self._event({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]})
        self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        self._event({"choices": [], "usage": {"prompt_tokens": 50, "completion_tokens": 5}})
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, value: object) -> None:
        self.wfile.write(f"data: {json.dumps(value)}\n\n".encode())


@pytest.fixture
def chat_only() -> Iterator[str]:
    """Its address."""
    with serving(ChatOnlyHandler) as address:
        yield f"{address}/v1/"


def test_what_only_llama_server_tells_is_not_measured(chat_only: str, tmp_path: Path) -> None:
    """A sweep of another server counts tokens and tasks; acceptance, queue wait and slots are null, never 0."""
    options = ["-c", "1", "--rounds", "1", "--time-budget", "1s", "--warmup", "0.2s", "--out", str(tmp_path / "run")]
    result = loadgen("sweep", chat_only, *options)
    assert "Traceback" not in result.err
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    (cell,) = summary["cells"]
    assert cell["outcomes"] == {"ok": 8}
    for name in ("acceptance_rate", "acceptance_length", "first_turn_cached_share"):
        assert cell[name]["value"] is None
    assert cell["queue_wait_s"]["p50"]["value"] is None
    assert cell["drafted_tokens"] is None
    (server,) = summary["setup"]["servers"]
    assert (server["facts"]["kind"], server["facts"]["slots"]) == ("openai", None)
    assert "one server, server, is one variant" in result.out
    assert "loadgen ab -c 1 -- " in result.out


def test_doctor_says_what_such_a_server_can_not_tell(chat_only: str) -> None:
    """It names the kind of server and what stays n/a."""
    result = loadgen("doctor", chat_only)
    assert result.code == 0
    assert "is no llama-server; it serves some-model" in result.out
    assert "stay n/a" in result.out
