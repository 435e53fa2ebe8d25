"""A recording: calls as they end, the sessions that they make up, and the file that is written of them."""

import os
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from loadgen.errors import UsageError
from loadgen.recording.apis import api_of
from loadgen.recording.call import Call, Message
from loadgen.recording.exchange import Exchange
from loadgen.recording.journal import Journal, journal_path
from loadgen.recording.sessions import Placed, Sessions
from loadgen.workload.formats.session import write
from loadgen.workload.recorded import RecordedSession

__all__ = ["Recorder", "write_sessions"]


class Recorder:
    """Records calls for the file `out`, which is written when the recording ends.

    A journal beside it has every call that ended (see `loadgen.recording.journal`): where there is one, of a recording
    that ended badly, this one goes on with it.

    Args:
        out: the file of sessions to be.
        tell: takes a sentence on what isn't recorded and why.
        placed: takes every call that is recorded, with its place.

    Raises `UsageError` where `out` exists and no journal does, or the journal can't be written.
    """

    def __init__(self, out: Path, *, tell: Callable[[str], None], placed: Callable[[Call, Placed], None]) -> None:
        path = journal_path(out)
        if out.exists() and not path.exists():
            raise UsageError(f"{out} exists already; name another file with -o")
        self.out = out
        self.lost = 0
        self._journal = Journal(path)
        self._sessions = Sessions()
        self._tell = tell
        self._placed = placed
        self._stopped: str | None = None
        self._noted: set[str] = set()
        self._answered: dict[str, list[Message]] = {}
        for call in self._journal.calls:
            self._sessions.add(call)
            self._remember(call)

    @property
    def calls(self) -> int:
        """Calls that are recorded, those of the recording that this one goes on with included."""
        return len(self._journal.calls)

    @property
    def damaged(self) -> bool:
        """Whether a call was cut off at the end of that one."""
        return self._journal.damaged

    def begin(self, method: str, path: str, headers: dict[bytes, bytes], body: bytes) -> Exchange | None:
        """Follow a request; null where it is none that is recorded."""
        api = api_of(method, path)
        return None if api is None or self._stopped is not None else Exchange(api, headers, body)

    def end(self, exchange: Exchange) -> None:
        """The request has finished: keep it, or say why not."""
        history = self._named_by(exchange)
        call = None if history is None else exchange.call(history)
        if call is None or not call.messages:
            self._lose(exchange, exchange.lost or "it has no message")
            return
        for problem in exchange.notes.parts(0):
            if problem.text not in self._noted:
                self._noted.add(problem.text)
                self._tell(problem.text)
        place = self._sessions.add(call)
        try:
            self._journal.append(place.step.call, place.base)
        except UsageError as error:
            # What is in memory is written at the end all the same.
            exchange.lost = self._stopped = f"recording has stopped: {error}"
            self._lose(exchange, self._stopped)
            return
        self._remember(place.step.call)
        self._placed(place.step.call, place)

    def sessions(self) -> list[RecordedSession]:
        """The sessions so far."""
        return self._sessions.recorded()

    def close(self, *, written: bool) -> None:
        """Let go of the journal; it goes when the sessions are `written`, or there are none."""
        self._journal.close(remove=written or not self._journal.calls)

    def _lose(self, exchange: Exchange, why: str) -> None:
        self.lost += 1
        self._tell(f"not recorded: {exchange.api.route}: {why}")

    def _named_by(self, exchange: Exchange) -> list[Message] | None:
        """The history that a request names by its last answer; empty where it has all, null where it isn't known."""
        asked = exchange.asked
        if asked is None:
            return None
        history = self._answered.get(asked.follows) if asked.follows is not None else []
        if history is None:
            exchange.lost = exchange.lost or "it goes on from an answer that wasn't recorded (previous_response_id)"
        return history

    def _remember(self, call: Call) -> None:
        """What a later request may name by this answer: the history, without what heads it."""
        if call.response_id is not None and call.answer is not None:
            self._answered[call.response_id] = [*call.messages[call.heading :], call.answer]


def write_sessions(sessions: list[RecordedSession], out: Path) -> None:
    """Write a file of sessions, whole or not at all. Raises `UsageError` where that can't be done."""
    content = BytesIO()
    write(sessions, content)
    beside = out.with_name(f"{out.name}.part")
    try:
        with beside.open("wb") as file:
            file.write(content.getbuffer())
            file.flush()
            os.fsync(file.fileno())
        beside.replace(out)
    except OSError as error:
        raise UsageError(f"can't write {out}: {error.strerror}") from None
