"""Memory of a process and its children, as psutil and `/proc` tell it."""

import os
import subprocess
import sys
from pathlib import Path

from loadgen.telemetry.process_memory import PSS_SHARE, ProcessMemory
from loadgen.telemetry.source import Reading

READY = "import sys; sys.stdout.write('x'); sys.stdout.flush(); sys.stdin.read()"


class Clock:
    """Each look at it takes 10 ms."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Now."""
        self.now += 0.01
        return self.now


def names(readings: object) -> list[str]:
    """What was read, in order."""
    assert isinstance(readings, list)
    return [one.name for one in readings]


def test_our_own_memory_is_seen() -> None:
    """A process that runs has resident and proportional bytes; the latter are at most the former and a bit."""
    rss, pss = ProcessMemory(os.getpid()).read()
    assert (rss.name, pss.name) == ("rss_bytes", "pss_bytes")
    assert rss.value is not None
    assert pss.value is not None
    assert 1 << 20 < pss.value < rss.value + (8 << 20)


def test_an_ended_process_has_no_memory_but_a_reason() -> None:
    """What can't be read is null with a reason, never 0."""
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    assert ProcessMemory(child.pid).read() == [Reading("rss_bytes", None, reason="the process has ended")]


def test_a_child_counts_with_its_parent() -> None:
    """Resident and proportional bytes are those of the family."""
    both = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {READY!r}])"
    with subprocess.Popen([sys.executable, "-c", both], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.read(1) == b"x"  # the child is up
        memory = ProcessMemory(parent.pid)
        memory.read()
        own = int(Path(f"/proc/{parent.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        rss, why = memory.resident_bytes()
        assert why is None
        assert rss is not None
        assert rss > own + (4 << 20)
        parent.communicate()


def proc(root: Path, pss_kib: int) -> Path:
    """A `/proc` that tells our own proportional size."""
    folder = root / str(os.getpid())
    folder.mkdir(exist_ok=True)
    (folder / "smaps_rollup").write_text(f"5500-7fff ---p [rollup]\nRss:  900 kB\nPss:  {pss_kib} kB\nPss_Anon: 1 kB\n")
    return root


def test_the_proportional_size_is_read_seldom(tmp_path: Path) -> None:
    """A reading that took 10 ms is not repeated before 200 times as much has passed."""
    clock = Clock()
    memory = ProcessMemory(os.getpid(), proc=proc(tmp_path, 800), clock=clock)
    assert memory.read()[1] == Reading("pss_bytes", 800 * 1024)
    assert names(memory.read()) == ["rss_bytes"]
    clock.now += PSS_SHARE * 0.01
    proc(tmp_path, 801)
    assert memory.read()[1] == Reading("pss_bytes", 801 * 1024)


def test_an_unreadable_proportional_size_is_null_once(tmp_path: Path) -> None:
    """Where the kernel has no such file or no such line; resident bytes go on."""
    memory = ProcessMemory(os.getpid(), proc=tmp_path)
    why = "the kernel does not tell it, or the process has ended"
    assert memory.read()[1] == Reading("pss_bytes", None, reason=why)
    assert names(memory.read()) == ["rss_bytes"]
    folder = proc(tmp_path, 1) / str(os.getpid())
    (folder / "smaps_rollup").write_text("")
    assert ProcessMemory(os.getpid(), proc=tmp_path).read()[1].reason == "the kernel does not tell it"
