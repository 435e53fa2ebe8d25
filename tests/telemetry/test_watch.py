"""Which sources a run reads for which server, and what of them becomes samples."""

import os
import socket
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from loadgen.records.model import Sample
from loadgen.telemetry.choice import Machine, device_sources
from loadgen.telemetry.source import Source
from loadgen.telemetry.watch import MemoryWatch, Watched

MIB = 1 << 20


class Nvml:
    """Two cards of which the second has no power reading; each call about them is answered from a table."""

    nvmlMemory_v2 = 2  # noqa: N815 - the binding's name

    class NVMLError(Exception):
        """Any error."""

    def __init__(self, cards: int = 2) -> None:
        self.cards = cards
        self.threads: set[str] = set()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """What the binding has; anything else is not supported."""

        def call(*args: Any, **_: Any) -> Any:
            handle = args[0] if args else 0
            table: dict[str, Any] = {
                "nvmlInit": None,
                "nvmlShutdown": None,
                "nvmlDeviceGetCount": self.cards,
                "nvmlDeviceGetHandleByIndex": handle,
                "nvmlDeviceGetUUID": f"GPU-{handle}a",
                "nvmlDeviceGetMemoryInfo": SimpleNamespace(used=(handle + 1) * MIB, total=8 * MIB),
                "nvmlDeviceGetComputeRunningProcesses": [SimpleNamespace(pid=os.getpid(), usedGpuMemory=MIB)],
            }
            if name not in table:
                raise self.NVMLError("Not Supported")
            if name == "nvmlDeviceGetMemoryInfo":
                self.threads.add(threading.current_thread().name)
            return table[name]

        return call


def machine(root: Path, *, nvml: Any = None, apple: bool = False, **environment: str) -> Machine:
    """A machine with this to look with."""
    return Machine(
        root=root,
        nvml=lambda: nvml,
        amdsmi=lambda: None,
        sysctl={"hw.memsize": "1"}.get if apple else lambda _: None,
        environment={"PATH": os.environ["PATH"], **environment},
    )


def with_amd(root: Path) -> Path:
    """A tree with one AMD card."""
    device = root / "sys/class/drm/card0/device"
    device.mkdir(parents=True)
    (device / "vendor").write_text("0x1002")
    (device / "mem_info_vram_used").write_text("5")
    return root


def chosen(asked: str | None, here: Machine, *, local: bool = True) -> list[str]:
    """The names of the sources."""
    found: Sequence[Source] = device_sources(asked, machine=here, local=local, variables={}, pids=tuple)
    return [one.name for one in found]


def test_what_is_here_is_read(tmp_path: Path) -> None:
    """Every vendor's devices, and none of a server elsewhere, or where none is there or they aren't wanted."""
    bare, nvml = machine(tmp_path), machine(tmp_path, nvml=Nvml())
    both = machine(with_amd(tmp_path / "amd"), nvml=Nvml())
    assert [chosen(None, one) for one in (bare, nvml, both)] == [[], ["nvml"], ["nvml", "amd-sysfs"]]
    assert chosen("auto", both) == ["nvml", "amd-sysfs"]
    assert chosen(None, both, local=False) == []
    assert chosen(None, machine(tmp_path, nvml=Nvml(cards=0))) == []
    assert chosen(None, machine(tmp_path, apple=True)) == ["apple"]
    on_cpu = device_sources(None, machine=both, local=True, variables={"LLAMA_ARG_DEVICE": "none"}, pids=tuple)
    assert on_cpu == []
    assert (chosen("none", both), chosen("process", both)) == ([], [])


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("nvidia", "nvml"),
        ("amd", "amd-sysfs"),
        ("apple", "apple"),
        ("http://h:9400/metrics", "exporter"),
        ("command:cat used", "command"),
    ],
)
def test_what_is_asked_for_is_read(tmp_path: Path, asked: str, name: str) -> None:
    """Also where it isn't there, or for a server elsewhere: then the samples say why there is nothing."""
    assert chosen(asked, machine(tmp_path), local=False) == [name]


class Told:
    """A watch with what it says and writes."""

    def __init__(self, asked: str | None, here: Machine, **options: Any) -> None:
        self.samples: list[Sample] = []
        self.notes: list[str] = []
        self.watch = MemoryWatch(
            asked, run="run", sink=self.samples.append, note=self.notes.append, machine=here, **options
        )

    async def trial(self, name: str, server: Watched, pid: int | None) -> list[Sample]:
        """One short trial; its samples."""
        self.watch.begin(name, server, pid)
        await self.watch.pause()
        return [sample for sample in self.samples if sample.trial == name]

    def values(self, samples: Sequence[Sample], source: str) -> dict[tuple[str, str | None], float | None]:
        """By name and device."""
        return {(one.name, one.device): one.value for one in samples if one.source == source}


async def test_devices_are_read_before_the_load_and_in_trials_and_processes_in_trials(tmp_path: Path) -> None:
    """Each variant's own devices (C71), the server's part of them, and its process beside; the source is said once."""
    nvml = Nvml()
    told = Told(None, machine(tmp_path, nvml=nvml))
    off = Watched("off", local=True, variables={"CUDA_VISIBLE_DEVICES": "1"})
    mtp = Watched("mtp", local=True)
    await told.watch.before(off)
    assert [(one.trial, one.variant, one.name, one.value) for one in told.samples[:3]] == [
        (None, "off", "used_bytes", 2 * MIB),
        (None, "off", "total_bytes", 8 * MIB),
        (None, "off", "process_bytes", None),
    ]
    first = await told.trial("t1", off, os.getpid())
    second = await told.trial("t2", mtp, os.getpid())
    again = await told.trial("t3", off, None)
    told.watch.close()
    assert told.values(first, "nvml")["used_bytes", "GPU-1a"] == 2 * MIB
    assert told.values(first, "nvml")["process_bytes", "GPU-1a"] == MIB
    assert ("used_bytes", "GPU-0a") not in told.values(first, "nvml")
    assert (
        told.values(second, "nvml")["used_bytes", "GPU-0a"],
        told.values(second, "nvml")["used_bytes", "GPU-1a"],
    ) == (
        MIB,
        2 * MIB,
    )
    assert set(told.values(first, "process")) >= {("rss_bytes", None), ("pss_bytes", None)}
    assert told.values(again, "process") == {}
    assert told.values(again, "nvml")["process_bytes", "GPU-1a"] is None
    assert len([note for note in told.notes if "GPU-1a " in note and "GPU-0a " not in note]) == 1
    assert threading.current_thread().name not in nvml.threads


async def test_a_server_elsewhere_is_not_seen_and_that_is_said_once(tmp_path: Path) -> None:
    """No sample of this machine's devices stands for it."""
    told = Told(None, machine(tmp_path, nvml=Nvml()))
    for name in ("t1", "t2"):
        assert await told.trial(name, Watched("off", local=False), None) == []
    told.watch.close()
    assert told.notes == ["memory can't be seen from here: name a source with --memory-source"]


async def test_none_reads_nothing(tmp_path: Path) -> None:
    """Not even the process, and says nothing."""
    told = Told("none", machine(tmp_path, nvml=Nvml()))
    assert await told.trial("t", Watched("off", local=True), os.getpid()) == []
    told.watch.close()
    assert told.notes == []


async def test_a_missing_library_is_a_null_with_a_reason(tmp_path: Path) -> None:
    """What was asked for by name and isn't there is not silently something else."""
    told = Told("nvidia", machine(tmp_path))
    samples = await told.trial("t", Watched("off", local=True), None)
    told.watch.close()
    assert [(one.value, one.reason) for one in samples] == [
        (None, "NVIDIA's driver does not answer (the package nvidia-ml-py is not installed)")
    ]


async def test_an_exporter_that_is_down_is_null_and_ends_nothing(tmp_path: Path) -> None:
    """Every trial says why, the notes once."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        told = Told(f"http://127.0.0.1:{closed.getsockname()[1]}/metrics", machine(tmp_path))
        samples = [await told.trial(name, Watched("off", local=False), None) for name in ("t1", "t2")]
        told.watch.close()
    assert [(one.name, one.value) for each in samples for one in each] == [("used_bytes", None)] * 2
    assert all("the exporter can't be read" in (one.reason or "") for each in samples for one in each)
    assert len(told.notes) == 1


async def test_a_command_is_not_given_the_key(tmp_path: Path) -> None:
    """The variable that holds it is taken out of the command's environment."""
    here = machine(tmp_path, KEY_OF_OURS="secret", OTHER="1")
    told = Told("command:sh -c 'echo ${KEY_OF_OURS:-7}${OTHER}'", here, withheld="KEY_OF_OURS")
    samples = await told.trial("t", Watched("off", local=False), None)
    told.watch.close()
    assert [(one.source, one.value) for one in samples] == [("command", 71)]


async def test_the_last_process_is_let_go(tmp_path: Path) -> None:
    """Another server's process takes the place of the one before; its thread ends."""
    told = Told("process", machine(tmp_path))
    await told.trial("t1", Watched("off", local=True), os.getpid())
    samples = await told.trial("t2", Watched("mtp", local=True), os.getppid())
    told.watch.close()
    assert {one.variant for one in samples} == {"mtp"}
    assert {one.name for one in samples} >= {"rss_bytes"}
