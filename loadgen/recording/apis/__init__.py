"""The APIs of which calls are recorded: one module each, one line each in `_ALL`.

A module turns a request into chat messages in OpenAI's shape, and the events of an answer into one. Where llama-server
has a conversion of its own (it serves all three from its chat API), messages here come out as there: in the same order,
with the same parts and the same blanks, so that what is played gives the same prompt.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final, Protocol, cast

from loadgen.recording.answer import Answer
from loadgen.recording.call import Message
from loadgen.workload.row_fields import Notes

__all__ = ["APIS", "Api", "Asked", "api_of"]


@dataclass(frozen=True)
class Asked:
    """What a request asks.

    Attributes:
        messages: its prompt, or what is new of it.
        tools: their definitions.
        model: that is asked.
        heading: what stands in front of the messages, and isn't taken over by whoever names the answer.
        follows: the answer whose history stands between both; null: the request has it all.
    """

    messages: list[Message]
    tools: list[Message] | None = None
    model: str | None = None
    heading: list[Message] = field(default_factory=list)
    follows: str | None = None


class Reader(Protocol):
    """What a module of this package has."""

    def asked(self, body: dict[str, Any], notes: Notes) -> Asked:
        """What a request asks; what is no text is left out and told to `notes`. Raises `Wrong` where it can't be."""
        ...

    def take(self, answer: Answer, event: dict[str, Any]) -> None:
        """The next event of an answer."""
        ...

    def whole(self, answer: Answer, reply: dict[str, Any]) -> None:
        """An answer that isn't streamed."""
        ...


@dataclass(frozen=True)
class Api:
    """An API: its name, and the route of its calls."""

    name: str
    route: str

    @property
    def reader(self) -> Reader:
        """Its module."""
        return cast("Reader", import_module(f"{__name__}.{self.name}"))


_ALL: Final = (Api("chat", "/chat/completions"), Api("messages", "/messages"), Api("responses", "/responses"))
APIS: Final[Mapping[str, Api]] = {api.name: api for api in _ALL}


def api_of(method: str, path: str) -> Api | None:
    """The API that a request belongs to; null: it is passed on and not recorded.

    A client's base URL may have anything in front of `/v1`, or leave that out.
    """
    if method != "POST":
        return None
    return next((api for api in _ALL if path == api.route or path.endswith(f"/v1{api.route}")), None)
