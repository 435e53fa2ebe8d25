"""Memory and power of AMD's GPUs through the library amdsmi, where sysfs doesn't show them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadgen.telemetry.amd_devices import taken
from loadgen.telemetry.cuda_devices import Device
from loadgen.telemetry.source import Reading, SourceError
from loadgen.telemetry.told import identity, keys, number
from loadgen.units import mib_to_bytes

_NO_WATTS = (1 << 16) - 1
"""All bits set in 16: some drivers have no value there, and no GPU draws as much."""


@dataclass(frozen=True)
class _Device:
    key: str
    handle: Any


class AmdSmiMemory:
    """Used and total memory and power, partition by partition.

    Args:
        amdsmi: the module `amdsmi`, or what stands in for it.
        expected: how many GPUs there should be, as the kernel counts them; null: not known.
        variables: those of the server that choose among the GPUs (`ROCR_VISIBLE_DEVICES` and so on).
        device_argument: its `--device`; null: not given.
    """

    name = "amdsmi"
    period_s = 1.0

    def __init__(
        self,
        amdsmi: Any,
        *,
        expected: int | None = None,
        variables: Mapping[str, str] | None = None,
        device_argument: str | None = None,
    ) -> None:
        self._amdsmi = amdsmi
        self._expected = expected
        self._variables = variables or {}
        self._device_argument = device_argument
        self._devices: list[_Device] = []
        self._opened = False

    def open(self) -> Sequence[str]:
        """Finds the devices and tells them apart, virtual ones without a UUID too."""
        try:
            self._amdsmi.amdsmi_init()
        except Exception as error:  # noqa: BLE001 - the library raises exceptions of several roots
            raise SourceError(f"AMD's library does not answer ({type(error).__name__})") from None
        self._opened = True
        handles = list(self._told("amdsmi_get_processor_handles") or ())
        if not handles:
            raise SourceError("AMD's library shows no GPU")
        parts = [self._partition(handle) for handle in handles]
        names = [
            [identity(self._told(call, handle)) for handle in handles]
            for call in ("amdsmi_get_gpu_device_uuid", "amdsmi_get_gpu_device_bdf")
        ]
        tagged = [
            [name if name is None or part is None else f"{name}/{part}" for name, part in zip(each, parts, strict=True)]
            for each in names
        ]
        own = keys(*tagged, [f"gpu{index}" for index in range(len(handles))])
        every = [_Device(key, handle) for key, handle in zip(own, handles, strict=True)]
        self._devices = self._chosen(every)
        used = ", ".join(one.key for one in self._devices) or "none that the server may use"
        seen = f"{len(handles)} of {self._expected}" if self._expected is not None else str(len(handles))
        notes = [f"memory and power by amdsmi: {seen} GPUs or partitions seen ({', '.join(own)})"]
        return notes if len(self._devices) == len(every) else [*notes, f"watched of them: {used}"]

    def _chosen(self, every: Sequence[_Device]) -> list[_Device]:
        """Those that the server uses, by its variables and its `--device`; ROCm counts by the driver's nodes."""
        nodes = [self._number("amdsmi_get_gpu_kfd_info", one.handle, "node_id") for one in every]
        places = sorted(range(len(every)), key=lambda place: (nodes[place] is None, nodes[place] or 0))
        found = taken([self._named(place, every[place]) for place in places], self._variables, self._device_argument)
        return list(every) if found is None else [every[one.index] for one in found]

    def _named(self, place: int, device: _Device) -> Device:
        serial = identity(self._field("amdsmi_get_gpu_asic_info", device.handle, "asic_serial"))
        uuid = f"GPU-{serial.upper().removeprefix('0X')}" if serial is not None else None
        return Device(place, uuid, None, None)

    def _number(self, call: str, handle: Any, name: str) -> int | None:
        told = number(self._field(call, handle, name))
        return None if told is None else int(told)

    def _field(self, call: str, handle: Any, name: str) -> Any:
        told = self._told(call, handle)
        return told.get(name) if isinstance(told, dict) else None

    def _partition(self, handle: Any) -> int | None:
        """2³² − 1 means that it isn't partitioned."""
        return self._number("amdsmi_get_gpu_kfd_info", handle, "current_partition_id")

    def read(self) -> Sequence[Reading]:
        """Memory and power of every device."""
        if not self._devices:
            raise SourceError("no GPU that the server may use is seen")
        return [reading for device in self._devices for reading in (*self._memory(device), self._power(device))]

    def _memory(self, device: _Device) -> list[Reading]:
        told = self._told("amdsmi_get_gpu_vram_usage", device.handle)
        values = told if isinstance(told, dict) else {}
        used, total = number(values.get("vram_used")), number(values.get("vram_total"))
        return [
            _mib("used_bytes", used, device.key),
            _mib("total_bytes", total or None, device.key),
        ]

    def _power(self, device: _Device) -> Reading:
        told = self._told("amdsmi_get_power_info", device.handle)
        values = told if isinstance(told, dict) else {}
        for name in ("current_socket_power", "average_socket_power", "socket_power"):
            watts = number(values.get(name))
            if watts is not None and watts < _NO_WATTS:
                return Reading("power_watts", watts, device.key)
        return Reading("power_watts", None, device.key, "amdsmi tells N/A")

    def _told(self, call: str, *args: Any) -> Any:
        """What one call answers; null where the library doesn't have it or the device doesn't tell."""
        ask = getattr(self._amdsmi, call, None)
        if ask is None:
            return None
        try:
            return ask(*args)
        except Exception:  # noqa: BLE001 - as above
            return None

    def close(self) -> None:
        """Lets the library go."""
        if self._opened:
            self._opened = False
            self._amdsmi.amdsmi_shut_down()


def _mib(name: str, value: float | None, key: str) -> Reading:
    """The library writes MB and counts MiB."""
    return Reading(name, None, key, "amdsmi tells N/A") if value is None else Reading(name, mib_to_bytes(value), key)
