"""Requests as they are read back: a long run has hundreds of thousands of them, all in memory at once.

Decoded as they stand they would take 2 KB each. Here equal texts and numbers are one object, and of llama-server's
timings only what can't be worked out from the rest is kept: 0.8 KB.
"""

from operator import attrgetter
from typing import Any

import msgspec

from loadgen.records.model import RequestRecord, Sample

_TEXTS = (
    *("run", "trial", "variant", "session", "root", "turn_kind", "wait_kind", "target", "error", "finish_reason"),
    "work_class",
)
_SAMPLE_TEXTS = ("run", "trial", "variant", "source", "name", "reason", "device")
"""A run has few different ones, or a session has one."""
_request_texts, _sample_texts = attrgetter(*_TEXTS), attrgetter(*_SAMPLE_TEXTS)
_set = msgspec.structs.force_setattr


class Timings(msgspec.Struct, frozen=True, gc=False):
    """The numbers of llama-server's `timings` that aren't quotients of the others; null where it sent none."""

    cache_n: Any = None
    prompt_n: Any = None
    prompt_ms: Any = None
    predicted_n: Any = None
    predicted_ms: Any = None
    draft_n: Any = None
    draft_n_accepted: Any = None

    def get(self, name: str) -> Any:
        """The number called so, as from a dictionary."""
        return getattr(self, name, None)


class ReadRequest(RequestRecord, frozen=True, kw_only=True, gc=False, eq=False):
    """A request with lean timings. It equals the one that was written."""

    timings: Timings | None  # type: ignore[assignment] # asked for numbers by name, like the dictionary that was written

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RequestRecord):
            return NotImplemented
        plain = (name for name in self.__struct_fields__ if name != "timings")
        return all(getattr(self, name) == getattr(other, name) for name in plain) and all(
            _number(self.timings, name) == _number(other.timings, name) for name in Timings.__struct_fields__
        )

    __hash__ = None  # type: ignore[assignment] # nothing keeps requests in a set


class LeanReader:
    """Decodes the lines of a run folder's files into records that share what is equal."""

    def __init__(self) -> None:
        self._request = msgspec.json.Decoder(ReadRequest)
        self._sample = msgspec.json.Decoder(Sample)
        self._texts: dict[str, str] = {}
        self._numbers: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        """When each agent's request before ended: often when it was ready for the next."""

    def request(self, line: bytes) -> RequestRecord:
        """One request. Raises as msgspec does."""
        request = self._request.decode(line)
        self._share_texts(request, _TEXTS, _request_texts(request))
        self._share_times(request)
        self._share_counts(request, request.timings)
        return request

    def sample(self, line: bytes) -> Sample:
        """One sample. Raises as msgspec does."""
        sample = self._sample.decode(line)
        self._share_texts(sample, _SAMPLE_TEXTS, _sample_texts(sample))
        return sample

    def _share_texts(self, record: msgspec.Struct, names: tuple[str, ...], texts: tuple[str | None, ...]) -> None:
        keep = self._texts.setdefault
        for name, text in zip(names, texts, strict=True):
            if text is not None:
                _set(record, name, keep(text, text))

    def _share_times(self, request: ReadRequest) -> None:
        first, ready, agent = request.first_event_ns, request.ready_ns, request.agent
        if request.first_token_ns == first:
            _set(request, "first_token_ns", first)
        if request.first_answer_ns == first:
            _set(request, "first_answer_ns", first)
        end = self._ends.get(agent)
        if ready == end:
            ready = end
            _set(request, "ready_ns", ready)
        if request.scheduled_ns == ready:
            _set(request, "scheduled_ns", ready)
        self._ends[agent] = request.end_ns

    def _share_counts(self, request: ReadRequest, timings: Timings | None) -> None:
        keep = self._numbers.setdefault
        prompt, cached, tokens = request.prompt_tokens, request.cached_tokens, request.completion_tokens
        _set(request, "max_tokens", keep(request.max_tokens, request.max_tokens))
        if prompt is not None:
            _set(request, "prompt_tokens", keep(prompt, prompt))
        if cached is not None:
            cached = keep(cached, cached)
            _set(request, "cached_tokens", cached)
        if request.token_events == tokens:
            _set(request, "token_events", tokens)
        # A server may say the same count with a point: that one stays as it is.
        if timings is not None and type(timings.cache_n) is int and timings.cache_n == cached:
            _set(timings, "cache_n", cached)
        if timings is not None and type(timings.predicted_n) is int and timings.predicted_n == tokens:
            _set(timings, "predicted_n", tokens)


def _number(timings: Any, name: str) -> Any:
    return None if timings is None else timings.get(name)
