"""The equal-memory question in sentences: what was measured, what is predicted and by what, and what isn't known."""

from collections.abc import Mapping, Sequence
from typing import Any

from loadgen.analysis.speed.memory_trade import Answer, Better, By, Trade
from loadgen.analysis.wording import agents, factor, interval

_BETTER = {
    Better.SPECULATION: "speculation is the better use of that memory",
    Better.NO_SPECULATION: "slots are the better use of that memory",
    None: "which is the better use of that memory is unresolved",
}


def equal_memory_sentences(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """The texts of the entries, each once."""
    return list(dict.fromkeys(entry["text"] for entry in entries))


def unknown(variant: str, baseline: str, why: str) -> str:
    """Where it isn't known what is traded."""
    return f"Whether the memory of {variant} would do more as slots of {baseline} is not known: {why}."


def nothing_bought(trade: Trade, level: int, answer: Answer) -> str:
    """Where the variant takes no more memory than as many slots without speculation."""
    lead = f"The memory that {trade.variant} takes would buy no more slots of {trade.baseline} than it has"
    return f"{lead}: {_plain(trade, level, answer)}."


def idle(trade: Trade, level: int, answer: Answer, *, full: bool) -> str:
    """Where agents are fewer than slots already; `full`: another level keeps all slots of the variant busy."""
    lead = f"With {agents(level)} more slots than the {trade.slots} of {trade.variant} are of no use"
    more = "" if full else f" What they are worth to more agents takes a level of {agents(trade.slots)}."
    return f"{lead}: {_plain(trade, level, answer)}.{more}"


def answered(trade: Trade, level: int, answer: Answer, slots: Mapping[str, int]) -> str:
    """Where agents keep all slots of the variant busy; `slots` of the variants that it may have been measured with."""
    lead = f"The memory that {trade.variant} takes would buy {_slots(trade.worth)} more of {trade.baseline}"
    if answer.by is None:
        return (
            f"{lead}; what they would do at {agents(level)} is not known: no variant ran with about {trade.rival} "
            f"slots and no speculation, and {trade.baseline} has too few rounds or levels to predict it."
        )
    mine = f"{trade.variant} with {_slots(trade.slots)} and {agents(level)}{_note(trade)}"
    if answer.other is not None:
        theirs = f"{answer.other} with {_slots(slots[answer.other])} and {agents(answer.agents or level)}"
        return (
            f"{lead}. Measured: {mine} does {_ratio(answer)} the tasks per hour of {theirs}: {_BETTER[answer.better]}."
        )
    theirs = f"{trade.baseline} with {_slots(trade.rival)} and {agents(_there(trade, level))}"
    does = f"{mine} does {_predicted(trade, answer)} of {theirs}"
    return f"{lead}. Predicted, not measured: {does}: {_BETTER[answer.better]}."


def _there(trade: Trade, level: int) -> int:
    return trade.rival if level == trade.slots else level


def _predicted(trade: Trade, answer: Answer) -> str:
    what = "the tasks per hour"
    if answer.from_level is None or answer.agents is None:
        return f"{_ratio(answer)} {what}, read off the curve of {trade.baseline} at {agents(answer.agents or 0)},"
    low, high = answer.speedup.low, answer.speedup.high
    share = f"{answer.agents / answer.from_level:.3g} times that"
    return (
        f"{factor(low or 0)} to {factor(high or 0)} times {what} (taking at least what {trade.baseline} did with "
        f"{agents(answer.from_level)}, and at most {share})"
    )


def _plain(trade: Trade, level: int, answer: Answer) -> str:
    if answer.by is not By.MEASURED:
        return f"at {agents(level)} no round has a valid trial of {trade.variant} and {trade.baseline}"
    return f"it does {_ratio(answer)} the tasks per hour of {trade.baseline} at {agents(level)}{_note(trade)}"


def _ratio(answer: Answer) -> str:
    ratio = answer.speedup
    value = "n/a" if ratio.value is None else factor(ratio.value)
    rounds = f"{ratio.n} round{'' if ratio.n == 1 else 's'}"
    if ratio.low is None or ratio.high is None:
        return f"{value} times ({rounds}, without an interval)"
    return f"{value} times (95 % interval {interval(ratio.low, ratio.high)}, {rounds})"


def _slots(count: float) -> str:
    return "1 slot" if count == 1 else f"{count:.3g} slots"


def _note(trade: Trade) -> str:
    return " at the acceptance that was set (diagnostic)" if trade.set_acceptance else ""
