"""The metrics of a run while it goes on and behind it: served, pushed, and written for node_exporter."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from loadgen.analysis.summary import summarise
from loadgen.cli.audience import Audience
from loadgen.cli.linger import keep
from loadgen.cli.option_values import seconds
from loadgen.cli.shared import Shared
from loadgen.experiment.stop_policy import Decision, StopPolicy
from loadgen.metrics.address import Address, parse_address
from loadgen.metrics.endpoint import Endpoint, EndpointError
from loadgen.metrics.gateway import Gateway, PushError, parse_gateway
from loadgen.metrics.recorder import Recorder
from loadgen.metrics.store import Store
from loadgen.metrics.textfile import TextfileError, checked_folder, write_textfile
from loadgen.records.run_folder import read_run

LINGER_S = 60.0
"""Prometheus scrapes every 15 s or every minute: once at least in this time."""


class LiveMetrics:
    """Where the metrics of one run go.

    Args:
        address: where they are served; null: nowhere.
        linger_s: how long they are served behind the run.
        gateway: where the final values are pushed; null: nowhere.
        folder: where the final values are written for node_exporter; null: nowhere.
    """

    def __init__(
        self,
        *,
        address: Address | None = None,
        linger_s: float = LINGER_S,
        gateway: Gateway | None = None,
        folder: Path | None = None,
    ) -> None:
        self._address = address
        self._linger_s = linger_s
        self._gateway = gateway
        self._folder = folder
        self._endpoint: Endpoint | None = None
        self._store = Store()
        self.recorder = Recorder(self._store)

    def open(self, note: Callable[[str], None]) -> None:
        """Begin to serve. Where that can't be, it is said, and the run goes on without."""
        if self._address is None:
            return
        try:
            self._endpoint = Endpoint.open(self._address, self._store)
        except EndpointError as error:
            note(f"{error}; the run goes on without")
            return
        reach = "" if self._address.is_loopback else "; whoever reaches this machine can read them"
        note(f"metrics: {self._endpoint.url}{reach}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Serve no more, unless the run is over and lingers."""
        if self._endpoint is not None:
            self._endpoint.close()
            self._endpoint = None

    def finish(self, audience: Audience, summary: Mapping[str, Any], *, linger: bool) -> None:
        """The run is over: show its results, push and write them; where it is to `linger`, serve them for a while."""
        audience.results(summary)
        audience.ended(time.time())
        series = self.recorder.series
        if series is not None:
            self._hand_out(series, audience.note)
        if self._endpoint is not None:
            keep(self._endpoint, self._linger_s if linger else 0)
            self._endpoint = None

    def _hand_out(self, series: str, note: Callable[[str], None]) -> None:
        if self._gateway is not None:
            try:
                self._gateway.push(self._store, series)
            except PushError as error:
                note(f"push gateway: {error}")
        if self._folder is not None:
            try:
                write_textfile(self._folder, self._store, series)
            except TextfileError as error:
                note(f"metrics file: {error}")


class Published:
    """A policy whose looks also bring the results so far into the metrics."""

    def __init__(self, policy: StopPolicy, folder: Path, audience: Audience) -> None:
        self._policy = policy
        self._folder = folder
        self._audience = audience

    def looks(self, rounds: int) -> Sequence[int]:
        """The looks of the policy."""
        return self._policy.looks(rounds)

    def after(self, round_: int) -> Decision:
        """The decision of the policy."""
        decision = self._policy.after(round_)
        self._audience.results(summarise(read_run(self._folder)))
        return decision


def live_metrics(shared: Shared) -> LiveMetrics | None:
    """What the options ask for; null where they ask for nothing. Raises `ExperimentError` naming the option."""
    if shared.metrics is None and shared.push_gateway is None and shared.metrics_textfile is None:
        return None
    return LiveMetrics(
        address=parse_address(shared.metrics) if shared.metrics is not None else None,
        linger_s=seconds("--metrics-linger", shared.metrics_linger) if shared.metrics_linger is not None else LINGER_S,
        gateway=parse_gateway(shared.push_gateway) if shared.push_gateway is not None else None,
        folder=checked_folder(shared.metrics_textfile) if shared.metrics_textfile is not None else None,
    )
