"""What prompts are made of, and what requests ask for."""

from typing import Any

import pytest

from loadgen.report.text_lines import asked_text, made_text


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({"sized": None}, None),
        ({"sized": "words"}, None),
        ({"sized": "ratio", "chars_per_token": 3.14159}, "sized by 3.14 characters a token"),
        (
            {"sized": "ratio", "depth_error": 0.0},
            "sized by characters a token (assumed); the deepest prompts are as deep as planned",
        ),
        (
            {"sized": "tokenizer", "chars_per_token": 3.2, "corpus": "me", "depth_error": 0.0123, "reasoning": False},
            (
                "of the files in me; sized by the server's tokenizer; the deepest prompts are within 1.23 % of what "
                "was planned; recorded reasoning is left out, as the chat template does"
            ),
        ),
    ],
)
def test_it_is_said_what_text_is_made_of(facts: dict[str, Any], text: str | None) -> None:
    """Which files, and by whose count it is as long as it is."""
    unsaid = dict.fromkeys(("chars_per_token", "corpus", "depth_error", "reasoning"))
    assert made_text({**unsaid, **facts}) == text


@pytest.mark.parametrize(
    ("sampling", "thinking", "text"),
    [
        ({}, "server", None),
        ({"temperature": 0}, "server", "every request asks for temperature 0"),
        ({"top_k": 1}, "off", "every request asks for top_k 1, thinking off"),
    ],
)
def test_it_is_said_what_requests_ask_for(sampling: dict[str, Any], thinking: str, text: str | None) -> None:
    """Nothing, unless the user asked."""
    assert asked_text({"sampling": sampling, "thinking": thinking}) == text
