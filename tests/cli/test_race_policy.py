"""What a tuning run measures on after each look at its race."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadgen.cell_key import CellKey
from loadgen.cli.race_policy import RacePolicy
from loadgen.experiment.build import experiment, published
from loadgen.experiment.model import Experiment
from loadgen.experiment.tuning import Candidate, Tuning
from loadgen.records.manifest import Plan
from loadgen.records.run_folder import RunWriter
from tests.analysis.conftest import Maker

NAMES = ("off", "a", "b")
CLOSE = [20.0, 21.0, 19.0, 20.5, 19.5]


def asked() -> Experiment:
    """A race of two draft lengths and `off` at 3 agents."""
    return experiment(
        variants=[{"kind": "launch", "name": name, "program": "llama-server", "args": ("-a", name)} for name in NAMES],
        baseline="off",
        levels=(3,),
        agents=3,
        tune=Tuning(
            candidates=tuple(
                Candidate(variant=name, n_max=number, slots=4, command=f"llama-server -a {name}")
                for number, name in enumerate(NAMES)
            )
        ),
    )


def policy(folder: Path, rounds: int = 10, **tasks: Sequence[float]) -> RacePolicy:
    """The policy of a run of so many planned rounds in which each variant did so many tasks per hour so far."""
    run = Maker().run({(name, 3): rates for name, rates in tasks.items()})
    writer = RunWriter(folder / "run")
    writer.manifest(msgspec.structs.replace(run.manifest, experiment=published(asked())))
    writer.plan(Plan(rounds=rounds, trials=[], dropped_levels=[], estimated_s=1, turn_s={}, drawn_rounds=10))
    for trial in run.trials:
        writer.trial(trial)
    for request in run.requests:
        writer.request(request, [])
    writer.close()
    return RacePolicy(asked(), folder / "run")


def test_the_looks_are_those_of_the_race(tmp_path: Path) -> None:
    """A single round has none: there is nothing to decide for."""
    looks = RacePolicy(asked(), tmp_path).looks
    assert (looks(10), looks(2), looks(1)) == ((3, 5), (1,), ())


@pytest.mark.parametrize(
    ("tasks", "round_", "open_", "note"),
    [
        (
            {"off": [10.0] * 3, "a": [20.0] * 3, "b": [15.0] * 3},
            3,
            {"a"},
            "race over after round 3: dropped: b (0.75 times a); a meets off in fresh rounds",
        ),
        (
            {"off": [10.0] * 3, "a": [20.0] * 3, "b": CLOSE[:3]},
            3,
            {"a", "b"},
            "race after round 3: a leads, 2 go on beside off",
        ),
        (
            {"off": [10.0] * 5, "a": [20.1] * 5, "b": CLOSE},
            5,
            {"a"},
            "race over after round 5: a meets off in fresh rounds",
        ),
        (
            {"off": [10.0] * 5, "a": [20.0] * 5, "b": [15.0] * 3},
            5,
            {"a"},
            "the race is over: a goes on beside off",
        ),
        (
            {"off": [10.0] * 3, "a": [9.0] * 3, "b": [8.0] * 3},
            3,
            {"a"},
            "race over after round 3: dropped: a (0.90 times off), b (0.80 times off); a meets off in fresh rounds",
        ),
        ({"off": [10.0] * 3}, 3, set(), "race after round 3: nothing is left to compare with off"),
    ],
)
def test_every_look_has_its_answer(
    tmp_path: Path, tasks: dict[str, Any], round_: int, open_: set[str], note: str
) -> None:
    """All but those behind, or, once the race is over, who is confirmed; the baseline is measured with it anyway."""
    look = policy(tmp_path, **tasks).after(round_)
    assert look.open == frozenset(CellKey(name, 3) for name in open_)
    assert look.note == note


def test_more_rounds_leave_the_race_as_it_was(tmp_path: Path) -> None:
    """Looks follow from the rounds of the first plan."""
    look = policy(tmp_path, rounds=30, off=[10.0] * 5, a=[20.1] * 5, b=CLOSE).after(5)
    assert look.open == frozenset({CellKey("a", 3)})


def test_the_facts_of_a_race_come_back_from_the_manifest() -> None:
    """A run can be taken up again as it was recorded."""
    assert experiment(**published(asked())) == asked()
