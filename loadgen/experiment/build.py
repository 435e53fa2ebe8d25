"""Builds an experiment from keyword values, with errors in the words of the user."""

from typing import Any

from pydantic import ValidationError

from loadgen.errors import ExperimentError
from loadgen.experiment.model import Experiment


def experiment(**fields: Any) -> Experiment:
    """An `Experiment` of `fields`. Raises `ExperimentError` naming the field and what is wrong with it."""
    try:
        return Experiment(**fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        what = first["msg"].removeprefix("Value error, ")
        raise ExperimentError(f"{where}: {what}" if where else what) from None
