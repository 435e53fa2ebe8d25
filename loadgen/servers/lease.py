"""What one kind of variant brought up at an address, and how to give it back."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from loadgen.client.control import Control


async def _nothing() -> None:
    """There is nothing to give back."""


@dataclass(frozen=True)
class Lease:
    """A server that is up: how to ask it, how long that took, and what is known of it.

    `model` is the name to send with every request, where there must be one. `ready_s` is null for a server that ran
    already. `command` is what runs, keys masked, where somebody told it. `log_path` is where the output of bringing it
    up went. `release` gives the server back; it raises nothing.
    """

    control: Control
    model: str | None = None
    ready_s: float | None = None
    command: tuple[str, ...] | None = None
    log_path: Path | None = None
    release: Callable[[], Awaitable[None]] = _nothing
