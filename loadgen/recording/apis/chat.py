"""OpenAI's chat completions (platform.openai.com/docs/api-reference/chat): the form in which sessions are kept."""

from typing import Any

from loadgen.client.server_error import read_error
from loadgen.recording.answer import Answer
from loadgen.recording.apis import Asked
from loadgen.workload.formats.fields import first_text, first_whole, mapping, objects, text
from loadgen.workload.row_fields import Notes
from loadgen.workload.transcript import messages_of, tools_of

__all__ = ["asked", "take", "whole"]

_FAILED = "the server reported an error in its answer"


def asked(body: dict[str, Any], notes: Notes) -> Asked:
    """Messages as they are, but for null fields, which say nothing."""
    return Asked(messages_of(body.get("messages"), "messages", notes), tools_of(body), text(body.get("model")))


def take(answer: Answer, event: dict[str, Any]) -> None:
    """A chunk; of several choices the first is recorded."""
    if read_error(event) is not None:
        answer.failed = _FAILED
        return
    _facts(answer, event)
    for choice in objects(event.get("choices")):
        if first_whole(choice, "index"):
            continue
        delta = mapping(choice.get("delta"))
        answer.say(delta.get("content"))
        answer.think(first_text(delta, "reasoning_content", "reasoning"))
        for number, call in enumerate(objects(delta.get("tool_calls"))):
            place = first_whole(call, "index")
            function = mapping(call.get("function"))
            answer.call(
                number if place is None else place,
                name=call.get("id"),
                tool=function.get("name"),
                arguments=function.get("arguments"),
            )
        # A client that hangs up behind the finish reason has the whole answer: only counts may follow.
        answer.finish_reason = text(choice.get("finish_reason")) or answer.finish_reason
        answer.ended = answer.finish_reason is not None


def whole(answer: Answer, reply: dict[str, Any]) -> None:
    """The first choice's message."""
    _facts(answer, reply)
    for choice in objects(reply.get("choices"))[:1]:
        message = {name: value for name, value in mapping(choice.get("message")).items() if value is not None}
        if message:
            answer.message = {"content": "", **message, "role": "assistant"}
            answer.ended = True
        answer.finish_reason = text(choice.get("finish_reason"))


def _facts(answer: Answer, event: dict[str, Any]) -> None:
    answer.model = text(event.get("model")) or answer.model
    answer.count(event.get("usage"), details="prompt_tokens_details", given="prompt_tokens", made="completion_tokens")
    timings = mapping(event.get("timings"))
    cached, fresh = first_whole(timings, "cache_n"), first_whole(timings, "prompt_n")
    if fresh is not None and not answer.counted:
        # llama-server's own counts, where the client asks for no usage.
        answer.input_tokens, answer.cached_tokens = fresh + (cached or 0), cached
        answer.output_tokens = first_whole(timings, "predicted_n")
