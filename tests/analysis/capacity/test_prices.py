"""What a task costs, by the hour of a server and by its energy."""

import re

import pytest

from loadgen.analysis.capacity.prices import Prices, cost_of_load, cost_per_task, parse_price
from loadgen.analysis.capacity.rates import Rates
from loadgen.analysis.capacity.servers import Demand
from loadgen.analysis.estimators.intervals import Estimate
from loadgen.analysis.speed.rate_curve import Curve
from loadgen.units import joules_to_kwh

RATES = Rates(
    {4: Estimate(100.0, 80.0, 125.0, 3), 16: Estimate(200.0, 160.0, 250.0, 3)},
    Curve({4: {1: 100.0}, 16: {1: 200.0}}),
    {4: Estimate(36_000.0, 18_000.0, 72_000.0, 3)},
)
NULL = {"value": None, "low": None, "high": None, "n": 0, "estimable": False}


@pytest.mark.parametrize(
    ("text", "per", "price"),
    [("1.20/h", "h", 1.2), ("1.2", "h", 1.2), (" 0.30 / kWh ", "kWh", 0.3), ("0.3/KWH", "kWh", 0.3), ("0/h", "h", 0.0)],
)
def test_a_price_is_a_number_with_its_unit_or_without(text: str, per: str, price: float) -> None:
    """Its currency is nobody's business."""
    assert parse_price(text, per) == price


@pytest.mark.parametrize(
    ("text", "per", "message"),
    [
        ("$1.20/h", "h", "'$1.20/h' is no price such as 1.20/h; leave out the currency"),
        ("1.20/kWh", "h", "'1.20/kWh' is no price such as 1.20/h"),
        ("-1/h", "h", "'-1/h' is no price"),
        ("nan", "h", "'nan' is no price"),
        ("1e3/h", "h", "'1e3/h' is no price"),
        ("", "kWh", "'' is no price such as 1.20/kWh"),
        ("9" * 400, "h", "is no price that anybody pays"),
    ],
)
def test_what_is_no_price_is_said(text: str, per: str, message: str) -> None:
    """With what one looks like."""
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_price(text, per)


def test_energy_is_sold_by_the_kilowatt_hour() -> None:
    """3.6 million joules."""
    assert joules_to_kwh(3_600_000) == 1.0


def test_a_task_costs_its_share_of_the_hour() -> None:
    """1.20 an hour at 100 tasks are 0.012 each; the most tasks give the lowest cost."""
    found = cost_per_task(Prices(server_per_hour=1.2), RATES, 4)
    assert found is not None
    assert found["server"] == pytest.approx({"value": 0.012, "low": 0.0096, "high": 0.015, "n": 3})
    assert (found["all"], found["energy"], found["reason"]) == (found["server"], None, None)


def test_a_task_costs_its_energy() -> None:
    """36 kJ are 0.01 kWh, 0.003 at 0.30 each; with the server's hour 0.015 in all, and both ends add up."""
    found = cost_per_task(Prices(1.2, 0.3), RATES, 4)
    assert found is not None
    assert found["energy"] == pytest.approx({"value": 0.003, "low": 0.0015, "high": 0.006, "n": 3})
    assert found["all"] == pytest.approx({"value": 0.015, "low": 0.0111, "high": 0.021, "n": 3})


def test_without_power_there_is_no_cost_of_energy_and_no_sum() -> None:
    """The server's part stands, and the reason is said."""
    there = cost_per_task(Prices(1.2, 0.3), RATES, 16)
    assert there is not None
    assert there["server"]["value"] == pytest.approx(0.006)
    assert (there["energy"], there["all"]["value"]) == (NULL, None)
    assert there["reason"] == "power was not recorded there"
    never = cost_per_task(Prices(None, 0.3), Rates(RATES.at_levels, RATES.curve, {}), 4)
    assert never is not None
    assert (never["server"], never["all"], never["reason"]) == (None, NULL, "no power was recorded")


def test_nothing_is_known_outside_of_the_levels() -> None:
    """Null, with the reason."""
    for agents in (None, 2, 32):
        found = cost_per_task(Prices(server_per_hour=1.2), RATES, agents)
        assert found is not None
        assert (found["all"], found["reason"]) == (NULL, "tasks per hour were not measured there")


def test_without_a_price_there_is_no_cost() -> None:
    """Null, never 0; a price of 0 is one."""
    assert cost_per_task(Prices(), RATES, 4) is None
    assert cost_of_load(Prices(), Demand(tasks_per_hour=5), 2, RATES) is None
    free = cost_per_task(Prices(server_per_hour=0.0), RATES, 4)
    assert free is not None
    assert free["all"]["value"] == 0


def test_all_servers_are_paid_for() -> None:
    """16 agents on 4 servers are 4 each, as expensive as there; 400 tasks an hour on 4 servers of 1.20 cost 0.012."""
    assert cost_of_load(Prices(1.2), Demand(agents=16), 4, RATES) == cost_per_task(Prices(1.2), RATES, 4)
    tasks = cost_of_load(Prices(1.2, 0.3), Demand(tasks_per_hour=400), 4, RATES)
    assert tasks is not None
    assert tasks["server"]["value"] == pytest.approx(0.012)
    assert (tasks["energy"], tasks["all"]) == (NULL, NULL)
    assert tasks["reason"] == "how many agents do so many tasks is not asked, so their energy is not known"
    open_count = cost_of_load(Prices(1.2), Demand(tasks_per_hour=400), None, RATES)
    assert open_count is not None
    assert (open_count["all"]["value"], open_count["reason"]) == (None, "how many servers are enough can't be told")
