"""`python -m tests.servers.standins.leaking leak|steady`: an imitation that allocates all the time, and may keep it.

Prints its address, and runs until its standard input ends.
"""

import sys
import threading
import time

from tests.servers.standins.llama import FakeLlama

STEP_BYTES = 1 << 20
STEPS_PER_S = 10.0
"""By the clock, not by the answers: how many of these come in a second depends on the machine."""


class Allocating:
    """Allocates from `start` on; a leak never gives back what it has."""

    def __init__(self, *, leaks: bool) -> None:
        self._leaks = leaks
        self._kept: list[bytes] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        """In a thread of its own."""
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        begin, taken = time.monotonic(), 0
        while not self._ended.wait(0.5 / STEPS_PER_S):
            due = int((time.monotonic() - begin) * STEPS_PER_S)
            for _ in range(due - taken):
                self._kept = [*(self._kept if self._leaks else ()), b"x" * STEP_BYTES]
            taken = due


def main(kind: str) -> None:
    """Serve."""
    allocating = Allocating(leaks=kind == "leak")
    with FakeLlama() as server:
        allocating.start()
        sys.stdout.write(f"{server.address}\n")
        sys.stdout.flush()
        sys.stdin.read()
        allocating.close()


if __name__ == "__main__":
    main(sys.argv[1])
