"""How variants are brought up in turn."""

from typing import Any

import pytest

from loadgen.experiment.arrangement import alternates, needs_fresh_server, stays_open
from loadgen.experiment.model import Experiment

URL = "http://127.0.0.1:1"
LAUNCH: dict[str, Any] = {"kind": "launch", "program": "llama-server"}
KINDS: dict[str, dict[str, Any]] = {
    "url": {"kind": "url", "url": URL},
    "launch": LAUNCH,
    "embedded": {"kind": "embedded"},
    "router": {"kind": "router", "url": URL, "preset": "p"},
    "model": {"kind": "model", "url": URL, "model": "m"},
    "switch": {"kind": "switch", "url": URL, "command": ["true"]},
    "request": {"kind": "request", "url": URL, "body": {"speculative.n_max": 0}, "speculative": False},
}


def experiment(*variants: dict[str, Any], **changes: Any) -> Experiment:
    """An experiment of these variants."""
    named = [{"name": f"v{number}", **variant} for number, variant in enumerate(variants)]
    return Experiment.model_validate({"variants": named, "baseline": "v0", "levels": (1,), **changes})


@pytest.mark.parametrize(
    ("kind", "alternating"),
    [("url", True), ("launch", False), ("embedded", False), ("router", True), ("model", True), ("switch", True),
     ("request", True)],
)  # fmt: skip
def test_only_launched_servers_run_in_blocks(kind: str, alternating: bool) -> None:
    """Whatever runs already, or is switched through an API, alternates at every level."""
    assert alternates(experiment(KINDS[kind])) is alternating


def test_launched_servers_alternate_when_asked_to() -> None:
    """A restart per level, or servers that stay up side by side, put the trials of a pair next to each other."""
    assert alternates(experiment(LAUNCH, restart_per_level=True))
    assert alternates(experiment(LAUNCH, coresident=True))


@pytest.mark.parametrize(
    ("args", "env", "fresh"),
    [
        (["--spec-type", "ngram-mod"], {}, True),
        (["--spec-default"], {}, True),
        (["--spec-type", "draft-mtp,ngram-cache"], {}, True),
        ([], {"LLAMA_ARG_SPEC_TYPE": "ngram-mod"}, True),
        (["--spec-type", "ngram-simple"], {}, False),
        (["--spec-type", "draft-mtp"], {}, False),
        ([], {}, False),
    ],
)
def test_draft_state_that_outlives_requests_needs_fresh_servers(
    args: list[str], env: dict[str, str], fresh: bool
) -> None:
    """ngram-mod and ngram-cache learn from one trial for the next."""
    assert needs_fresh_server(experiment({**LAUNCH, "args": args, "env": env}).variants[0]) is fresh


def test_what_the_user_says_about_fresh_servers_counts() -> None:
    """`fresh` overrides what the type of speculation suggests."""
    assert not needs_fresh_server(
        experiment({**LAUNCH, "args": ["--spec-type", "ngram-mod"], "fresh": False}).variants[0]
    )
    assert needs_fresh_server(experiment({**LAUNCH, "fresh": True}).variants[0])


@pytest.mark.parametrize(
    ("kind", "kept"), [("url", True), ("request", True), ("router", False), ("model", False), ("switch", False)]
)
def test_only_servers_that_run_anyway_stay_open(kind: str, kept: bool) -> None:
    """A preset, a model or a switched server must be brought up again after another variant has run."""
    asked = experiment(KINDS[kind])
    assert stays_open(asked.variants[0], asked) is kept


def test_two_launched_servers_are_up_at_once_only_when_asked() -> None:
    """Two servers on one device take memory and compute from each other."""
    assert not stays_open(experiment(LAUNCH).variants[0], experiment(LAUNCH))
    asked = experiment(LAUNCH, coresident=True)
    assert stays_open(asked.variants[0], asked)
