"""Rules of which variants differ in nothing but set acceptance."""

from typing import Any

import msgspec
import pytest

from loadgen.analysis.speed.set_acceptance import settings

_MTP = ["-m", "m.gguf", "-np", "8", "--spec-type", "draft-mtp", "--spec-draft-n-max", "3"]


def _variant(name: str, *args: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "embedded", "program": "embedded", "name": name, "args": [*_MTP, *args], "env": {}, **fields}


def test_set_acceptance_is_no_part_of_the_settings() -> None:
    """By argument, by variable, or the model's own: one key, and drafts of 3 give 4 tokens at most."""
    found = settings(
        [
            _variant("mtp", speculative=True),
            _variant("mtp-L2.5", "--spec-synth-len", "2.5"),
            _variant("mtp-L3.5", "--spec-synth-len=3.5"),
            _variant("rates", "--spec-synth-rates", "0.9,0.8,0.7"),
            _variant("env", env={"LLAMA_ARG_SPEC_SYNTH_LEN": "2"}),
        ]
    )
    assert len({one.key for one in found.values()}) == 1
    assert {one.most_tokens for one in found.values()} == {4}


@pytest.mark.parametrize(
    "other",
    [
        _variant("b", "--spec-draft-n-max", "5"),
        _variant("b", "-np", "4"),
        _variant("b", env={"LLAMA_ARG_THREADS": "2"}),
        _variant("b", cpus="0-3"),
        {**_variant("b"), "program": "llama-server"},
    ],
)
def test_anything_else_is(other: dict[str, Any]) -> None:
    """Another draft length, slots, variable, CPUs or program are other settings."""
    found = settings([_variant("a"), other])
    assert found["a"].key != found["b"].key


def test_names_of_arguments_do_not_matter() -> None:
    """`--parallel` is `-np`."""
    args = [word if word != "-np" else "--parallel" for word in _MTP]
    found = settings([_variant("a"), {**_variant("b"), "args": args}])
    assert found["a"].key == found["b"].key


def test_a_server_that_ran_already_shows_its_command(make: Any) -> None:
    """What a router starts differs by its port alone; a variant without either has no settings."""
    starts = [
        msgspec.structs.replace(make.start(name), command=["llama-server", *_MTP, "--port", port, *more])
        for name, port, more in (("a", "9001", ["--spec-synth-len", "2"]), ("b", "9002", ["--spec-synth-len", "3"]))
    ]
    found = settings([{"kind": "url", "name": name, "url": "http://x"} for name in "abc"], starts)
    assert set(found) == {"a", "b"}
    assert found["a"] == found["b"]


def test_without_speculation_no_length_is_the_longest() -> None:
    """A step of a variant without drafts has no bound to tell."""
    assert settings([{"name": "off", "args": ["-m", "m.gguf"], "env": {}}])["off"].most_tokens is None
