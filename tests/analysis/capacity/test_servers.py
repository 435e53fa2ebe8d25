"""How many servers a load takes: headroom, spare ones, and both ends of the interval."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.capacity.largest import Ends, Largest
from loadgen.analysis.capacity.rates import Rates
from loadgen.analysis.capacity.servers import Demand, Servers, even_load, servers
from loadgen.analysis.estimators.intervals import Estimate
from loadgen.analysis.speed.rate_curve import Curve

NOTHING = Rates({}, Curve({}), {})


def most(value: int | None, low: int | None = None, high: int | None = None) -> Largest:
    """A largest N with its interval."""
    plain: dict[str, Any] = {"binds": None, "at": None, "reason": None, "extrapolated": False}
    return Largest(value, low, high, open_high=high is None, ends=Ends.LIMIT, **plain)


@pytest.mark.parametrize(
    ("agents", "headroom", "one", "number"),
    [
        (40, 0.2, 10, 5),
        (41, 0.2, 10, 6),
        (40, 0.0, 10, 4),
        (1, 0.2, 10, 1),
        (40, 0.2, 1, 50),
        (3, 0.7, 1, 10),
        (40, 0.2, None, None),
    ],
)
def test_agents_take_so_many_servers(agents: int, headroom: float, one: int | None, number: int | None) -> None:
    """Agents ÷ ((1 − headroom) · N), rounded up: 40 on servers of 10 with a fifth free are 5."""
    assert Demand(agents=agents, headroom=headroom).servers(one) == number


def test_the_interval_of_n_is_that_of_the_servers() -> None:
    """The lower end of N surely is enough, the upper end is what fewer can't do with."""
    found = servers(Demand(agents=40, headroom=0.2), most(10, 8, 16), NOTHING)
    assert found == Servers(value=5, fewest=4, most=7, at=10)
    assert found.as_json(1) == {
        "value": 5, "fewest": 4, "most": 7, "settled": False, "spare": 1, "total": 8, "at": 10,
    }  # fmt: skip
    assert servers(Demand(agents=8, headroom=0.2), most(10, 10, 16), NOTHING).is_settled


def test_an_open_end_of_n_is_one_of_the_servers() -> None:
    """Fewer may do where nobody measured more agents; nothing surely is enough where no N is surely within."""
    assert servers(Demand(agents=40, headroom=0.0), most(16, 16), NOTHING) == Servers(3, None, 3, 16)
    unsure = servers(Demand(agents=40, headroom=0.0), most(16, None, 20), NOTHING)
    assert (unsure.most, unsure.fewest, unsure.as_json(1)["total"], unsure.is_settled) == (None, 2, None, False)
    assert servers(Demand(agents=40), most(None), NOTHING) == Servers(None, None, None, None)


RATES = Rates(
    {4: Estimate(100.0, 90.0, 110.0, 3), 8: Estimate(150.0, 140.0, 160.0, 3), 16: Estimate(120.0, 110.0, 130.0, 3)},
    Curve({4: {1: 100.0}, 8: {1: 150.0}, 16: {1: 120.0}}),
    {},
)


def test_tasks_per_hour_go_by_the_agents_that_do_most() -> None:
    """A server that may have 16 agents does most with 8: 150 an hour, 140 of them surely."""
    found = servers(Demand(tasks_per_hour=600, headroom=0.0), most(16, 16, 16), RATES)
    assert found == Servers(value=4, fewest=4, most=5, at=8)
    surely = servers(Demand(tasks_per_hour=600, headroom=0.2), most(8, 4, 8), RATES)
    assert surely == Servers(value=5, fewest=5, most=9, at=8)
    assert servers(Demand(tasks_per_hour=600), most(None), RATES) == Servers(None, None, None, None)


def test_the_load_is_spread_over_all_servers() -> None:
    """16 agents on 2 servers are 8 each, and do 300 tasks an hour together; below the levels nothing is said."""
    assert even_load(Demand(agents=16), 2, RATES) == {"agents_per_server": 8.0, "tasks_per_hour": 300.0}
    assert even_load(Demand(agents=16), 8, RATES) == {"agents_per_server": 2.0, "tasks_per_hour": None}
    assert even_load(Demand(agents=16), None, RATES) == {"agents_per_server": None, "tasks_per_hour": None}
    assert even_load(Demand(tasks_per_hour=5.0), 2, RATES) == {"agents_per_server": None, "tasks_per_hour": 5.0}


@given(st.integers(1, 10**6), st.floats(0, 0.9), st.integers(1, 512))
def test_servers_always_carry_the_load_and_one_less_never_does(agents: int, headroom: float, one: int) -> None:
    """Up to a rounding error."""
    number = Demand(agents=agents, headroom=headroom).servers(one)
    assert number is not None
    room = (1 - headroom) * one
    assert number * room >= agents * (1 - 1e-6)
    assert number == 1 or (number - 1) * room < agents * (1 + 1e-6)
