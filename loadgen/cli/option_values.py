"""What the texts of options mean, with errors that name the option."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadgen.errors import ExperimentError
from loadgen.experiment import levels
from loadgen.units import parse_duration_s, parse_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loadgen.experiment.mix import Share
    from loadgen.experiment.slo import Slo


def parse_levels(text: str) -> tuple[int, ...]:
    """The concurrency levels in an option's text. Raises `ExperimentError` naming the option."""
    try:
        return levels.parse_levels(text)
    except ValueError as error:
        raise ExperimentError(f"--concurrency {text}: {error}") from None


def parse_depths(text: str) -> tuple[int, ...]:
    """The depths in an option's text, in tokens. Raises `ExperimentError` naming the option."""
    from loadgen.experiment.depths import parse_depths as parsed

    try:
        return parsed(text)
    except ValueError as error:
        raise ExperimentError(f"--depth {text}: {error}") from None


def parse_mix(text: str) -> "Sequence[Share]":
    """The classes of work in an option's text. Raises `ExperimentError` naming the option."""
    from loadgen.experiment.mix import read_mix

    try:
        found: Sequence[Share] = read_mix(text)
    except ValueError as error:
        raise ExperimentError(f"--mix {text}: {error}") from None
    return found


def parse_objective(text: str) -> "Slo":
    """The limits in an option's text. Raises `ExperimentError` naming the option."""
    from loadgen.experiment.slo import parse_slo

    try:
        return parse_slo(text)
    except ValueError as error:
        raise ExperimentError(f"--slo {text}: {error}") from None


def parse_body(fields: list[str] | None) -> dict[str, Any]:
    """Extra request fields in `key=value` texts; a value that is JSON is taken as such, any other as text."""
    from loadgen.experiment.variant import RESERVED_FIELDS

    body: dict[str, Any] = {}
    for field in fields or []:
        key, equals, value = field.partition("=")
        if not equals or not key:
            raise ExperimentError(f"--body {field!r} is not KEY=VALUE, such as temperature=0.6")
        if key in RESERVED_FIELDS:
            raise ExperimentError(f"--body {key}=… would break the measurement: loadgen sets that field itself")
        try:
            body[key] = json.loads(value)
        except ValueError:
            body[key] = value
    return body


def seconds(option: str, text: str) -> float:
    """The duration in an option's text, in seconds. Raises `ExperimentError` naming the option."""
    try:
        return parse_duration_s(text)
    except ValueError as error:
        raise ExperimentError(f"{option}: {error}") from None


def size(option: str, text: str) -> int:
    """The bytes in an option's text. Raises `ExperimentError` naming the option."""
    try:
        return parse_size(text)
    except ValueError as error:
        raise ExperimentError(f"{option}: {error}") from None


def run_folder(out: Path | None, name: str) -> Path:
    """The run folder to write: as asked for, or `runs/TIME-NAME`."""
    if out is not None:
        return out
    return Path("runs") / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{name}"
