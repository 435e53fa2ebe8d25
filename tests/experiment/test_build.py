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


def test_secrets_of_switch_commands_and_request_variants_are_masked() -> None:
    """A switching command and a variant's own request fields may hold keys as well."""
    switch = {
        "kind": "switch",
        "name": "on",
        "url": "http://h",
        "command": ["up", "--api-key", "hush"],
        "env": {"TOKEN": "hush"},
    }
    request = {
        "kind": "request",
        "name": "off",
        "url": "http://h",
        "body": {"auth": "hush", "n": 0},
        "speculative": False,
    }
    shown = published(experiment(variants=[switch, request], baseline="off", levels=[1]))
    assert "hush" not in str(shown)
    assert shown["variants"][0]["command"] == ["up", "--api-key", "***"]
    assert shown["variants"][1]["body"] == {"auth": "***", "n": 0}


EMBEDDED = {"kind": "embedded", "args": ["-m", "a"]}
URL = {"kind": "url", "url": "http://h"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (EMBEDDED, {"kind": "launch", "program": "embedded", "args": ["-m", "a"]}),
        (URL, {**URL, "speculative": True}),
        (VARIANT, {**VARIANT, "overhead": True}),
    ],
)
def test_a_variant_that_equals_the_baseline_must_be_meant(one: dict[str, object], other: dict[str, object]) -> None:
    """Only its name and what is expected of it differ: a comparison of nothing, unless it is an A/A one."""
    variants = [{**one, "name": "a"}, {**other, "name": "b"}]
    with pytest.raises(ExperimentError, match="b is the same as the baseline a under another name"):
        experiment(variants=variants, baseline="a", levels=[1])
    assert experiment(variants=variants, baseline="a", levels=[1], aa=True).aa


@pytest.mark.parametrize(
    "change",
    [{"args": ["-m", "b"]}, {"env": {"A": "1"}}, {"cwd": "/x"}, {"fresh": True}, {"kind": "launch", "program": "x"}],
)
def test_any_difference_is_something_to_compare(change: dict[str, object]) -> None:
    """And what differs is no A/A comparison; nor is a single variant."""
    variants = [{**EMBEDDED, "name": "a"}, {**EMBEDDED, **change, "name": "b"}]
    assert len(experiment(variants=variants, baseline="a", levels=[1]).variants) == 2
    for given in (variants, variants[:1]):
        with pytest.raises(ExperimentError, match="an A/A comparison has a variant twice, and no other one"):
            experiment(variants=given, baseline="a", levels=[1], aa=True)


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
        ({"body": {"stream": False}}, "body: stream would break the measurement"),
        ({"levels": []}, "levels: one at least is needed"),
        ({"check_output": "maybe"}, "check_output: 'maybe' is none of on, off, full"),
    ],
)
def test_what_is_wrong_is_said_in_words(changes: dict[str, object], message: str) -> None:
    """A wrong field is a usage error that names it."""
    with pytest.raises(ExperimentError, match=message):
        experiment(**{"variants": [VARIANT], "baseline": "off", "levels": [1], **changes})
