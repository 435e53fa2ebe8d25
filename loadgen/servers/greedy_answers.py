"""Greedy answers to ordinary short prompts: the baseline's with one agent at a time, and all others against them."""

import hashlib
from collections.abc import Iterator

from loadgen.client.chat import ChatResult
from loadgen.records.model import Outcome
from loadgen.records.output_check import AnswerComparison
from loadgen.servers.greedy_call import GreedyCaller, at_once

PROMPTS = 40
"""Enough to tell a variant that changes one answer in seven more than batching does from one that doesn't; on a CPU
with 20 tokens a second a minute for each variant."""
TOKENS = 32
"""Output tokens each: drafting has begun by then, and most answers that part at all have parted."""

_TOPICS = (
    *("the harbor", "a bakery", "the night train", "a small library", "the school garden", "a mountain hut"),
    *("the old bridge", "a repair shop", "the river ferry", "a weather station"),
)
_TASKS = (
    "Describe {topic} in two sentences.",
    "List five things that one finds at {topic}.",
    "Continue this story: On Monday morning {topic} was closed, and",
    "Write a short notice for the visitors of {topic}.",
    "Name three questions that a guest of {topic} may ask.",
    "Put this into the past tense: {topic} opens at nine, {topic} closes at five, and {topic} rests on Sunday.",
    "Go on with this list:\n1. {topic} opens at one\n2. {topic} opens at two\n3. {topic} opens at three\n4.",
    'Go on with these lines:\n{{"name": "{topic}", "day": 1}}\n{{"name": "{topic}", "day": 2}}\n{{"name": "{topic}", ',
)
"""Half of them free, half with repetition, on which n-gram speculation drafts."""


def prompts(seed: int) -> list[str]:
    """The prompts of a run: `PROMPTS` of all pairs of task and topic, every task equally often, in a seeded order."""
    each = PROMPTS // len(_TASKS)
    chosen = [
        task.format(topic=topic)
        for task in _TASKS
        for topic in sorted(_TOPICS, key=lambda topic: _rank(seed, task, topic))[:each]
    ]
    return sorted(chosen, key=lambda prompt: _rank(seed, prompt))


def _rank(seed: int, *parts: str) -> bytes:
    return hashlib.sha256("\n".join((str(seed), *parts)).encode()).digest()


class GreedyAnswers:
    """What the baseline answers when nothing else is on the server: digests, held in memory for one run.

    Texts are neither kept nor written.
    """

    def __init__(self, *, baseline: str, seed: int) -> None:
        self.baseline = baseline
        self._prompts = prompts(seed)
        self._reference: list[bytes | None] | None = None

    async def compare(self, caller: GreedyCaller, *, agents: int, llama: bool) -> AnswerComparison | None:
        """Ask a variant with `agents` at once. The baseline is asked with one agent at a time before.

        Null where the baseline has not been asked yet: it goes first. `llama`: the server is a llama-server, and can be
        told to compute every prompt anew, because a prompt from the cache is computed in another batch.
        """
        if caller.variant == self.baseline and self._reference is None:
            self._reference = await self._ask(caller, agents=1, llama=llama)
        if self._reference is None:
            return None
        found = await self._ask(caller, agents=agents, llama=llama)
        pairs = zip(self._reference, found, strict=True)
        return AnswerComparison(agents=agents, equal=[None if a is None or b is None else a == b for a, b in pairs])

    async def _ask(self, caller: GreedyCaller, *, agents: int, llama: bool) -> list[bytes | None]:
        """Digests of the answers in the order of the prompts; null for a request that failed."""
        found: list[bytes | None] = [None] * len(self._prompts)
        waiting = iter(range(len(self._prompts)))
        extra = {"cache_prompt": False} if llama else {}

        async def work(agent: int, numbers: Iterator[int]) -> None:
            for number in numbers:
                messages = [{"role": "user", "content": self._prompts[number]}]
                found[number] = _digest(
                    await caller.ask(messages, agent=agent, agents=agents, turn=number, max_tokens=TOKENS, **extra)
                )

        await at_once(work(agent, waiting) for agent in range(agents))
        return found


def _digest(result: ChatResult) -> bytes | None:
    if result.record.outcome not in (Outcome.OK, Outcome.EMPTY):
        return None
    # The byte between keeps reasoning from running into the answer.
    return hashlib.sha256(f"{result.reasoning or ''}\0{result.text or ''}".encode(errors="replace")).digest()
