"""What turns should find in the server's cache: what the turn before each in its session left there."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from loadgen.analysis.measured.request import cached_of, depth_of, output_tokens
from loadgen.records.model import Outcome, Phase, RequestRecord

MAX_MISSING = 0.1
"""A turn that finds less than 90 % of what should be in the cache is flagged."""
_TAIL = 8
"""Tokens that a chat template puts behind a prompt and leaves out, or writes otherwise, once the answer stands there:
the head of the answer, and marks of an empty reasoning. They are no loss worth a flag, however short the prompt."""


class Expectation(NamedTuple):
    """Prompt tokens that one turn should have found in the cache, and those that the server found there."""

    turn: int
    expected: int
    cached: int


@dataclass(slots=True)
class CacheUse:
    """What several turns should have found in the cache, and found."""

    turns: int = 0
    expected: int = 0
    missing: int = 0
    flagged: int = 0
    """Turns that found less than 90 %."""
    flagged_missing: int = 0
    """Tokens that these missed."""


def is_flagged(missing: int, expected: int) -> bool:
    """Whether a turn that misses so many tokens found less than 90 %, and misses more than the tail of a template."""
    return missing > max(MAX_MISSING * expected, _TAIL)


def expectations(requests: Iterable[RequestRecord]) -> Iterator[Expectation]:
    """One for each ok turn of the segments that goes on from an ok turn before it, where the server tells its cache.

    Expected is the prompt of the turn before, with its answer where later prompts have exactly that answer, but for the
    last token: it was sampled, and never evaluated. An answer that stands otherwise in the history is new text. Nothing
    is expected of first turns (`first_turns`) and of prompts that begin anew.

    Args:
        requests: of one trial, every phase, in the order of their starts.
    """
    had: dict[tuple[int, str], tuple[int, int]] = {}
    for request in requests:
        depth, cached = depth_of(request), cached_of(request)
        if depth is None or cached is None or request.outcome is not Outcome.OK:
            continue
        turn, held = had.get((request.agent, request.session), (-1, 0))
        follows = request.turn == turn + 1 and turn >= 0 and not request.begins_anew
        if follows and request.phase is Phase.SEGMENT:
            yield Expectation(request.turn, min(held, depth), cached)
        had[request.agent, request.session] = (request.turn, depth + _kept(request))


def cache_use(requests: Iterable[RequestRecord]) -> dict[int, CacheUse]:
    """The expectations of one trial, summed by the turn's place in its session, in its order."""
    found: dict[int, CacheUse] = {}
    for turn, expected, cached in expectations(requests):
        use = found.get(turn)
        if use is None:
            use = found[turn] = CacheUse()
        use.turns += 1
        use.expected += expected
        missing = expected - cached
        if missing > 0:
            use.missing += missing
            if is_flagged(missing, expected):
                use.flagged += 1
                use.flagged_missing += missing
    return dict(sorted(found.items()))


def _kept(request: RequestRecord) -> int:
    """Tokens of an answer that later prompts can share."""
    return max((output_tokens(request)[0] or 0) - 1, 0) if request.answer_kept else 0
