"""What is asked of a server: limits on latencies, and how many requests and tasks must keep all of them."""

import math
import re
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from loadgen.experiment.wording import worded
from loadgen.units import parse_duration_s

__all__ = ["LIMITS", "ClassLimits", "Slo", "parse_share", "parse_slo"]

LIMITS = ("ttft", "tpot", "step_gap", "request", "task")
"""The limits, by their fields' names without the unit. A text may write a dash for the underscore."""
_ATTAINMENT = "attainment"
_PERCENT = 100
_OPERATOR = re.compile(r"\s*(?:<=|=|<)\s*")
_QUANTILE = re.compile(r"(.+)[._]p([0-9.]+)")


class _Limits(BaseModel):
    """Limits on the latencies of requests, and on the time of a task."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    ttft_s: float | None = Field(default=None, gt=0, description="time to the first token, seconds")
    tpot_s: float | None = Field(default=None, gt=0, description="time a token after the first, seconds")
    step_gap_s: float | None = Field(default=None, gt=0, description="longest pause between two steps, seconds")
    request_s: float | None = Field(default=None, gt=0, description="time of a whole request, seconds")
    task_s: float | None = Field(default=None, gt=0, description="time of a whole session, waits included, seconds")

    @property
    def limits(self) -> dict[str, float]:
        """The limits that are set, in seconds, by their fields' names."""
        found = {f"{name}_s": getattr(self, f"{name}_s") for name in LIMITS}
        return {name: value for name, value in found.items() if value is not None}


class ClassLimits(_Limits):
    """What one class of a mix must keep beside the limits of all, or in place of those that it sets anew."""

    attainment: float | None = Field(
        default=None, gt=0, le=1, description="share of the class's attempts; null: as all"
    )

    @model_validator(mode="after")
    def _says_something(self) -> "ClassLimits":
        if not self.limits and self.attainment is None:
            raise ValueError(f"a class of an objective has one limit at least: {', '.join(LIMITS)}")
        return self


class Slo(_Limits):
    """A service level objective.

    A request is good when it keeps every limit, a task when all its requests do and it keeps its own. The objective is
    met where at least the share `attainment` of all attempts, failures included, is good. Of a mix it is met where it
    is met for every class; a class that no limit applies to is not judged.
    """

    attainment: float = Field(default=0.95, gt=0, le=1, description="share of the attempts that must be good")
    classes: dict[str, ClassLimits] | None = Field(
        default=None, description="limits of single classes of a mix, by their names: they go over the others"
    )

    @model_validator(mode="after")
    def _limits_something(self) -> "Slo":
        if not self.limits and not any(one.limits for one in (self.classes or {}).values()):
            raise ValueError(f"an objective has one limit at least: {', '.join(LIMITS)}")
        return self

    def of(self, work_class: str) -> "Slo | None":
        """What one class of a mix must keep; null where no limit applies to it."""
        own = (self.classes or {}).get(work_class)
        limits: dict[str, Any] = {**self.limits, **(own.limits if own is not None else {})}
        share = own.attainment if own is not None else None
        return Slo(**limits, attainment=self.attainment if share is None else share) if limits else None


def parse_slo(text: str) -> Slo:
    """An objective from a text such as `ttft=2s,tpot=80ms,task=10m,attainment=95%`. Raises `ValueError`.

    `<` and `<=` may stand for `=`. `chat:ttft=1s` is for the class of a mix that is called chat.
    """
    of_all: dict[str, Any] = {}
    classes: dict[str, dict[str, float]] = {}
    for part in text.split(","):
        work_class, field, value = _read(part.strip())
        fields = of_all if work_class is None else classes.setdefault(work_class, {})
        if field in fields:
            raise ValueError(f"{'' if work_class is None else f'{work_class}:'}{_shown(field)} is given twice")
        fields[field] = value
    extra: dict[str, Any] = {"classes": classes} if classes else {}
    try:
        return Slo(**of_all, **extra)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(_shown(str(part)) for part in first["loc"])
        raise ValueError(f"{where}: {worded(first)}" if where else worded(first)) from None


def parse_share(text: str) -> float:
    """A share above 0 and up to 1, such as `95%` or `0.95`. Raises `ValueError`."""
    plain = text.strip()
    number = plain.removesuffix("%").rstrip()
    try:
        value = float(number) / (_PERCENT if number != plain else 1)
    except ValueError:
        value = math.nan
    if not 0 < value <= 1:
        raise ValueError(f"{plain!r} is no share; write 95% or 0.95")
    return value


def _read(part: str) -> tuple[str | None, str, float]:
    """The class that one part of the text is for (null: all), its field and its value."""
    before, *rest = _OPERATOR.split(part, maxsplit=1)
    work_class, colon, name = before.rpartition(":")
    if colon and not work_class.strip():
        raise ValueError(f"{part!r} names no class before the colon; write CLASS:ttft=TIME")
    known_class = work_class.strip() if colon else None
    known = name.strip().lower().replace("-", "_").removesuffix("_s")
    if (quantile := _QUANTILE.fullmatch(known)) and quantile[1] in LIMITS:
        raise ValueError(
            f"{name}: a limit holds for each request, and attainment says for how many of them: "
            f"{_shown(quantile[1])}=TIME,attainment={quantile[2]}%"
        )
    if not rest or known not in (*LIMITS, _ATTAINMENT):
        raise ValueError(f"{part!r} is no limit; write {', '.join(f'{_shown(one)}=TIME' for one in LIMITS)}")
    if known == _ATTAINMENT:
        return known_class, known, parse_share(rest[0])
    return known_class, f"{known}_s", parse_duration_s(rest[0])


def _shown(field: str) -> str:
    """A field as the text writes it: `step-gap` for `step_gap_s`."""
    return field.removesuffix("_s").replace("_", "-")
