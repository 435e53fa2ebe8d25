"""Every random choice of a run: the same for every variant of a round, different between rounds.

The variant is never a part of a draw, so that two variants of one round are given the same work.
"""

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from loadgen.errors import WorkloadError
from loadgen.workload.depth_band import longest_window, windows

if TYPE_CHECKING:
    from numpy.random import Generator

_SESSION = "session"
_WARM_UP = "warm-up"
_START = "start"
_ORDER = "order"
_DEPTH = "depth"


def rng(seed: int, *parts: int | str) -> "Generator":
    """A generator of its own for one purpose: PCG64, seeded with the SHA-256 of the seed and the parts.

    Equal arguments give equal draws on every machine. Parts are told apart by place and type (`1` is not `"1"`).
    """
    from numpy.random import PCG64, Generator  # noqa: PLC0415 - the command line starts without numpy

    digest = hashlib.sha256(json.dumps([seed, *parts], separators=(",", ":")).encode()).digest()
    return Generator(PCG64(int.from_bytes(digest, "big")))


def session_index(  # noqa: PLR0917 - the parts of the seed in the glossary's order
    seed: int,
    round: int,  # noqa: A002 - the glossary's word
    level: int,
    agent: int,
    kth: int,
    sessions: int,
) -> int:
    """Which session of the pool an agent plays as its k-th after the first (`kth` from 1), 0 ≤ index < `sessions`.

    The agents of a trial are dealt one pass over the pool after the other, each in an order of its own: agent a gets as
    its k-th session the one in place `level * (k - 1) + a`. So every session of the pool is used exactly once a pass,
    each is equally likely in every place, and which one it is doesn't depend on how fast anybody is.

    `kth` 0 is the session that an agent warms up with where its segment begins with a first turn: dealt apart.

    Raises `WorkloadError` where the pool is empty.
    """
    if sessions < 1:
        raise WorkloadError("The workload holds no session.")
    place = level * (kth - 1) + agent if kth else agent
    purpose = _SESSION if kth else _WARM_UP
    return _pass(seed, purpose, round, level, place // sessions, sessions)[place % sessions]


@lru_cache(maxsize=64)
def _pass(  # noqa: PLR0917 - the parts of the seed in the glossary's order
    seed: int,
    purpose: str,
    round: int,  # noqa: A002 - the glossary's word
    level: int,
    number: int,
    sessions: int,
) -> tuple[int, ...]:
    """The order of the sessions in one pass over the pool (`number` from 0)."""
    return tuple(int(index) for index in rng(seed, purpose, round, level, number).permutation(sessions))


def start_turns(
    depths: Sequence[Sequence[int]],
    *,
    seed: int,
    level: int,
    rounds: int,
    upto: int | None = None,
    depth: int | None = None,
    turns: int = 1,
) -> list[list[tuple[int, int]]]:
    """Where each agent starts: `[round - 1][agent]` → (session index, turn index).

    Systematic sampling over all turns of the workload in the order of their depth (Cochran, Sampling Techniques, ch.
    8): `level * rounds` points at equal distances from one random offset. Each trial gets one point in each of `level`
    equal shares of the ordered turns, and which round gets which point of a share is drawn. So each turn is equally
    likely, and both a trial and the whole run cover the depths evenly. The deepest start is not always the same agent.

    At a fixed depth the population is not all turns but the windows that stay near it, one a session (see
    `depth_band`): each session is then equally likely.

    Args:
        depths: prompt depth in tokens, `depths[s][t]` of turn t of session s.
        seed: the seed of the run.
        level: the number of agents.
        rounds: the planned number of rounds: the points are spread over as many.
        upto: how many rounds to return; default `rounds`. Rounds beyond the plan come in further samples of `rounds`
            rounds each, so that the planned ones stay as they are.
        depth: the fixed depth that segments are to stay near; null: all turns.
        turns: how many turns a segment has there.

    Raises `WorkloadError` where the workload has no turn (at a fixed depth: none near it).
    """
    among = _population(depths, depth, turns)
    wanted = rounds if upto is None else upto
    starts: list[list[tuple[int, int]]] = []
    while len(starts) < wanted:
        starts += _sample(among, seed=seed, level=level, rounds=rounds, first_round=len(starts) + 1, depth=depth)
    return starts[:wanted]


def _population(depths: Sequence[Sequence[int]], depth: int | None, turns: int) -> list[tuple[int, int, int]]:
    """The (depth, session, turn) at which a segment may begin, ordered by depth."""
    if depth is None:
        among = sorted((one, s, t) for s, session in enumerate(depths) for t, one in enumerate(session))
    else:
        # A pilot asks for more turns than sessions stay there: it plays on beyond them.
        among = windows(depths, depth, max(1, min(turns, longest_window(depths, depth))))
    if not among:
        where = "" if depth is None else f" near a depth of {depth:,} tokens"
        raise WorkloadError(f"The workload holds no turn{where}.")
    return among


def _sample(
    turns: Sequence[tuple[int, int, int]],
    *,
    seed: int,
    level: int,
    rounds: int,
    first_round: int,
    depth: int | None,
) -> list[list[tuple[int, int]]]:
    """One systematic sample for `rounds` rounds from `first_round` on."""
    at: tuple[int | str, ...] = () if depth is None else (_DEPTH, depth)
    generator = rng(seed, _START, level, rounds, first_round, *at)
    offset = float(generator.random())
    places = [generator.permutation(rounds) for _ in range(level)]
    points = level * rounds
    starts = []
    for r in range(rounds):
        chosen = [
            turns[min(int((share * rounds + int(places[share][r]) + offset) * len(turns) / points), len(turns) - 1)]
            for share in range(level)
        ]
        order = rng(seed, _ORDER, level, first_round + r, *at).permutation(level)
        starts.append([chosen[int(share)][1:] for share in order])
    return starts
