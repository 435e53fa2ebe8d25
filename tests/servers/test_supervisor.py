"""A supervised command leaves its status and its log, and nothing else."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from loadgen.servers.supervisor import TAIL_BYTES, CappedLog

if TYPE_CHECKING:
    from tests.servers.conftest import Watched

WAITS = "import signal; signal.pause()"
DEAF = """
import os, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open(sys.argv[1], "w").write(str(os.getpid()))
while True: signal.pause()
"""
LEAVES_ONE_BEHIND = f"""
import subprocess, sys
subprocess.Popen([sys.executable, "-c", {DEAF!r}, sys.argv[1]], start_new_session=True)
open(sys.argv[2]).read()
"""


class Supervised:
    """A running supervisor and what it said."""

    def __init__(self, log: Path, command: list[str], cap: int, grace: float) -> None:
        self.log = log
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "loadgen.servers.supervisor", "--log", str(log)),
                *("--log-cap", str(cap), "--grace", str(grace), "--", *command),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline().decode().strip()

    @property
    def pid(self) -> int:
        """Of the command."""
        return int(self.said.removeprefix("started "))

    def cut_lifeline(self) -> None:
        """What happens when the process at the other end is gone."""
        assert self.process.stdin is not None
        self.process.stdin.close()


Supervise = Callable[..., Supervised]


@pytest.fixture
def supervise(tmp_path: Path) -> Iterator[Supervise]:
    """Starts commands under supervisors."""
    running: list[Supervised] = []

    def start(*command: str, cap: int = 1 << 20, grace: float = 20, log: Path | None = None) -> Supervised:
        running.append(Supervised(log or tmp_path / "log", list(command), cap, grace))
        return running[-1]

    yield start
    for supervised in running:
        with supervised.process as process:
            process.kill()


@pytest.fixture
def fifo(tmp_path: Path) -> Callable[[str], Path]:
    """A named pipe: opening it waits for the other side."""

    def make(name: str) -> Path:
        os.mkfifo(tmp_path / name)
        return tmp_path / name

    return make


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("raise SystemExit(0)", 0),
        ("raise SystemExit(3)", 3),
        ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL),
        ("import os; os.abort()", -signal.SIGABRT),
    ],
)
def test_it_exits_as_the_command_did(supervise: Supervise, code: str, status: int) -> None:
    """Its status is the command's, signals included."""
    assert supervise(sys.executable, "-c", code).process.wait(30) == status


@pytest.mark.parametrize("how", ["lifeline", "SIGTERM", "SIGINT", "SIGHUP"])
def test_it_ends_the_command_when_told_or_left_alone(
    supervise: Supervise, watch: "Callable[[int], Watched]", how: str
) -> None:
    """A signal, or the end of the process that holds its stdin, ends the command with SIGTERM."""
    supervised = supervise(sys.executable, "-c", WAITS)
    command = watch(supervised.pid)
    if how == "lifeline":
        supervised.cut_lifeline()
    else:
        supervised.process.send_signal(getattr(signal, how))
    assert supervised.process.wait(30) == -signal.SIGTERM
    assert command.ends()


def test_a_command_that_ignores_sigterm_is_killed(supervise: Supervise, fifo: Callable[[str], Path]) -> None:
    """After the grace comes SIGKILL."""
    up = fifo("up")
    supervised = supervise(sys.executable, "-c", DEAF, str(up), grace=0.1)
    assert int(up.read_text()) == supervised.pid
    supervised.cut_lifeline()
    assert supervised.process.wait(30) == -signal.SIGKILL


def test_what_left_the_group_ends_too(
    supervise: Supervise, fifo: Callable[[str], Path], watch: "Callable[[int], Watched]"
) -> None:
    """A descendant with a session of its own, deaf to SIGTERM, doesn't outlive the command, whose status stays."""
    up, go_on = fifo("up"), fifo("go_on")
    supervised = supervise(sys.executable, "-c", LEAVES_ONE_BEHIND, str(up), str(go_on), grace=0.1)
    other = watch(int(up.read_text()))
    go_on.write_text("")
    assert supervised.process.wait(30) == 0
    assert other.ends()


def test_killing_the_supervisor_ends_the_command(supervise: Supervise, watch: "Callable[[int], Watched]") -> None:
    """Even kill -9 leaves no server behind."""
    supervised = supervise(sys.executable, "-c", WAITS)
    command = watch(supervised.pid)
    supervised.process.kill()
    assert command.ends()


def test_what_can_not_be_started_is_said(supervise: Supervise, tmp_path: Path) -> None:
    """The reason comes on stdout, the status is 127."""
    supervised = supervise(str(tmp_path / "nothing"))
    assert (supervised.said, supervised.process.wait(30)) == ("failed No such file or directory", 127)


def test_arguments_with_dashes_reach_the_command(supervise: Supervise) -> None:
    """Nothing after the first `--` is read as an option of the supervisor."""
    supervised = supervise(sys.executable, "-c", "import sys; print(sys.argv[1:])", "--log", "x", "-h", "--", "y")
    supervised.process.wait(30)
    assert supervised.log.read_text() == "['--log', 'x', '-h', '--', 'y']\n"


def test_both_streams_go_to_the_log_in_order(supervise: Supervise) -> None:
    """Output and errors are one stream, as on a terminal."""
    code = "import os\nfor i in range(4): os.write(1 + i % 2, b'%d\\n' % i)"
    supervised = supervise(sys.executable, "-c", code)
    supervised.process.wait(30)
    assert supervised.log.read_bytes() == b"0\n1\n2\n3\n"


def test_a_flood_is_cut_in_the_middle_and_never_waits(supervise: Supervise) -> None:
    """The head up to the cap, what was left out, and the end; the command is not held up by a full pipe."""
    code = "import sys\nfor i in range(1_000_000): sys.stdout.write('%09d\\n' % i)"
    supervised = supervise(sys.executable, "-c", code, cap=100)
    assert supervised.process.wait(60) == 0
    printed = b"".join(b"%09d\n" % i for i in range(1_000_000))
    marker = f"\n[loadgen: {len(printed) - 100 - TAIL_BYTES} bytes left out]\n".encode()
    assert supervised.log.read_bytes() == printed[:100] + marker + printed[-TAIL_BYTES:]


def test_a_full_disk_costs_the_log_only(supervise: Supervise) -> None:
    """When the log can't be written, the command goes on."""
    code = "print('x' * 1_000_000)"
    assert supervise(sys.executable, "-c", code, log=Path("/dev/full")).process.wait(30) == 0


@pytest.mark.parametrize(
    ("cap", "expected"),
    [(6, b"abcdef"), (4, b"abcdef"), (0, b"abcdef")],
)
def test_a_log_that_fits_in_head_and_tail_is_whole(tmp_path: Path, cap: int, expected: bytes) -> None:
    """Nothing is marked as left out where nothing was."""
    log = CappedLog(tmp_path / "log", cap)
    for piece in (b"ab", b"cd", b"ef"):
        log.write(piece)
    log.close()
    assert (tmp_path / "log").read_bytes() == expected
