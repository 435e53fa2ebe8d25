"""Requests of the output check: greedy, plain text, on record as the warm-up of a trial of their own."""

import asyncio
import time
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from loadgen.client.chat import ChatCall, ChatClient, ChatResult, build_body
from loadgen.records.model import Phase, Place

_NO_PLAIN_TEXT = (
    *("tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"),
    *("response_format", "json_schema", "grammar", "stop", "logit_bias", "n"),
    *("n_predict", "max_completion_tokens", "ignore_eos", "cache_prompt", "id_slot"),
)
"""Fields of the user's that would keep an answer from being a copied text of the length asked for."""

_Value = TypeVar("_Value")


async def at_once(asking: Iterable[Coroutine[Any, Any, _Value]]) -> list[_Value]:
    """The results of all, in order. When one raises or the caller is cancelled, no other goes on."""
    tasks = [asyncio.create_task(one) for one in asking]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass
class GreedyCaller:
    """Sends the check's requests to the server of one variant, and counts those in flight."""

    chat: ChatClient
    run: str
    variant: str
    level: int
    model: str | None
    body: Mapping[str, Any]
    _in_flight: int = field(default=0, init=False)

    async def ask(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        agent: int,
        agents: int,
        turn: int,
        max_tokens: int,
        **extra: Any,
    ) -> ChatResult:
        """Ask for the greedy answer to `messages`; `agents` are at work at once, `extra` are further fields."""
        fields = {name: value for name, value in self.body.items() if name not in _NO_PLAIN_TEXT}
        body = build_body(
            messages,
            model=self.model,
            max_tokens=max_tokens,
            exact_length=False,
            extra={**fields, **extra, "temperature": 0},
        )
        self._in_flight += 1
        try:
            call = ChatCall(body=body, max_tokens=max_tokens, exact_length=False, keep_text=True)
            return await self.chat.send(call, self._place(agent, agents, turn))
        finally:
            self._in_flight -= 1

    def _place(self, agent: int, agents: int, turn: int) -> Place:
        trial = f"check-{self.variant}"
        now = time.monotonic_ns()
        return Place(
            run=self.run,
            trial=trial,
            round=0,
            variant=self.variant,
            level=self.level,
            agent=agent,
            session=f"{trial}@a{agent}",
            root=f"{trial}@a{agent}",
            turn=turn,
            turns=turn + 1,
            turn_kind="check",
            attempt=1,
            phase=Phase.WARMUP,
            ready_ns=now,
            scheduled_ns=now,
            wait_kind=None,
            in_flight=self._in_flight,
            active_agents=agents,
        )
