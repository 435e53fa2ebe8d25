"""In which order trials run, and how long each is: pure, without a clock.

A round holds every variant at every level once, and with fixed depths at every level and depth. Launched variants run
in blocks (one server start each): variant A at all levels, then B; the next round begins with B. Running servers,
router presets, gateway models and launched servers that are to be restarted alternate at every level (and depth)
instead. A variant whose draft state outlives requests gets a server start for every trial. Levels and depths are
shuffled anew each round, alike for all variants of the round, and everything is seeded. The first trial is repeated at
the very end: it shows whether the machine drifted.
"""

import hashlib
import math
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

TARGET_TURNS = 8
"""Aim of turns an agent and trial: enough that a session's mix of depths and waits is seen."""
TARGET_TURNS_ALL_AGENTS = 64
"""Aim of turns a trial, over its agents: at one agent 8 turns say too little."""
TARGET_SEGMENT_S = 20.0
"""Aim of seconds a segment: long against batch formation and scheduler noise."""
FLOOR_TURNS = 2
FLOOR_TURNS_ALL_AGENTS = 8
"""Below these a trial isn't worth its warm-up."""
WARMUP_S = 3.0
"""Long enough for clocks and caches to settle after a pause; every agent plays one whole turn besides."""
WARMUP_REST_TURNS = 0.5
"""What an agent still plays in warm-up when the others are ready: half a turn on average."""
TAIL_TURNS = 0.25
"""How long the last agent's segment outlasts the mean, in turns."""
SWITCH_S = 0.15
"""Draining, counters and files between two trials."""
PREFERRED_ROUNDS = 4
"""From 4 rounds on a t interval is narrow enough to settle differences of 10 %; trials shrink to make room for them."""
MIN_ROUNDS = 3
"""A speed-up has an interval from 3 rounds on; with fewer, levels are dropped instead."""
SAFETY = 0.9
"""Trials are sized to fill this share of the budget: a pilot of seconds says how long a turn takes to some ten percent,
and the last round must not fall to a machine that is a little slower later on."""
MAX_ROUNDS = 12
"""More rounds than this add little to an interval; the budget goes into longer trials."""
MAX_BOUND_ROUNDS = 48
"""Where trials can't be longer, because sessions leave a fixed depth, more rounds are all that a budget can buy: these
give one agent about the turns of 12 whole trials, if sessions stay for a quarter of them."""


Place = tuple[int, int | None]
"""A level and, in a run with fixed depths, a depth."""


@dataclass(frozen=True)
class Block:
    """Trials that share one server start: one variant at one or several levels of a round.

    `depths` stand beside the levels, one each; none in a run without fixed depths.
    """

    round: int
    variant: str
    levels: tuple[int, ...]
    depths: tuple[int, ...] = ()

    @property
    def places(self) -> list[Place]:
        """Level and depth of each trial, in their order."""
        return list(zip(self.levels, self.depths or (None,) * len(self.levels), strict=True))


def blocks(
    variants: Sequence[str],
    levels: Sequence[int],
    *,
    rounds: int,
    seed: int,
    depths: Sequence[int] = (),
    alternate: bool = False,
    fresh: Collection[str] = (),
) -> list[Block]:
    """The blocks of a run in order.

    Args:
        variants: their names, the baseline among them.
        levels: the concurrencies.
        rounds: how many rounds. More of them leave the first ones as they were.
        seed: the seed of the run.
        depths: the fixed depths, each of which is measured at every level; none: segments start anywhere.
        alternate: switch variants at every level and depth.
        fresh: variants that need a start of their own for every trial.
    """
    out: list[Block] = []
    for round_ in range(1, rounds + 1):
        order = _order(variants, round_, seed)
        shuffled: list[Place] = [(level, depth) for level in levels for depth in depths or (None,)]
        _generator(seed, f"levels:{round_}").shuffle(shuffled)
        if alternate:
            for index, place in enumerate(shuffled):
                turn = order if index % 2 == 0 else order[::-1]
                out.extend(_block(round_, variant, [place]) for variant in turn)
        else:
            for variant in order:
                parts = [[place] for place in shuffled] if variant in fresh else [shuffled]
                out.extend(_block(round_, variant, part) for part in parts)
    return out


def _block(round_: int, variant: str, places: Sequence[Place]) -> Block:
    depths = tuple(depth for _, depth in places if depth is not None)
    return Block(round_, variant, tuple(level for level, _ in places), depths)


def _order(variants: Sequence[str], round_: int, seed: int) -> list[str]:
    """Two variants alternate (A B, B A, …); more are shuffled anew every odd round and reversed in the even one."""
    pair = (round_ - 1) // 2
    order = list(variants)
    if len(order) > 2:  # noqa: PLR2004 - more than a pair
        _generator(seed, f"order:{pair}").shuffle(order)
    return order if round_ % 2 == 1 else order[::-1]


def _generator(seed: int, purpose: str) -> random.Random:
    digest = hashlib.sha256(f"schedule:{seed}:{purpose}".encode()).digest()
    return random.Random(int.from_bytes(digest, "big"))  # noqa: S311 - reproducible order, not a secret


def trial_id(round_: int, variant: str, level: int, depth: int | None = None) -> str:
    """The name of a trial, also its file name: `r2-mtp-c4`, at a fixed depth `r2-mtp-c4-d16384`.

    `drift-off-c1` is the one that is repeated at the end.
    """
    return f"{f'r{round_}' if round_ else 'drift'}-{variant}-{place_id(level, depth)}"


def place_id(level: int, depth: int | None) -> str:
    """A level and depth as names of trials have them: `c4`, `c4-d16384`."""
    return f"c{level}" if depth is None else f"c{level}-d{depth}"


@dataclass(frozen=True)
class Fit:
    """How a time budget is spent: rounds at most, turns an agent by level, levels that had to go, and the time."""

    rounds: int
    turns: dict[int, int]
    short: dict[int, bool]
    dropped_levels: tuple[int, ...]
    estimated_s: float


def aim_turns(level: int, turn_s: float) -> int:
    """Turns an agent and trial as the definitions want them: max(8, 64/N) turns an agent, and 20 seconds."""
    return max(
        TARGET_TURNS,
        math.ceil(TARGET_TURNS_ALL_AGENTS / level),
        math.ceil(TARGET_SEGMENT_S / turn_s),
    )


def floor_turns(level: int) -> int:
    """The fewest turns an agent and trial: max(2, 8/N) turns an agent."""
    return max(FLOOR_TURNS, math.ceil(FLOOR_TURNS_ALL_AGENTS / level))


def trial_s(turns: int, turn_s: float, warmup_s: float = WARMUP_S) -> float:
    """Estimated seconds of a trial of `turns` turns an agent, warm-up and switching included."""
    return max(warmup_s, turn_s) + (WARMUP_REST_TURNS + turns + TAIL_TURNS) * turn_s + SWITCH_S


def fit(
    turn_s: Mapping[int, float],
    *,
    variants: int,
    budget_s: float,
    block_s: float,
    switch_s: float = 0.0,
    warmup_s: float = WARMUP_S,
    rounds: int | None = None,
    longest: int | None = None,
) -> Fit:
    """Fit rounds and trial lengths to `budget_s`.

    Args:
        turn_s: seconds a turn and agent, waits included, by level (from the pilot).
        variants: how many variants a round has.
        budget_s: seconds left.
        block_s: seconds that one server start costs where a variant runs all its levels on it (0 for running servers).
        switch_s: seconds that bringing up the variant costs before every trial, where variants alternate.
        warmup_s: seconds of warm-up of a trial, at least.
        rounds: a fixed number of rounds; then only trial lengths are fitted, down to their floor.
        longest: more turns an agent can't be had, below the floor too: they would leave a fixed depth. Null: any.

    Trials shrink from their aim towards the floor until 4 rounds fit; if even the shortest leave room for fewer than 3,
    levels are dropped, from the second largest down to the second smallest, so that the ends of the curve stay; the
    last to go is the largest. With one level left, what fits is run, at least one round.
    """
    levels = sorted(turn_s)
    dropped: list[int] = []
    costs = _Costs(turn_s, variants, block_s, switch_s, warmup_s, longest)
    while True:
        wanted = rounds or PREFERRED_ROUNDS
        share = _largest_share(levels, costs, SAFETY * budget_s / wanted)
        turns = costs.turns(levels, share)
        round_s = costs.round_s(turns)
        held = int(budget_s // round_s)
        if rounds is not None or held >= MIN_ROUNDS or len(levels) == 1:
            break
        dropped.append(levels.pop(-2) if len(levels) > 2 else levels.pop())  # noqa: PLR2004 - the two ends
    # One more than surely fits: estimates are cautious, and a run ends with the round that its budget still holds.
    bound = longest is not None and all(longest < aim_turns(level, turn_s[level]) for level in levels)
    planned = rounds or max(1, min(held + 1, MAX_BOUND_ROUNDS if bound else MAX_ROUNDS))
    return Fit(
        rounds=planned,
        turns=turns,
        short={level: turns[level] < aim_turns(level, turn_s[level]) for level in levels},
        dropped_levels=tuple(sorted(dropped)),
        estimated_s=planned * round_s if rounds else min(planned * round_s, max(budget_s, round_s)),
    )


@dataclass(frozen=True)
class _Costs:
    """What a round takes, as a function of its trial lengths."""

    turn_s: Mapping[int, float]
    variants: int
    block_s: float
    switch_s: float
    warmup_s: float
    longest: int | None

    def turns(self, levels: Sequence[int], share: float) -> dict[int, int]:
        """Turns an agent by level, at `share` of the way from the floor to the aim."""
        out = {}
        for level in levels:
            low, high = floor_turns(level), aim_turns(level, self.turn_s[level])
            out[level] = max(low, math.floor(low + share * (high - low)))
        return out if self.longest is None else {level: min(turns, self.longest) for level, turns in out.items()}

    def round_s(self, turns: Mapping[int, int]) -> float:
        """Seconds of a round."""
        trials_s = sum(self.switch_s + trial_s(k, self.turn_s[level], self.warmup_s) for level, k in turns.items())
        return self.variants * (self.block_s + trials_s)


def _largest_share(levels: Sequence[int], costs: _Costs, round_budget_s: float) -> float:
    """The largest share of the way from floor to aim at which a round takes at most `round_budget_s` (by bisection)."""

    def holds(share: float) -> bool:
        return costs.round_s(costs.turns(levels, share)) <= round_budget_s

    if holds(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
