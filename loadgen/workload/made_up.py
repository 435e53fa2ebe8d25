"""Text for messages of which a recording has only the length: always the same for the same seed.

A message then has, in place of `content`, `tokens` and `corpus` (a kind of `loadgen.workload.corpus`), and may have a
`seed`: the same seed with fewer tokens gives a beginning of the same text. Or it has `pieces`, several such texts one
behind the other.
"""

from dataclasses import dataclass
from typing import Any

from loadgen.workload.copy_rate import text_of
from loadgen.workload.corpus.library import Library
from loadgen.workload.corpus.text import made
from loadgen.workload.draws import rng
from loadgen.workload.recorded import RecordedSession, RecordedTurn
from loadgen.workload.sizing import Sizer

__all__ = ["FilledTurn", "filled", "with_text"]

_ANSWER_TOKENS = 64
"""Of the text that stands for an answer that a later turn goes on from and the file says nothing of."""

_FOR_ALL_RUNS = 0
"""The seed of the text. It isn't that of the run: a recording is played with the same text by every run."""


@dataclass(frozen=True)
class FilledTurn:
    """A turn whose messages and answer all have their text.

    Attributes:
        messages: what is new in the prompt.
        answer: what goes back into later prompts; empty where the agent dropped the answer.
        made_up: the file lacks the answer, and this text stands for it.
    """

    messages: tuple[dict[str, Any], ...]
    answer: dict[str, Any]
    made_up: bool


def filled(session: RecordedSession, *, sizer: Sizer, library: Library | None = None) -> list[FilledTurn]:
    """Every turn of a session with text in place of lengths, and an answer wherever a later turn goes on from one.

    Args:
        session: as it was recorded.
        sizer: says how long texts are.
        library: the files that they are made of; null: Python's standard library.
    """
    out = []
    for number, turn in enumerate(session.turns):
        name = f"{session.session_id}:{number}"
        messages = tuple(
            with_text(message, seed=f"{name}:{place}", sizer=sizer, library=library)
            for place, message in enumerate(turn.messages)
        )
        answer = _recorded_answer(turn, f"{name}:answer", sizer, library)
        if answer is None:
            stand_in = {"role": "assistant", "tokens": turn.output_tokens or _ANSWER_TOKENS, "corpus": "prose"}
            answer = with_text(stand_in, seed=f"{name}:answer", sizer=sizer, library=library)
            out.append(FilledTurn(messages, answer, made_up=True))
        else:
            out.append(FilledTurn(messages, answer, made_up=False))
    return out


def _recorded_answer(turn: RecordedTurn, seed: str, sizer: Sizer, library: Library | None) -> dict[str, Any] | None:
    """The answer that the file has; empty where the agent dropped it; null where there is none."""
    if turn.assistant is not None:
        answer = with_text(turn.assistant, seed=seed, sizer=sizer, library=library)
        if answer.get("tool_calls") or answer.get("content"):
            return answer
        if text_of(answer):
            # Reasoning alone: servers want a content with it.
            return answer | {"content": ""}
    return {} if turn.cancel is not None and turn.cancel.then == "drop" else None


def with_text(message: dict[str, Any], *, seed: str, sizer: Sizer, library: Library | None = None) -> dict[str, Any]:
    """The message with text in place of a length; one that has its text, as it is.

    Args:
        message: in OpenAI's shape, with `tokens` or `pieces` in place of `content`.
        seed: of the text, where the message names none.
        sizer: says how long the text is.
        library: the files that it is made of; null: Python's standard library.
    """
    if "tokens" not in message or "content" in message:
        return dict(message)
    pieces = message.get("pieces") or [message]
    texts = [_text(piece, f"{seed}:{number}", sizer, library) for number, piece in enumerate(pieces)]
    kept = {name: value for name, value in message.items() if name not in ("tokens", "corpus", "seed", "pieces")}
    return kept | {"content": "".join(texts)}


def _text(piece: dict[str, Any], seed: str, sizer: Sizer, library: Library | None) -> str:
    corpus = str(piece.get("corpus", "prose"))
    source = rng(_FOR_ALL_RUNS, "made-up", corpus, str(piece.get("seed", seed)))
    return made(corpus, source, int(piece["tokens"]), sizer, library).text
