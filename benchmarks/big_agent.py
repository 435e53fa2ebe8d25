"""One agent of a big run: its turns as records, with their token events."""

import random
from dataclasses import dataclass
from typing import Any

from loadgen.records.manifest import PlannedTrial
from loadgen.records.model import EventKind, Outcome, Phase, RequestRecord, TokenEvent
from loadgen.units import NS_PER_MS, NS_PER_S, NS_PER_US

TURNS = 30
"""Turns of a session."""
_ACCEPTANCE = 0.7
_LONG_SHARE = 0.2
_LONG, _SHORT = (80, 120), (8, 16)
"""Output tokens of an answer and of a tool call, from and to."""
_BURST_NS = 60 * NS_PER_US
"""Between the tokens of one step."""


@dataclass
class BigAgent:
    """Its own time, its session and how deep it is. `drafted`: tokens that its server drafts a step."""

    planned: PlannedTrial
    agent: int
    drafted: int
    now_ns: int
    play: int
    turn: int = 0
    depth: int = 0
    cached: int = 0

    def next_turn(self, phase: Phase, chance: random.Random) -> tuple[RequestRecord, list[TokenEvent]]:
        """The next turn; the agent's time moves on to the end of it."""
        if self.turn == TURNS:
            self.play, self.turn, self.depth, self.cached = self.play + self.planned.level, 0, 0, 0
        self.depth += chance.randint(800, 1600) if self.turn == 0 else chance.randint(60, 300)
        wait_ns = 0 if self.turn == 0 else round(chance.expovariate(3.0) * NS_PER_S)
        tokens = chance.randint(*(_LONG if chance.random() < _LONG_SHARE else _SHORT))
        record, events = self._request(phase, wait_ns, tokens, chance)
        self.now_ns, self.turn, self.cached = record.end_ns, self.turn + 1, self.depth
        self.depth += tokens
        return record, events

    def _request(
        self, phase: Phase, wait_ns: int, tokens: int, chance: random.Random
    ) -> tuple[RequestRecord, list[TokenEvent]]:
        level = self.planned.level
        evaluated = self.depth - self.cached
        prompt_ns = evaluated * NS_PER_MS // 2
        due_ns = self.now_ns + wait_ns
        send_ns = due_ns + 200 * NS_PER_US
        first_ns = send_ns + 4 * NS_PER_MS + prompt_ns
        step_ns = round((20 + 2 * level * (self.drafted + 1)) * NS_PER_MS * chance.uniform(0.9, 1.1))
        events, steps = self._events(first_ns, tokens, step_ns, chance)
        last_ns = events[-1].at_ns
        name = f"agent-{self.play:04d}@a{self.agent}.{self.play}"
        record = RequestRecord(
            run="big",
            trial=self.planned.trial,
            round=self.planned.round,
            variant=self.planned.variant,
            level=level,
            agent=self.agent,
            session=name,
            root=name,
            turn=self.turn,
            turns=TURNS,
            turn_kind="code" if self.turn % 3 else "prose",
            attempt=1,
            phase=phase,
            ready_ns=self.now_ns,
            scheduled_ns=due_ns,
            wait_kind="tool" if wait_ns else None,
            in_flight=level,
            active_agents=level,
            target="http://127.0.0.1:8080",
            start_ns=due_ns + 100 * NS_PER_US,
            connect_ns=None,
            send_ns=send_ns,
            send_done_ns=send_ns + 50 * NS_PER_US,
            headers_ns=send_ns + 3 * NS_PER_MS,
            first_event_ns=first_ns,
            first_token_ns=first_ns,
            first_answer_ns=first_ns,
            last_token_ns=last_ns,
            end_ns=last_ns + NS_PER_MS,
            outcome=Outcome.OK,
            status=200,
            error=None,
            finish_reason="stop",
            done_seen=True,
            decode_warnings=0,
            token_events=tokens,
            events_at=None,
            max_tokens=1024,
            exact_length=False,
            prompt_tokens=self.depth,
            completion_tokens=tokens,
            cached_tokens=self.cached,
            timings=self._timings(evaluated, prompt_ns, tokens, last_ns - first_ns, steps),
        )
        return record, events

    def _events(self, first_ns: int, tokens: int, step_ns: int, chance: random.Random) -> tuple[list[TokenEvent], int]:
        """One event a token, those of a step in one burst; and how many steps there were."""
        events: list[TokenEvent] = []
        steps = 0
        while len(events) < tokens:
            accepted = 0
            while accepted < self.drafted and chance.random() < _ACCEPTANCE:
                accepted += 1
            at_ns = first_ns + steps * step_ns
            events += [
                TokenEvent(at_ns + number * _BURST_NS, EventKind.CONTENT, number == 0)
                for number in range(min(1 + accepted, tokens - len(events)))
            ]
            steps += 1
        return events, steps

    def _timings(self, evaluated: int, prompt_ns: int, tokens: int, predicted_ns: int, steps: int) -> dict[str, Any]:
        """llama-server's `timings`, with the fields and digits that it writes."""
        prompt_ms, predicted_ms = prompt_ns / NS_PER_MS, max(predicted_ns, NS_PER_MS) / NS_PER_MS
        out = {
            "cache_n": self.cached,
            "prompt_n": evaluated,
            "prompt_ms": prompt_ms,
            "prompt_per_token_ms": prompt_ms / evaluated,
            "prompt_per_second": evaluated / prompt_ms * 1000,
            "predicted_n": tokens,
            "predicted_ms": predicted_ms,
            "predicted_per_token_ms": predicted_ms / tokens,
            "predicted_per_second": tokens / predicted_ms * 1000,
        }
        drafts = {"draft_n": steps * self.drafted, "draft_n_accepted": tokens - steps}
        return {**out, **drafts} if self.drafted else out
