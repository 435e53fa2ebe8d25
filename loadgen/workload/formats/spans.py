"""Spans of a trace, in any of the three forms in which they are exported.

- OTLP/JSON: `resourceSpans` → `scopeSpans` → `spans`, times in ns, attributes as lists of typed values (also as Tempo
  gives it back, in `trace` or as `batches`);
- a list: `{"trace_id", "spans": [...]}`, attributes as an object, times in ISO 8601 or as counts;
- one span a row, as the SDKs' console exporter prints it (`context`, `parent_id`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from loadgen.workload.formats.fields import first_text, mapping, moment, objects, parsed, whole
from loadgen.workload.recorded import Problem

__all__ = ["Event", "Span", "has_spans", "spans_of"]

_ERROR = frozenset({2, "2", "STATUS_CODE_ERROR", "ERROR", "StatusCode.ERROR"})
_SCOPES = frozenset({"scopeSpans", "scope_spans", "instrumentationLibrarySpans"})
_DEEPEST = 64
"""Levels of a typed value; no attribute of the conventions has ten."""


@dataclass(frozen=True)
class Event:
    """Something that a span wrote down: its name and attributes."""

    name: str
    attributes: Mapping[str, Any]


@dataclass(frozen=True)
class Span:
    """One piece of work: what it is called, what it belongs to, when it began and ended, what is known of it.

    Attributes:
        line: of the file, from 1.
        trace: id of its trace; empty: not given.
        name_of: its own id; empty: not given.
        parent: id of the span that it is part of; null: none.
        title: as the instrumentation calls it.
        start_s: seconds since 1970.
        end_s: seconds since 1970; that of the start where it isn't given.
        attributes: as plain values.
        events: what it wrote down.
        failed: whether it ended in an error.
    """

    line: int
    trace: str
    name_of: str
    parent: str | None
    title: str
    start_s: float
    end_s: float
    attributes: Mapping[str, Any]
    events: tuple[Event, ...] = ()
    failed: bool = False


def has_spans(value: Any) -> bool:
    """Whether a row is of one of the three forms."""
    if not isinstance(value, dict):
        return False
    return bool(_batches(value)) or isinstance(value.get("resourceSpans"), list) or _is_list(value) or _is_one(value)


def spans_of(line: int, value: Mapping[str, Any], file: str) -> Iterator[Span | Problem]:
    """The spans of a row; one without a time is a problem."""
    found = 0
    for raw in _raw(value):
        found += 1
        span = _span(line, raw, mapping(value))
        if span is None:
            name = first_text(raw, "spanId", "span_id", "name")
            yield Problem(file, line, f"skipped: the span {name!r} doesn't say when it began")
        else:
            yield span
    if not found:
        yield Problem(file, line, "skipped: the row has no spans")


def _raw(value: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if _is_list(value):
        yield from objects(value["spans"])
    elif _is_one(value):
        yield dict(value)
    for resource in _batches(value):
        for name in sorted(_SCOPES & resource.keys()):
            for scope in objects(resource.get(name)):
                yield from objects(scope.get("spans"))


def _batches(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The parts of an OTLP export, one a resource."""
    around = mapping(value.get("trace")) or value
    found = (objects(around.get(name)) for name in ("resourceSpans", "resource_spans", "batches"))
    return next((batch for batch in found if any(_SCOPES & part.keys() for part in batch)), [])


def _is_list(value: Mapping[str, Any]) -> bool:
    spans = value.get("spans")
    return isinstance(spans, list) and any("attributes" in span for span in objects(spans)[:1])


def _is_one(value: Mapping[str, Any]) -> bool:
    named = "span_id" in value or "spanId" in value or "span_id" in mapping(value.get("context"))
    return named and "attributes" in value and "name" in value


def _span(line: int, raw: Mapping[str, Any], around: Mapping[str, Any]) -> Span | None:
    context = mapping(raw.get("context"))
    start = next((moment(raw[name]) for name in ("startTimeUnixNano", "start_time", "startTime") if name in raw), None)
    end = next((moment(raw[name]) for name in ("endTimeUnixNano", "end_time", "endTime") if name in raw), None)
    if start is None:
        return None
    status = raw.get("status")
    code = mapping(status).get("code", mapping(status).get("status_code", status))
    return Span(
        line=line,
        trace=first_text(raw, "traceId", "trace_id") or first_text(context, "trace_id") or _text(around, "trace_id"),
        name_of=first_text(raw, "spanId", "span_id") or _text(context, "span_id"),
        parent=first_text(raw, "parentSpanId", "parent_span_id", "parent_id"),
        title=_text(raw, "name"),
        start_s=start,
        end_s=max(start, end if end is not None else start),
        attributes=_attributes(raw.get("attributes")),
        events=tuple(
            Event(_text(event, "name"), _attributes(event.get("attributes")))
            for event in objects(parsed(raw.get("events")))
        ),
        failed=isinstance(code, int | str) and code in _ERROR,
    )


def _text(row: Mapping[str, Any], name: str) -> str:
    return first_text(row, name) or ""


def _attributes(value: Any) -> dict[str, Any]:
    value = parsed(value)
    if isinstance(value, dict):
        return value
    return {key: _plain(one.get("value")) for one in objects(value) if (key := first_text(one, "key")) is not None}


def _plain(value: Any, level: int = 0) -> Any:
    """A typed value of OTLP as a plain one."""
    if not isinstance(value, dict) or level > _DEEPEST:
        return value
    for name in ("stringValue", "boolValue", "intValue", "doubleValue", "bytesValue"):
        if name in value:
            return _counted(value[name]) if name == "intValue" else value[name]
    if "arrayValue" in value:
        return [_plain(one, level + 1) for one in objects(mapping(value["arrayValue"]).get("values"))]
    if "kvlistValue" in value:
        pairs = objects(mapping(value["kvlistValue"]).get("values"))
        return {str(pair.get("key")): _plain(pair.get("value"), level + 1) for pair in pairs}
    return None


def _counted(value: Any) -> Any:
    """A whole number, which OTLP writes as a text; the value itself where it is none."""
    found = whole(value)
    return value if found is None else found
