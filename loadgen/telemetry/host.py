"""The machine that loadgen runs on, for the manifest and the report's first line."""

import os
import platform
import re
from pathlib import Path
from typing import Any

import psutil

from loadgen.telemetry.gpu_facts import ROOT, gpus, import_nvml
from loadgen.units import khz_to_mhz


def describe(root: Path = ROOT, nvml: Any | None = None) -> dict[str, Any]:
    """CPU, memory, system and GPUs of this machine, and the load average before the run. Null where it doesn't tell.

    `root` is where `proc` and `sys` lie; `nvml` stands in for the module `pynvml`, which is used where it is installed.
    """
    governors, max_mhz = _frequency(root)
    return {
        "cpu": _cpu_name(root),
        "cores": len(os.sched_getaffinity(0)),
        "cpus_allowed": _field(root / "proc/self/status", "Cpus_allowed_list"),
        "cpu_quota": _quota(root),
        "cpu_governors": governors,
        "cpu_max_mhz": max_mhz,
        "numa_nodes": _numa_nodes(root),
        "memory_bytes": psutil.virtual_memory().total,
        "swap_bytes": psutil.swap_memory().total,
        "swap_used_bytes": psutil.swap_memory().used,
        "system": f"{platform.system()} {platform.release()}",
        "kernel": platform.release(),
        "container": _container(root),
        "vm": _vm(root),
        "python": platform.python_version(),
        "load_average": list(os.getloadavg()),
        "gpus": gpus(root, nvml if nvml is not None else import_nvml()),
    }


def _cpu_name(root: Path) -> str | None:
    for line in (_read(root / "proc/cpuinfo") or "").splitlines():
        if line.startswith(("model name", "Model")):
            return line.split(":", 1)[1].strip()
    return platform.processor() or None


def _frequency(root: Path) -> tuple[list[str] | None, float | None]:
    """The governors in use, each once, and the highest frequency that any CPU may have, in MHz."""
    folders = list((root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq"))
    governors = sorted({text for folder in folders if (text := _read(folder / "scaling_governor"))})
    khz = [int(text) for folder in folders if (text := _read(folder / "cpuinfo_max_freq")) and text.isdecimal()]
    return governors or None, khz_to_mhz(max(khz)) if khz else None


def _numa_nodes(root: Path) -> int | None:
    return len(list((root / "sys/devices/system/node").glob("node[0-9]*"))) or None


def _quota(root: Path) -> float | None:
    """CPUs' worth of time that our control group may use; null without such a limit."""
    quota, _, period = (_read(root / "sys/fs/cgroup/cpu.max") or "").partition(" ")
    if not period:  # version 1
        quota = _read(root / "sys/fs/cgroup/cpu/cpu.cfs_quota_us") or ""
        period = _read(root / "sys/fs/cgroup/cpu/cpu.cfs_period_us") or ""
    if not (quota.isdecimal() and period.isdecimal() and int(period)):
        return None
    return int(quota) / int(period)


def _container(root: Path) -> str | None:
    """What kind of container we are in, `none` where nothing hints at one."""
    if (root / ".dockerenv").exists():
        return "docker"
    if (root / "run/.containerenv").exists():
        return "podman"
    groups = _read(root / "proc/1/cgroup")
    if groups is None:
        return None
    found = re.search(r"kubepods|docker|lxc|libpod|containerd", groups)
    return found.group(0) if found else "none"


def _vm(root: Path) -> str | None:
    """The machine's product name in a virtual machine (`yes` where it has none), else `none`."""
    cpu = _read(root / "proc/cpuinfo")
    if cpu is None:
        return None
    if not re.search(r"^flags\s*:.*\bhypervisor\b", cpu, re.MULTILINE):
        # Only x86 has the flag.
        return "none" if re.search(r"^flags\s*:", cpu, re.MULTILINE) else None
    return _read(root / "sys/class/dmi/id/product_name") or "yes"


def _field(path: Path, name: str) -> str | None:
    found = re.search(rf"^{name}:\s*(.*?)\s*$", _read(path) or "", re.MULTILINE)
    return found.group(1) if found else None


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None
