"""Why a server did not come up, from its log: the few causes for which there is something to do."""

import re
import signal

TAIL_LINES = 8
"""How much of the log an error message carries: enough for llama-server's reason and the lines that lead to it."""

_PORT_TAKEN = re.compile(r"couldn't bind|failed to bind|address already in use", re.IGNORECASE)

_HINTS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"out of memory|OutOf(?:Device|Host)Memory|cudaMalloc failed|(?:failed|unable) to allocate|bad_alloc",
            re.IGNORECASE,
        ),
        (
            "The memory does not hold it: fewer slots (-np), a smaller context (-c), fewer layers on the GPU (-ngl), "
            "or, with speculation on a recurrent model, a smaller --spec-draft-n-max."
        ),
    ),
    (
        re.compile(
            r"invalid argument: |error while handling argument|unknown argument|unrecognized (?:argument|option)"
        ),
        "This build refuses an argument: see `llama-server --help`.",
    ),
    (re.compile(r"unknown model architecture"), "This build is too old for the model."),
    (re.compile(r"error while loading shared libraries"), "Its libraries are not found: set LD_LIBRARY_PATH."),
    (
        _PORT_TAKEN,
        "Another program took the port in the meantime: try again.",
    ),
)


def hint(log: str, exit_code: int | None) -> str | None:
    """What to do about a server that ended while loading, or null where the log doesn't tell.

    `exit_code` is negative for a signal and null while the server runs.
    """
    for pattern, text in _HINTS:
        if pattern.search(log):
            return text
    if exit_code == -signal.SIGKILL:
        return "It was killed from outside: most often by the kernel, because memory ran out."
    if exit_code == -signal.SIGILL:
        return "It was built for another processor."
    return None


def port_taken(log: str) -> bool:
    """Whether a server ended because it could not have its port."""
    return _PORT_TAKEN.search(log) is not None


def ending(exit_code: int) -> str:
    """`ended with exit code 1` or `was ended by SIGKILL`."""
    if exit_code >= 0:
        return f"ended with exit code {exit_code}"
    try:
        return f"was ended by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"was ended by signal {-exit_code}"
