"""The memory of one variant over time: which samples speak of it, summed over the devices, and what was there before.

A device tells what everybody uses on it, a process only what is the server's. The device goes first where the server
has memory on one, for it is the device that runs out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from loadgen.records.model import Sample, ServerStart
from loadgen.units import s_to_ns

UNIFIED = "unified"
HOST = "host memory"
"""Devices and sources whose name begins so are the machine's own memory, which its GPU may share."""
LOG = "log"
_PROCESS = "process"
_USED = "used_bytes"
_GPUS = ("nvml", "amd")


@dataclass(frozen=True)
class Point:
    """A total over all devices, or of the process, at one moment."""

    at_ns: int
    value: float
    trial: str | None


@dataclass(frozen=True)
class Series:
    """What was watched of one variant.

    `points` begin with the load of its first server; `before` is the last total ahead of it, null where nobody looked.
    `missing` names devices that never told their memory: the totals are without them.
    """

    source: str
    is_device: bool
    points: Sequence[Point]
    before: float | None = None
    devices: Sequence[dict[str, Any]] = ()
    missing: Sequence[str] = ()
    foreign_growth: float | None = None
    holds_host_memory: bool = False
    """Whether prompt cache and checkpoints, which live in host memory, are part of it."""

    @property
    def holds_device_memory(self) -> bool:
        """Whether what a server has on its devices is part of it: of a process only where both are one memory."""
        return self.is_device or bool(self.devices)


@dataclass(frozen=True)
class HostUse:
    """What the logs of a variant tell of prompt cache and checkpoints: totals over time, and the peak of each.

    Empty and null where no log tells. `timed` is false where only peaks are known.
    """

    points: Sequence[Point] = ()
    prompt_cache: float | None = None
    checkpoints: float | None = None
    taken: int | None = None
    checkpoint: float | None = None
    timed: bool = field(default=False)

    @property
    def peak(self) -> float | None:
        """Bytes that both held at most, as far as is known."""
        known = [part for part in (self.prompt_cache, self.checkpoints) if part is not None]
        return sum(known) if known else None


def loads_ns(starts: Sequence[ServerStart]) -> list[int]:
    """When each server began to load, as near as is known, in order of time; one that ran already: when found."""
    return sorted(start.at_ns - s_to_ns(start.ready_s or 0.0) for start in starts)


def brought_up_ns(starts: Sequence[ServerStart]) -> list[int]:
    """When the servers that the run brought up began to load: what was read right before is without them."""
    return loads_ns([start for start in starts if start.ready_s is not None])


def reads_proportional(samples: Iterable[Sample]) -> bool:
    """Whether the proportional size, which counts shared pages once, was read often enough to show a peak."""
    names = [one.name for one in samples if one.source == _PROCESS and one.value is not None]
    return names.count("pss_bytes") > 0 and 2 * names.count("pss_bytes") >= names.count("rss_bytes")


def series(
    samples: Sequence[Sample], starts: Sequence[ServerStart], *, on_device: bool | None, proportional: bool
) -> Series | None:
    """The series of one variant, or null where nothing was read.

    Args:
        samples: the variant's samples.
        starts: its server starts.
        on_device: whether its ledger has memory on a device; null: not known, then a device that was watched counts.
        proportional: by which size of a process to go, the proportional or the resident one.
    """
    began = next(iter(brought_up_ns(starts)), None)
    device = _device_series(samples, began)
    if device is not None and on_device is not False:
        return device
    silent = [] if on_device is False else [one.device for one in samples if one.name == _USED and one.source != LOG]
    size = "pss_bytes" if proportional else "rss_bytes"
    process = _process_series(samples, began, name=size, missing=sorted({device or "the device" for device in silent}))
    # A GPU that isn't used says nothing of a server in host memory; what was asked to watch does.
    return process if process is not None or device is None or device.source.startswith(_GPUS) else device


def host_use(samples: Iterable[Sample]) -> HostUse:
    """What the logs told of host memory. Later processes of a variant begin from nothing."""
    told = [one for one in samples if one.source == LOG and one.value is not None]
    named = {name: [one.value for one in told if one.name == name] for name in {one.name for one in told}}
    timed = [one for one in told if one.name in ("prompt_cache_bytes", "checkpoints_bytes")]

    def peak(*names: str) -> float | None:
        return max((value for name in names for value in named.get(name, ()) if value is not None), default=None)

    taken = [value for value in named.get("checkpoints_taken", ()) if value is not None]
    return HostUse(
        points=totals(timed, by=lambda one: one.name),
        prompt_cache=peak("prompt_cache_bytes", "prompt_cache_peak_bytes"),
        checkpoints=peak("checkpoints_bytes", "checkpoints_peak_bytes"),
        taken=int(sum(taken)) if taken else None,
        checkpoint=peak("checkpoint_bytes"),
        timed=bool(timed),
    )


def unaccounted(samples: Iterable[Sample]) -> list[dict[str, Any]]:
    """What llama.cpp itself found used on a device at its end beyond its own: of the driver and of others.

    By device, the most that a server of the variant told; empty where none did.
    """
    most: dict[str | None, float] = {}
    for one in samples:
        if one.source == LOG and one.name == "unaccounted_bytes" and one.value is not None:
            most[one.device] = max(one.value, most.get(one.device, 0.0))
    return [{"device": device, "bytes": round(value)} for device, value in most.items()]


def totals(samples: Iterable[Sample], by: Any = lambda one: one.device) -> list[Point]:
    """Sums over what `by` tells apart, in order of time: each part counts with its last value.

    There is no total while a part is unknown: before its first reading, and from a null until it is read again. A part
    that was never read counts nowhere.
    """
    every = sorted(samples, key=lambda one: one.at_ns)
    parts = {by(one) for one in every if one.value is not None}
    ordered = [one for one in every if by(one) in parts]
    last: dict[Any, float | None] = {}
    points: list[Point] = []
    for number, one in enumerate(ordered):
        last[by(one)] = one.value
        more = number + 1 < len(ordered) and ordered[number + 1].at_ns == one.at_ns
        values = [value for value in last.values() if value is not None]
        if not more and len(values) == len(parts):
            points.append(Point(one.at_ns, sum(values), one.trial))
    return points


def _device_series(samples: Sequence[Sample], began: int | None) -> Series | None:
    used = [one for one in samples if one.name == _USED and one.source not in (_PROCESS, LOG)]
    source = next((_family(one) for one in used if one.value is not None), None)
    if source is None:
        return None
    mine = [one for one in used if _family(one) == source]
    told: set[str | None] = {one.device for one in mine if one.value is not None}
    points = totals(mine)
    before = [point for point in points if began is not None and point.at_ns < began]
    label = next(one.source for one in mine if one.value is not None)
    foreign = totals([one for one in samples if one.name == "foreign_bytes" and _family(one) == source])
    return Series(
        source=f"{label}:{_USED}",
        is_device=True,
        points=points[len(before) :],
        before=before[-1].value if before else None,
        devices=[_device(device, samples, mine) for device in sorted(told, key=str)],
        missing=sorted({one.device for one in mine if one.device is not None} - told),
        foreign_growth=max(point.value for point in foreign) - foreign[0].value if foreign else None,
        holds_host_memory=all(str(device).startswith((UNIFIED, HOST)) for device in told),
    )


def _family(one: Sample) -> str:
    """A source by its first words: what it adds in brackets says how it reads, not what."""
    return one.source.partition(" (")[0]


def _device(device: str | None, samples: Sequence[Sample], used: Sequence[Sample]) -> dict[str, Any]:
    peak = max(one.value for one in used if one.device == device and one.value is not None)
    family = _family(used[0])
    sizes = [
        one.value
        for one in samples
        if one.name == "total_bytes" and one.device == device and _family(one) == family and one.value
    ]
    return {"device": device, "peak_bytes": round(peak), "total_bytes": round(sizes[-1]) if sizes else None}


def _process_series(
    samples: Sequence[Sample], began: int | None, *, name: str, missing: Sequence[str]
) -> Series | None:
    told = totals(one for one in samples if one.source == _PROCESS and one.name == name)
    points = [point for point in told if began is None or point.at_ns >= began]
    if not points:
        return None
    return Series(
        source=f"{_PROCESS}:{name}",
        is_device=False,
        points=points,
        devices=_shared(samples, max(point.value for point in points)),
        missing=missing,
        holds_host_memory=True,
    )


def _shared(samples: Sequence[Sample], peak: float) -> list[dict[str, Any]]:
    """The memory that the machine shares with its GPU, where its size is told and not its use."""
    told = [one for one in samples if one.name == "total_bytes" and str(one.device).startswith(UNIFIED) and one.value]
    if not told:
        return []
    return [{"device": told[-1].device, "peak_bytes": round(peak), "total_bytes": round(told[-1].value or 0)}]
