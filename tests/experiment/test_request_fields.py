"""What an experiment adds to every request."""

from typing import Any

import pytest

from loadgen.experiment.build import experiment
from loadgen.experiment.request_fields import request_fields, sampling_of

VARIANTS = ({"kind": "url", "name": "off", "url": "http://127.0.0.1:1"},)


@pytest.mark.parametrize(
    ("thinking", "body", "fields"),
    [
        ("server", {}, {}),
        ("server", {"temperature": 0}, {"temperature": 0}),
        ("on", {}, {"chat_template_kwargs": {"enable_thinking": True}}),
        ("off", {"seed": 1}, {"seed": 1, "chat_template_kwargs": {"enable_thinking": False}}),
        ("on", {"chat_template_kwargs": {"x": 1}}, {"chat_template_kwargs": {"enable_thinking": True, "x": 1}}),
        (
            "on",
            {"chat_template_kwargs": {"enable_thinking": False}},
            {"chat_template_kwargs": {"enable_thinking": False}},
        ),
        ("on", {"chat_template_kwargs": None}, {"chat_template_kwargs": None}),
    ],
)
def test_thinking_is_a_field_that_the_body_goes_over(
    thinking: str, body: dict[str, Any], fields: dict[str, Any]
) -> None:
    """Nothing is sent unless asked; what the user writes wins."""
    asked = experiment(variants=VARIANTS, baseline="off", levels=(1,), thinking=thinking, body=body)
    assert request_fields(asked) == fields


def test_sampling_fields_are_those_that_choose_tokens() -> None:
    """And no others."""
    body = {"temperature": 0.1, "top_p": 0.9, "cache_prompt": False, "chat_template_kwargs": {}}
    assert sampling_of(body) == {"temperature": 0.1, "top_p": 0.9}
