"""Memory of a local server: resident bytes of its process and all of its children."""

import psutil


def resident_bytes(pid: int) -> tuple[int | None, str | None]:
    """Resident set size of `pid` and its descendants in bytes, or null with a reason.

    Pages that several of the processes share count once a process: an upper bound for a server with children.
    """
    try:
        process = psutil.Process(pid)
        total = process.memory_info().rss
        for child in process.children(recursive=True):
            try:
                total += child.memory_info().rss
            except psutil.NoSuchProcess:
                continue
    except psutil.NoSuchProcess:
        return None, "the process has ended"
    except psutil.AccessDenied:
        return None, "not permitted to look at the process"
    return total, None
