"""Models of speed as the report tells them."""

from typing import Any

from loadgen.analysis.speed.break_even import break_even
from loadgen.analysis.speed.equal_memory import equal_memory
from loadgen.analysis.speed.scaling import Law, scaling
from loadgen.report.scaling_lines import break_even_lines, equal_memory_lines, scaling_lines
from tests.analysis.timed import paced, rounds

_NOISE = (0.98, 1.0, 1.02)


def summary(*, void: bool = False, asked: int | None = None, **parts: Any) -> dict[str, Any]:
    """The parts of a summary that the lines rest on."""
    return {"run": {"agents": asked}, "comparisons": [{"variant": "mtp", "void": void}], **parts}


def cells() -> dict[tuple[str, int], Any]:
    """Steps of 20 ms against 50 ms for two tokens, at 2 agents."""
    return {("off", 2): rounds("off", 2, _NOISE, step=0.02), ("mtp", 2): rounds("mtp", 2, _NOISE, per_step=2)}


def test_break_even_is_told_but_not_of_what_answers_wrongly() -> None:
    """One line; none where the output check failed."""
    entries = break_even(cells(), ["off", "mtp"], "off", off={"off"})
    assert break_even_lines(summary(break_even=entries)) == [
        (
            "mtp at 2 agents: you need 2.5 tokens a step for it to pay (95 % interval 2.5 to 2.5, modelled from the "
            "time of a step); your workload gives 2.0"
        )
    ]
    assert break_even_lines(summary(break_even=entries, void=True)) == []


def test_the_law_is_told_with_its_bounds_and_its_peak() -> None:
    """Coefficients with intervals; a coefficient at its bound and a peak beyond the levels are said; few levels not."""

    def told(alpha: float, beta: float, cliff: float = 1.0) -> list[str]:
        law = Law(100, alpha, beta)
        rates = {
            level: [law.rate(level) * one * (cliff if level > 4 else 1) for one in _NOISE]
            for level in (1, 2, 4, 8, 12, 16)
        }
        return scaling_lines(summary(scaling=scaling(paced("off", rates), ["off"], {"off": 16})))

    assert told(0.05, 0.01)[0].startswith(
        "off: Universal Scalability Law over 6 levels up to 16 agents (p = 1): 100.0 [95.0,"
    )
    assert (
        "contention 0.0500 [0.0500, 0.0500], coherency 0.0100 [0.01000, 0.0100]; most at 9.75 [9.75, 9.75] agents"
        in (told(0.05, 0.01)[0])
    )
    assert told(0.05, 0.0)[0].endswith("; beta came out at the bound of 0; any peak lies beyond what was measured")
    assert told(0.05, 0.0, cliff=0.5)[0].startswith(
        "off: no coefficients of the Universal Scalability Law from 6 levels up to 16 agents: its rates lie farther"
    )
    few = scaling(paced("off", {1: [1.0] * 3}), ["off"], {})
    assert scaling_lines(summary(scaling=few)) == []


def test_the_equal_memory_question_is_answered_in_sentences_each_once() -> None:
    """Not known at two levels is one sentence; nothing of what answers wrongly."""
    valid = {**cells(), ("off", 1): rounds("off", 1), ("mtp", 1): rounds("mtp", 1, per_step=2)}
    entries = equal_memory(valid, ["off", "mtp"], "off", off={"off"}, memory=[])
    assert equal_memory_lines(summary(equal_memory=entries)) == [
        (
            "Whether the memory of mtp would do more as slots of off is not known: no load log tells what mtp, off and "
            "a slot of off take."
        )
    ]
    assert equal_memory_lines(summary(equal_memory=entries, void=True)) == []


def test_idle_slots_are_told_only_where_somebody_asks() -> None:
    """At 2 agents of 4 slots nothing is said, unless the decision is for 2 agents."""
    memory = [{"variant": name, "slots": 4, "slots_worth": 4.0} for name in ("off", "mtp")]
    entries = equal_memory(cells(), ["off", "mtp"], "off", off={"off"}, memory=memory)
    assert equal_memory_lines(summary(equal_memory=entries)) == []
    assert equal_memory_lines(summary(equal_memory=entries, asked=2))[0].startswith(
        "With 2 agents more slots than the 4 of mtp are of no use"
    )
