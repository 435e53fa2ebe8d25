"""What a file of sessions is like: turns, tokens, waits, growth, reuse, copies, and what fits a context."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from loadgen.workload.copy_rate import CopyRate, copy_rate, text_of
from loadgen.workload.recorded import RecordedSession, RecordedTurn
from loadgen.workload.sizing import ASSUMED_CHARS_PER_TOKEN

__all__ = ["CONTEXTS", "TurnSize", "describe", "sizes"]

PERCENTS = (5, 25, 50, 75, 90, 95)
CONTEXTS = (4096, 8192, 16384, 32768, 65536, 131072)
"""Tokens of context a slot that people run: which sessions fit is what decides."""
_MESSAGE_TOKENS = 5
"""What a chat template puts around a message (ChatML, Gemma)."""


@dataclass(frozen=True)
class TurnSize:
    """Tokens of one turn: prompt in all, what is new in it, and answer. `counted`: the file says so, else estimated."""

    prompt: int
    added: int
    output: int
    counted: bool


def sizes(session: RecordedSession, chars_per_token: float = ASSUMED_CHARS_PER_TOKEN) -> list[TurnSize]:
    """The size of every turn, by the file's own counts where it has them, else by characters."""
    out: list[TurnSize] = []
    head = _tokens(len(json.dumps(session.tools, ensure_ascii=False)) if session.tools else 0, chars_per_token)
    for number, turn in enumerate(session.turns):
        fresh = number == 0 or turn.history_reset is not None
        before = 0 if fresh else out[-1].prompt + out[-1].output
        new = sum(_message_tokens(message, chars_per_token) for message in turn.messages) + (head if fresh else 0)
        prompt = turn.input_tokens if turn.input_tokens is not None else before + new
        output = turn.output_tokens if turn.output_tokens is not None else _answer_tokens(turn, chars_per_token)
        counted = turn.input_tokens is not None and turn.output_tokens is not None
        out.append(TurnSize(prompt, max(prompt - before, 0) if counted else new, output, counted))
    return out


def describe(
    sessions: Sequence[RecordedSession], *, chars_per_token: float = ASSUMED_CHARS_PER_TOKEN
) -> dict[str, Any]:
    """The figures of a file as JSON values; percentiles are sample values by rank, null where there is no value.

    `prefix_reuse` is the share of prompt tokens that a server would find in its cache if it kept every session's own:
    all but what is new in each turn. `fits` says of how many sessions every turn, answer included, fits a context.
    """
    by_session = [sizes(session, chars_per_token) for session in sessions]
    turns = [size for sized in by_session for size in sized]
    deepest = [max(size.prompt + size.output for size in sized) for sized in by_session]
    waits: dict[str, list[float]] = defaultdict(list)
    kinds: Counter[str] = Counter()
    for session in sessions:
        for number, turn in enumerate(session.turns):
            if number or turn.delay_s:
                waits[turn.delay_kind].append(turn.delay_s)
            kinds[turn.kind or "unknown"] += 1
    prompts = sum(size.prompt for size in turns)
    copies = copy_rate(sessions)
    return {
        "sessions": len(sessions),
        "roots": sum(session.parent_session_id is None for session in sessions),
        "turns": len(turns),
        "turns_per_session": _spread([len(session.turns) for session in sessions]),
        "tokens": "counted" if all(size.counted for size in turns) else "estimated",
        "chars_per_token": chars_per_token,
        "prompt_tokens": _spread([size.prompt for size in turns]),
        "added_tokens": _spread([size.added for size in turns]),
        "output_tokens": _spread([size.output for size in turns]),
        "first_prompt_tokens": _spread([sized[0].prompt for sized in by_session]),
        "deepest_tokens": _spread(deepest),
        "waits_s": {kind: _spread(values) for kind, values in sorted(waits.items())},
        "kinds": dict(sorted(kinds.items())),
        "prefix_reuse": 1 - sum(min(size.added, size.prompt) for size in turns) / prompts if prompts else None,
        "copy_rate": _copies(copies),
        "fits": {str(context): sum(depth <= context for depth in deepest) for context in CONTEXTS},
        "sub_agents": sum(len(turn.spawn) for session in sessions for turn in session.turns),
        "cancelled": sum(turn.cancel is not None for session in sessions for turn in session.turns),
        "history_resets": sum(turn.history_reset is not None for session in sessions for turn in session.turns),
    }


def _copies(found: CopyRate) -> dict[str, Any]:
    return {"overall": found.overall, "answers": len(found.grams), "by_turn": _spread(found.by_turn)}


def _spread(values: Sequence[float]) -> dict[str, float | None]:
    ordered = sorted(values)
    out: dict[str, float | None] = {
        f"p{percent}": ordered[max(ceil(percent * len(ordered) / 100), 1) - 1] if ordered else None
        for percent in PERCENTS
    }
    return {"mean": sum(ordered) / len(ordered) if ordered else None, **out, "max": ordered[-1] if ordered else None}


def _answer_tokens(turn: RecordedTurn, chars_per_token: float) -> int:
    if turn.assistant is None:
        return 0
    if "tokens" in turn.assistant:
        return int(turn.assistant["tokens"])
    return _tokens(len(text_of(turn.assistant)), chars_per_token)


def _message_tokens(message: dict[str, Any], chars_per_token: float) -> int:
    if "tokens" in message:
        return int(message["tokens"]) + _MESSAGE_TOKENS
    return _tokens(len(text_of(message)), chars_per_token) + _MESSAGE_TOKENS


def _tokens(characters: int, chars_per_token: float) -> int:
    return ceil(characters / chars_per_token)
