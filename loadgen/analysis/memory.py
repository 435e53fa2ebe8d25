"""Memory of a variant: the ledger of its load log, and the highest use that was sampled."""

from collections.abc import Sequence
from typing import Any

from loadgen.records.model import Sample, ServerStart
from loadgen.units import BYTES_PER_GIB

_SOURCE = "process"
_NAMES = ("pss_bytes", "rss_bytes")
"""The proportional size first: it counts pages shared with others only once."""


def memory(
    variant: str, starts: Sequence[ServerStart], samples: Sequence[Sample], *, budget_bytes: int | None = None
) -> dict[str, Any]:
    """Ledger, peak and margin of one variant. Without a budget the margin is unknown, and so is safety."""
    source, peak = _peak([sample for sample in samples if sample.variant == variant])
    margin = None if budget_bytes is None or peak is None else budget_bytes - peak
    ledger = next((start.ledger for start in starts if start.variant == variant and start.ledger), [])
    return {
        "variant": variant,
        "source": source,
        "budget_bytes": budget_bytes,
        "peak_bytes": peak,
        "margin_bytes": margin,
        "safety": _safety(margin, budget_bytes),
        "ledger": [
            {
                "component": line.component,
                "bytes": line.bytes,
                "source": line.source,
                "device": line.device,
                "rows": line.rows,
            }
            for line in ledger
        ],
    }


def _peak(samples: Sequence[Sample]) -> tuple[str | None, int | None]:
    for name in _NAMES:
        values = [s.value for s in samples if s.source == _SOURCE and s.name == name and s.value is not None]
        if values:
            return f"{_SOURCE}:{name}", round(max(values))
    return None, None


def _safety(margin: int | None, budget: int | None) -> str:
    if margin is None or budget is None:
        return "unknown"
    return "safe" if margin >= max(BYTES_PER_GIB, 0.05 * budget) else "unsafe"
