"""A tuning run in sentences."""

from typing import Any

import pytest

from loadgen.analysis.sequential.tuning_text import raced, tuned, untuned


def estimate(value: float | None, low: float | None = None, high: float | None = None, n: int = 6) -> dict[str, Any]:
    """An estimate of the summary."""
    return {"value": value, "low": low, "high": high, "n": n}


def entry(**changes: Any) -> dict[str, Any]:
    """The entry of a run in which a won over two others and paid."""
    plain: dict[str, Any] = {
        "agents": 3,
        "baseline": "off",
        "race_ended_after": 5,
        "leader": "a",
        "winner": "a",
        "finalist": "a",
        "diagnostic": None,
        "keep": "a",
        "command": "llama-server -m m a",
        "speedup": estimate(1.214, 1.15, 1.27),
        "same_low": 1.16,
        "same_high": 1.26,
        "call": "pays",
        "more_rounds": None,
        "confirmed_rounds": 6,
        "min_effect": 0.05,
        "memory": None,
        "dropped": [],
        "same_as_winner": [],
        "absent": [],
        "pruned": [],
        "not_pruned": None,
        "candidates": [{"variant": name} for name in ("off", "a", "b")],
    }
    return plain | changes


def test_a_winner_that_pays() -> None:
    """The race, the gain of the fresh rounds, and the line to paste."""
    assert tuned(entry()) == [
        "a won the race at 3 agents, of 3 candidates.",
        "In 6 fresh rounds a does 1.21 times the tasks per hour of off (95 % interval 1.15 to 1.27): it pays.",
        "Run a: llama-server -m m a",
    ]
    assert untuned(entry()) == []


def test_a_set_acceptance_is_said() -> None:
    """It advises nothing about a real model."""
    assert "it pays at the acceptance that was set (diagnostic)." in tuned(entry(diagnostic="synthetic_acceptance"))[1]


def test_a_masked_key_is_explained() -> None:
    """The line can't be pasted as it is."""
    assert tuned(entry(command="llama-server --api-key ***"))[-1] == (
        "Run a (*** stands for a key): llama-server --api-key ***"
    )


def test_a_baseline_that_wins() -> None:
    """It stays, and what the best of the others costs is said."""
    off = {"winner": "off", "leader": "off", "keep": "off", "command": "llama-server -m m"}
    cost = {"call": "costs", "speedup": estimate(0.9, 0.88, 0.92)}
    assert tuned(entry(**off, **cost)) == [
        "off led the race at 3 agents, of 3 candidates; best of the others is a.",
        "In 6 fresh rounds a does 0.90 times the tasks per hour of off (95 % interval 0.88 to 0.92): it costs.",
        "a is not shown to pay: stay with off: llama-server -m m",
    ]


def test_the_same_has_the_interval_that_it_rests_on() -> None:
    """90 %, and nothing is gained by changing."""
    same = {"call": "same", "keep": "off", "command": "llama-server -m m", "same_low": 0.98, "same_high": 1.02}
    _, gain, advice = tuned(entry(**same, speedup=estimate(1.003, 0.97, 1.03)))
    assert gain == (
        "In 6 fresh rounds a does 1.003 times the tasks per hour of off (90 % interval 0.98 to 1.02): the same within "
        "5%."
    )
    assert advice == "a is not shown to pay: stay with off: llama-server -m m"


def test_an_unresolved_gain_is_no_finding() -> None:
    """It stands among what is open, with what would settle it."""
    open_ = entry(call="unresolved", keep="off", command="c", speedup=estimate(1.05, 0.95, 1.16), more_rounds=9)
    assert tuned(open_) == [
        "a won the race at 3 agents, of 3 candidates.",
        "a is not shown to pay: stay with off: c",
    ]
    (said,) = untuned(open_)
    assert said == (
        "Whether a pays at 3 agents: 1.05 times off in 6 fresh rounds (95 % interval 0.95 to 1.16) is unresolved; "
        "about 9 more rounds would settle it."
    )


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"confirmed_rounds": 1, "call": "unresolved", "speedup": estimate(1.1, n=1), "keep": "off"},
            "Whether a pays at 3 agents: it takes 3 fresh rounds with a valid trial on both sides; there are 1.",
        ),
        (
            {"race_ended_after": None, "winner": None, "finalist": None, "call": None, "speedup": None},
            (
                "Which settings are best at 3 agents: the run ended before its race did; a leads so far. A longer "
                "--time-budget, or fewer candidates, helps."
            ),
        ),
        (
            {"winner": None, "leader": None, "finalist": None, "call": None},
            "Which settings are best at 3 agents: no candidate has a valid trial.",
        ),
        (
            {"winner": "off", "finalist": None, "call": None, "speedup": None, "keep": None},
            "Whether anything beats off: nothing else was measured.",
        ),
        (
            {"call": "unresolved", "more_rounds": None, "speedup": estimate(1.001, 0.9, 1.1)},
            (
                "Whether a pays at 3 agents: 1.001 times off in 6 fresh rounds (95 % interval 0.90 to 1.10) is "
                "unresolved; more than 999 more rounds would settle it."
            ),
        ),
    ],
)
def test_what_is_open(changes: dict[str, Any], text: str) -> None:
    """One sentence says why."""
    assert untuned(entry(**changes)) == [text]


def test_memory_is_what_was_seen_else_what_the_log_says() -> None:
    """With what is left, where a budget is known."""
    seen = {"peak_bytes": 3 << 30, "margin_bytes": 5 << 20, "safety": "unsafe", "ledger_bytes": 1}
    assert "Memory of a: 3,072 MiB at its peak, 5 MiB are left: unsafe." in tuned(entry(memory=seen, keep="off"))
    assert tuned(entry(memory=seen, keep="off"))[-1].startswith("a pays, but its memory is unsafe: stay with off")
    unjudged = seen | {"margin_bytes": None, "safety": "unknown"}
    assert "Memory of a: 3,072 MiB at its peak." in tuned(entry(memory=unjudged))
    logged = {"peak_bytes": None, "margin_bytes": None, "safety": "unknown", "ledger_bytes": 7 << 20}
    assert "Memory of a: 7 MiB by its load log." in tuned(entry(memory=logged))


def test_as_good_and_not_told_apart_are_two_things() -> None:
    """Equality is shown, or it isn't."""
    found = [
        {"variant": "b", "speedup_to_winner": estimate(0.997), "settled": True},
        {"variant": "c", "speedup_to_winner": estimate(0.95), "settled": False},
    ]
    said = tuned(entry(same_as_winner=found))
    assert said[2:4] == ["As good as a: b (0.997 times).", "Not told apart from a: c (0.95 times)."]


def test_how_the_race_went() -> None:
    """Every candidate, who was dropped when, who was kept out, and why the race's figures don't count."""
    behind = {"leader": "a", "after_round": 3, "speedup_to_leader": estimate(0.7, 0.6, 0.82, 3)}
    went = entry(
        dropped=[{"variant": "b", **behind}, {"variant": "off", **behind}],
        absent=["c"],
        pruned=[{"variant": "d", "predicted_bytes": 9 << 30, "budget_bytes": 8 << 30, "margin_bytes": 1 << 30}],
    )
    ratio = "0.70 times a (interval 0.60 to 0.82 with all candidates and looks at 95 % together)"
    assert raced(went) == [
        "3 candidates raced at 3 agents: off, a, b.",
        f"b was dropped after round 3: {ratio}.",
        f"off was out of the race after round 3, with {ratio}, and is measured on.",
        "Without a valid trial in the race: c.",
        "Not raced, because their predicted memory leaves less than 1,024 MiB of 8,192 MiB: d (9,216 MiB).",
        "What the race itself shows flatters its winner, which was picked for it: only fresh rounds count.",
    ]


def test_why_memory_kept_nothing_out() -> None:
    """Said, so that nobody takes it for checked."""
    assert "Nothing was kept out for its predicted memory: no --memory-budget was given." in raced(
        entry(not_pruned="no --memory-budget was given")
    )
