"""Runs of agents on benchmarks, in the layout of the data sets Exgentic/agent-llm-traces (and -v2) on Hugging Face.

Schema: huggingface.co/datasets/Exgentic/agent-llm-traces (CDLA-Permissive-2.0). A row is one run: `harness`,
`benchmark`, `models`, `session_id`, `total_tokens`, `spans`, which are OpenTelemetry spans with `span_id`,
`parent_span_id`, `name`, `start_time`, `end_time`, `attributes`, `status`. The data sets are published as Parquet:
convert them to JSON lines first.
"""

from collections.abc import Iterator
from typing import Any

from loadgen.workload.formats.fields import first_text, good_rows, parsed
from loadgen.workload.formats.otel import sessions_of
from loadgen.workload.formats.spans import Span, spans_of
from loadgen.workload.recorded import Problem, RecordedSession
from loadgen.workload.rows import Row

__all__ = ["looks_like", "read"]


def looks_like(value: Any) -> bool:
    """Whether a row says which harness ran which benchmark, and has spans."""
    return isinstance(value, dict) and {"harness", "benchmark", "spans"} <= value.keys()


def read(rows: Iterator[Row | Problem], file: str) -> Iterator[RecordedSession | Problem]:
    """The sessions of each run."""
    seen: set[str] = set()
    for row in good_rows(rows, file):
        if isinstance(row, Problem):
            yield row
            continue
        line, value = row
        name = first_text(value, "session_id", "trace_id") or f"row-{line}"
        if name in seen:
            yield Problem(file, line, f"skipped: session_id {name!r} stands twice")
            continue
        seen.add(name)
        spans: list[Span] = []
        for span in spans_of(line, {"trace_id": name, "spans": parsed(value.get("spans"))}, file):
            if isinstance(span, Problem):
                yield span
            else:
                spans.append(span)
        yield from sessions_of(spans, _source(value), file, name=name, task=first_text(value, "benchmark"))


def _source(value: dict[str, Any]) -> dict[str, Any]:
    source = {"name": "exgentic", "licence": "CDLA-Permissive-2.0"}
    return source | {name: said for name in ("harness", "benchmark") if (said := first_text(value, name)) is not None}
