"""What a run would read of memory and power, told before it begins."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from loadgen.telemetry.choice import Machine, device_sources, reads_process
from loadgen.telemetry.process_memory import ProcessMemory
from loadgen.telemetry.source import Reading, Source, SourceError
from loadgen.telemetry.watch import Watched
from loadgen.units import bytes_to_mib

PROCESS = "process"
_SIZES = ("used_bytes", "rss_bytes")


@dataclass(frozen=True)
class Preview:
    """A sentence on one source, and whether it tells a size."""

    text: str
    tells: bool


def named(asked: str | None, server: Watched, *, has_process: bool = True, machine: Machine | None = None) -> list[str]:
    """The names of the sources of one server, none of which is opened; empty where nothing would be seen.

    Args:
        asked: as `--memory-source` has it.
        server: the server, up or not.
        has_process: whether what listens is the server itself, and no router or gateway.
        machine: this one.
    """
    names = [source.name for source in _devices(asked, server, machine, tuple)]
    return [*names, PROCESS] if server.local and has_process and reads_process(asked) else names


def look(asked: str | None, server: Watched, pid: int | None, *, machine: Machine | None = None) -> list[Preview]:
    """Opens every source of a server that is up and reads it once, which may take seconds.

    `pid` is the server's process, null where it isn't known.
    """
    pids = (pid,) if pid is not None else ()
    sources = list(_devices(asked, server, machine, lambda: pids))
    if pid is not None and reads_process(asked):
        sources.append(ProcessMemory(pid))
    return [_look(source) for source in sources]


def _devices(
    asked: str | None, server: Watched, machine: Machine | None, pids: Callable[[], Collection[int]]
) -> Sequence[Source]:
    return device_sources(
        asked,
        machine=machine if machine is not None else Machine(),
        local=server.local,
        variables=server.variables,
        pids=pids,
    )


def _look(source: Source) -> Preview:
    try:
        notes = list(source.open()) or [f"memory by {source.name}"]
        readings = source.read()
    except SourceError as error:
        return Preview(f"{source.name}: {error}", tells=False)
    except Exception as error:  # noqa: BLE001 - a driver's library may raise anything
        return Preview(f"{source.name}: {type(error).__name__}", tells=False)
    finally:
        source.close()
    sizes = [one for one in readings if one.name in _SIZES]
    if not sizes and any(one.name == "total_bytes" and one.value is not None for one in readings):
        return Preview("; ".join(notes), tells=True)
    reason = next((one.reason for one in sizes or readings if one.value is None), None)
    if reason is not None or not sizes:
        return Preview(f"{'; '.join(notes)}; {reason or 'it tells no size'}", tells=False)
    return Preview(f"{'; '.join(notes)}; {', '.join(map(_size, sizes))}", tells=True)


def _size(one: Reading) -> str:
    where = f" of {one.device}" if one.device is not None else ""
    return f"{bytes_to_mib(one.value or 0):,.0f} MiB{where} in use"
