"""Capacities of whole runs: what is found, what it takes, and what is recommended."""

from collections.abc import Sequence
from typing import Any

import pytest

from loadgen.analysis.capacity.capacity import Asked, capacity_of
from loadgen.analysis.capacity.prices import Prices
from loadgen.analysis.capacity.servers import Demand
from loadgen.analysis.summary import measured, summarise
from loadgen.experiment.slo import Slo
from loadgen.records.model import Sample
from tests.analysis.carried import MAKE, SLO, STEADY, TWO, Cell, carried, entry, found, times
from tests.analysis.deep import deep_run
from tests.analysis.mixes import Seconds, mixed_run


@pytest.fixture(scope="module")
def two() -> dict[str, Any]:
    """The capacity of `TWO` for 40 agents."""
    return found(carried(TWO), prices=Prices(server_per_hour=2.0))


def test_each_variant_has_its_largest_n_and_the_tasks_there(two: dict[str, Any]) -> None:
    """8 agents of `off`, with √2 times the tasks of 4; 16 of `mtp`, and nobody measured more."""
    off, mtp = entry(two, "off"), entry(two, "mtp")
    assert (off["largest"]["value"], off["largest"]["low"], off["largest"]["high"]) == (8, 8, 8)
    assert (off["largest"]["ends"], off["largest"]["binds"], off["largest"]["at"]) == ("limit", SLO, 16)
    assert off["tasks_per_hour"]["value"] == pytest.approx(100 * 2**0.5, rel=1e-3)
    assert (mtp["largest"]["value"], mtp["largest"]["low"], mtp["largest"]["open_high"]) == (16, 16, True)
    assert (mtp["largest"]["ends"], mtp["largest"]["high"]) == ("measured", None)
    assert [(one["concurrency"], one["meets"]) for one in off["levels"]] == [(4, "yes"), (16, "no")]
    assert mtp["tasks_per_hour"] == mtp["levels"][1]["tasks_per_hour"]


def test_the_load_has_its_servers_and_its_answer(two: dict[str, Any]) -> None:
    """40 ÷ (0.8 · 8) are 7 of `off`, 40 ÷ (0.8 · 16) 4 of `mtp` at most, and one more may be lost."""
    off, mtp = entry(two, "off"), entry(two, "mtp")
    assert (off["servers"]["most"], off["servers"]["settled"], off["servers"]["total"]) == (7, True, 8)
    assert (mtp["servers"]["most"], mtp["servers"]["fewest"], mtp["servers"]["total"]) == (4, None, 5)
    answer = two["answer"]
    assert (answer["keep"], answer["call"], answer["servers"], answer["not_told"]) == ("mtp", "best", 5, [])
    assert answer["text"] == "Run mtp on 5 servers: 4 carry 40 agents with 20 % headroom, and 1 may be lost."
    assert mtp["even_load"]["agents_per_server"] == 8


def test_the_best_variant_is_named_at_each_level(two: dict[str, Any]) -> None:
    """At 16 agents `off` misses the limit."""
    assert [(one["concurrency"], one["keep"], one["call"]) for one in two["best"]] == [
        (4, "mtp", "best"),
        (16, "mtp", "alone"),
    ]


def test_a_task_has_a_cost_on_one_server_and_on_all(two: dict[str, Any]) -> None:
    """2.00 an hour: 400 tasks of `mtp` at 16 agents, and 245 at the 8 that each of 5 servers has."""
    mtp = entry(two, "mtp")
    assert mtp["cost"]["all"]["value"] == pytest.approx(2 / 400, rel=1e-3)
    assert mtp["cost_of_load"]["all"]["value"] == pytest.approx(2 / 244.9, rel=1e-2)
    assert mtp["cost"]["energy"] is None


def test_what_is_not_asked_is_null() -> None:
    """No load, no price, no limit: the largest N is the largest that was measured."""
    document = found(carried(TWO), None, demand=Demand())
    off = entry(document, "off")
    assert (document["answer"], document["asked"]["limits"], document["asked"]["limits_from"]) == (None, None, None)
    assert (off["servers"], off["even_load"], off["cost"], off["cost_of_load"], off["by_limit"]) == (
        None, None, None, None, [],
    )  # fmt: skip
    assert (off["largest"]["value"], off["largest"]["ends"]) == (16, "measured")


def test_a_run_is_held_against_its_own_objective_unless_another_is_asked() -> None:
    """And says where the limits come from."""
    run = carried(TWO, slo=Slo(ttft_s=2.0).model_dump(mode="json"))
    own = found(run, None)
    assert own["asked"]["limits_from"] == "run"
    assert [one["limit"] for one in entry(own, "off")["levels"][0]["limits"]] == ["valid trials", "attainment"]
    assert entry(own, "off")["largest"]["binds"] == "attainment"
    other = found(run, "ttft_p95<9s")
    assert (other["asked"]["limits_from"], entry(other, "off")["largest"]["value"]) == ("option", 16)


def test_between_levels_beyond_the_slots_it_is_extrapolated() -> None:
    """`off` crosses at 8 agents, and has 6 slots."""
    document = found(carried(TWO, slots=6))
    assert [entry(document, name)["largest"]["extrapolated"] for name in ("off", "mtp")] == [True, False]


@pytest.mark.parametrize(("agents", "servers"), [(1, 2), (10_000, 783)])
def test_agents_far_from_what_was_measured_take_servers_all_the_same(agents: int, servers: int) -> None:
    """One and its spare, or many; what a server does with less than 4 agents isn't known."""
    document = found(carried(TWO), demand=Demand(agents=agents))
    assert document["answer"]["servers"] == servers
    known = entry(document, "mtp")["even_load"]["tasks_per_hour"] is not None
    assert known is (agents > 1)


def test_servers_that_intervals_do_not_tell_apart_are_unresolved() -> None:
    """A tenth of the requests is slow: where p95 crosses isn't sure, so that neither takes surely fewer servers."""
    spread = (0.5,) * 18 + (3.0, 6.0)
    cells = {
        ("off", 4): Cell(STEADY, (1.0,)), ("mtp", 4): Cell(STEADY, (1.0,)),
        ("off", 16): Cell(STEADY, spread), ("mtp", 16): Cell(STEADY, (*spread[:-1], 5.0)),
    }  # fmt: skip
    document = found(carried(cells))
    off, mtp = entry(document, "off")["servers"], entry(document, "mtp")["servers"]
    assert off["fewest"] < mtp["most"]
    assert mtp["fewest"] < off["most"]
    assert (document["answer"]["keep"], document["answer"]["call"]) == (None, "unresolved")
    assert document["answer"]["among"] == ["off", "mtp"]
    assert document["answer"]["text"].startswith(
        "Whether off or mtp takes fewer servers for 40 agents with 20 % headroom is unresolved (off 6 to 9, "
    )


def test_tasks_per_hour_are_a_load_too() -> None:
    """1,000 an hour: `off` does 141 with 8 agents, `mtp` 400 with 16."""
    document = found(carried(TWO), demand=Demand(tasks_per_hour=1000.0, headroom=0.0, spare=0))
    assert [entry(document, name)["servers"]["value"] for name in ("off", "mtp")] == [8, 3]
    assert document["answer"]["keep"] == "mtp"
    assert document["answer"]["text"].startswith(
        "Run mtp on 3 servers: 3 carry 1,000 tasks per hour with 0 % headroom."
    )


def watts(power: float) -> list[Sample]:
    """Samples of a power that doesn't change, all through the trials of `off` at 4 agents."""
    return [
        Sample(
            run="run", trial="r1-off-c4", variant="off", at_ns=at * 10**9, source="nvml", name="power_watts",
            value=power, device="GPU-a",
        )
        for at in range(0, 3200, 10)
    ]  # fmt: skip


def test_energy_has_its_price_where_power_was_recorded() -> None:
    """400 W at 100 tasks an hour are 14.4 kJ a task, 0.004 kWh; without power null, with the reason."""
    cells = {("off", 4): Cell([100.0] * 3, (1.0,))}
    prices = Prices(energy_per_kwh=0.5)
    off = entry(found(carried(cells, samples=watts(400.0)), prices=prices), "off")
    assert off["cost"]["energy"]["value"] == pytest.approx(0.002)
    assert (off["cost"]["server"], off["cost"]["reason"]) == (None, None)
    without = entry(found(carried(cells), prices=prices), "off")["cost"]
    assert (without["energy"]["value"], without["reason"]) == (None, "no power was recorded")


def test_each_fixed_depth_is_a_question_of_its_own() -> None:
    """16 agents are measured 2k deep and 4 at 16k: each depth has its largest N, its best variant and its answer."""
    run = deep_run(MAKE, {2048: {("off", 4): [100.0] * 3, ("off", 16): [50.0] * 3}, 16384: {("off", 4): [20.0] * 3}})
    document = MAKE.strict_json(capacity_of(run, Asked(demand=Demand(agents=32, headroom=0.0, spare=0))))
    assert [one["depth_asked"] for one in document["parts"]] == [2048, 16384]
    assert [one["variants"][0]["largest"]["value"] for one in document["parts"]] == [16, 4]
    assert [one["answer"]["servers"] for one in document["parts"]] == [2, 8]
    assert [[two["concurrency"] for two in one["best"]] for one in document["parts"]] == [[4, 16], [4]]


def test_between_levels_that_differ_in_their_mix_nothing_is_interpolated() -> None:
    """Chat is one of two agents, and one of four: N is the last level that keeps the limit."""
    seconds: dict[tuple[str, int], Sequence[Seconds]] = {
        ("off", 2): [{"chat": (1, 10.0), "batch": (1, 10.0)}] * 3,
        ("off", 4): [{"chat": (1, 40.0), "batch": (3, 10.0)}] * 3,
    }
    found_there = found(mixed_run(MAKE, seconds), "chat:ttft_max<2s")
    assert found_there["run"]["mix_changes"] is True
    off = entry(found_there, "off")
    assert (off["largest"]["value"], off["largest"]["binds"], off["largest"]["at"]) == (2, "chat:ttft_max<2s", 4)
    assert off["tasks_per_hour"] == off["levels"][0]["tasks_per_hour"]
    assert [one["agents"] for one in off["by_limit"]] == [4, 2]


def test_it_rests_on_the_summary_of_the_run() -> None:
    """The parts that it needs are those of the whole document."""
    run = carried(TWO, slo=Slo(ttft_s=2.0).model_dump(mode="json"), checks=[MAKE.check("mtp", crossed=True)])
    parts, whole = measured(run), summarise(run)
    assert parts == {name: whole[name] for name in parts}


def test_a_mean_is_named_only_where_it_misses() -> None:
    """Tasks of 144 and 288 s, too few for p99: a mean within the limit says nothing, one beyond it ends the agents."""
    cells = {("off", 4): Cell(STEADY, (1.0,), sessions=2), ("off", 16): Cell(times(2.0), (1.0,), sessions=2)}
    limits = {slo: entry(found(carried(cells), slo), "off")["by_limit"] for slo in ("task_p99<9m", "task_p99<200s")}
    assert [one["limit"] for one in limits["task_p99<9m"]] == ["valid trials", "task_p99<9m"]
    (mean,) = [one for one in limits["task_p99<200s"] if one["limit"] == "mean task time"]
    assert (mean["ends"], mean["at"], mean["agents"]) == ("limit", 16, 7)
