"""What is said of a run's memory sources before it begins."""

import os
from pathlib import Path

from loadgen.telemetry.preview import look, named
from loadgen.telemetry.watch import Watched
from tests.telemetry.test_watch import Nvml, machine, with_amd

HERE, ELSEWHERE = Watched("off", local=True), Watched("off", local=False)


def test_sources_are_named_without_being_opened(tmp_path: Path) -> None:
    """Those of the devices here and of the server's process; none of a server elsewhere, unless one is asked for."""
    both = machine(with_amd(tmp_path), nvml=Nvml())
    assert named(None, HERE, machine=both) == ["nvml", "amd-sysfs", "process"]
    assert named(None, HERE, has_process=False, machine=both) == ["nvml", "amd-sysfs"]
    assert named(None, ELSEWHERE, machine=both) == []
    assert named("http://192.0.2.1/metrics", ELSEWHERE, machine=both) == ["exporter"]
    assert (named("none", HERE, machine=both), named("process", HERE, machine=both)) == ([], ["process"])


def test_every_source_is_opened_and_read_once(tmp_path: Path) -> None:
    """What it says of itself, and what is in use now."""
    found = look(None, HERE, os.getpid(), machine=machine(tmp_path, nvml=Nvml()))
    device, process = found
    assert device.tells
    assert device.text.startswith("memory and power by NVML")
    assert device.text.endswith("; 1 MiB of GPU-0a in use, 2 MiB of GPU-1a in use")
    assert process.tells
    assert process.text.startswith("memory by process; ")


def test_a_source_that_tells_nothing_says_why(tmp_path: Path) -> None:
    """Not opened, or null for a size; nothing where nobody looks."""
    bare = machine(tmp_path)
    (missing,) = look("nvidia", ELSEWHERE, None, machine=bare)
    assert (missing.tells, missing.text) == (
        False,
        "nvml: NVIDIA's driver does not answer (the package nvidia-ml-py is not installed)",
    )
    (silent,) = look("command:echo N/A", ELSEWHERE, None, machine=bare)
    assert not silent.tells
    assert "printed no number of bytes" in silent.text
    assert look("none", HERE, os.getpid(), machine=bare) == []
    (ended,) = look("process", HERE, 2**22 + 1, machine=bare)
    assert (ended.tells, ended.text) == (False, "memory by process; the process has ended")


def test_a_limit_without_a_use_is_told_by_the_process(tmp_path: Path) -> None:
    """As on an Apple machine, whose memory the process shares."""
    limit, process = look(None, HERE, os.getpid(), machine=machine(tmp_path, apple=True))
    assert (limit.text.startswith("the GPU shares the machine's memory"), process.tells) == (True, True)
