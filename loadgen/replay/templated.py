"""What a server's chat template makes of a turn's messages: its text, and how many tokens it has."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from loadgen.client.chunk import replace_surrogates
from loadgen.client.request_body import build_body
from loadgen.client.server_error import read_error_body
from loadgen.client.transport_error import TransportError
from loadgen.errors import WorkloadError
from loadgen.servers.target import Target
from loadgen.workload.session import Message, Session, prompt

__all__ = ["Prompts"]

_TIMEOUT_S = 20.0
_OK, _BAD_REQUEST, _SERVER_ERROR = 200, 400, 500
"""llama-server answers 400 or 500 where a template raises; other answers are of servers without the route."""


class Prompts:
    """Prompts as the server of `target` makes them, with the fields that every request has.

    Nothing is evaluated. A server without the routes gives null.
    """

    def __init__(self, target: Target, fields: Mapping[str, Any]) -> None:
        self._target = target
        self._fields = {**fields, **target.body}

    @property
    def is_llama(self) -> bool:
        """Whether the server is a llama-server: others don't have the routes."""
        return self._target.facts is not None and self._target.facts.kind == "llama-server"

    async def text(self, session: Session, turn: int, salt: str) -> str | None:
        """The prompt of a turn. Raises `WorkloadError` with the server's words where the template refuses it."""
        body = self._body(prompt(session, turn, salt=salt, answers={}), session.tools)
        try:
            reply = await self._target.transport.post("/apply-template", body, _TIMEOUT_S)
        except TransportError:
            return None
        error = read_error_body(reply.body)
        if reply.status in (_BAD_REQUEST, _SERVER_ERROR) and error is not None:
            said = error.one_line(body, self._target.transport.redact)
            raise WorkloadError(
                f"The server's chat template refuses turn {turn + 1} of session {session.id}: {said}. "
                "Choose another template (llama-server: --jinja with --chat-template-file), or other sessions."
            )
        if reply.status != _OK:
            return None
        try:
            value: Any = msgspec.json.decode(reply.body)
        except msgspec.DecodeError:
            return None
        text = value.get("prompt") if isinstance(value, dict) else None
        return replace_surrogates(text) if isinstance(text, str) else None

    async def tokens(self, session: Session, turn: int, salt: str) -> int | None:
        """How many tokens the prompt of a turn has: by the route that counts requests, else by its text."""
        body = self._body(prompt(session, turn, salt=salt, answers={}), session.tools)
        counted = await self._target.control.input_tokens(body)
        if counted is not None:
            return counted
        try:
            text = await self.text(session, turn, salt)
        except WorkloadError:
            return None
        return await self._target.control.tokenize(text) if text is not None else None

    def _body(self, messages: Sequence[Message], tools: Sequence[Message]) -> bytes:
        named = {"tools": tools} if tools else {}
        return build_body(
            messages, model=self._target.model, max_tokens=1, exact_length=False, extra={**named, **self._fields}
        )
