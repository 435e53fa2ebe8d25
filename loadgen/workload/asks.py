"""The drawn numbers of one session: how long it is, and what every turn is like.

All numbers come from two streams: `shape` gives those that every profile has, `extra` those of tools, sub-agents,
broken-off answers and summaries, so that a profile without these is the same with and without them being known.
"""

from dataclasses import dataclass
from typing import Literal

from loadgen.workload.distribution import Distribution, Fixed, RandomSource
from loadgen.workload.profile import Profile
from loadgen.workload.profile_parts import Material
from loadgen.workload.recorded import Cancel
from loadgen.workload.task import Size

__all__ = ["Ask", "Numbers", "whole_tokens"]

_EDIT_SHARE_OF_OUTPUT = 0.65
"""The text of an edit comes back whole: it is kept below the cap, so that a model that obeys isn't cut off."""
_EARLIEST_COMPACTION = 2
"""The first turn that may go on from a summary: one that has something to sum up."""


@dataclass(frozen=True)
class Ask:
    """The drawn numbers of one turn; lengths in tokens.

    Attributes:
        user: a user speaks, and not a tool.
        kind: what is asked for.
        size: of what the turn shows, and of its recorded answer.
        output: to generate.
        wait_s: before the turn.
        results: results of tools that come in: what one answer called at once.
        corpus: the kind of text that is shown; null: as the profile's.
        cancel: the answer is broken off.
        compact: the turn goes on from a summary.
    """

    user: bool
    kind: Literal["prose", "edit", "extract", "tool_call"]
    size: Size
    output: int
    wait_s: float
    results: int = 1
    corpus: str | None = None
    cancel: Cancel | None = None
    compact: bool = False


def whole_tokens(distribution: Distribution, source: RandomSource, *, most: int) -> int:
    """A whole number of tokens, turns or calls: 1 at least, and no more than could ever fit."""
    return max(1, min(round(distribution.draw(source)), most))


class Numbers:
    """Draws what a session of `turns` turns is like.

    Args:
        profile: what to draw.
        shape: the stream of the numbers that every profile has.
        extra: the stream of all others.
        turns: of the session.
    """

    def __init__(self, profile: Profile, shape: RandomSource, extra: RandomSource, turns: int) -> None:
        self._profile = profile
        self._shape = shape
        self._extra = extra
        self._turns = turns
        self._users = self._user_turns()
        self._compact_at = self._compaction()

    def turn(self, index: int, *, interrupted: bool) -> Ask:
        """What turn `index` is like; the turns are asked for in their order.

        `interrupted`: the answer before was broken off by the user, who speaks now.
        """
        profile, shape = self._profile, self._shape
        user = index in self._users or interrupted
        material = profile.tool_result if index else profile.first_user
        shown = self._tokens(material.tokens, shape)
        output = self._tokens(profile.output.tokens, shape)
        answer = self._tokens(profile.answer.tokens, shape) if profile.answer is not None else output
        kind = self._kind(index)
        wait_s = (profile.think_time_s if user else profile.tool_time_s).draw(shape)
        if profile.final_output is not None and index == self._turns - 1:
            output = self._tokens(profile.final_output.tokens, self._extra)
            answer = output
        return Ask(
            user=user,
            kind=kind,
            size=Size(shown, min(answer, output), int(_EDIT_SHARE_OF_OUTPUT * output)),
            output=output,
            # Whole microseconds: the last digit of exp() differs between machines, and the digest must not.
            wait_s=round(wait_s, 6),
            results=self._results(user=user),
            corpus=self._corpus(material, printed=not index or not user),
            cancel=self._cancel(output),
            compact=index == self._compact_at,
        )

    def _user_turns(self) -> set[int]:
        """The turns in which the user speaks: the first, and others at equal distances."""
        profile, turns = self._profile, self._turns
        count = self._tokens(profile.user_turns, self._shape)
        if profile.user_every is not None:
            count = max(1, round(turns / max(1.0, profile.user_every.draw(self._extra))))
        wanted = min(count, turns)
        return {number * turns // wanted for number in range(wanted)}

    def _kind(self, index: int) -> Literal["prose", "edit", "extract", "tool_call"]:
        """The last answer before a user speaks is words, where the agent has tools; all others call them."""
        profile = self._profile
        u = self._shape.random()
        if u < profile.edit_turns:
            return "edit"
        if u < profile.edit_turns + profile.extract_turns:
            return "extract"
        goes_on = index + 1 < self._turns and index + 1 not in self._users
        return "tool_call" if profile.tools and goes_on else "prose"

    def _corpus(self, material: Material, *, printed: bool) -> str | None:
        """What a later user brings is no output of a tool: it is of the profile's own kind of text."""
        return material.corpus.draw(self._extra) if printed and material.corpus is not None else None

    def _results(self, *, user: bool) -> int:
        profile = self._profile
        if user or not profile.tools:
            return 0
        return self._tokens(profile.parallel_tools, self._extra) if profile.parallel_tools != Fixed(1) else 1

    def _cancel(self, output: int) -> Cancel | None:
        """An answer of one token can't be broken off."""
        broken = self._profile.cancel
        if broken is None:
            return None
        u, after = self._extra.random(), self._tokens(broken.after_tokens, self._extra)
        if u >= broken.share or output < 2:  # noqa: PLR2004 - see above
            return None
        return Cancel(after_tokens=min(after, output - 1), then=broken.then)

    def _compaction(self) -> int | None:
        """The turn at which the session is summed up; null where it isn't."""
        compact = self._profile.compact
        if compact is None:
            return None
        u, place = self._extra.random(), self._extra.random()
        turns = self._turns - _EARLIEST_COMPACTION
        return _EARLIEST_COMPACTION + int(place * turns) if u < compact.share and turns > 0 else None

    def _tokens(self, distribution: Distribution, source: RandomSource) -> int:
        return whole_tokens(distribution, source, most=self._profile.min_context)
