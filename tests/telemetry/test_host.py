"""The machine as it is described, from recorded trees of `/proc` and `/sys`."""

# ruff: noqa: N802 - the binding names its functions so

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from loadgen.telemetry.gpu_facts import gpus
from loadgen.telemetry.host import describe

GIB = 1 << 30


def write(root: Path, files: dict[str, str]) -> Path:
    """A tree of small files."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


class NoNvml:
    """The binding on a machine without the driver."""

    class NVMLError(Exception):
        """Any error."""

    def nvmlInit(self) -> None:
        """There is no driver."""
        raise self.NVMLError("Driver Not Loaded")


class Nvml:
    """Two cards: one that tells everything, and one that shares the machine's memory and supports little."""

    NVML_CLOCK_SM = 1
    NVML_CLOCK_MEM = 2

    class NVMLError(Exception):
        """Any error."""

    def __init__(self) -> None:
        self.shut = False

    def __getattr__(self, name: str) -> Any:
        """Every call about one card; the second supports only its name."""

        def call(handle: int, *args: int) -> Any:
            if handle == 1:
                raise self.NVMLError("Not Supported")
            return {
                "nvmlDeviceGetUUID": "GPU-1b2",
                "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=80 * GIB, used=GIB),
                "nvmlDeviceGetPciInfo": SimpleNamespace(busId=b"00000000:01:00.0"),
                "nvmlDeviceGetEnforcedPowerLimit": 700_000,
                "nvmlDeviceGetMigMode": [1, 1],
                "nvmlDeviceGetPersistenceMode": 0,
                "nvmlDeviceGetClockInfo": 1980 if args == (1,) else 2619,
                "nvmlDeviceGetMaxClockInfo": 2000 if args == (1,) else 2700,
            }[name]

        return call

    def nvmlInit(self) -> None:
        """It is there."""

    def nvmlShutdown(self) -> None:
        """It is let go."""
        self.shut = True

    def nvmlSystemGetDriverVersion(self) -> bytes:
        """As older bindings answer."""
        return b"575.57.08"

    def nvmlDeviceGetCount(self) -> int:
        """Both cards."""
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        """The index itself."""
        return index

    def nvmlDeviceGetName(self, handle: int) -> str:
        """All cards have one."""
        return ("NVIDIA H100", "NVIDIA GB10")[handle]


def test_nvidia_cards_by_their_driver(tmp_path: Path) -> None:
    """Name, identity, driver, memory, power and clocks; what a card doesn't support is null, never 0."""
    nvml = Nvml()
    nothing = dict.fromkeys(
        ("uuid", "pci", "memory_bytes", "power_limit_w", "sm_mhz", "sm_max_mhz", "memory_mhz", "memory_max_mhz", "mig")
    )
    assert gpus(tmp_path, nvml) == [
        {
            "vendor": "nvidia", "index": 0, "name": "NVIDIA H100", "uuid": "GPU-1b2", "pci": "00000000:01:00.0",
            "driver": "575.57.08", "memory_bytes": 80 * GIB, "power_limit_w": 700, "sm_mhz": 1980, "sm_max_mhz": 2000,
            "memory_mhz": 2619, "memory_max_mhz": 2700, "persistence": False, "mig": True,
        },
        {
            "vendor": "nvidia", "index": 1, "name": "NVIDIA GB10", "driver": "575.57.08", "persistence": None,
            **nothing,
        },
    ]  # fmt: skip
    assert nvml.shut


def test_nvidia_cards_without_the_binding(tmp_path: Path) -> None:
    """The driver's own files name the card where nvidia-ml-py isn't installed or doesn't answer."""
    write(
        tmp_path,
        {
            "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22",
            "proc/driver/nvidia/gpus/0000:01:00.0/information": (
                "Model: \t\t NVIDIA GeForce RTX 4090\nIRQ:   \t\t 154\nGPU UUID: \t GPU-77\nBus Type: \t PCIe\n"
            ),
        },
    )
    expected = {
        "vendor": "nvidia", "index": 0, "name": "NVIDIA GeForce RTX 4090", "uuid": "GPU-77", "pci": "0000:01:00.0",
        "driver": "550.54.14",
    }  # fmt: skip
    assert gpus(tmp_path, None) == [expected]
    assert gpus(tmp_path, NoNvml()) == [expected]


def test_amd_cards_from_sysfs(tmp_path: Path) -> None:
    """AMD's cards alone, each with its PCI address, memory, power cap and clocks; connectors are no cards."""
    device = "sys/devices/pci0000:00/0000:03:00.0"
    write(
        tmp_path,
        {
            f"{device}/vendor": "0x1002\n",
            f"{device}/device": "0x744c\n",
            f"{device}/unique_id": "b7c8d9\n",
            f"{device}/mem_info_vram_total": f"{24 * GIB}\n",
            f"{device}/mem_info_gtt_total": f"{64 * GIB}\n",
            f"{device}/hwmon/hwmon4/power1_cap": "303000000\n",
            f"{device}/pp_dpm_sclk": "0: 500Mhz \n1: 1895Mhz *\n2: 2482Mhz \n",
            f"{device}/pp_dpm_mclk": "0: 96Mhz *\n1: 1249Mhz \n",
            f"{device}/power_dpm_force_performance_level": "auto\n",
            "sys/module/amdgpu/version": "6.12.12\n",
            "sys/devices/pci0000:00/0000:00:02.0/vendor": "0x8086\n",
            "sys/class/drm/card0-DP-1/status": "connected\n",
            "sys/class/drm/version": "drm 1.1.0\n",
        },
    )
    for card, target in (("card0", "0000:03:00.0"), ("card1", "0000:00:02.0")):
        (tmp_path / "sys/class/drm" / card).mkdir()
        (tmp_path / "sys/class/drm" / card / "device").symlink_to(tmp_path / "sys/devices/pci0000:00" / target)
    assert gpus(tmp_path, None) == [
        {
            "vendor": "amd", "index": 0, "name": "PCI device 0x744c", "uuid": "b7c8d9", "pci": "0000:03:00.0",
            "driver": "6.12.12", "memory_bytes": 24 * GIB, "shared_memory_bytes": 64 * GIB, "power_limit_w": 303,
            "sm_mhz": 1895, "sm_max_mhz": 2482, "memory_mhz": 96, "memory_max_mhz": 1249, "performance_level": "auto",
        }
    ]  # fmt: skip


def test_a_virtual_amd_card_has_no_identity(tmp_path: Path) -> None:
    """All virtual cards carry the same zeros; what isn't there is null."""
    write(
        tmp_path,
        {
            "sys/class/drm/card0/device/vendor": "0x1002",
            "sys/class/drm/card0/device/product_name": "AMD Instinct MI300X VF",
            "sys/class/drm/card0/device/unique_id": "0000000000000000",
            "sys/class/drm/card0/device/mem_info_vram_total": "N/A",
        },
    )
    (card,) = gpus(tmp_path, None) or []
    assert (card["name"], card["uuid"], card["memory_bytes"], card["power_limit_w"], card["sm_mhz"]) == (
        "AMD Instinct MI300X VF", None, None, None, None,
    )  # fmt: skip


def test_no_gpu_and_nothing_to_look_with_differ(tmp_path: Path) -> None:
    """A machine whose cards can be listed has none; without drivers, graphics or binding, nobody looked."""
    assert gpus(tmp_path, None) is None
    assert gpus(tmp_path, NoNvml()) == []
    (tmp_path / "sys/class/drm").mkdir(parents=True)
    assert gpus(tmp_path, None) == []


def test_a_machine_from_its_files(tmp_path: Path) -> None:
    """CPU, governors, frequency, NUMA nodes, quota, container and virtual machine."""
    write(
        tmp_path,
        {
            "proc/cpuinfo": "processor\t: 0\nmodel name\t: EPYC 9\nflags\t\t: fpu hypervisor sse\n",
            "proc/self/status": "Name:\tx\nCpus_allowed:\tf\nCpus_allowed_list:\t0-3,8\n",
            "proc/1/cgroup": "0::/kubepods/pod1\n",
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
            "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "3600000\n",
            "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
            "sys/devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq": "4100000\n",
            "sys/devices/system/node/node0/x": "",
            "sys/devices/system/node/node1/x": "",
            "sys/fs/cgroup/cpu.max": "250000 100000\n",
            "sys/class/dmi/id/product_name": "Standard PC (Q35)\n",
        },
    )
    host = describe(tmp_path, NoNvml())
    names = (
        "cpu",
        "cpus_allowed",
        "cpu_governors",
        "cpu_max_mhz",
        "numa_nodes",
        "cpu_quota",
        "container",
        "vm",
        "gpus",
    )
    assert tuple(host[name] for name in names) == (
        "EPYC 9", "0-3,8", ["performance", "powersave"], 4100, 2, 2.5, "kubepods", "Standard PC (Q35)", [],
    )  # fmt: skip


def test_what_a_machine_does_not_tell_is_null(tmp_path: Path) -> None:
    """An empty tree: null, never 0 or empty; what needs no files is there."""
    host = describe(tmp_path, NoNvml())
    for name in ("cpus_allowed", "cpu_governors", "cpu_max_mhz", "numa_nodes", "cpu_quota", "container", "vm"):
        assert (name, host[name]) == (name, None)
    assert host["kernel"] in host["system"]
    assert host["swap_bytes"] >= host["swap_used_bytes"] >= 0


@pytest.mark.parametrize(
    ("files", "quota", "container", "vm"),
    [
        ({"sys/fs/cgroup/cpu.max": "max 100000\n", "proc/1/cgroup": "0::/init.scope\n"}, None, "none", None),
        (
            {
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "150000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
                ".dockerenv": "",
                "proc/cpuinfo": "flags : fpu sse\n",
            },
            1.5,
            "docker",
            "none",
        ),
        ({"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "run/.containerenv": ""}, None, "podman", None),
        ({"proc/cpuinfo": "flags : hypervisor\n"}, None, None, "yes"),
    ],
)
def test_quota_container_and_virtual_machine(
    tmp_path: Path, files: dict[str, str], quota: float | None, container: str | None, vm: str | None
) -> None:
    """Both versions of control groups; a machine that is neither contained nor virtual says none."""
    host = describe(write(tmp_path, files), NoNvml())
    assert (host["cpu_quota"], host["container"], host["vm"]) == (quota, container, vm)
