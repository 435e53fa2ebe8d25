"""Prompts of which only lengths are known, and which blocks of them are the same.

Traces without text say how many tokens a prompt has and name its blocks by hashes that include what stands before them:
two prompts that share the first n hashes share the first n blocks. Here such prompts become messages whose text is made
up later, so that prompts share exactly the beginning that their hashes share. A message has, in place of `content`,

- `tokens`, `corpus` and `seed`: so many tokens from the beginning of the endless text that belongs to that seed and
  corpus, so that the same seed with fewer tokens is a beginning of it; or
- `tokens` (all of it) and `pieces`: such texts one behind the other, each with its own three.

What a chat template puts around a message isn't counted: a prompt comes out longer by a few tokens a message.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

__all__ = ["Book", "Grown", "Prompt", "grown", "made_up"]

Message = dict[str, Any]


def made_up(role: str, tokens: int, corpus: str, seed: str) -> Message:
    """A message of so many tokens of the text of a seed."""
    return {"role": role, "tokens": tokens, "corpus": corpus, "seed": seed}


@dataclass(frozen=True)
class Prompt:
    """One prompt that was sent, and the answer that came.

    Attributes:
        tokens: of the prompt.
        blocks: hashes of its blocks.
        messages: what stands for it.
        answer: what stands for the answer; null: it had no tokens.
    """

    tokens: int
    blocks: tuple[Hashable, ...] = ()
    messages: tuple[Message, ...] = ()
    answer: Message | None = None

    @property
    def with_answer(self) -> tuple[Message, ...]:
        """The prompt and its answer, as they stand in what follows."""
        return self.messages if self.answer is None else (*self.messages, self.answer)

    @property
    def tokens_with_answer(self) -> int:
        """Tokens of both."""
        return self.tokens + (int(self.answer["tokens"]) if self.answer else 0)


@dataclass
class Book:
    """All prompts so far by their blocks."""

    size: int
    """Tokens a block."""
    prompts: dict[Hashable, Prompt] = field(default_factory=dict)
    _behind: dict[Hashable, set[Hashable]] = field(default_factory=lambda: defaultdict(set))

    def add(self, prompt: Prompt) -> None:
        """Remember a prompt; a block that several have belongs to the first."""
        for block in prompt.blocks:
            self.prompts.setdefault(block, prompt)
        for block, following in pairwise(prompt.blocks):
            self._behind[block].add(following)

    def most_alike(self, blocks: Sequence[Hashable], tokens: int) -> tuple[Prompt | None, int]:
        """The prompt whose beginning one of `tokens` with these blocks shares most, and how many tokens; null: none."""
        known = next((self.prompts[block] for block in reversed(blocks) if block in self.prompts), None)
        if known is None:
            return None, 0
        shared = self.shared(known, blocks, tokens)
        return (known, shared) if shared else (None, 0)

    def shared(self, known: Prompt, blocks: Sequence[Hashable], tokens: int) -> int:
        """How many tokens of a known prompt stand at the beginning of one of `tokens` with these blocks.

        All of them where every block is the same, and where all full blocks are and the new prompt is longer than the
        known one with its answer: a block that wasn't full then has another hash when it is. But not where a third one
        goes on from there with other blocks: what stands behind the full blocks is that one's.
        """
        same = _alike(known.blocks, blocks)
        longer = same >= known.tokens // self.size and tokens > known.tokens_with_answer
        parted = same and len(blocks) > same and self._behind[blocks[same - 1]] - set(known.blocks[same : same + 1])
        to_the_end = (longer or same == len(known.blocks)) and not parted
        return known.tokens if same and to_the_end else same * self.size


@dataclass(frozen=True)
class Grown:
    """A prompt made of an earlier one: what it begins with, what is new, whether it goes on behind the answer."""

    begin: list[Message]
    new: list[Message]
    goes_on: bool

    @property
    def messages(self) -> list[Message]:
        """The whole prompt."""
        return [*self.begin, *self.new]


def grown(known: Prompt | None, shared: int, tokens: int, *, corpus: str, seed: str) -> Grown:
    """A prompt of `tokens` that shares the first `shared` with an earlier one; the rest is the text of `seed`.

    It goes on behind the answer where it shares all of the earlier prompt and is longer than that with its answer.
    Otherwise it begins like the earlier one and parts from it: a message that the parting cuts is shortened, and the
    new text follows in it if it is the user's, else in a user's message.
    """
    if known is not None and shared >= known.tokens and tokens > known.tokens_with_answer:
        new = made_up("user", tokens - known.tokens_with_answer, corpus, seed)
        return Grown(list(known.with_answer), [new], goes_on=True)
    begin = [] if known is None else _beginning(known.messages, min(shared, tokens))
    left = tokens - sum(int(message["tokens"]) for message in begin)
    if left <= 0:
        return Grown(begin, [], goes_on=False)
    if begin and begin[-1]["role"] == "user":
        last = _of_pieces("user", [*_pieces(begin[-1]), _piece(left, corpus, seed)])
        return Grown(begin[:-1], [last], goes_on=False)
    return Grown(begin, [made_up("user", left, corpus, seed)], goes_on=False)


def _alike(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """How many elements two lists share at their beginning."""
    same = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        same += 1
    return same


def _beginning(messages: Iterable[Message], tokens: int) -> list[Message]:
    """The first so many tokens of messages."""
    taken: list[Message] = []
    for message in messages:
        if tokens <= 0:
            break
        size = int(message["tokens"])
        taken.append(message if size <= tokens else _shortened(message, tokens))
        tokens -= size
    return taken


def _shortened(message: Message, tokens: int) -> Message:
    pieces = []
    for piece in _pieces(message):
        if tokens <= 0:
            break
        pieces.append(piece | {"tokens": min(int(piece["tokens"]), tokens)})
        tokens -= int(piece["tokens"])
    return _of_pieces(str(message["role"]), pieces)


def _piece(tokens: int, corpus: str, seed: str) -> dict[str, Any]:
    return {"tokens": tokens, "corpus": corpus, "seed": seed}


def _pieces(message: Message) -> list[dict[str, Any]]:
    return message.get("pieces") or [_piece(message["tokens"], message["corpus"], message["seed"])]


def _of_pieces(role: str, pieces: list[dict[str, Any]]) -> Message:
    if len(pieces) == 1:
        return {"role": role, **pieces[0]}
    return {"role": role, "tokens": sum(int(piece["tokens"]) for piece in pieces), "pieces": pieces}
