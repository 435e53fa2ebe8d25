"""Speculation that is loaded and never drafts: a real server does what the overhead variant says of it."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from loadgen.experiment.document import parse_experiment

if TYPE_CHECKING:
    from tests.servers.conftest import Served

TURNS = 120
"""Output tokens: enough for every type to draft, were it not for the argument."""


def overhead(model: Path, speculation: str) -> dict[str, Any]:
    """The overhead variant of a file."""
    text = (
        f"base: {{kind: embedded, args: [-m, {model}, -np, 1, -c, 1024]}}\n"
        f"variants: [{{name: off}}, {{name: x, args: '{speculation}', overhead: true}}]"
    )
    fields, _ = parse_experiment(text, name="f")
    variant: dict[str, Any] = fields["variants"][-1]
    assert variant["name"] == "x-overhead"
    return variant


def drafted(url: str) -> int | None:
    """Tokens drafted in an answer that repeats one word, as often as it is in the prompt."""
    word = httpx.post(f"{url}/tokenize", json={"content": " one"}).raise_for_status().json()["tokens"][-1]
    body = {
        "messages": [{"role": "user", "content": " one" * 60}],
        "max_tokens": TURNS,
        "temperature": 0,
        "ignore_eos": True,
        "logit_bias": [[word, 100]],
    }
    timings = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=60).raise_for_status().json()["timings"]
    assert timings["predicted_n"] == TURNS
    found: int | None = timings.get("draft_n")
    return found


@pytest.mark.live
@pytest.mark.parametrize(
    "kind", ["draft-mtp", "draft-simple", "ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod"]
)
def test_speculation_is_loaded_and_drafts_nothing(kind: str, serve: "Callable[..., Served]", tiny_model: Path) -> None:
    """/slots says speculative, and an answer on which the type itself drafts has no draft."""
    speculation = f"--spec-type {kind}" + (f" -md {tiny_model}" if kind == "draft-simple" else "")
    variant = overhead(tiny_model, speculation)
    idle = serve(*variant["args"], "--poll", "0")
    assert [slot["speculative"] for slot in httpx.get(f"{idle.url}/slots").json()] == [True]
    assert drafted(idle.url) is None
    on = serve("-m", str(tiny_model), "-np", "1", "-c", "1024", "--poll", "0", *speculation.split())
    assert (drafted(on.url) or 0) > 0


@pytest.mark.live
@pytest.mark.parametrize(("length", "starts"), [("4", True), ("4.1", False)])
def test_the_server_takes_the_acceptance_lengths_that_a_file_may_have(
    length: str, starts: bool, serve: "Callable[..., Served]", tiny_model: Path
) -> None:
    """Up to the longest draft + 1; beyond it exits, which is why the file's reader refuses."""
    args = ("-m", str(tiny_model), "-np", "1", "-c", "256", "--spec-type", "draft-mtp", "--spec-synth-len", length)
    if starts:
        assert httpx.get(f"{serve(*args).url}/slots").json()[0]["speculative"] is True
    else:
        with pytest.raises(AssertionError, match="within \\[1, 4\\]"):
            serve(*args)
