"""`--depth` and `--output-length` on the command line, in files, in dry runs and on the way to an exit code."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from loadgen.analysis.summary import summarise
from loadgen.cli.execute import unanswered
from tests.analysis.conftest import Maker
from tests.analysis.deep import deep_run, with_prompts
from tests.cli.test_experiment_file import invoked, planned

SERVERS = ("sweep", "--variant", "off=http://a:1", "--variant", "mtp=http://b:1")
make = Maker()


def test_depths_and_lengths_reach_the_experiment(tmp_path: Path) -> None:
    """The option goes before its variable, that before the file; without any there are none."""
    path = tmp_path / "night.yaml"
    path.write_text("depths: 8k\nvariants: [{name: off, url: 'http://a:1'}, {name: mtp, url: 'http://b:1'}]")
    assert planned(*SERVERS)["depths"] == []
    assert planned(*SERVERS)["output_length"] is None
    assert planned(*SERVERS, "--depth", "2k,16k", "--output-length", "exact")["depths"] == [2048, 16384]
    assert planned("sweep", str(path))["depths"] == [8192]
    assert planned("sweep", str(path), LOADGEN_DEPTH="4k")["depths"] == [4096]
    assert planned("sweep", str(path), "--depth", "2k", LOADGEN_DEPTH="4k")["depths"] == [2048]
    assert planned(*SERVERS, LOADGEN_OUTPUT_LENGTH="natural")["output_length"] == "natural"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--depth", "deep"), "--depth deep: 'deep' is no number of tokens; write a list such as 2k,16k,48k"),
        (("--depth", "0"), "--depth 0: 0 is no depth"),
        (("--output-length", "long"), "long"),
    ],
)
def test_wrong_values_are_usage_errors(given: tuple[str, ...], message: str) -> None:
    """Exit 2, with the option and what is wrong."""
    result = invoked(*SERVERS, *given)
    assert result.code == 2
    assert message in result.err


def test_a_race_of_settings_has_one_depth() -> None:
    """`--tune` at two depths is refused, at one it is planned."""
    tune = ("ab", "--tune", "--agents", "2", "--depth")
    command = ("--", "llama-server", "-m", "x", "--spec-type", "draft-mtp")
    refused = invoked(*tune, "2k,4k", *command)
    assert refused.code == 2
    assert "settings are raced at one depth, and there are 2: name one" in refused.err


def test_a_dry_run_counts_the_depths() -> None:
    """Trials a round, minimal time, and the order of levels and depths."""
    shown = invoked(
        *SERVERS, "-c", "1,2", "--depth", "2k,16k", "--rounds", "3", "--output-length", "exact", "--dry-run"
    ).out
    assert "depth: 2,048, 16,384 tokens (± 20%), each at every concurrency" in shown
    assert "output length: exact" in shown
    assert "rounds: 3; 8 trials a round, 24 in all" in shown
    first = [line for line in shown.splitlines() if line.startswith("  round 1: off at ")]
    assert sorted(line.removeprefix("  round 1: off at ") for line in first) == [
        "1, 16,384 tokens deep",
        "1, 2,048 tokens deep",
        "2, 16,384 tokens deep",
        "2, 2,048 tokens deep",
    ]


def test_what_cannot_be_compared_is_unanswered() -> None:
    """As a comparison without a valid pair is: exit 4, at the depth that it is of."""
    tasks: dict[tuple[str, int], Sequence[float]] = {("off", 1): [10.0] * 3, ("mtp", 1): [20.0] * 3}
    assert unanswered(summarise(make.run(tasks))) == []
    assert unanswered(summarise(with_prompts(make.run(tasks), {"mtp": 80}))) == ["mtp against off at 1"]
    deep = deep_run(make, {2048: tasks, 16384: tasks})
    requests = [
        msgspec.structs.replace(one, prompt_tokens=9000) if (one.variant, one.prompt_tokens) == ("mtp", 16384) else one
        for one in deep.requests
    ]
    found = unanswered(summarise(type(deep)(**{**vars(deep), "requests": requests})))
    assert found == ["mtp against off at 1, 16,384 tokens deep"]
