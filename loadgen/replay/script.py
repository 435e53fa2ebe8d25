"""What all agents of a run play, and where in it one agent is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from loadgen.replay.pacing import Alarm, Ceiling
from loadgen.workload.session import Message, Session, Workload


@dataclass(frozen=True)
class Script:
    """What all agents of a run play, and how requests are made of it."""

    workload: Workload
    seed: int
    body: Mapping[str, Any] = field(default_factory=dict)
    ceiling: Ceiling = field(default_factory=lambda: Ceiling(None))
    alarm: Alarm = field(default_factory=Alarm)
    salted: bool = True
    """Unique prompt prefixes. Without them trials read each other's prompt cache: for tests of that detector only."""
    work_class: str | None = None
    """The class of a mix that plays it; null where all agents play the same, and for the mix as a whole."""


@dataclass
class Play:
    """One session under way: which instance, the next turn, and the answers so far."""

    session: Session
    name: str
    """The instance: two agents that play the same session of the pool are two sessions."""
    turn: int
    root: str
    """The instance at the root of its tree: itself, unless it is a sub-agent's."""
    answers: dict[int, Message] = field(default_factory=dict)
    """By turn, what of the model's own answers goes back (with live history)."""
