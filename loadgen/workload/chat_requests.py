"""Chat requests that say nothing of sessions, put together into sessions by what they begin with."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from loadgen.workload.recorded import Problem, RecordedSession
from loadgen.workload.transcript import Message, split

__all__ = ["REQUEST_FIELDS", "Request", "sessions_of"]

REQUEST_FIELDS = frozenset(
    (
        *("audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs"),
        *("max_completion_tokens", "max_tokens", "messages", "metadata", "modalities", "model", "n"),
        *("parallel_tool_calls", "prediction", "presence_penalty", "prompt_cache_key", "reasoning_effort"),
        *("response_format", "safety_identifier", "seed", "service_tier", "stop", "store", "stream"),
        *("stream_options", "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user"),
        *("verbosity", "web_search_options"),
    )
)
"""Fields of a request to OpenAI's `/v1/chat/completions`, as its reference has them."""


@dataclass(frozen=True)
class Request:
    """One request: its name, the line on which it stands, and what it sent; with the answer behind it or without."""

    name: str
    line: int
    messages: list[Message]
    tools: list[dict[str, Any]] | None = None
    source: dict[str, Any] = field(default_factory=dict)


def sessions_of(requests: Sequence[Request], file: str) -> Iterator[RecordedSession | Problem]:
    """The sessions of requests, each called like its first request, in the order of these.

    A request goes on from the longest one with the same tools whose messages are the beginning of its own; of several
    that go on from one, only the first does, and the others are sessions of their own, from their first message on.
    Each assistant message of a session is then the answer of a turn. So examples that were given in a first prompt
    become turns too: nothing tells them from answers.
    """
    for request in sorted(_chains(requests), key=lambda one: one.line):
        if request.messages[0]["role"] == "assistant":
            yield Problem(file, request.line, "skipped: messages[0] is an answer that nothing asked for")
            continue
        yield RecordedSession(
            session_id=request.name, source=request.source, tools=request.tools, turns=split(request.messages)
        )


def _chains(requests: Sequence[Request]) -> list[Request]:
    """The longest request of each chain, with the name and the line of the first."""
    chains: list[Request] = []
    ends: dict[bytes, int] = {}
    for request in sorted(requests, key=lambda one: len(one.messages)):
        *before, own = _prefixes(request)
        found = next((prefix for prefix in reversed(before) if prefix in ends), None)
        if found is None:
            ends[own] = len(chains)
            chains.append(request)
            continue
        number = ends.pop(found)
        ends[own] = number
        chains[number] = replace(chains[number], messages=request.messages)
    return chains


def _prefixes(request: Request) -> list[bytes]:
    """A digest of each beginning of a request: one message, two, and so on."""
    digest = hashlib.sha256(json.dumps(request.tools, sort_keys=True).encode())
    out = []
    for message in request.messages:
        digest.update(json.dumps(message, sort_keys=True).encode() + b"\n")
        out.append(digest.copy().digest())
    return out
