"""One call of a model, as it passed: what was asked, what was answered, and when."""

from typing import Any

import msgspec

from loadgen.workload.recorded import Cancel

__all__ = ["Call", "Message"]

Message = dict[str, Any]


class Call(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call, in OpenAI's chat shape whichever API it went through. Missing is null.

    Attributes:
        begun_s: when the request was there, in seconds since 1970, by one clock that never jumps back.
        ended_s: when the last of the answer was.
        messages: the whole prompt.
        tools: their definitions; null: none were sent.
        answer: what the model said; null where nothing of it came.
        api: `chat`, `messages` or `responses`.
        model: that answered, else that was asked for.
        agent: what the client calls itself (`User-Agent`).
        input_tokens: of the prompt, cached ones included, as the server says.
        output_tokens: of the answer, as the server says.
        cached_tokens: of the prompt, as the server says.
        finish_reason: in OpenAI's words.
        cancel: the client hung up before the answer's end; what it did then is told by its next call.
        response_id: by which a later request may name this answer in place of sending it.
        heading: messages at the front that such a request brings anew.
    """

    begun_s: float
    ended_s: float
    messages: list[Message]
    tools: list[Message] | None = None
    answer: Message | None = None
    api: str = "chat"
    model: str | None = None
    agent: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    finish_reason: str | None = None
    cancel: Cancel | None = None
    response_id: str | None = None
    heading: int = 0
