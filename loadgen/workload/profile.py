"""Profiles: what agents do, as a person writes it down in YAML (version 1). `loadgen.workload.pool` plays the dice.

A profile states how many turns a job has, how much each turn adds to the prompt, how long answers and waits are, and
where every one of these numbers comes from. Values are numbers or distributions (see `loadgen.workload.distribution`).
"""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from loadgen.workload.distribution import Fixed
from loadgen.workload.profile_parts import (
    BrokenOrShare,
    CompactionOrShare,
    Frozen,
    Material,
    Output,
    Share,
    SharedPrefix,
    Tokens,
    Value,
    largest,
)
from loadgen.workload.session import History

__all__ = ["INLINE", "NAMED", "PARAMETERS", "ContextFull", "Profile", "SubAgents", "has_tools"]

PARAMETERS = (
    *("system_tokens", "first_user", "turns", "tool_result", "answer", "output", "tool_time_s", "think_time_s"),
    *("user_turns", "edit_turns", "extract_turns"),
)
"""The fields that state how agents behave in every profile: each has a source, or is listed as assumed."""
_EXTRA_PARAMETERS = ("final_output", "parallel_tools", "cancel", "compact")
"""And those that not every profile has."""

ContextFull = Literal["finish", "compact", "fail"]
"""What becomes of a session whose next turn doesn't fit: it ends there as done; it goes on from a summary; or the turn
is sent all the same, and what the server makes of it is how the session ends."""

INLINE, NAMED = "inline", "named"
_MOST_SUB_AGENTS = 64
_MOST_CALLS = 32
_EVERY_TURN = Fixed(1)


class SubAgents(Frozen):
    """Agents that a session spawns once, with jobs of their own."""

    at_turn: Value = Field(description="where in the session, as a share of its turns")
    count: Value = Field(description="how many")
    profile: Annotated[
        Annotated[str, Tag(NAMED)] | Annotated["Profile", Tag(INLINE)],
        Discriminator(lambda value: NAMED if isinstance(value, str) else INLINE),
    ] = Field(description="what they do: a profile, a built-in name, or a YAML file from the profile's folder")
    join: Literal["all", "background"] = Field(
        default="all", description="all: the next turn waits for every one of them; background: only the end does"
    )

    @model_validator(mode="after")
    def _possible(self) -> "SubAgents":
        if largest(self.at_turn) > 1:
            raise ValueError("at_turn is a share of the session's turns, from 0 to 1")
        if largest(self.count) > _MOST_SUB_AGENTS:
            raise ValueError(f"count is above {_MOST_SUB_AGENTS}")
        return self


class Profile(Frozen):
    """One workload, as its file states it."""

    version: Literal[1]
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=60)
    description: str = Field(min_length=1)
    caution: str | None = Field(default=None, min_length=1, description="told with every run: what it can't stand for")
    min_context: int = Field(ge=128, le=10_000_000, strict=True, description="tokens that a slot must hold")
    pool: int = Field(default=64, ge=1, le=10_000, strict=True, description="sessions to draw")
    corpus: Literal["words", "code", "prose"]
    history: History
    context_full: ContextFull = Field(default="finish", description="when a session outgrows min_context")
    system_tokens: Value | None = Field(default=None, description="tokens of the system message")
    shared_prefix: SharedPrefix | None = Field(default=None, description="system message and tools, in its place")
    first_user: Material = Field(description="the first user message, without the request at its end")
    turns: Value = Field(description="model calls a session")
    tool_result: Material = Field(description="what a tool prints, or a later user brings, without the request")
    answer: Tokens | None = Field(default=None, description="recorded text of prose and extract turns; null: as output")
    output: Output
    final_output: Tokens | None = Field(default=None, description="output of the last turn; null: as all others")
    tool_time_s: Value = Field(description="wait before a turn that brings a tool result")
    think_time_s: Value = Field(default=Fixed(0), description="wait before a later turn of the user")
    parallel_tools: Value = Field(default=Fixed(1), description="tools that one answer calls at once")
    user_turns: Value = Field(default=Fixed(1), description="turns in which the user speaks, the first included")
    user_every: Value | None = Field(default=None, description="a user turn to so many turns, in place of user_turns")
    edit_turns: Share = Field(default=0.0, description="turns that ask for a text back with a small change")
    extract_turns: Share = Field(default=0.0, description="turns that ask for a list of names")
    subagents: SubAgents | None = None
    cancel: BrokenOrShare | None = Field(default=None, description="answers that are broken off")
    compact: CompactionOrShare | None = Field(default=None, description="sessions that sum up")
    sources: dict[str, Annotated[str, Field(min_length=1)]] = Field(description="where each parameter comes from")

    @model_validator(mode="after")
    def _consistent(self) -> "Profile":
        for wrong in (*self._wrong_text(), *self._wrong_tools(), *self._wrong_shares()):
            raise ValueError(wrong)
        unknown = sorted(set(self.sources) - set(self.parameters) - set(PARAMETERS))
        if unknown:
            raise ValueError(f"sources names {', '.join(unknown)}, which is no parameter of a profile")
        return self

    def _wrong_text(self) -> Iterator[str]:
        if self.corpus != "words":
            return
        if self.edit_turns + self.extract_turns > 0:
            yield "corpus: words without meaning can't be edited or listed: corpus must be code or prose"
        if self.tools:
            yield "corpus: definitions of tools aren't words: corpus must be code or prose"
        if self.first_user.corpus or self.tool_result.corpus:
            yield "corpus: words has no other text beside it: corpus must be code or prose"

    def _wrong_tools(self) -> Iterator[str]:
        prefix = self.shared_prefix
        if (self.system_tokens is None) == (prefix is None):
            yield "system_tokens or shared_prefix is needed, one of them"
        elif prefix is not None and (prefix.tools > 0) != (prefix.tool_tokens is not None and prefix.kind is not None):
            yield "shared_prefix: tools, tool_tokens and kind belong together"
        elif self.parallel_tools != Fixed(1) and not self.tools:
            yield "parallel_tools needs tools: shared_prefix has none"
        if not 1 <= largest(self.parallel_tools) <= _MOST_CALLS:
            yield f"parallel_tools is not between 1 and {_MOST_CALLS}"

    def _wrong_shares(self) -> Iterator[str]:
        if self.edit_turns + self.extract_turns > 1:
            yield "edit_turns and extract_turns are more than all turns"
        if self.user_every is not None and self.user_turns != Fixed(1):
            yield "user_every and user_turns say the same in two ways: give one"
        if self.user_every is not None and largest(self.user_every) < 1:
            yield "user_every is below 1: no turn has more than one user message"

    @property
    def tools(self) -> int:
        """How many tools the agent has."""
        return self.shared_prefix.tools if self.shared_prefix is not None else 0

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of what is stated on how agents behave, and comes into play; those of sub-agents come last.

        A think time is none where the user speaks once, a tool time where the user speaks in every turn.
        """
        return (*self._own_parameters(), *self._sub_agents_parameters())

    @property
    def assumed(self) -> tuple[str, ...]:
        """Parameters without a source."""
        sources = self.all_sources
        return tuple(name for name in self.parameters if name not in sources)

    @property
    def all_sources(self) -> dict[str, str]:
        """Where each parameter comes from, those of sub-agents included."""
        child = self._child
        below = child.all_sources if child is not None else {}
        return {**self.sources, **{f"subagents.{name}": source for name, source in below.items()}}

    @property
    def _child(self) -> "Profile | None":
        below = self.subagents.profile if self.subagents is not None else None
        return below if isinstance(below, Profile) else None

    def _own_parameters(self) -> Iterator[str]:
        idle = set()
        if self.user_every is None and self.user_turns == Fixed(1):
            idle.add("think_time_s")
        if self.user_every == _EVERY_TURN:
            idle.add("tool_time_s")
        if self.answer is None:
            idle.add("answer")
        if self.shared_prefix is not None:
            idle.add("system_tokens")
            yield "shared_prefix.system_tokens"
            yield from ("shared_prefix.tools", "shared_prefix.tool_tokens") if self.tools else ()
        for name in PARAMETERS:
            if name not in idle:
                yield "user_every" if name == "user_turns" and self.user_every is not None else name
            material = getattr(self, name, None)
            if isinstance(material, Material) and material.corpus is not None:
                yield f"{name}.corpus"
        yield from (name for name in _EXTRA_PARAMETERS if name in self.model_fields_set)

    def _sub_agents_parameters(self) -> Iterator[str]:
        if self.subagents is not None:
            yield from ("subagents.at_turn", "subagents.count")
        child = self._child
        if child is not None:
            yield from (f"subagents.{name}" for name in child.parameters)


SubAgents.model_rebuild()


def has_tools(profile: Profile) -> bool:
    """Whether an agent of the profile, or a sub-agent, has tools."""
    below = profile.subagents.profile if profile.subagents is not None else None
    return profile.tools > 0 or (isinstance(below, Profile) and has_tools(below))
