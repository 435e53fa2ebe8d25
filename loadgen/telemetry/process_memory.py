"""Memory of a local server: resident bytes of its process and all of its children."""

import psutil

LOOK_AGAIN = 20
"""Readings between two looks for new children: that scans every process of the machine and takes milliseconds, in
which arrivals wait to be read; a llama-server has none."""


class ProcessMemory:
    """Reads the resident set size of a process and its descendants."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._family: list[psutil.Process] = []
        self._readings = 0

    def resident_bytes(self) -> tuple[int | None, str | None]:
        """Bytes, or null with a reason.

        Pages that several of the processes share count once a process: an upper bound for a server with children.
        """
        try:
            if self._readings % LOOK_AGAIN == 0:
                process = psutil.Process(self._pid)
                self._family = [process, *process.children(recursive=True)]
            self._readings += 1
            return self._sum(), None
        except psutil.NoSuchProcess:
            return None, "the process has ended"
        except psutil.AccessDenied:
            return None, "not permitted to look at the process"

    def _sum(self) -> int:
        server, *children = self._family
        total: int = server.memory_info().rss
        for child in children:
            try:
                total += child.memory_info().rss
            except psutil.NoSuchProcess:
                continue
        return total
