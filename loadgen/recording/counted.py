"""The lengths of a recording's texts, counted by the server that it was made with."""

import asyncio
from collections.abc import Sequence

from loadgen.client.control import Control
from loadgen.workload.corpus.library import standard
from loadgen.workload.fresh_text import KINDS, FreshText
from loadgen.workload.recorded import RecordedSession
from loadgen.workload.redacted import Lengths, texts_of

__all__ = ["counted"]

_AT_ONCE = 4
"""Questions at a time: the tokenizer of llama-server takes milliseconds a text, and works beside its slots."""


async def counted(sessions: Sequence[RecordedSession], control: Control) -> Lengths | None:
    """How many tokens each text has, and samples of what replaces them; null where nobody counts."""
    fresh = FreshText(standard())
    samples = {kind: fresh.sample(kind) for kind in KINDS}
    sizes = {kind: await control.tokenize(sample) for kind, sample in samples.items()}
    known = {kind: size for kind, size in sizes.items() if size}
    if len(known) < len(KINDS):
        return None
    limit = asyncio.Semaphore(_AT_ONCE)

    async def count(text: str) -> int | None:
        async with limit:
            return await control.tokenize(text)

    texts = texts_of(sessions)
    counts = await asyncio.gather(*map(count, texts))
    return Lengths({text: tokens for text, tokens in zip(texts, counts, strict=True) if tokens is not None}, known)
