"""Memory and power of NVIDIA's GPUs through NVML."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from loadgen.telemetry.cuda_devices import Device, picked, visible
from loadgen.telemetry.source import Reading, SourceError
from loadgen.telemetry.told import identity, keys, number
from loadgen.telemetry.unified_memory import unified_readings
from loadgen.units import milliwatts_to_watts

_SHARING = ("GB10", "Thor", "Orin", "Xavier", "Tegra")
"""Parts whose GPU has no memory of its own. NVML says NOT_SUPPORTED there, or a number that is not what can be used."""
_NO_VERSION_2 = ("NVMLError_FunctionNotFound", "NVMLError_ArgumentVersionMismatch", "NVMLError_InvalidArgument")
"""How drivers before 510 say that they have no version 2 of the memory call."""


@dataclass(frozen=True)
class _Card:
    """A device, its handle in NVML, and the key of its readings."""

    device: Device
    handle: Any
    key: str


class NvidiaMemory:
    """Used, reserved and total memory, power and the server's part, device by device.

    Args:
        nvml: the module `pynvml` of nvidia-ml-py, or what stands in for it.
        setting: `CUDA_VISIBLE_DEVICES` of the server; null: not set.
        taken: its `--device`, which takes some of what it sees; null: not given.
        in_bus_order: whether its `CUDA_DEVICE_ORDER` is `PCI_BUS_ID`.
        pids: tells the server's processes; empty where they aren't known.
        binding: name and version of the Python binding; null: looked up.
        root: where `proc` lies.
    """

    name = "nvml"
    period_s = 0.5

    def __init__(
        self,
        nvml: Any,
        *,
        setting: str | None = None,
        taken: str | None = None,
        in_bus_order: bool = False,
        pids: Callable[[], Collection[int]] = tuple,
        binding: str | None = None,
        root: Path = Path("/"),
    ) -> None:
        self._nvml = nvml
        self._setting = setting
        self._taken = taken
        self._in_bus_order = in_bus_order
        self._pids = pids
        self._binding = binding
        self._root = root
        self._cards: list[_Card] = []
        self._split: list[_Card] = []
        self._opened = False

    def open(self) -> Sequence[str]:
        """Finds the devices and chooses those that the server may use."""
        nvml = self._nvml
        try:
            nvml.nvmlInit()
        except nvml.NVMLError as error:
            raise SourceError(f"NVIDIA's driver does not answer ({error})") from None
        self._opened = True
        found = self._all()
        if not found:
            raise SourceError("NVIDIA's driver shows no GPU")
        whole = [one for one in found if not self._is_split(one)]
        seen = visible([one.device for one in whole], self._setting)
        # Of a split GPU CUDA sees one instance at most: its places aren't those of this list.
        every = whole if len(whole) == len(found) else []
        taken = picked(seen if seen is not None else [one.device for one in every], self._taken)
        chosen = taken if taken is not None else seen
        self._cards = [one for one in whole if chosen is None or one.device in chosen]
        indices = {one.device.index for one in self._cards}
        self._split = [one for one in found if self._is_split(one) and one.device.index in indices]
        return self._notes(whole, chosen)

    def _all(self) -> list[_Card]:
        """GPUs in NVML's order, each before its instances."""
        devices, handles = [], []
        for index in range(int(number(self._told("nvmlDeviceGetCount")) or 0)):
            handle = self._told("nvmlDeviceGetHandleByIndex", index)
            if handle is None:
                continue
            for each, instance in ((handle, False), *((one, True) for one in self._instances(handle))):
                devices.append(self._device(each, index, instance=instance))
                handles.append(each)
        names = keys(
            [one.uuid for one in devices],
            [None if one.instance else one.pci for one in devices],
            [f"gpu{one.index}" if not one.instance else None for one in devices],
        )
        return [_Card(*parts) for parts in zip(devices, handles, names, strict=True)]

    def _instances(self, handle: Any) -> list[Any]:
        mode = self._told("nvmlDeviceGetMigMode", handle)
        if not mode or mode[0] != 1:
            return []
        most = int(number(self._told("nvmlDeviceGetMaxMigDeviceCount", handle)) or 0)
        found = (self._told("nvmlDeviceGetMigDeviceHandleByIndex", handle, index) for index in range(most))
        return [one for one in found if one is not None]

    def _device(self, handle: Any, index: int, *, instance: bool) -> Device:
        pci = getattr(self._told("nvmlDeviceGetPciInfo", handle), "busId", None)
        name = self._told("nvmlDeviceGetName", handle)
        return Device(
            index=index,
            uuid=identity(self._told("nvmlDeviceGetUUID", handle)),
            pci=identity(pci),
            name=name.decode(errors="replace") if isinstance(name, bytes) else name,
            instance=instance,
        )

    def _is_split(self, card: _Card) -> bool:
        """Whether MIG is on: then its instances are read, and its own memory is nobody's."""
        return not card.device.instance and bool((self._told("nvmlDeviceGetMigMode", card.handle) or [0])[0])

    def _notes(self, whole: Sequence[_Card], chosen: Sequence[Device] | None) -> list[str]:
        cards = "; ".join(f"{one.key} ({one.device.name}, {one.device.pci or 'no PCI id'})" for one in self._cards)
        binding = self._binding or _binding()
        notes = [f"memory and power by NVML ({binding}): {cards or 'no device that the server sees'}"]
        if chosen is None and len(whole) > 1:
            notes.append(f"{len(whole)} GPUs, not all used perhaps: each is listed, and their sum is all of them")
        models = {one.device.name for one in whole}
        by_index = any(part.strip().isdecimal() for part in (self._setting or "").split(","))
        by_index = by_index or (self._setting is None and chosen is not None)
        if by_index and len(models) > 1 and not self._in_bus_order:
            notes.append(
                "CUDA counts unlike cards by speed, NVML by bus: set CUDA_DEVICE_ORDER=PCI_BUS_ID, or "
                "name UUIDs, so that the right ones are watched"
            )
        return notes

    def read(self) -> Sequence[Reading]:
        """Memory, processes and power of the chosen devices; power alone of those that are split."""
        if not self._cards:
            raise SourceError("no GPU that the server may use is seen")
        pids = frozenset(self._pids())
        readings: list[Reading] = []
        sharing = False
        for card in self._cards:
            told, shares = self._memory(card)
            readings += told
            sharing = sharing or shares
        if sharing:  # one pool, however many devices share it
            readings += unified_readings(self._root)
        for card in self._cards:
            readings += self._processes(card, pids)
        return [*readings, *(self._power(card) for card in (*self._cards, *self._split) if not card.device.instance)]

    def _memory(self, card: _Card) -> tuple[list[Reading], bool]:
        """By version 2, whose `used` is without the driver's reserve; by version 1 the source says so.

        Also whether the device has no memory of its own, so that the machine's must be read.
        """
        nvml, source, reserved = self._nvml, None, None
        try:
            try:
                info = nvml.nvmlDeviceGetMemoryInfo(card.handle, version=nvml.nvmlMemory_v2)
                reserved = number(getattr(info, "reserved", None))
            except _errors(nvml, *_NO_VERSION_2):
                info, source = nvml.nvmlDeviceGetMemoryInfo(card.handle), f"{self.name} (used includes reserved)"
        except nvml.NVMLError as error:
            unsupported = not card.device.instance and isinstance(error, _errors(nvml, "NVMLError_NotSupported"))
            return _unseen(card, f"NVML does not tell this device's memory: {error}"), unsupported
        used, total = number(info.used), number(info.total)
        if _shares(card.device):
            return _unseen(card, "what NVML tells is not what it may use: it shares the machine's memory"), True
        if not total or used is None or used > total:
            return _unseen(card, "NVML tells no memory of this device"), False
        readings = [Reading("used_bytes", used, card.key, source=source), Reading("total_bytes", total, card.key)]
        if reserved is not None:
            readings.append(Reading("reserved_bytes", reserved, card.key))
        return readings, False

    def _processes(self, card: _Card, pids: Collection[int]) -> list[Reading]:
        """The server's part and the others'. In a container NVML lists host PIDs or none: that is not 0 bytes."""
        listed = self._listed(card)
        own = {pid: used for pid, used in listed.items() if pid in pids}
        if not own or None in own.values():
            why = f"none of the {len(listed)} processes that NVML lists is known to be the server's"
            reason = "NVML does not tell what the server's process uses" if own else why
            return [Reading("process_bytes", None, card.key, reason)]
        others = [used for pid, used in listed.items() if pid not in pids]
        foreign = None if None in others else sum(used for used in others if used is not None)
        why_not = None if foreign is not None else "NVML does not tell what each other process uses"
        mine = sum(used for used in own.values() if used is not None)
        return [Reading("process_bytes", mine, card.key), Reading("foreign_bytes", foreign, card.key, why_not)]

    def _listed(self, card: _Card) -> dict[int, float | None]:
        """Bytes by PID, of compute and graphics processes (servers on Vulkan are the latter)."""
        found: dict[int, float | None] = {}
        for call in ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses"):
            for process in self._told(call, card.handle) or ():
                found[process.pid] = number(process.usedGpuMemory)
        return found

    def _power(self, card: _Card) -> Reading:
        milliwatts = number(self._told("nvmlDeviceGetPowerUsage", card.handle))
        if milliwatts is None:
            return Reading("power_watts", None, card.key, "NVML does not tell this device's power")
        return Reading("power_watts", milliwatts_to_watts(milliwatts), card.key)

    def _told(self, call: str, *args: Any) -> Any:
        """What one call answers; null where the binding, the driver or the device doesn't have it."""
        ask = getattr(self._nvml, call, None)
        if ask is None:
            return None
        try:
            return ask(*args)
        except self._nvml.NVMLError:
            return None

    def close(self) -> None:
        """Lets the driver go."""
        if self._opened:
            self._opened = False
            self._nvml.nvmlShutdown()


def _unseen(card: _Card, reason: str) -> list[Reading]:
    return [Reading("used_bytes", None, card.key, reason)]


def _shares(device: Device) -> bool:
    return device.name is not None and any(part in device.name for part in _SHARING)


def _errors(nvml: Any, *names: str) -> tuple[type[Exception], ...]:
    """The binding's exceptions of these names, as far as it has them; an old binding itself has no such call."""
    return (AttributeError, TypeError, *(kind for name in names if (kind := getattr(nvml, name, None)) is not None))


def _binding() -> str:
    for package in ("nvidia-ml-py", "pynvml"):
        try:
            version = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
        old = "" if package == "nvidia-ml-py" else ", which is outdated: install nvidia-ml-py in its place"
        return f"{package} {version}{old}"
    return "binding of unknown version"
