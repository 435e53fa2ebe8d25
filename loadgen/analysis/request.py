"""What one request says: latencies, tokens and steps, by the definitions."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any

from loadgen.records.model import RequestRecord, TokenEvent
from loadgen.units import NS_PER_MS, ms_to_ns, ms_to_s, ns_to_s

_MERGE_NS = 2 * NS_PER_MS
"""Events of one burst of llama-server lie about 0.1 ms apart; 2 ms leaves room for a busy client."""
_MERGE_SHARE = 0.25
"""On servers with steps of a few ms, 2 ms would merge true steps: a quarter of the mean step can't."""
_HELD_BACK_SHARE = 0.9
"""The server generated for `predicted_ms`; a stream much shorter than that was held back (tool calls, stop strings)."""
_SMALL_PREFILL = 64
"""Tokens below which the fixed cost of a request is most of `prompt_ms`: no speed can be told from it."""


class TokenSource(StrEnum):
    """Where the number of output tokens comes from."""

    USAGE = "usage"
    TIMINGS = "timings"
    EVENTS = "events"
    """Counted events: an estimate, and a lower bound where one event holds several tokens."""


@dataclass(frozen=True)
class RequestMetrics:
    """The quantities of one request. None: not measured.

    Latencies count from `send_ns`; `ttft_due_ns` from when the turn was due. `tpot_reason` says why TPOT is null:
    `no_tokens`, `one_token`, `one_timestamp` (all events came at once) or `held_back`.
    """

    ttft_ns: int | None
    ttfr_ns: int | None
    ttfa_ns: int | None
    ttft_due_ns: int | None
    e2e_ns: int | None
    output_tokens: int | None
    tokens_source: TokenSource | None
    tpot_s: float | None
    tpot_reason: str | None
    tpot_server_s: float | None
    depth: int | None
    cached: int | None
    queue_wait_ns: int | None
    prefill_ns: int | None
    first_decode_ns: int | None
    prefill_tokens_per_s: float | None
    drafted: int | None
    accepted: int | None
    decode_steps: int | None

    @property
    def estimated(self) -> bool:
        """The number of output tokens is only a count of events."""
        return self.tokens_source is TokenSource.EVENTS


def measure(request: RequestRecord, *, headers_tell_slot: bool = False) -> RequestMetrics:
    """All quantities of one request but its steps.

    `headers_tell_slot`: response headers come when a slot takes the request (llama-server), so that queue wait can be
    told from prefill.
    """
    tokens, source = output_tokens(request)
    tpot, reason = _tpot(request, tokens)
    ttft = _since_send(request, request.first_token_ns)
    queue = _since_send(request, request.headers_ns) if headers_tell_slot else None
    prompt_ms = timing(request.timings, "prompt_ms")
    prefill = None if prompt_ms is None else ms_to_ns(prompt_ms)
    known = ttft is not None and queue is not None and prefill is not None
    return RequestMetrics(
        ttft_ns=ttft,
        ttfr_ns=_since_send(request, request.first_event_ns),
        ttfa_ns=_since_send(request, request.first_answer_ns),
        ttft_due_ns=None if request.first_token_ns is None else request.first_token_ns - request.scheduled_ns,
        e2e_ns=_since_send(request, request.last_token_ns),
        output_tokens=tokens,
        tokens_source=source,
        tpot_s=tpot,
        tpot_reason=reason,
        tpot_server_s=_tpot_server(request),
        depth=_depth(request),
        cached=_first_known(request.cached_tokens, _count(request, "cache_n")),
        queue_wait_ns=queue,
        prefill_ns=prefill,
        first_decode_ns=ttft - queue - prefill if known else None,  # type: ignore[operator] # `known` says so
        prefill_tokens_per_s=_prefill_speed(request),
        drafted=_count(request, "draft_n"),
        accepted=_count(request, "draft_n_accepted"),
        decode_steps=_decode_steps(request),
    )


def timing(timings: dict[str, Any] | None, name: str) -> float | None:
    """A number of the server's `timings`; null where it is absent or no finite number."""
    value = None if timings is None else timings.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def output_tokens(request: RequestRecord) -> tuple[int | None, TokenSource | None]:
    """The server's count before our own: usage, else timings, else the number of token events."""
    if request.completion_tokens is not None:
        return request.completion_tokens, TokenSource.USAGE
    predicted = _count(request, "predicted_n")
    if predicted is not None:
        return predicted, TokenSource.TIMINGS
    if request.token_events:
        return request.token_events, TokenSource.EVENTS
    return None, None


def step_starts_ns(request: RequestRecord, events: Iterable[TokenEvent]) -> list[int]:
    """When each step began: events of one socket read, or closer together than the merge limit, are one step.

    The limit is min(2 ms, ¼ of predicted_ms / steps): the server writes what one verification step accepted as one
    burst.
    """
    limit = _merge_limit_ns(request)
    starts: list[int] = []
    previous = 0
    for event in events:
        if not starts or (event.new_read and event.at_ns - previous >= limit):
            starts.append(event.at_ns)
        previous = event.at_ns
    return starts


def step_gaps_ns(starts: Iterable[int]) -> list[int]:
    """Time between consecutive steps: what a reader waits for."""
    return [after - before for before, after in pairwise(starts)]


def _merge_limit_ns(request: RequestRecord) -> float:
    predicted_ms, steps = timing(request.timings, "predicted_ms"), _decode_steps(request)
    if predicted_ms is None or not steps or predicted_ms <= 0:
        return _MERGE_NS
    return min(_MERGE_NS, _MERGE_SHARE * predicted_ms / steps * NS_PER_MS)


def _since_send(request: RequestRecord, at_ns: int | None) -> int | None:
    return None if at_ns is None or request.send_ns is None else at_ns - request.send_ns


def _first_known(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)


def _count(request: RequestRecord, name: str) -> int | None:
    value = timing(request.timings, name)
    return None if value is None or value < 0 else round(value)


def _depth(request: RequestRecord) -> int | None:
    """Prompt tokens, cached ones included: `prompt_n` alone is only the part that was evaluated."""
    if request.prompt_tokens is not None:
        return request.prompt_tokens
    cached, evaluated = _count(request, "cache_n"), _count(request, "prompt_n")
    return None if cached is None or evaluated is None else cached + evaluated


def _tpot(request: RequestRecord, tokens: int | None) -> tuple[float | None, str | None]:
    first, last = request.first_token_ns, request.last_token_ns
    if tokens is None or first is None or last is None:
        return None, "no_tokens"
    if tokens <= 1:
        return None, "one_token"
    if last <= first:
        return None, "one_timestamp"
    predicted_ms = timing(request.timings, "predicted_ms")
    if predicted_ms is not None and last - first < _HELD_BACK_SHARE * predicted_ms * NS_PER_MS:
        return None, "held_back"
    return ns_to_s(last - first) / (tokens - 1), None


def _tpot_server(request: RequestRecord) -> float | None:
    predicted_ms, predicted = timing(request.timings, "predicted_ms"), _count(request, "predicted_n")
    if predicted_ms is None or predicted is None or predicted <= 1 or predicted_ms <= 0:
        return None
    return ms_to_s(predicted_ms) / (predicted - 1)


def _prefill_speed(request: RequestRecord) -> float | None:
    prompt_ms, evaluated = timing(request.timings, "prompt_ms"), _count(request, "prompt_n")
    if prompt_ms is None or evaluated is None or evaluated < _SMALL_PREFILL or prompt_ms <= 0:
        return None
    return evaluated / ms_to_s(prompt_ms)


def _decode_steps(request: RequestRecord) -> int | None:
    """Decode steps of the answer: each gave one token of its own beside the accepted ones."""
    predicted = _count(request, "predicted_n")
    if not predicted:
        return None
    return max(predicted - (_count(request, "draft_n_accepted") or 0), 1)
