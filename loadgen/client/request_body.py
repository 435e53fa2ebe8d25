"""The JSON body of one streamed chat completion."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from loadgen.client.chunk import replace_surrogates


def build_body(
    messages: Sequence[Mapping[str, Any]],
    *,
    model: str | None,
    max_tokens: int,
    exact_length: bool,
    extra: Mapping[str, Any],
) -> bytes:
    """The body: streamed, with usage, at most (with `exact_length` exactly) `max_tokens` output tokens.

    `extra` adds fields, such as sampling parameters or tools; it can't change those that the measurement rests on. Lone
    surrogates, which JSON in UTF-8 can't carry, become U+FFFD.
    """
    body: dict[str, Any] = {
        **extra,
        "messages": messages,
        "max_tokens": max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if model is not None:
        body["model"] = model
    if exact_length:
        # llama-server's and vLLM's name for going on past end-of-text.
        body["ignore_eos"] = True
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        return msgspec.json.encode(_clean(body))


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, Mapping):
        return {_clean(key): _clean(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(member) for member in value]
    return value
