"""Rules of energy: power over the measured time, per task and token, with idle power apart."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from loadgen.analysis.memory.energy import energy, mean_watts
from loadgen.analysis.memory.entries import memories
from loadgen.analysis.memory.series import Point
from loadgen.records.model import Sample


def _watts(at: float, value: float | None, *, device: str = "GPU-a", trial: str | None = "t1") -> Sample:
    return Sample(
        run="run", trial=trial, variant="off", at_ns=round(at * 1e9), source="nvml", name="power_watts", value=value,
        device=device,
    )  # fmt: skip


def _trials(make: Any, count: int = 3) -> list[Any]:
    """Trials of two agents, one after the other: each does 2 tasks of 10 tokens in 10 s."""
    return [
        make.trial(
            [
                make.request(start=20.0 * number, last=20.0 * number + 10, agent=agent, session=f"s{agent}")
                for agent in (0, 1)
            ],
            segments=[(20.0 * number, 20.0 * number + 10)] * 2,
            trial=f"t{number}",
            round=number + 1,
            measured_ns=round(20e9 * number),
        )
        for number in range(count)
    ]


def test_joules_per_task_are_power_over_task_rate(make: Any) -> None:
    """300 W for 10 s are 3000 J for 2 tasks and 20 tokens; above the idle 100 W it is two thirds of that."""
    samples = [_watts(-5, 100, trial=None)]
    samples += [_watts(at, 200, device="GPU-a") for at in range(60)] + [
        _watts(at, 100, device="GPU-b") for at in range(60)
    ]
    samples.append(_watts(-5, 0, device="GPU-b", trial=None))
    found = energy({2: _trials(make)}, samples, loads_ns=[-1])
    assert found is not None
    level = found["by_concurrency"][0]
    assert (found["source"], found["idle_watts"], level["concurrency"], level["watts"]) == ("nvml", 100.0, 2, 300.0)
    assert level["joules_per_task"] == {"value": 1500.0, "low": 1500.0, "high": 1500.0, "n": 3}
    assert level["joules_per_output_token"]["value"] == 150.0
    assert level["joules_per_task_above_idle"]["value"] == 1000.0
    assert level["joules_per_output_token_above_idle"]["value"] == 100.0


def test_without_power_there_is_no_energy(make: Any) -> None:
    """Null: never 0 J."""
    assert energy({2: _trials(make)}, [], loads_ns=[0]) is None
    assert energy({2: _trials(make)}, [_watts(1, None)], loads_ns=[0]) is None


def test_idle_power_is_null_where_nobody_looked_before_a_load(make: Any) -> None:
    """Readings of trials are no idle readings, even right before a load."""
    samples = [_watts(at, 300) for at in range(60)]
    found = energy({2: _trials(make)}, samples, loads_ns=[0, round(50.5e9)])
    assert found is not None
    assert (found["idle_watts"], found["by_concurrency"][0]["joules_per_task_above_idle"]) == (None, None)
    assert found["by_concurrency"][0]["joules_per_task"]["value"] == 1500.0


def test_a_trial_with_gaps_in_its_power_does_not_count(make: Any) -> None:
    """Two of three trials were watched: too few for an interval, enough for a value; none: null."""
    samples = [_watts(at, 300) for at in range(40)]
    found = energy({2: _trials(make)}, samples, loads_ns=[])
    assert found is not None
    assert found["by_concurrency"][0]["joules_per_task"] == {
        "value": 1500.0, "low": None, "high": None, "n": 2, "estimable": False,
    }  # fmt: skip
    nothing = energy({2: _trials(make)}, [_watts(3, 300)], loads_ns=[])
    assert nothing is not None
    assert (nothing["by_concurrency"][0]["watts"], nothing["by_concurrency"][0]["joules_per_task"]) == (None, None)


@pytest.mark.parametrize(
    ("times", "expected"), [((0, 4, 10), 260.0), ((0, 7.9), None), ((0,), None), ((), None), ((1, 9), 200.0)]
)
def test_mean_power_is_weighted_by_time(times: tuple[float, ...], expected: float | None) -> None:
    """100 W at first, then 300: trapezoids; 80 % of the time must be covered."""
    points = [Point(round(at * 1e9), 100.0 if at <= 1 else 300.0, "t") for at in times]
    found = mean_watts(points, 0, round(10e9))
    assert found == (None if expected is None else pytest.approx(expected))


def test_energy_of_a_mix_is_over_the_tasks_of_all_classes(make: Any) -> None:
    """300 W over 180 tasks an hour of one class and 360 of the other: 0.15 a second, so 2000 J each."""
    trials = [
        make.trial(
            [
                make.request(start=begin, last=begin + seconds, agent=agent, session=f"s{agent}", work_class=name)
                for agent, (name, seconds) in enumerate((("chat", 20.0), ("batch", 10.0)))
            ],
            segments=[(begin, begin + 20.0), (begin, begin + 10.0)],
            trial=f"t{number}",
            round=number + 1,
            measured_ns=round(begin * 1e9),
        )
        for number, begin in enumerate((0.0, 30.0, 60.0))
    ]
    for trial in trials:
        for segment, name in zip(trial.record.segments, ("chat", "batch"), strict=True):
            msgspec.structs.force_setattr(segment, "work_class", name)
    found = energy({2: trials}, [_watts(at, 300) for at in range(90)], loads_ns=[-1])
    assert found is not None
    assert found["by_concurrency"][0]["joules_per_task"]["value"] == pytest.approx(2000)
    assert found["by_concurrency"][0]["joules_per_output_token"]["value"] == pytest.approx(200)


def test_energy_is_told_at_each_fixed_depth(make: Any) -> None:
    """300 W at both depths: 1,500 J a task where a trial does two tasks, and as much at the other depth, marked."""
    samples = [_watts(at, 300) for at in range(60)]
    cells = {("off", 2): _trials(make), ("mtp", 2): []}
    (off, _) = memories(
        replace(make.run({("off", 2): [1.0]}), samples=samples), ["off", "mtp"], "off", {2048: cells, 16384: cells}
    )
    assert [
        (one["depth_asked"], one["concurrency"], one["joules_per_task"]["value"])
        for one in off["energy"]["by_concurrency"]
    ] == [(2048, 2, 1500.0), (16384, 2, 1500.0)]
    (plain,) = memories(replace(make.run({("off", 2): [1.0]}), samples=samples), ["off"], "off", {None: cells})
    assert "depth_asked" not in plain["energy"]["by_concurrency"][0]
