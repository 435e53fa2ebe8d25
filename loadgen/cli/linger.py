"""What still serves when a command is done: metrics stay until their last values were scraped."""

import contextlib
import threading
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from loadgen.metrics.endpoint import Endpoint

_KEPT: "list[tuple[Endpoint, float]]" = []


def keep(endpoint: "Endpoint", seconds: float) -> None:
    """Let an endpoint serve for so long after the command has printed everything."""
    _KEPT.append((endpoint, seconds))


def linger() -> None:
    """Wait as long as was asked for, or until Ctrl-C, and close what was kept. The exit code stays what it was."""
    while _KEPT:
        endpoint, seconds = _KEPT.pop()
        with contextlib.suppress(KeyboardInterrupt):
            if seconds > 0:
                with contextlib.suppress(ValueError):  # stderr is closed: whoever read it is gone
                    typer.echo(f"metrics stay at {endpoint.url} for {seconds:g} s (Ctrl-C ends that)", err=True)
                threading.Event().wait(seconds)
        endpoint.close()
