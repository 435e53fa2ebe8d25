"""Which sources a run reads: as asked for, or what this machine has."""

import importlib
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loadgen.experiment.memory_source import AUTO, MemorySource, parse_memory_source
from loadgen.telemetry.amd import AmdMemory, is_here
from loadgen.telemetry.amd_devices import CUDA, HIP, ROCR
from loadgen.telemetry.amdsmi import AmdSmiMemory
from loadgen.telemetry.apple import AppleMemory, sysctl
from loadgen.telemetry.command import CommandMemory
from loadgen.telemetry.exporter import ExporterMemory
from loadgen.telemetry.gpu_facts import ROOT, import_nvml
from loadgen.telemetry.nvidia import NvidiaMemory
from loadgen.telemetry.source import Source

TAKEN = "LLAMA_ARG_DEVICE"
"""llama-server's variable for `--device`."""
CHOOSING = (CUDA, "CUDA_DEVICE_ORDER", ROCR, HIP, TAKEN)
"""Variables of a server that choose its devices."""


def import_amdsmi() -> Any | None:
    """The module amdsmi, or null where it isn't installed, or its own library isn't."""
    try:
        return importlib.import_module("amdsmi")
    except Exception:  # noqa: BLE001 - it raises what it likes where ROCm is missing
        return None


@dataclass(frozen=True)
class Machine:
    """What this machine has to look with; tests give it stand-ins."""

    root: Path = ROOT
    nvml: Callable[[], Any | None] = import_nvml
    amdsmi: Callable[[], Any | None] = import_amdsmi
    sysctl: Callable[[str], str | None] = sysctl
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)


def device_sources(
    asked: str | None,
    *,
    machine: Machine,
    local: bool,
    variables: Mapping[str, str],
    pids: Callable[[], Collection[int]],
    withheld: str | None = None,
) -> Sequence[Source]:
    """The sources of devices for one server; that of its process is not among them.

    Args:
        asked: as `--memory-source` has it; null: automatically.
        machine: this one.
        local: whether the server runs on it.
        variables: those of `CHOOSING` that the server has.
        pids: tells the server's processes.
        withheld: a variable that a command of the user's must not see: that of the API key.
    """
    source = parse_memory_source(asked) if asked is not None else MemorySource(AUTO)
    sources: list[Source] = []
    match source.kind:
        case "exporter":
            sources = [ExporterMemory(source.url or "", metric=source.metric, unit=source.unit)]
        case "command":
            seen = {name: value for name, value in machine.environment.items() if name != withheld}
            sources = [CommandMemory(source.command, environment=seen)]
        case "nvidia":
            sources = [_nvidia(machine, variables, pids)]
        case "amd":
            sources = [_amd(machine, variables, pids)]
        case "apple":
            sources = [AppleMemory(machine.sysctl)]
        case "auto" if local:
            sources = _automatic(machine, variables, pids)
    return sources


def reads_process(asked: str | None) -> bool:
    """Whether the server's own process is read beside its devices."""
    return (parse_memory_source(asked).kind if asked is not None else AUTO) != "none"


def _automatic(machine: Machine, variables: Mapping[str, str], pids: Callable[[], Collection[int]]) -> list[Source]:
    """Of every vendor with a device here; none for a server that takes no device."""
    sources: list[Source] = []
    if (variables.get(TAKEN) or "").strip().lower() == "none":
        return sources
    nvml = machine.nvml()
    if nvml is not None and _answers(nvml):
        sources.append(_nvidia(machine, variables, pids))
    if is_here(machine.root):
        sources.append(_amd(machine, variables, pids))
    if not sources and machine.sysctl("hw.memsize") is not None:
        sources.append(AppleMemory(machine.sysctl))
    return sources


def _answers(nvml: Any) -> bool:
    """Whether NVIDIA's driver is here and has a device."""
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return False
    try:
        return bool(nvml.nvmlDeviceGetCount())
    except nvml.NVMLError:
        return False
    finally:
        nvml.nvmlShutdown()


def _nvidia(machine: Machine, variables: Mapping[str, str], pids: Callable[[], Collection[int]]) -> Source:
    return NvidiaMemory(
        machine.nvml() or _NoNvml(),
        setting=variables.get(CUDA),
        taken=variables.get(TAKEN),
        in_bus_order=variables.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID",
        pids=pids,
        root=machine.root,
    )


class _NoNvml:
    """Stands for the binding where it isn't installed."""

    class NVMLError(Exception):
        """Any error."""

    def nvmlInit(self) -> None:  # noqa: N802 - the binding's name
        """Says what is missing."""
        raise self.NVMLError("the package nvidia-ml-py is not installed")


def _amd(machine: Machine, variables: Mapping[str, str], pids: Callable[[], Collection[int]]) -> Source:
    """The kernel's files where they are: they cost nothing. Else the library."""
    library = machine.amdsmi() if not is_here(machine.root) else None
    argument = variables.get(TAKEN)
    if library is not None:
        return AmdSmiMemory(library, variables=variables, device_argument=argument)
    return AmdMemory(machine.root, variables=variables, device_argument=argument, pids=pids)
