"""Rules of the sentences: they never disagree with the numbers."""

from typing import Any

import pytest

from loadgen.analysis.comparison import compare
from loadgen.analysis.crossover import crossover
from loadgen.analysis.evidence import Evidence
from loadgen.analysis.verdict import verdict
from loadgen.analysis.wording import agents, factor


def _say(*logs: float, others: int = 0, variant: str = "mtp", **evidence: Any) -> tuple[list[str], list[str]]:
    noise = {1: 0.3, 2: -0.3, 3: 0.2, 4: -0.2}
    pairs = {(variant, 4): dict(enumerate(logs, start=1))}
    pairs |= {(variant, 8 + n): noise for n in range(others)}
    comparisons = compare(pairs, baseline="off", min_effect=0.05)
    found = verdict(Evidence(baseline="off", variants=["off", variant], comparisons=comparisons, **evidence))
    return found["says"], found["does_not_answer"]


@pytest.mark.parametrize(
    ("x", "text"),
    [(1.5, "1.50"), (1.004, "1.004"), (0.9996, "0.9996"), (1.0, "1.00"), (1.000001, "just above 1"), (0.42, "0.42")],
)
def test_a_ratio_never_hides_on_which_side_of_1_it_lies(x: float, text: str) -> None:
    """Two decimals, more where they would read 1."""
    assert factor(x) == text


def test_one_agent_is_singular() -> None:
    """Counts read as a person would say them."""
    assert [agents(1), agents(4), agents(5.678)] == ["1 agent", "4 agents", "5.68 agents"]


def test_a_call_is_said_with_its_interval_and_rounds() -> None:
    """Pays: the 95 % interval lies above 1 in the text too."""
    says, _ = _say(0.30, 0.31, 0.32)
    assert says[0] == (
        "mtp at 4 agents: 1.36 times the tasks per hour of off (95 % interval 1.33 to 1.40, 3 rounds): it pays."
    )


def test_same_shows_the_interval_that_it_rests_on() -> None:
    """And says on which side it surely lies, though by less than was asked for."""
    says, _ = _say(0.0200, 0.0201, 0.0199)
    assert says[0] == (
        "mtp at 4 agents: 1.02 times the tasks per hour of off (90 % interval 1.02 to 1.02), the same within 5%, "
        "above 1, but by less than you asked for."
    )
    assert "asked for" not in _say(0.001, 0.0, -0.001)[0][0]


def test_an_open_question_says_what_would_settle_it() -> None:
    """Unresolved goes to what is not answered, with the rounds that are missing."""
    says, open_questions = _say(0.0, 0.1, 0.2)
    assert says == ["No trial was measured."]
    assert open_questions[0] == (
        "Whether mtp pays at 4 agents: 1.11 times off (95 % interval 0.86 to 1.42) is unresolved; "
        "about 4 more rounds would settle it."
    )


def test_an_unresolved_text_never_shows_an_interval_beside_1() -> None:
    """Where the interval of one level alone excludes 1, the one for all comparisons together is shown."""
    _, open_questions = _say(0.12, 0.2, 0.28, 0.05, others=3)
    assert open_questions[0].startswith(
        "Whether mtp pays at 4 agents: 1.18 times off (interval 0.90 to 1.54 with all 4 comparisons at 95 % together)"
    )


def test_too_few_rounds_are_said_as_such() -> None:
    """Two rounds: three are needed."""
    _, open_questions = _say(0.3, 0.3)
    assert open_questions[0] == (
        "Whether mtp pays at 4 agents: it takes 3 rounds with a valid trial on both sides; there are 2."
    )


def test_a_crossover_is_said_where_calls_bear_it_out() -> None:
    """Pays at 1, costs at 4: it stops paying between. Without a call nothing is said."""
    pairs = {("mtp", 1): {1: 0.28, 2: 0.3, 3: 0.32}, ("mtp", 4): {1: -0.32, 2: -0.3, 3: -0.28}}
    entry = crossover("mtp", {level: rounds for (_, level), rounds in pairs.items()})
    assert entry is not None
    comparisons = compare(pairs, baseline="off", min_effect=0.05)
    known: dict[str, Any] = {"baseline": "off", "variants": ["off", "mtp"], "crossovers": [entry]}
    said = verdict(Evidence(**known, comparisons=comparisons, random_weights=True))
    assert said["says"][2] == "mtp stops paying near 2 agents (95 % interval 1.79 to 2.24)."
    assert said["does_not_answer"][-1] == "How a real model does: these weights are random and acceptance was set."
    unsaid = verdict(Evidence(**known))
    assert not any("paying" in sentence for sentence in unsaid["says"])
