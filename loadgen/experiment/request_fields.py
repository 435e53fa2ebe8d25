"""The fields that an experiment adds to every request."""

from collections.abc import Mapping
from typing import Any

from loadgen.experiment.model import Experiment

__all__ = ["SAMPLING_FIELDS", "request_fields", "sampling_of"]

_KWARGS = "chat_template_kwargs"
"""llama-server's (and vLLM's) field for what a chat template may be told."""

SAMPLING_FIELDS = frozenset(
    {
        *("temperature", "dynatemp_range", "dynatemp_exponent", "top_k", "top_p", "min_p", "typical_p", "top_n_sigma"),
        *("xtc_probability", "xtc_threshold", "repeat_last_n", "repeat_penalty", "presence_penalty"),
        *("frequency_penalty", "dry_multiplier", "dry_base", "dry_allowed_length", "dry_penalty_last_n"),
        *("dry_sequence_breakers", "mirostat", "mirostat_tau", "mirostat_eta", "seed", "samplers", "logit_bias"),
        *("grammar", "json_schema", "response_format", "min_keep"),
    }
)
"""Fields of a request that say how tokens are chosen, as llama-server's documentation names them."""


def request_fields(experiment: Experiment) -> dict[str, Any]:
    """What `thinking` and `body` put into every request. What the user writes in `body` goes before `thinking`."""
    body = dict(experiment.body)
    if experiment.thinking == "server":
        return body
    told = {"enable_thinking": experiment.thinking == "on"}
    kwargs = body.get(_KWARGS, {})
    if isinstance(kwargs, Mapping):
        body[_KWARGS] = {**told, **kwargs}
    return body


def sampling_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a request that say how tokens are chosen."""
    return {name: value for name, value in body.items() if name in SAMPLING_FIELDS}
