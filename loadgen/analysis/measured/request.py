"""What one request says: latencies, tokens and steps, by the definitions."""

from collections.abc import Iterable
from enum import StrEnum
from itertools import pairwise
from typing import Any

import msgspec

from loadgen.records.lean import Timings
from loadgen.records.model import RequestRecord, TokenEvent
from loadgen.units import NS_PER_MS, ms_to_ns, ms_to_s, ns_to_s

_MERGE_NS = 2 * NS_PER_MS
"""Events of one burst of llama-server lie about 0.1 ms apart; 2 ms leaves room for a busy client."""
_MERGE_SHARE = 0.25
"""On servers with steps of a few ms, 2 ms would merge true steps: a quarter of the mean step can't."""
_HELD_BACK_SHARE = 0.9
"""The server generated for `predicted_ms`; a stream much shorter than that was held back (tool calls, stop strings)."""
_ABSURD = 1e15
"""Milliseconds (30,000 years) or tokens: no server means more, and nanoseconds of it are still a number."""
_NUMBERS = (float, int)
Told = dict[str, Any] | Timings | None
"""llama-server's `timings`, as they came or as they are read back."""
_SMALL_PREFILL = 64
"""Tokens below which the fixed cost of a request is most of `prompt_ms`: no speed can be told from it."""


class TokenSource(StrEnum):
    """Where the number of output tokens comes from."""

    USAGE = "usage"
    TIMINGS = "timings"
    EVENTS = "events"
    """Counted events: an estimate, and a lower bound where one event holds several tokens."""


class RequestMetrics(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The quantities of one request. None: not measured.

    Latencies count from `send_ns`; `ttft_due_ns` from when the turn was due. `tpot_reason` says why TPOT is null:
    `no_tokens`, `one_token`, `one_timestamp` (all events came at once) or `held_back`. A long run holds hundreds of
    thousands of these, so what is one subtraction is worked out when it is asked for. `headers_tell_slot`: see
    `measure`.
    """

    request: RequestRecord
    headers_tell_slot: bool
    tpot_s: float | None
    tpot_reason: str | None
    drafted: int | None
    accepted: int | None
    decode_steps: int | None

    @property
    def output_tokens(self) -> int | None:
        """See `output_tokens`."""
        return output_tokens(self.request)[0]

    @property
    def tokens_source(self) -> TokenSource | None:
        """Where the number of output tokens comes from."""
        return output_tokens(self.request)[1]

    @property
    def tpot_server_s(self) -> float | None:
        """Time a token after the first, as the server says."""
        return _tpot_server(timing(self.request.timings, "predicted_ms"), _count(self.request, "predicted_n"))

    @property
    def depth(self) -> int | None:
        """Prompt tokens, cached ones included."""
        return depth_of(self.request)

    @property
    def cached(self) -> int | None:
        """Prompt tokens that the server had in its cache."""
        return cached_of(self.request)

    @property
    def ttft_ns(self) -> int | None:
        """To the first token event."""
        return _since_send(self.request, self.request.first_token_ns)

    @property
    def ttfa_ns(self) -> int | None:
        """To the first token of the answer, which reasoning is not."""
        return _since_send(self.request, self.request.first_answer_ns)

    @property
    def e2e_ns(self) -> int | None:
        """To the last token event."""
        return _since_send(self.request, self.request.last_token_ns)

    @property
    def queue_wait_ns(self) -> int | None:
        """Until a slot took the request."""
        return _since_send(self.request, self.request.headers_ns) if self.headers_tell_slot else None

    @property
    def prefill_ns(self) -> int | None:
        """How long the server read the prompt, as it says."""
        prompt_ms = timing(self.request.timings, "prompt_ms")
        return None if prompt_ms is None else ms_to_ns(prompt_ms)

    @property
    def ttfr_ns(self) -> int | None:
        """To the first event of any kind."""
        return _since_send(self.request, self.request.first_event_ns)

    @property
    def ttft_due_ns(self) -> int | None:
        """To the first token from when the turn was due."""
        first = self.request.first_token_ns
        return None if first is None else first - self.request.scheduled_ns

    @property
    def first_decode_ns(self) -> int | None:
        """What of TTFT is neither queue nor prefill."""
        ttft, queue, prefill = self.ttft_ns, self.queue_wait_ns, self.prefill_ns
        return None if ttft is None or queue is None or prefill is None else ttft - queue - prefill

    @property
    def prefill_tokens_per_s(self) -> float | None:
        """How fast the server read the part of the prompt that it had not cached; null where that was small."""
        prompt_ms, evaluated = timing(self.request.timings, "prompt_ms"), _count(self.request, "prompt_n")
        if prompt_ms is None or evaluated is None or evaluated < _SMALL_PREFILL or prompt_ms <= 0:
            return None
        return evaluated / ms_to_s(prompt_ms)

    @property
    def merge_limit_ns(self) -> float:
        """How close together events of one step are at most: see `step_starts_ns`."""
        return _merge_limit_ns(timing(self.request.timings, "predicted_ms"), self.decode_steps)

    @property
    def estimated(self) -> bool:
        """The number of output tokens is only a count of events."""
        return self.tokens_source is TokenSource.EVENTS


def measure(request: RequestRecord, *, headers_tell_slot: bool = False) -> RequestMetrics:
    """All quantities of one request but its steps.

    `headers_tell_slot`: response headers come when a slot takes the request (llama-server), so that queue wait can be
    told from prefill.
    """
    accepted = _count(request, "draft_n_accepted")
    tpot, reason = _tpot(request, output_tokens(request)[0])
    return RequestMetrics(
        request=request,
        headers_tell_slot=headers_tell_slot,
        tpot_s=tpot,
        tpot_reason=reason,
        drafted=_count(request, "draft_n"),
        accepted=accepted,
        decode_steps=_decode_steps(_count(request, "predicted_n"), accepted),
    )


def timing(timings: Told, name: str) -> float | None:
    """A number of the server's `timings`; null where it is absent or no number that can be meant."""
    value = _told(timings, name)
    return value if type(value) is float or value is None else float(value)


def _told(timings: Told, name: str) -> int | float | None:
    if timings is None:
        return None
    # Asked millions of times of a long run: without a call where none is needed, and by the exact type, because a
    # boolean is a whole number too.
    value: Any = getattr(timings, name, None) if type(timings) is Timings else timings.get(name)
    return value if type(value) in _NUMBERS and -_ABSURD <= value <= _ABSURD else None


def depth_of(request: RequestRecord) -> int | None:
    """Prompt tokens, cached ones included: `prompt_n` alone is only the part that was evaluated."""
    if request.prompt_tokens is not None:
        return request.prompt_tokens
    cached, evaluated = _count(request, "cache_n"), _count(request, "prompt_n")
    return None if cached is None or evaluated is None else cached + evaluated


def cached_of(request: RequestRecord) -> int | None:
    """Prompt tokens that the server had in its cache; null where it doesn't say."""
    return request.cached_tokens if request.cached_tokens is not None else _count(request, "cache_n")


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
    steps = _decode_steps(_count(request, "predicted_n"), _count(request, "draft_n_accepted"))
    limit = _merge_limit_ns(timing(request.timings, "predicted_ms"), steps)
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


def _merge_limit_ns(predicted_ms: float | None, steps: int | None) -> float:
    if predicted_ms is None or not steps or predicted_ms <= 0:
        return _MERGE_NS
    return min(_MERGE_NS, _MERGE_SHARE * predicted_ms / steps * NS_PER_MS)


def _since_send(request: RequestRecord, at_ns: int | None) -> int | None:
    return None if at_ns is None or request.send_ns is None else at_ns - request.send_ns


def _count(request: RequestRecord, name: str) -> int | None:
    value = _told(request.timings, name)
    if type(value) is int:
        return value if value >= 0 else None
    return None if value is None or value < 0 else round(value)


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


def _tpot_server(predicted_ms: float | None, predicted: int | None) -> float | None:
    if predicted_ms is None or predicted is None or predicted <= 1 or predicted_ms <= 0:
        return None
    return ms_to_s(predicted_ms) / (predicted - 1)


def _decode_steps(predicted: int | None, accepted: int | None) -> int | None:
    """Decode steps of the answer: each gave one token of its own beside the accepted ones."""
    return max(predicted - (accepted or 0), 1) if predicted else None
