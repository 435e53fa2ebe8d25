"""How a run ends."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Ending:
    """How a run ended, with a sentence: `complete`, `interrupted`, `server_died`, `gave_up` or `check_failed`."""

    what: str
    detail: str | None
