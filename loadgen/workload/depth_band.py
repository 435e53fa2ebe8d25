"""Where in a workload its prompts have a depth that was asked for: windows of turns that stay near it.

At a fixed depth an agent's segment must neither run away from that depth nor go over into a new session, which would
begin with a short prompt. So it is as long as sessions stay near the depth, and begins where its turns lie nearest.
"""

from collections.abc import Sequence
from statistics import median, median_low

from loadgen.errors import WorkloadError
from loadgen.experiment.depths import BAND, band

Depths = Sequence[Sequence[int]]
"""Prompt depth in tokens by session and turn."""


def longest_window(depths: Depths, asked: int) -> int:
    """How many turns in a row stay within the band around a depth: in half of the sessions that get there, or more.

    0 where no session gets there.
    """
    runs = [max(_runs(session, asked)) for session in depths if any(_runs(session, asked))]
    return median_low(runs) if runs else 0


def windows(depths: Depths, asked: int, turns: int) -> list[tuple[int, int, int]]:
    """Where segments of so many turns may begin: (depth, session, turn), one a session, ordered by depth.

    It is the turn from which on the prompts of all `turns` turns lie within the band, and their mean nearest to `asked`
    (of equals the earlier one). Sessions without such a turn are left out.
    """
    found = []
    for s, session in enumerate(depths):
        runs = _runs(session, asked)
        means = {t: sum(session[t : t + turns]) / turns for t, length in enumerate(runs) if length >= turns}
        if means:
            start = min(means, key=lambda t: abs(means[t] - asked))
            found.append((session[start], s, start))
    return sorted(found)


def check_depths(name: str, depths: Depths, asked: Sequence[int]) -> dict[int, int]:
    """How many turns sessions stay near each depth that was asked for: see `longest_window`.

    Raises `WorkloadError` with the depths that there are where the workload `name` never gets to one of them.
    """
    stay = {depth: longest_window(depths, depth) for depth in asked}
    there = sorted(one for session in depths for one in session)
    for depth, turns in stay.items():
        if turns:
            continue
        low, high = band(depth)
        raise WorkloadError(
            f"Workload {name} has no prompt within {BAND:.0%} of {depth:,} tokens ({low:,.0f} to {high:,.0f}): its "
            f"prompts have {there[0]:,} to {there[-1]:,} tokens, half of them more than {median(there):,.0f}. Ask for "
            "another --depth, or choose a workload that gets there."
        )
    return stay


def _runs(session: Sequence[int], asked: int) -> list[int]:
    """For each turn, how many turns from it on stay within the band; 0 for one that isn't in it."""
    low, high = band(asked)
    out = [0] * (len(session) + 1)
    for t in range(len(session) - 1, -1, -1):
        out[t] = out[t + 1] + 1 if low <= session[t] <= high else 0
    return out[:-1]
