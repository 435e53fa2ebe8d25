"""Text for messages of which a recording has only the length: always the same for the same seed.

A message then has, in place of `content`, `tokens` and `corpus` (`code`, `prose`, `listing`, `diff`, `log`, `json`, or
`words` of the tiny model), and may have a `seed`: the same seed with fewer tokens gives a beginning of the same text.
Or it has `pieces`, several such texts one behind the other.
"""

from dataclasses import dataclass
from typing import Any

from loadgen.workload.copy_rate import text_of
from loadgen.workload.corpus import passage, tool_output, words
from loadgen.workload.draws import rng
from loadgen.workload.recorded import RecordedSession, RecordedTurn

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


def filled(session: RecordedSession, *, chars_per_token: float) -> list[FilledTurn]:
    """Every turn of a session with text in place of lengths, and an answer wherever a later turn goes on from one."""
    out = []
    for number, turn in enumerate(session.turns):
        name = f"{session.session_id}:{number}"
        messages = tuple(
            with_text(message, seed=f"{name}:{place}", chars_per_token=chars_per_token)
            for place, message in enumerate(turn.messages)
        )
        answer = _recorded_answer(turn, f"{name}:answer", chars_per_token)
        if answer is None:
            stand_in = {"role": "assistant", "tokens": turn.output_tokens or _ANSWER_TOKENS, "corpus": "prose"}
            answer = with_text(stand_in, seed=f"{name}:answer", chars_per_token=chars_per_token)
            out.append(FilledTurn(messages, answer, made_up=True))
        else:
            out.append(FilledTurn(messages, answer, made_up=False))
    return out


def _recorded_answer(turn: RecordedTurn, seed: str, chars_per_token: float) -> dict[str, Any] | None:
    """The answer that the file has; empty where the agent dropped it; null where there is none."""
    if turn.assistant is not None:
        answer = with_text(turn.assistant, seed=seed, chars_per_token=chars_per_token)
        if answer.get("tool_calls") or answer.get("content"):
            return answer
        if text_of(answer):
            # Reasoning alone: servers want a content with it.
            return answer | {"content": ""}
    return {} if turn.cancel is not None and turn.cancel.then == "drop" else None


def with_text(message: dict[str, Any], *, seed: str, chars_per_token: float) -> dict[str, Any]:
    """The message with text in place of a length; one that has its text, as it is.

    Args:
        message: in OpenAI's shape, with `tokens` or `pieces` in place of `content`.
        seed: of the text, where the message names none.
        chars_per_token: characters a token at the server.
    """
    if "tokens" not in message or "content" in message:
        return dict(message)
    pieces = message.get("pieces") or [message]
    texts = [_text(piece, f"{seed}:{number}", chars_per_token) for number, piece in enumerate(pieces)]
    kept = {name: value for name, value in message.items() if name not in ("tokens", "corpus", "seed", "pieces")}
    return kept | {"content": "".join(texts)}


def _text(piece: dict[str, Any], seed: str, chars_per_token: float) -> str:
    corpus = str(piece.get("corpus", "prose"))
    source = rng(_FOR_ALL_RUNS, "made-up", corpus, str(piece.get("seed", seed)))
    tokens = int(piece["tokens"])
    if corpus == "words":
        return words(source, tokens)
    characters = round(tokens * chars_per_token)
    return passage(source, characters) if corpus == "prose" else tool_output(source, characters).text
