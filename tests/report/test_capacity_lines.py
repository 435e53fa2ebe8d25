"""How a capacity reads."""

import io
from collections.abc import Sequence
from typing import Any

import pytest
from rich.console import Console

from loadgen.analysis.capacity.capacity import Asked, capacity_of
from loadgen.analysis.capacity.limit import parse_limits
from loadgen.analysis.capacity.prices import Prices
from loadgen.analysis.capacity.servers import Demand
from loadgen.report.capacity_lines import (
    asked_text,
    best_lines,
    bound_lines,
    cost_lines,
    excluded_lines,
    granted_lines,
    load_lines,
    method_lines,
    print_capacity,
)
from loadgen.report.capacity_table import ended_text, largest_text
from tests.analysis.carried import MAKE, TWO, carried
from tests.analysis.deep import deep_run


def document(*, slots: int | None = 64, slo: str | None = "ttft_p95<2s", **asked: Any) -> dict[str, Any]:
    """`off` crosses its limit at 8 agents, `mtp` never does."""
    limits = None if slo is None else parse_limits(slo)
    found = capacity_of(carried(TWO, slots=slots), Asked(limits=limits, **{"demand": Demand(agents=40), **asked}))
    (part,) = found["parts"]
    return {**found, **part}


def printed(of: dict[str, Any], *, width: int = 128, terminal: bool = False) -> str:
    """What a console of this width shows."""
    file = io.StringIO()
    system = "standard" if terminal else None
    print_capacity(of, Console(file=file, width=width, force_terminal=terminal, color_system=system))  # type: ignore[arg-type] # one of rich's literals
    return file.getvalue()


def test_it_names_the_run_what_was_asked_and_a_row_a_variant() -> None:
    """Then what to run, and how the numbers came about."""
    text = printed(document(prices=Prices(server_per_hour=2.0)))
    lines = [line.rstrip() for line in text.splitlines()]
    assert lines[0] == "run      run, chat: complete"
    assert lines[1] == "asked    40 agents; 20 % headroom, 1 spare; ttft_p95<2s; 2 a server-hour"
    assert " ".join(lines[3].split()) == (
        "variant slots largest N [95 %] ended by tasks/h there [95 %] servers with spare cost/task with all servers"
    )
    assert lines[4].startswith("off        64 8 [8, 8]         ttft_p95<2s")
    assert lines[5].startswith("mtp        64 16 [16, …]       nothing up to here")
    assert lines[4].split()[-4:] == ["7", "8", "0.0141", "0.0179"]
    assert "4 at most          5" in lines[5]
    assert "What to run\n  - Run mtp on 5 servers: 4 carry 40 agents with 20 % headroom, and 1 may be lost." in text
    assert "Best at each concurrency\n  - 4 agents: mtp does most" in text


@pytest.mark.parametrize("width", [60, 80, 128])
def test_it_fits_its_terminal(width: int) -> None:
    """It wraps at words below the table."""
    below = printed(document(), width=width).partition("What to run")[2]
    assert all(len(line) <= width for line in below.splitlines())


def test_what_is_extrapolated_says_so_and_is_red_on_a_terminal_only() -> None:
    """Between levels beyond the slots; the word is always there."""
    of = document(slots=6)
    plain = printed(of)
    assert "8 [8, 8] extrapolated" in plain
    assert "extrapolated: between levels beyond the slots, where agents wait for one another." in plain
    assert "\x1b[" not in plain
    assert "\x1b[1;31m extrapolated\x1b[0m" in printed(of, terminal=True)
    assert "extrapolated" not in printed(document(slots=8))


def test_a_load_in_tasks_and_without_limits_is_named() -> None:
    """What wasn't given isn't there."""
    of = document(
        slo=None, demand=Demand(tasks_per_hour=600.0, headroom=0.1, spare=2), prices=Prices(energy_per_kwh=0.3),
        memory_budget_bytes=24 << 30,
    )  # fmt: skip
    assert asked_text(of["asked"]) == (
        "600 tasks per hour; 10 % headroom, 2 spare; no limits; memory 24.0 GiB; 0.3 a kWh"
    )
    assert method_lines(of)[0] == "No limit was asked for: the largest N is the largest that was measured."
    assert method_lines(of)[-1] == "Energy is that of the devices that were watched, not of the whole machine."
    assert load_lines(of) == []


def test_an_objective_is_named_by_its_limits_and_its_share() -> None:
    """And as the run's own where nobody gave another."""
    of = document(slo="tpot_p95<1s,ttft=2s,step-gap=500ms,attainment=90%")
    shown = "tpot_p95<1s, ttft 2.00 s, step-gap 500 ms, kept by 90 % of all attempts"
    assert asked_text(of["asked"]).endswith(f"; {shown}")
    assert asked_text({**of["asked"], "limits_from": "run"}).endswith(f"; {shown} (as the run asked)")


def largest(**fields: Any) -> dict[str, Any]:
    """An entry with 8 slots and this largest N."""
    plain = {
        "value": 8, "low": 6, "high": 9, "open_high": False, "ends": "limit", "binds": "ttft_p95<2s", "at": 16,
        "reason": None, "extrapolated": False,
    }  # fmt: skip
    return {"slots": 8, "largest": {**plain, **fields}}


@pytest.mark.parametrize(
    ("fields", "number", "ended"),
    [
        ({}, "8 [6, 9]", "ttft_p95<2s"),
        ({"low": None, "high": None}, "8 [n/a, …]", "ttft_p95<2s"),
        ({"ends": "measured", "high": None}, "8 [6, …]", "nothing up to here, all its 8 slots"),
        ({"ends": "measured", "value": 16}, "16 [6, 9]", "nothing up to here, more than its 8 slots"),
        ({"ends": "measured", "value": 4}, "4 [6, 9]", "nothing up to here"),
        (
            {"ends": "below", "value": None, "low": None, "high": None, "at": 1},
            "none",
            "ttft_p95<2s, missed at 1 agent already",
        ),
        ({"ends": "below", "value": None, "at": 2}, "none [n/a, 9]", "ttft_p95<2s, missed at 2 agents already"),
        (
            {"ends": "not_told", "value": None, "high": None, "at": 4, "reason": "too few"},
            "n/a",
            "can't be told at 4 agents: ttft_p95<2s",
        ),
        ({"ends": "not_told", "value": None, "high": None, "at": None}, "n/a", "nothing is said of it"),
        (
            {"ends": "not_told", "binds": "valid trials", "at": 16, "reason": "its only trial doesn't count"},
            "8 [6, 9]",
            "at 16 agents its only trial doesn't count",
        ),
    ],
)
def test_the_largest_n_reads_with_what_ended_it(fields: dict[str, Any], number: str, ended: str) -> None:
    """None, not told and open are three things."""
    one = largest(**fields)
    assert (largest_text(one).plain, ended_text(one)) == (number, ended)


def reaches(**changes: Any) -> dict[str, Any]:
    """How far one limit lets agents go: up to 16, the most that were measured."""
    return {"limit": "ttft_p95<2s", "agents": 16, "ends": "measured", "at": None, "reason": None, **changes}


def bounded_by(*limits: dict[str, Any], name: str = "off", again: Sequence[int] = (), most: int = 8) -> dict[str, Any]:
    """A variant with these limits that carries 8 agents, and does most with so many."""
    rate = {"value": 120.0, "low": 110.0, "high": 130.0, "n": 3}
    return {
        "variant": name, "by_limit": [reaches(limit="valid trials"), *limits], "kept_again": again, **largest(),
        "most": {"agents": most, "tasks_per_hour": rate},
    }  # fmt: skip


def test_each_limit_is_named_with_the_agents_that_it_lets_go() -> None:
    """Those that do alike share a clause, and variants a line."""
    limits = [
        reaches(),
        reaches(agents=8, ends="limit", at=16, limit="tpot_p95<1s"),
        reaches(agents=None, ends="below", at=1, limit="e2e_p95<9s"),
        reaches(agents=None, ends="not_told", at=1, reason="8 whole tasks are too few", limit="task_p95<5m"),
        reaches(limit="queue_wait_p95<1s"),
    ]
    assert bound_lines({"variants": [bounded_by(*limits), bounded_by(*limits, name="mtp"), bounded_by(name="b")]}) == [
        (
            "off, mtp: ttft_p95<2s and queue_wait_p95<1s kept up to 16 agents, the most that were measured; "
            "tpot_p95<1s up to 8 agents; e2e_p95<9s missed at 1 agent already; task_p95<5m can't be told at 1 agent "
            "(8 whole tasks are too few)"
        )
    ]


def test_where_no_trial_counts_no_limit_is_named() -> None:
    """That is the reason of all of them, and where it is so from the start it stands elsewhere."""
    lost = {"ends": "not_told", "at": 16}
    reason = "none of its 3 trials counts"
    one = bounded_by(reaches(**lost, agents=8, reason="no trial of off at 16 is valid"), reaches(limit="tpot_p95<1s"))
    one["by_limit"][0] = reaches(**lost, agents=8, limit="valid trials", reason=reason)
    assert bound_lines({"variants": [one]}) == [
        ("off: at 16 agents none of its 3 trials counts; tpot_p95<1s kept up to 16 agents, the most that were measured")
    ]
    one["by_limit"][0] = reaches(**lost, agents=None, limit="valid trials", reason=reason)
    assert bound_lines({"variants": [one]}) == []
    assert bound_lines({"variants": [{**one, "by_limit": []}]}) == []


def test_what_is_not_monotone_and_what_does_more_with_fewer_is_said() -> None:
    """The first miss counts; and a server may carry more agents than do most."""
    assert bound_lines({"variants": [bounded_by(again=[32, 64], most=4)]}) == [
        "off keeps every limit at 32 and 64 again, which it missed at 16: the first miss counts",
        "off does most with 4 agents, fewer than it could carry: 120 [110, 130] tasks per hour",
    ]


def test_the_best_at_each_concurrency_reads_as_a_clause() -> None:
    """Best, alike, alone, none, and unresolved for either reason."""
    plain: dict[str, Any] = {"keep": None, "among": [], "not_told": [], "most": None}
    best = [
        {**plain, "concurrency": 1, "keep": "mtp", "call": "best", "most": "mtp"},
        {**plain, "concurrency": 2, "keep": "off", "call": "alike", "among": ["off", "mtp"]},
        {**plain, "concurrency": 3, "keep": "off", "call": "alone"},
        {**plain, "concurrency": 4, "call": "none"},
        {**plain, "concurrency": 5, "call": "unresolved", "among": ["off", "mtp"]},
        {
            **plain, "concurrency": 6, "call": "unresolved", "among": ["off", "mtp"], "not_told": ["off", "mtp"],
            "most": "mtp",
        },
        {**plain, "concurrency": 7, "call": "unresolved", "among": ["off"], "not_told": ["off"], "most": "off"},
        {**plain, "concurrency": 8, "keep": "mtp", "call": "best", "most": "mtp"},
        {**plain, "concurrency": 9, "keep": "mtp", "call": "best", "most": "mtp"},
    ]  # fmt: skip
    assert best_lines({"best": best}) == [
        "1, 8 and 9 agents: mtp does most",
        "2 agents: off (mtp no better by as much as is worth acting on)",
        "3 agents: off, the only one that keeps the limits and may be recommended",
        "4 agents: none keeps the limits and may be recommended",
        "5 agents: unresolved between off and mtp",
        "6 agents: unresolved between off and mtp: whether off and mtp keep the limits can't be told; mtp does most",
        "7 agents: unresolved: whether off keeps the limits can't be told",
    ]


def test_costs_name_their_parts_and_what_is_missing() -> None:
    """On one server at its largest N, and with all of them."""
    of = document(prices=Prices(2.0, 0.3))
    assert cost_lines(of)[2].startswith("mtp at the largest N: server 0.00500 [")
    assert cost_lines(of)[2].endswith("], energy n/a (no power was recorded)")
    assert cost_lines(of)[3].startswith("mtp with all servers: server 0.0081")
    assert cost_lines(document()) == []


def test_what_each_server_has_is_told() -> None:
    """40 agents on 5 servers of `mtp` are 8 each; excluded variants have no line."""
    of = document()
    assert load_lines(of)[1].startswith("mtp: 8.00 agents on each of 5 servers, spare ones included; tasks per hour of")
    few = document(demand=Demand(agents=4))
    assert load_lines(few)[1] == (
        "mtp: 2.00 agents on each of 2 servers, spare ones included; tasks per hour of all: n/a (fewer agents a server "
        "than were measured)"
    )


def test_excluded_variants_and_what_is_taken_for_granted_are_listed() -> None:
    """Nothing is granted to those that are out anyway."""
    of = {
        "variants": [
            {"excluded": ["mtp is out."], "not_known": ["whether a"]},
            {"excluded": [], "not_known": ["whether b"]},
        ]
    }
    assert (excluded_lines(of), granted_lines(of)) == (["mtp is out."], ["whether b"])


def test_each_fixed_depth_has_its_own_table() -> None:
    """Under its depth; how the numbers came about stands once."""
    run = deep_run(MAKE, {2048: {("off", 4): [100.0] * 3}, 16384: {("off", 4): [20.0] * 3}})
    text = printed(capacity_of(run, Asked()))
    assert [line for line in text.splitlines() if line.startswith("At a depth")] == [
        "At a depth of 2,048 tokens",
        "At a depth of 16,384 tokens",
    ]
    assert text.count("\nHow\n") == 1


def test_a_mix_that_changes_with_its_agents_says_so() -> None:
    """In place of how levels are interpolated; an objective names its classes."""
    of = document(slo="ttft=2s")
    changing = {**of, "run": {**of["run"], "mix_changes": True}}
    assert method_lines(changing)[0].startswith("The mix of classes changes with the number of agents")
    of["asked"]["limits"]["objective"]["classes"] = {"chat": {"ttft_s": 1.0, "tpot_s": None, "attainment": None}}
    assert asked_text(of["asked"]).endswith("; ttft 2.00 s, chat: ttft 1.00 s, kept by 95 % of all attempts")


def test_random_weights_are_no_real_model() -> None:
    """The last word on how the numbers came about."""
    of = document()
    assert method_lines({**of, "run": {**of["run"], "random_weights": True}})[-1] == (
        "The model's weights are random: how a real one does is not answered."
    )
