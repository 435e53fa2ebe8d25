"""The step gaps of many answers at once: a long run has millions, which one by one would take minutes."""

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from loadgen.analysis.measured.request import RequestMetrics, step_gaps_ns, step_starts_ns
from loadgen.records.events import ENTRY_BYTES, KINDS, MAX_US, NEW_READ, EventFiles, unpack_events
from loadgen.records.model import RequestRecord, TokenEvent
from loadgen.units import ns_to_s, ns_to_us, us_to_ns

Events = Callable[[RequestRecord], Iterable[TokenEvent]]


def step_gaps_us(answers: Sequence[RequestMetrics], events: Events) -> "array[int]":
    """The time between consecutive steps of each answer (see `request.step_starts_ns`) in their order.

    In whole microseconds, as event files hold them; gaps above 71 minutes are capped like there. Raises as the events
    do where their file is damaged.
    """
    several = [answer for answer in answers if answer.request.token_events > 1]
    if isinstance(events, EventFiles):
        return _from_blocks([(answer, events.block(answer.request)) for answer in several])
    gaps = (step_gaps_ns(step_starts_ns(answer.request, events(answer.request))) for answer in several)
    return array("I", [min(ns_to_us(gap), MAX_US) for each in gaps for gap in each])


def sorted_s(gaps_us: "array[int]") -> "array[float]":
    """The same in seconds, ascending."""
    import numpy as np  # noqa: PLC0415 - the command line starts without numpy

    ordered: Any = np.sort(np.asarray(gaps_us)).astype(np.int64)
    return array("d", ns_to_s(us_to_ns(ordered)).tobytes()) if gaps_us else array("d")  # type: ignore[attr-defined] # an array divides into one


def _from_blocks(blocks: Sequence[tuple[RequestMetrics, bytes]]) -> "array[int]":
    """All events in one row.

    A step begins with the first event of an answer, and with one that begins a socket read and lies no closer to the
    event before it than the merge limit of its answer.
    """
    import numpy as np  # noqa: PLC0415 - the command line starts without numpy

    several = [(answer, block) for answer, block in blocks if block]
    if not several:
        return array("I")
    row = b"".join(block for _, block in several)
    entries = np.frombuffer(row, dtype=np.dtype([("delta_us", "<u4"), ("code", "u1")]))
    if not np.isin(entries["code"] & ~np.uint8(NEW_READ), list(KINDS)).all():
        for _, block in several:
            list(unpack_events(0, block))  # raises at the one that is damaged
    counts = np.array([len(block) // ENTRY_BYTES for _, block in several])
    limits_ns = np.repeat(np.array([answer.merge_limit_ns for answer, _ in several]), counts)
    first = np.zeros(len(entries), dtype=bool)
    first[np.cumsum(counts) - counts] = True
    delta_us = entries["delta_us"].astype(np.int64)
    begins = first | ((entries["code"] & NEW_READ != 0) & (us_to_ns(delta_us) >= limits_ns))  # type: ignore[arg-type] # an array multiplies into one
    gaps_us = np.diff(np.cumsum(delta_us)[begins])[~first[begins][1:]]
    return array("I", np.minimum(gaps_us, MAX_US).astype(np.uintc).tobytes())
