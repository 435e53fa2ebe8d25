"""A prediction of memory held against the load log of a server that was started so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadgen.footprint.prediction import ESTIMATED, FITTED, Prediction
from loadgen.records.model import Component
from loadgen.units import bytes_to_mib

_PRINTED_DIGITS = 2
"""Of a MiB, in load logs."""
_REPACKED = "CPU_REPACK"
"""The device of weights that llama.cpp copies into another order for the CPU at hand, beside those of the file."""
_COPY = "_repacked"
_JOINED = {"mtp_model": "model"}
"""A log has the weights of MTP heads in the model's."""


@dataclass(frozen=True)
class Check:
    """One component as predicted and as logged.

    `equal`: to the digit that the log prints; null where it is estimated or unknown.
    """

    component: str
    predicted_bytes: int | None
    logged_bytes: int | None
    estimated: bool
    equal: bool | None

    @property
    def difference(self) -> float | None:
        """(predicted − logged) / logged; null where one is missing."""
        if self.predicted_bytes is None or not self.logged_bytes:
            return None
        return (self.predicted_bytes - self.logged_bytes) / self.logged_bytes


def check(prediction: Prediction, ledger: Sequence[Component]) -> list[Check]:
    """Every component that either of the two has, in the order of the prediction."""
    predicted: dict[str, int | None] = {}
    estimated = set()
    for share in prediction.shares:
        if share.grows:
            continue
        name = _JOINED.get(share.component, share.component)
        if share.source in (ESTIMATED, FITTED):
            estimated.add(name)
        before = predicted.get(name, 0)
        predicted[name] = None if before is None or share.bytes is None else before + share.bytes
    logged = _totals(ledger)
    unknown = {name for name, count in predicted.items() if count is None}
    unknown |= {name for name in logged if name.endswith(_COPY)}
    return [
        Check(
            component=name,
            predicted_bytes=predicted.get(name),
            logged_bytes=logged.get(name),
            estimated=name in estimated,
            equal=None if name in estimated or name in unknown else _equal(predicted.get(name), logged.get(name)),
        )
        for name in dict.fromkeys((*predicted, *logged))
    ]


def fit(prediction: Prediction, ledger: Sequence[Component]) -> Mapping[str, float]:
    """Factors on the estimated components that make them the log's; without those that the log lacks."""
    logged = _totals(ledger)
    return {
        share.component: logged[share.component] / share.bytes
        for share in prediction.shares
        if share.source == ESTIMATED and share.bytes and logged.get(share.component)
    }


def _totals(ledger: Sequence[Component]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for line in ledger:
        name = line.component + (_COPY if line.device == _REPACKED else "")
        sums[name] = sums.get(name, 0) + line.bytes
    return sums


def _equal(predicted: int | None, logged: int | None) -> bool:
    """Whether both are there, and a log would print them alike."""
    if predicted is None or logged is None:
        return False
    return f"{bytes_to_mib(predicted):.{_PRINTED_DIGITS}f}" == f"{bytes_to_mib(logged):.{_PRINTED_DIGITS}f}"
