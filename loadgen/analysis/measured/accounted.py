"""Accounted time: how much of a trial's segments is covered by requests and declared waits."""

from collections.abc import Iterable, Sequence

from loadgen.records.model import RequestRecord, Segment


def accounted_share(segments: Sequence[Segment], requests: Iterable[RequestRecord]) -> float | None:
    """Share of Σ segment time covered by requests of any outcome and declared waits, united over an agent's tree.

    Null without segment time.
    """
    total = sum(segment.end_ns - segment.start_ns for segment in segments)
    if total <= 0:
        return None
    spans: dict[int, list[tuple[int, int]]] = {segment.agent: [] for segment in segments}
    for request in requests:
        if request.agent in spans:
            spans[request.agent] += [(request.ready_ns, request.scheduled_ns), (request.start_ns, request.end_ns)]
    return sum(_covered_ns(spans[one.agent], one.start_ns, one.end_ns) for one in segments) / total


def _covered_ns(spans: Iterable[tuple[int, int]], start_ns: int, end_ns: int) -> int:
    """Length of the union of spans within [start, end]."""
    covered = 0
    reached = start_ns
    for begin, end in sorted(spans):
        begin_inside, end_inside = max(begin, reached), min(end, end_ns)
        if end_inside > begin_inside:
            covered += end_inside - begin_inside
            reached = end_inside
    return covered
