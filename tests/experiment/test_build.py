"""Experiments from keyword values, and what of them may be written down."""

import pytest

from loadgen.errors import ExperimentError
from loadgen.experiment.build import experiment, published

VARIANT = {
    "kind": "launch",
    "name": "off",
    "program": "llama-server",
    "args": ["-m", "m.gguf", "--api-key", "hush", "--hf-token=hush"],
    "env": {"LLAMA_API_KEY": "hush", "HF_TOKEN": "hush", "CUDA_VISIBLE_DEVICES": "0", "LLAMA_ARG_SPEC_TYPE": None},
}


def test_secrets_are_masked_and_nothing_else() -> None:
    """Keys in arguments, environment and request fields are hidden; what a reader needs stays."""
    asked = experiment(
        variants=[VARIANT], baseline="off", levels=[1], body={"api_key": "hush", "temperature": 0.5, "x": None}
    )
    shown = published(asked)
    assert "hush" not in str(shown)
    (variant,) = shown["variants"]
    assert variant["args"][:2] == ["-m", "m.gguf"]
    assert variant["env"]["CUDA_VISIBLE_DEVICES"] == "0"
    assert variant["env"]["LLAMA_ARG_SPEC_TYPE"] is None
    assert shown["body"] == {"api_key": "***", "temperature": 0.5, "x": None}
    assert asked.variants[0].model_dump()["args"][3] == "hush"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"baseline": "mtp"}, "the baseline 'mtp' is none of the variants off"),
        ({"levels": [0]}, "concurrency starts at 1"),
        ({"levels": [1, 1]}, "listed twice"),
        ({"rounds": 0}, "rounds: "),
        ({"variants": [VARIANT, VARIANT]}, "two variants share a name"),
        ({"variants": [{**VARIANT, "name": "../x"}]}, "name"),
        ({"nonsense": 1}, "nonsense"),
    ],
)
def test_what_is_wrong_is_said_in_words(changes: dict[str, object], message: str) -> None:
    """A wrong field is a usage error that names it."""
    with pytest.raises(ExperimentError, match=message):
        experiment(**{"variants": [VARIANT], "baseline": "off", "levels": [1], **changes})
