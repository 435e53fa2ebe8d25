"""Builds an experiment from keyword values, with errors in the words of the user."""

import re
from typing import Any

from pydantic import ValidationError

from loadgen.errors import ExperimentError
from loadgen.experiment.llama_flags import MASK, masked
from loadgen.experiment.memory_source import without_secrets
from loadgen.experiment.model import Experiment
from loadgen.experiment.wording import worded

SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|AUTH", re.IGNORECASE)
"""Environment variables and request fields whose names hold such a word are taken to hold a secret."""


def experiment(**fields: Any) -> Experiment:
    """An `Experiment` of `fields`. Raises `ExperimentError` naming the field and what is wrong with it.

    The number of agents that the verdict is for is measured too, whether the levels name it or not.
    """
    agents, levels = fields.get("agents"), fields.get("levels")
    if isinstance(agents, int) and levels and agents not in levels:
        fields = {**fields, "levels": tuple(sorted((*levels, agents)))}
    try:
        return Experiment(**fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        what = worded(first)
        raise ExperimentError(f"{where}: {what}" if where else what) from None


def published(asked: Experiment) -> dict[str, Any]:
    """The experiment as JSON values with every secret masked: what may be written to a run folder or a terminal.

    Keys hide in the arguments of commands, in their environment, and in extra request fields.
    """
    fields = asked.model_dump(mode="json")
    for variant in fields["variants"]:
        for words in ("args", "command"):
            if words in variant:
                variant[words] = list(masked(variant[words]))
        for named in ("env", "body"):
            if named in variant:
                variant[named] = _without_secrets(variant[named])
    fields["body"] = _without_secrets(fields["body"])
    if asked.memory_source is not None:
        fields["memory_source"] = without_secrets(asked.memory_source)
    return fields


def _without_secrets(values: dict[str, Any]) -> dict[str, Any]:
    return {name: MASK if SECRET_NAME.search(name) and value is not None else value for name, value in values.items()}
