"""Generic names and numbers: the same for the same, in the order in which they come."""

from typing import Any

from loadgen.workload.draws import rng

__all__ = ["Names"]

_SEED = 0


class Names:
    """Names of others, each kind counted by itself; and numbers."""

    def __init__(self) -> None:
        self._names: dict[str, dict[str, str]] = {}
        self._numbers: dict[str, str] = {}
        self._drawn = rng(_SEED, "redacted numbers")

    def name(self, kind: str, old: Any) -> str:
        """`tool_3` for the third tool, and again whenever it is named."""
        names = self._names.setdefault(kind, {})
        return names.setdefault(str(old), f"{kind}_{len(names) + 1}")

    def digits(self, old: str) -> str:
        """Other digits in place of those of a number; none of them is 0, which may not stand in front."""
        if old not in self._numbers:
            digits = (str(int(self._drawn.random() * 9) + 1) if sign.isdecimal() else sign for sign in old)
            self._numbers[old] = "".join(digits)
        return self._numbers[old]
