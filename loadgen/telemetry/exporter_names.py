"""Metrics of known exporters: what they are called, what they count in, and which device they are about."""

from collections.abc import Mapping
from dataclasses import dataclass

from loadgen.telemetry.told import identity
from loadgen.units import BYTES_PER_GIB, BYTES_PER_MIB

UNIT_BYTES = {"B": 1, "MiB": BYTES_PER_MIB, "GiB": BYTES_PER_GIB, "MB": 10**6, "GB": 10**9}
NO_PARTITION = str((1 << 32) - 1)
"""What AMD's exporter labels a GPU with that isn't partitioned."""


@dataclass(frozen=True)
class Known:
    """One metric: the reading it is, and what one of it is worth (bytes, or watts)."""

    reading: str
    worth: float


_NVIDIA_DCGM = {
    "DCGM_FI_DEV_FB_USED": Known("used_bytes", BYTES_PER_MIB),
    "DCGM_FI_DEV_FB_FREE": Known("free_bytes", BYTES_PER_MIB),
    "DCGM_FI_DEV_FB_TOTAL": Known("total_bytes", BYTES_PER_MIB),
    "DCGM_FI_DEV_FB_RESERVED": Known("reserved_bytes", BYTES_PER_MIB),
    "DCGM_FI_DEV_POWER_USAGE": Known("power_watts", 1),
}
_NVIDIA_SMI = {
    "nvidia_smi_memory_used_bytes": Known("used_bytes", 1),
    "nvidia_smi_memory_free_bytes": Known("free_bytes", 1),
    "nvidia_smi_memory_total_bytes": Known("total_bytes", 1),
    "nvidia_smi_memory_reserved_bytes": Known("reserved_bytes", 1),
    "nvidia_smi_power_draw_watts": Known("power_watts", 1),
}
_AMD = {
    # AMD writes MB and counts MiB.
    "gpu_used_vram": Known("used_bytes", BYTES_PER_MIB),
    "gpu_free_vram": Known("free_bytes", BYTES_PER_MIB),
    "gpu_total_vram": Known("total_bytes", BYTES_PER_MIB),
    "gpu_used_gtt": Known("gtt_used_bytes", BYTES_PER_MIB),
    "gpu_package_power": Known("power_watts", 1),
    "gpu_average_package_power": Known("power_watts", 1),
}
_NODE_DRM = {
    "node_drm_memory_vram_used_bytes": Known("used_bytes", 1),
    "node_drm_memory_vram_size_bytes": Known("total_bytes", 1),
    "node_drm_memory_gtt_used_bytes": Known("gtt_used_bytes", 1),
}

EXPORTERS: Mapping[str, Mapping[str, Known]] = {
    "dcgm-exporter": _NVIDIA_DCGM,
    "nvidia_gpu_exporter": _NVIDIA_SMI,
    "AMD device-metrics-exporter": _AMD,
    "node_exporter (drm)": _NODE_DRM,
}
"""In the order of preference, where a page holds metrics of several."""

AVAILABLE, TOTAL = "node_memory_MemAvailable_bytes", "node_memory_MemTotal_bytes"
"""node_exporter's, of the whole machine."""
GROUP = "namedprocess_namegroup_memory_bytes"
"""process-exporter's, by `groupname` and `memtype`."""
GROUP_KINDS = ("proportionalResident", "resident")
SERVER = "llama"
"""What is in the name of a group of server processes; another group is named with a metric of one's own."""
GPUS_THERE = "gpu_nodes_total"
"""How many GPUs AMD's exporter says that there are."""


@dataclass(frozen=True)
class Place:
    """What a metric's labels say of its device: the GPU, and the instance or partition of it."""

    device: str | None
    instance: str | None = None

    @property
    def key(self) -> str | None:
        """The device of readings: `GPU-8f1/3` for an instance."""
        return self.device if self.instance is None else f"{self.device or 'gpu'}/{self.instance}"


def place(labels: Mapping[str, str]) -> Place:
    """Where a metric belongs. All-zero UUIDs, as virtual cards have them, tell nothing: then PCI id or index do."""
    uuid = next((found for name in ("UUID", "uuid", "gpu_uuid") if (found := identity(labels.get(name)))), None)
    named = ("pci_bus_id", "pci_bdf", "serial_number", "card", "gpu", "gpu_id", "index")
    other = next((f"{name} {labels[name]}" for name in named if labels.get(name)), None)
    host = labels.get("Hostname") or labels.get("hostname")
    device = uuid or (f"{host} {other}" if host and other else other)
    return Place(device, _instance(labels))


def _instance(labels: Mapping[str, str]) -> str | None:
    for name in ("GPU_I_ID", "GPU_I_PROFILE"):
        if labels.get(name):
            return labels[name]
    part = labels.get("gpu_partition_id")
    kind = (labels.get("gpu_compute_partition_type") or "spx").lower()
    return part if part and part != NO_PARTITION and kind != "spx" else None
