"""The server under test as a trial needs it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from loadgen.client.chat import ChatClient
from loadgen.client.control import Control
from loadgen.experiment.model import Experiment
from loadgen.records.model import RequestRecord, TokenEvent
from loadgen.servers.target import Target

Sink = Callable[[RequestRecord, list[TokenEvent]], None]
"""Takes every request with its token events."""


@dataclass(frozen=True)
class Bench:
    """One server: its chat, its control routes, and what is to be sent with every request."""

    chat: ChatClient
    control: Control
    model: str | None
    alive: Callable[[], bool]
    warmup_s: float
    """How long agents play before anything is measured, at least."""
    stamps: str = "user"
    take_lags_ns: Callable[[], list[int]] = list
    """Receive lags of the connections since the last call."""
    body: Mapping[str, Any] = field(default_factory=dict)
    """Fields of every request that make up the variant."""


def bench_of(target: Target, experiment: Experiment, sink: Sink) -> Bench:
    """The bench of an open target."""
    return Bench(
        chat=ChatClient(target.transport, experiment.deadlines, sink),
        control=target.control,
        model=target.model,
        alive=target.alive,
        warmup_s=experiment.warmup_s,
        stamps=target.transport.stamps,
        take_lags_ns=target.transport.take_lags_ns,
        body=target.body,
    )
