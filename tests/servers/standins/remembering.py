"""A llama-server that caches every prompt: a token is a word, and what it answers follows from the prompt."""

import hashlib
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from tests.servers.standins.llama import FakeLlama
from tests.servers.standins.web import Exchange

ANSWER = 6
"""Words of an answer, where a request allows as many."""


class Remembering(FakeLlama):
    """Counts prompt tokens and those that an earlier prompt or its answer began with.

    Args:
        voice: servers of one voice give one answer to one prompt (salts aside), those of others another.
        forgets: nothing is ever found in the cache.
        calls: it answers with reasoning and a tool call.
    """

    def __init__(self, *, voice: str = "a", forgets: bool = False, calls: bool = False, **llama: Any) -> None:
        super().__init__(**llama)
        self._voice = voice
        self._forgets = forgets
        self._calls = calls
        self._held: list[list[str]] = []

    def _chat(self, exchange: Exchange) -> None:
        if not exchange.asked.get("stream"):
            super()._chat(exchange)
            return
        prompt = words(exchange.asked["messages"])
        said = self._answer(prompt)[: exchange.asked["max_tokens"]]
        cached = 0 if self._forgets else max((_alike(prompt, held) for held in self._held), default=0)
        self._held.append(prompt + said)
        evaluated = len(prompt) - cached
        timings = {"prompt_n": evaluated, "prompt_ms": 1.0 * evaluated, "cache_n": cached, "predicted_n": len(said)}
        usage = {"prompt_tokens": len(prompt), "completion_tokens": len(said)}
        usage_with_cache = usage | {"prompt_tokens_details": {"cached_tokens": cached}}
        end = {"choices": [], "usage": usage_with_cache, "timings": timings | {"predicted_ms": 5.0}}
        deltas = self._called(said) if self._calls else [{"content": f"{word} "} for word in said]
        last = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if self._calls else "stop"}
        choices = [*({"index": 0, "delta": delta, "finish_reason": None} for delta in deltas), last]
        exchange.stream(*({"choices": [choice]} for choice in choices), end)

    def _answer(self, prompt: Sequence[str]) -> list[str]:
        digest = hashlib.sha256(" ".join([self._voice, *prompt[1:]]).encode()).hexdigest()
        return [digest[at : at + 4] for at in range(0, 4 * ANSWER, 4)]

    def _called(self, said: Sequence[str]) -> list[dict[str, Any]]:
        """Half of it as reasoning, the other half as the arguments of a call in pieces, under an id of its own."""
        reasoning, arguments = said[: ANSWER // 2], said[ANSWER // 2 :]
        head = {"index": 0, "id": f"{len(self.bodies)}", "type": "function", "function": {"name": "bash"}}
        pieces = [{"index": 0, "function": {"arguments": f"{word} "}} for word in arguments]
        calls = [{"tool_calls": [one]} for one in (head, *pieces)]
        return [*({"reasoning_content": f"{word} "} for word in reasoning), *calls]


def words(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """A prompt as this server's template makes it: reasoning, content and calls of each message; first the salt."""
    out: list[str] = []
    for message in messages:
        calls = " ".join(call["function"]["arguments"] for call in message.get("tool_calls") or ())
        out += " ".join([message.get("reasoning_content") or "", message.get("content") or "", calls]).split()
    return out


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
