"""What is asked of a server: limits on latencies, and how many requests and tasks must keep all of them."""

import math
import re

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from loadgen.experiment.wording import worded
from loadgen.units import parse_duration_s

__all__ = ["LIMITS", "Slo", "parse_share", "parse_slo"]

LIMITS = ("ttft", "tpot", "step_gap", "request", "task")
"""The limits, by their fields' names without the unit. A text may write a dash for the underscore."""
_ATTAINMENT = "attainment"
_PERCENT = 100
_OPERATOR = re.compile(r"\s*(?:<=|=|<)\s*")
_QUANTILE = re.compile(r"(.+)[._]p([0-9.]+)")


class Slo(BaseModel):
    """A service level objective.

    A request is good when it keeps every limit, a task when all its requests do and it keeps its own. The objective is
    met where at least the share `attainment` of all attempts, failures included, is good.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    ttft_s: float | None = Field(default=None, gt=0, description="time to the first token, seconds")
    tpot_s: float | None = Field(default=None, gt=0, description="time a token after the first, seconds")
    step_gap_s: float | None = Field(default=None, gt=0, description="longest pause between two steps, seconds")
    request_s: float | None = Field(default=None, gt=0, description="time of a whole request, seconds")
    task_s: float | None = Field(default=None, gt=0, description="time of a whole session, waits included, seconds")
    attainment: float = Field(default=0.95, gt=0, le=1, description="share of the attempts that must be good")

    @model_validator(mode="after")
    def _limits_something(self) -> "Slo":
        if not self.limits:
            raise ValueError(f"an objective has one limit at least: {', '.join(LIMITS)}")
        return self

    @property
    def limits(self) -> dict[str, float]:
        """The limits that are set, in seconds, by their fields' names."""
        found = {f"{name}_s": getattr(self, f"{name}_s") for name in LIMITS}
        return {name: value for name, value in found.items() if value is not None}


def parse_slo(text: str) -> Slo:
    """An objective from a text such as `ttft=2s,tpot=80ms,task=10m,attainment=95%`. Raises `ValueError`.

    `<` and `<=` may stand for `=`.
    """
    fields: dict[str, float] = {}
    for part in text.split(","):
        field, value = _read(part.strip())
        if field in fields:
            raise ValueError(f"{_shown(field)} is given twice")
        fields[field] = value
    try:
        return Slo(**fields)
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


def _read(part: str) -> tuple[str, float]:
    """The field of one part of the text, and its value."""
    name, *rest = _OPERATOR.split(part, maxsplit=1)
    known = name.lower().replace("-", "_").removesuffix("_s")
    if (quantile := _QUANTILE.fullmatch(known)) and quantile[1] in LIMITS:
        raise ValueError(
            f"{name}: a limit holds for each request, and attainment says for how many of them: "
            f"{_shown(quantile[1])}=TIME,attainment={quantile[2]}%"
        )
    if not rest or known not in (*LIMITS, _ATTAINMENT):
        raise ValueError(f"{part!r} is no limit; write {', '.join(f'{_shown(one)}=TIME' for one in LIMITS)}")
    if known == _ATTAINMENT:
        return known, parse_share(rest[0])
    return f"{known}_s", parse_duration_s(rest[0])


def _shown(field: str) -> str:
    """A field as the text writes it: `step-gap` for `step_gap_s`."""
    return field.removesuffix("_s").replace("_", "-")
