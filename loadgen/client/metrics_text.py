"""The text of a Prometheus metrics page as numbers by name, tolerant of what servers make of it."""

import math

import msgspec
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample


def read_metrics(body: bytes) -> dict[str, float] | None:
    """Samples by name, labelled ones as `name{label="value"}`; None where the body holds none (HTML, JSON, empty)."""
    return {_key(sample): sample.value for sample in read_samples(body)} or None


def read_samples(body: bytes) -> list[Sample]:
    """Samples with their labels, in their order; none where the body holds none (HTML, JSON, empty).

    Lines that can't be read and values that aren't finite are left out. A page that was wrapped into one JSON string,
    as some llama-server builds do, is unwrapped.
    """
    text = body.decode("utf-8", "replace").strip()
    if text.startswith('"'):
        text = _unwrapped(body)
    if text.startswith(("<", "{", "[")):
        return []
    # Line by line, because the parser gives up a whole page for one line that it can't read.
    found = (_sample(line) for line in text.splitlines() if line and not line.startswith("#"))
    return [sample for sample in found if sample is not None and math.isfinite(sample.value)]


def _unwrapped(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=str)
    except msgspec.DecodeError:
        return ""


def _sample(line: str) -> Sample | None:
    try:
        return next((sample for family in text_string_to_metric_families(line) for sample in family.samples), None)
    except (ValueError, IndexError, KeyError):
        return None


def _key(sample: Sample) -> str:
    if not sample.labels:
        return sample.name
    labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in sample.labels.items())
    return f"{sample.name}{{{labels}}}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
