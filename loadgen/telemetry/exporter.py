"""Memory and power from an exporter's page, in Prometheus' text format: how a remote server's device is seen."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit, urlunsplit

from prometheus_client.samples import Sample

from loadgen.client.endpoint import Endpoint
from loadgen.client.metrics_text import read_samples
from loadgen.client.transport import HttpTransport
from loadgen.client.transport_error import TransportError
from loadgen.telemetry.exporter_names import (
    AVAILABLE,
    EXPORTERS,
    GPUS_THERE,
    GROUP,
    GROUP_KINDS,
    SERVER,
    TOTAL,
    UNIT_BYTES,
    Known,
    Place,
    place,
)
from loadgen.telemetry.source import Reading, SourceError

_OK = 200
_NAMES = tuple(
    name.encode()
    for name in (*(name for known in EXPORTERS.values() for name in known), AVAILABLE, TOTAL, GROUP, GPUS_THERE)
)
_INSTANCE = b"GPU_I_"
"""Any metric with such a label shows that there is an instance."""


class ExporterMemory:
    """Fetches the page at every reading, over a connection of its own and without any key.

    Args:
        url: of the page.
        metric: the one metric to read, whose series are summed per device; null: those known by name.
        unit: what that metric counts in, a key of `UNIT_BYTES`.
        timeout_s: for one page.
    """

    name = "exporter"
    period_s = 1.0
    """Exporters look at devices every second at most, dcgm-exporter every 30 s as it comes."""

    def __init__(self, url: str, *, metric: str | None = None, unit: str = "B", timeout_s: float = 5.0) -> None:
        parts = urlsplit(url)
        self._endpoint = Endpoint.parse(urlunsplit((parts.scheme, parts.netloc, "", "", "")))
        self._path = parts.path or "/metrics"
        self._metric = metric
        self._worth = UNIT_BYTES[unit]
        self._timeout_s = timeout_s
        self._runner: asyncio.Runner | None = None
        self._transport: HttpTransport | None = None

    def open(self) -> Sequence[str]:
        """Fetches the page once, and says whose metrics it holds."""
        self._runner = asyncio.Runner()
        self._transport = HttpTransport(self._endpoint, connect_s=self._timeout_s)
        where = f"{self._endpoint.label}{self._path}"
        samples = self._page()
        readings = self.readings(samples)
        devices = {one.device for one in readings if one.name == "used_bytes"}
        expected = next((int(one.value) for one in samples if one.name == GPUS_THERE), None)
        count = f"{len(devices)} of {expected}" if expected is not None else str(len(devices))
        return [f"memory and power by {self._whose(samples)} at {where}: {count} device(s) seen"]

    def _whose(self, samples: Sequence[Sample]) -> str:
        if self._metric is not None:
            return f"the metric {self._metric}"
        names = {sample.name for sample in samples}
        found = (exporter for exporter, known in EXPORTERS.items() if names & known.keys())
        return next(found, "process-exporter" if _groups(samples) else "node_exporter")

    def read(self) -> Sequence[Reading]:
        """One page. Raises `SourceError` where it can't be had or holds nothing that is known."""
        return self.readings(self._page())

    def _page(self) -> list[Sample]:
        if self._runner is None or self._transport is None:
            raise SourceError("the exporter was not opened")
        try:
            reply = self._runner.run(self._transport.get(self._path, self._timeout_s))
        except TransportError as error:
            raise SourceError(f"the exporter can't be read: {error}") from None
        if reply.status != _OK:
            raise SourceError(f"the exporter answers with status {reply.status} on {self._path}")
        return read_samples(self._relevant(reply.body))

    def _relevant(self, page: bytes) -> bytes:
        """The lines that matter: parsing all of a node's page would take our own process tens of milliseconds."""
        names = (self._metric.encode(),) if self._metric is not None else _NAMES
        return b"\n".join(line for line in page.splitlines() if line.startswith(names) or _INSTANCE in line)

    def readings(self, samples: Sequence[Sample]) -> list[Reading]:
        """What a page tells. Raises `SourceError` where that is nothing."""
        found = self._asked(samples) if self._metric is not None else _known(samples)
        if not found:
            what = f"no metric {self._metric}" if self._metric is not None else "no metric of memory that is known"
            raise SourceError(f"the exporter's page holds {what}; name one with #METRIC=UNIT behind the address")
        return found

    def _asked(self, samples: Sequence[Sample]) -> list[Reading]:
        sums: dict[str | None, float] = defaultdict(float)
        for sample in samples:
            if sample.name == self._metric:
                sums[place(sample.labels).key] += sample.value * self._worth
        return [Reading("used_bytes", value, device) for device, value in sums.items()]

    def close(self) -> None:
        """Closes the connection."""
        runner, transport = self._runner, self._transport
        self._runner = self._transport = None
        if runner is None:
            return
        if transport is not None:
            runner.run(transport.close())
        runner.close()


def _known(samples: Sequence[Sample]) -> list[Reading]:
    """Of the first exporter that is known; without one, of the server's processes, or of the machine."""
    names = {sample.name for sample in samples}
    for known in EXPORTERS.values():
        if names & known.keys():
            return _devices(samples, known)
    return _groups(samples) or _machine(samples)


def _devices(samples: Sequence[Sample], known: Mapping[str, Known]) -> list[Reading]:
    found: dict[Place, dict[str, float]] = {}
    for sample in samples:
        where = place(sample.labels)
        what = known.get(sample.name)
        if what is not None:
            found.setdefault(where, {})[what.reading] = sample.value * what.worth
        elif where.instance is not None:
            found.setdefault(where, {})  # a metric of another kind shows that there is such an instance
    split = {where.device for where in found if where.instance is not None}
    return [
        reading
        for where, values in found.items()
        for reading in _device(where, values, parent=where.instance is None and where.device in split)
    ]


def _device(where: Place, values: Mapping[str, float], *, parent: bool) -> list[Reading]:
    """One device's readings. Memory of a GPU that is split is not that of its instances: it is called otherwise."""
    used, total = values.get("used_bytes"), values.get("total_bytes")
    if total is None and used is not None and "free_bytes" in values:
        total = used + values["free_bytes"] + values.get("reserved_bytes", 0)
    beside = [Reading(name, values[name], where.key) for name in ("gtt_used_bytes", "power_watts") if name in values]
    if parent:
        return [*([Reading("parent_used_bytes", used, where.key)] if used is not None else []), *beside]
    if used is None:
        return [Reading("used_bytes", None, where.key, "the exporter has no memory series of this device"), *beside]
    more = {"total_bytes": total, "reserved_bytes": values.get("reserved_bytes")}
    told = [Reading(name, value, where.key) for name, value in more.items() if value is not None]
    return [Reading("used_bytes", used, where.key), *told, *beside]


def _groups(samples: Sequence[Sample]) -> list[Reading]:
    """Groups of processes that are called after llama; pages shared with others in parts, where that is told."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for sample in samples:
        if sample.name == GROUP and SERVER in sample.labels.get("groupname", ""):
            found[sample.labels["groupname"]][sample.labels.get("memtype", "")] = sample.value
    told = {group: next((kinds[one] for one in GROUP_KINDS if one in kinds), None) for group, kinds in found.items()}
    return [Reading("used_bytes", value, group) for group, value in told.items() if value is not None]


def _machine(samples: Sequence[Sample]) -> list[Reading]:
    told = {sample.name: sample.value for sample in samples if sample.name in {AVAILABLE, TOTAL}}
    if len(told) < 2:  # noqa: PLR2004 - both
        return []
    used = told[TOTAL] - told[AVAILABLE]
    return [Reading("used_bytes", used, "host memory"), Reading("total_bytes", told[TOTAL], "host memory")]
