"""Which variants still take part in a run, and why the others don't."""

from collections.abc import Callable, Sequence

from loadgen.records.model import TrialRecord
from loadgen.replay.ending import Ending

GIVE_UP_AFTER = 2
"""So many trials of one variant in a row without a single answer: more would only repeat it."""


class Roll:
    """Keeps who is out. `say(what, detail)` writes to the journal, `note(text)` tells whoever watches."""

    def __init__(
        self, names: Sequence[str], baseline: str, *, say: Callable[[str, str], None], note: Callable[[str], None]
    ) -> None:
        self._names = names
        self._baseline = baseline
        self._say = say
        self._note = note
        self._silent: dict[str, int] = {}
        self.out: dict[str, str] = {}

    @property
    def left(self) -> list[str]:
        """Those that take part, in the order of the experiment."""
        return [name for name in self._names if name not in self.out]

    def failed_check(self, name: str, reason: str) -> None:
        """A variant answers wrongly: it is not measured."""
        self.out[name] = reason
        self._say("answers_failed", f"{name}: {reason}")
        self._note(f"{name} failed the output check: {reason}")

    def give_up(self, what: str, name: str, reason: str) -> Ending | None:
        """Go on without a variant; an ending where nothing is left to compare."""
        self.out[name] = reason
        self._say("given_up", f"{name}: {reason}")
        self._note(f"{name} is given up: {reason}")
        return Ending(what, f"{name}: {reason}") if self.is_over else None

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to compare (or, of a single variant, to measure)."""
        return self._baseline in self.out or self.left == ([self._baseline] if len(self._names) > 1 else [])

    def is_silent(self, record: TrialRecord) -> bool:
        """Whether a variant has had no answer for several trials in a row on a server that lives."""
        silent = record.server_alive is not False and record.aborted is not None and not record.segments
        self._silent[record.variant] = self._silent.get(record.variant, 0) + 1 if silent else 0
        return self._silent[record.variant] >= GIVE_UP_AFTER
