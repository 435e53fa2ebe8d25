"""Sizes texts by the tokenizer of a running server, while a workload is made in a thread."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from loadgen.client.control import TOKENIZE_S, Control
from loadgen.records.sizes import Sizes
from loadgen.replay.line_cache import cache_folder, fingerprint, read_lines, write_lines
from loadgen.workload.server_sizer import ServerSizer, UnsizedError
from loadgen.workload.session import Workload
from loadgen.workload.sizing import Sizer

__all__ = ["PATIENCE_S", "made_by_tokenizer"]

PATIENCE_S = 20.0
"""How long texts are sized with a server's tokenizer. On loopback a pool of the built-in profiles takes less than that;
a distant server takes as long as some thousand questions do, and then an average of characters a token must do."""
_SAID_AFTER_S = 2.0
"""Shorter waits need no word."""
_KEPT_AFTER_S = 5.0
"""And shorter ones aren't worth a file."""


class _Questions:
    """Puts questions of a thread to a server that the event loop speaks to."""

    def __init__(
        self, control: Control, patience_s: float | None, note: Callable[[str], None], clock: Callable[[], float]
    ) -> None:
        self._control = control
        self._loop = asyncio.get_running_loop()
        self._clock = clock
        self._begin = clock()
        self._patience_s = patience_s
        self._note = note
        self._said = False
        self._closed = False
        self.asked = 0

    @property
    def took_s(self) -> float:
        """Seconds since the first question could be put."""
        return self._clock() - self._begin

    def close(self) -> None:
        """No further question is put: the run that wanted the answers has ended."""
        self._closed = True

    def __call__(self, text: str) -> list[bytes] | None:
        took_s = self.took_s
        if self._closed or (self._patience_s is not None and took_s > self._patience_s):
            return None
        if took_s > _SAID_AFTER_S and not self._said:
            self._said = True
            self._loop.call_soon_threadsafe(self._note, "sizing the workload with the server's tokenizer")
        self.asked += 1
        answer = asyncio.run_coroutine_threadsafe(self._control.tokenize_pieces(text), self._loop)
        try:
            return answer.result(2 * TOKENIZE_S)
        except TimeoutError:
            answer.cancel()
            return None


async def made_by_tokenizer(
    make: Callable[[Sizer], Workload],
    sizes: Sizes,
    control: Control,
    note: Callable[[str], None],
    *,
    patience_s: float | None = PATIENCE_S,
    clock: Callable[[], float] = time.monotonic,
    cache: Path | None = None,
) -> Workload | None:
    """The workload that `make` makes with the server's tokenizer; null where that doesn't answer, or takes too long.

    Where that takes seconds, what the tokenizer says of lines is kept for later runs.

    Args:
        make: makes the workload.
        sizes: what the tokenizer says is added to it.
        control: of the server.
        note: told of what takes long.
        patience_s: null waits as long as it takes.
        clock: gives seconds.
        cache: where lines are kept; null: in the user's cache.
    """
    folder = cache or cache_folder()
    tokenizer = await fingerprint(control)
    lines = read_lines(folder, tokenizer)
    questions = _Questions(control, patience_s, note, clock)
    workload = None
    try:
        workload = await asyncio.to_thread(make, ServerSizer(sizes, questions, lines))
    except UnsizedError:
        if questions.asked > 1:
            note(_too_slow(questions))
    finally:
        questions.close()
    took_s = questions.took_s
    if took_s > _KEPT_AFTER_S and questions.asked:
        write_lines(folder, tokenizer, lines)
    if took_s > _SAID_AFTER_S and questions.asked and workload is not None:
        note(f"sized the workload: {questions.asked:,} texts in {took_s:.1f} s")
    return workload


def _too_slow(questions: _Questions) -> str:
    return (
        f"the server's tokenizer answered too slowly ({questions.asked} texts in {questions.took_s:.0f} s): texts are "
        "sized by its average of characters a token. What it said is kept: a later run gets farther"
    )
