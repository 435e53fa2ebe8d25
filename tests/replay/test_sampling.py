"""Comparisons of variants whose requests ask for other sampling."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from loadgen.errors import VariantError
from loadgen.experiment.model import Experiment
from loadgen.records.model import RequestRecord, TokenEvent
from loadgen.records.run_folder import RunWriter
from loadgen.replay.inspection import Inspection
from loadgen.replay.lineup import Lineup
from tests.servers.standins.llama import FakeLlama


class Silent:
    """An observer that says nothing."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_args: None


def experiment(url: str, bodies: dict[str, dict[str, Any]], **fields: Any) -> Experiment:
    """A variant for each body, which says `speculate` besides."""
    variants = [
        {"kind": "request", "name": name, "url": url, "speculative": name != "off",
         "body": {"speculate": name != "off", **body}}
        for name, body in bodies.items()
    ]  # fmt: skip
    return Experiment.model_validate(
        {
            "variants": variants,
            "baseline": "off",
            "levels": (1,),
            "workload": "demo",
            "check_output": "off",
            **fields,
        }
    )


async def look(folder: Path, asked: Experiment) -> None:
    """Look at both variants, as a run does before it measures."""
    writer, observer = RunWriter(folder), Silent()

    def sink(record: RequestRecord, events: list[TokenEvent]) -> None:
        writer.request(record, events)

    lineup = Lineup(asked, writer, observer, asyncio.Event())
    inspection = Inspection(asked, writer, observer, judge=None, earlier=None, random_weights=True)
    try:
        for name in ("off", "on"):
            target = await lineup.open(name, round_=0)
            inspection.unchanged(target)
            assert await inspection.look(target, sink) is None
    finally:
        await lineup.close()
        writer.close()


def server() -> FakeLlama:
    """Drafts where a request says so; tells its own temperature."""
    llama = FakeLlama(drafts=lambda body: 4 if body.get("speculate") else 0)
    llama.answers["/props"]["default_generation_settings"]["params"] = {"temperature": 0.8}
    return llama


@pytest.mark.parametrize(
    ("off", "on", "words"),
    [
        ({}, {"temperature": 0.1}, r"sampling \(temperature 0.8 and temperature 0.1\)"),
        ({}, {"top_k": 4}, r"sampling \(top_k the server's own and top_k 4\)"),
    ],
)
async def test_variants_with_other_sampling_are_not_compared(
    tmp_path: Path, off: dict[str, Any], on: dict[str, Any], words: str
) -> None:
    """Fields of a variant's requests go over the server's defaults; a difference stops the run."""
    with server() as llama, pytest.raises(VariantError, match=f"off and on differ in {words}"):
        await look(tmp_path / "run", experiment(llama.address, {"off": off, "on": on}))


@pytest.mark.parametrize(
    ("bodies", "fields"),
    [
        ({"off": {}, "on": {"temperature": 0.8}}, {}),
        ({"off": {"top_k": 4}, "on": {"top_k": 4}}, {}),
        ({"off": {}, "on": {"temperature": 0.1}}, {"body": {"temperature": 0.1}}),
        ({"off": {}, "on": {"temperature": 0.1}}, {"allow_different": ("sampling",)}),
    ],
)
async def test_variants_with_the_same_sampling_are(
    tmp_path: Path, bodies: dict[str, dict[str, Any]], fields: dict[str, Any]
) -> None:
    """The server's own value named, both alike, what all requests have anyway, or allowed."""
    with server() as llama:
        await look(tmp_path / "run", experiment(llama.address, bodies, **fields))
