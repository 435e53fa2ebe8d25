"""One llama-server: an imitation that answers at once, or the real one of the package xllamacpp."""

import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from tests.servers.standins.web import Exchange, Web

TOKENS = 12
"""Output tokens of the imitation, where a request asks for no fewer."""


class FakeLlama(Web):
    """llama-server's control routes and chat. `drafts` tells from a request's body how many tokens it drafts."""

    def __init__(
        self,
        *,
        drafts: Callable[[Mapping[str, Any]], int] = lambda _body: 0,
        speculative: bool = False,
        key: str | None = None,
        model: str = "tiny.gguf",
    ) -> None:
        super().__init__(key)
        self.drafts = drafts
        self.bodies: list[dict[str, Any]] = []
        slot = {"n_ctx": 4096, "speculative": speculative, "is_processing": False}
        self.answers: dict[str, Any] = {
            "/health": {"status": "ok"},
            "/v1/models": {"data": [{"id": model}]},
            "/props": {"total_slots": 2, "model_path": model, "default_generation_settings": {"n_ctx": 4096}},
            "/slots": [{"id": number, **slot} for number in range(2)],
            "/metrics": "llamacpp:requests_processing 0\nllamacpp:requests_deferred 0\n",
        }

    def get(self, exchange: Exchange) -> None:
        """Control routes."""
        if exchange.route in self.answers:
            exchange.say(self.answers[exchange.route])
        else:
            super().get(exchange)

    def post(self, exchange: Exchange) -> None:
        """Chat, and a tokenizer that counts words."""
        if exchange.route == "/tokenize":
            exchange.say({"tokens": list(range(len(exchange.asked["content"].split())))})
        elif exchange.route == "/v1/chat/completions":
            self.bodies.append(exchange.asked)
            self._chat(exchange)
        else:
            super().post(exchange)

    def _chat(self, exchange: Exchange) -> None:
        count = min(TOKENS, exchange.asked["max_tokens"])
        drafted = self.drafts(exchange.asked)
        timings = {"prompt_n": 8, "prompt_ms": 1.0, "predicted_n": count, "predicted_ms": 10.0, "cache_n": 0}
        if drafted:
            timings |= {"draft_n": drafted, "draft_n_accepted": drafted // 2}
        end = {"usage": {"prompt_tokens": 8, "completion_tokens": count}, "timings": timings}
        if not exchange.asked.get("stream"):
            message = {"role": "assistant", "content": "word " * count}
            exchange.say({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **end})
            return
        words = [{"index": 0, "delta": {"content": "word "}, "finish_reason": None} for _ in range(count)]
        last = {"index": 0, "delta": {}, "finish_reason": "stop"}
        exchange.stream(*({"choices": [choice]} for choice in (*words, last)), {"choices": [], **end})


class Backend(Protocol):
    """A server that a router or a gateway starts. Starting is what its factory does."""

    args: list[str]

    @property
    def address(self) -> str:
        """Where it answers."""

    def ready(self) -> bool:
        """Whether it has loaded its model."""

    def exit_code(self) -> int | None:
        """How it ended by itself; null while it runs."""

    def stop(self) -> None:
        """End it."""


class FakeBackend:
    """An imitation that is ready when it has been asked for the `looks`-th time, or ends with `exit_code` then."""

    def __init__(self, *, looks: int = 3, exit_code: int | None = None, **llama: Any) -> None:
        self._llama = FakeLlama(**llama).__enter__()
        self._looks = looks
        self._exit_code = exit_code
        self.args = ["llama-server", "--port", str(self._llama.port), "--api-key", "child-secret"]

    @property
    def address(self) -> str:
        """Where it answers."""
        return self._llama.address

    def ready(self) -> bool:
        """Each question counts."""
        self._looks -= 1
        return self._looks <= 0 and self._exit_code is None

    def exit_code(self) -> int | None:
        """The given one, after as many questions."""
        return self._exit_code if self._looks <= 0 else None

    def stop(self) -> None:
        """Stop listening."""
        self._llama.close()


class EmbeddedBackend:
    """The real server, in a child process."""

    def __init__(self, *args: str) -> None:
        self.args = [sys.executable, "-m", "loadgen.servers.embedded", "--port", "0", *args]
        self._process = subprocess.Popen(self.args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self._address = ""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def address(self) -> str:
        """Known when it is ready."""
        return self._address

    def ready(self) -> bool:
        """Whether it has said so."""
        return bool(self._address)

    def exit_code(self) -> int | None:
        """Of the process."""
        return self._process.poll()

    def stop(self) -> None:
        """Kill it."""
        self._process.kill()
        self._reader.join()
        with self._process:
            self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if "listening on " in line:
                self._address = line.partition("listening on ")[2].strip()
