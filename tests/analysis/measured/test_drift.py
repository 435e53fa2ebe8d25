"""Rules of drift: the first trial, repeated at the end, against itself."""

import math
from typing import Any

import msgspec
import pytest

from loadgen.analysis.summary import summarise
from loadgen.records.run import Run

_TASKS = {("off", 2): [10.0, 11.0, 12.0], ("mtp", 2): [20.0, 22.0, 24.0]}
_S = math.sqrt(sum((math.log(x) - math.log(10 * 11 * 12) / 3) ** 2 for x in (10, 11, 12)) / 2)
"""Standard deviation of ln X of `off`: 0.0912."""


def test_the_ratio_is_held_against_three_times_the_spread_of_a_difference(make: Any) -> None:
    """3·√2·s: 0.3869 in the logarithm, 1.47 as a ratio. 8 of 10 lies inside, and nothing is warned of."""
    found = summarise(make.run(_TASKS, repeated=8.0))
    drift = found["drift"]
    assert (drift["variant"], drift["concurrency"], drift["exceeds"]) == ("off", 2, False)
    assert drift["ratio"] == pytest.approx(0.8)
    assert drift["limit"] == pytest.approx(math.exp(3 * math.sqrt(2) * _S))
    assert drift["limit"] == pytest.approx(1.4724, abs=5e-5)
    assert found["warnings"] == []


@pytest.mark.parametrize(("rate", "ratio"), [(6.0, "0.60"), (16.0, "1.60")])
def test_drift_beyond_the_noise_is_warned_of_in_either_direction(make: Any, rate: float, ratio: str) -> None:
    """The warning says what it means for the comparison."""
    found = summarise(make.run(_TASKS, repeated=rate))
    assert found["drift"]["exceeds"] is True
    (warning,) = found["warnings"]
    assert (warning["kind"], warning["variant"], warning["concurrency"]) == ("drift", "off", 2)
    assert warning["text"] == (
        f"off at 2: the first trial, repeated at the end, did {ratio} times its tasks per hour, and noise explains "
        "0.68 to 1.47: the machine changed meanwhile (heat, clocks, other load). Comparisons are paired by round, so "
        "drift widens their intervals and seldom favours one side."
    )


def test_the_repetition_is_no_part_of_its_cell(make: Any) -> None:
    """Rates, counts and comparisons are those of a run without it."""
    plain, repeated = summarise(make.run(_TASKS)), summarise(make.run(_TASKS, repeated=6.0))
    for part in ("cells", "comparisons", "noise", "client", "crossovers"):
        assert repeated[part] == plain[part]
    assert plain["drift"] is None


def test_drift_is_null_where_it_can_not_be_told(make: Any) -> None:
    """Fewer than 3 rounds, an invalid repetition (which is listed) or an invalid first trial."""
    assert summarise(make.run({("off", 1): [10.0, 11.0]}, repeated=6.0))["drift"] is None

    def broken(name: str) -> Any:
        run = make.run(_TASKS, repeated=6.0)
        trials = [msgspec.structs.replace(one, complete=one.trial != name) for one in run.trials]
        return summarise(Run(manifest=run.manifest, trials=trials, requests=run.requests))

    for name in ("drift-n2-off", "r1-n2-off"):
        found = broken(name)
        assert found["drift"] is None
        assert [entry["trial"] for entry in found["invalid"]] == [name]
        assert [warning["kind"] for warning in found["warnings"]] == []
