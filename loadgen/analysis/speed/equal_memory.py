"""The equal-memory question: speculation with k slots, or no speculation with the slots that its memory would buy."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from loadgen.analysis.diagnostic import Diagnostic
from loadgen.analysis.estimators.comparison import log_ratios, speedup
from loadgen.analysis.estimators.intervals import Estimate
from loadgen.analysis.speed import equal_memory_text as text
from loadgen.analysis.speed.memory_trade import UNANSWERED, Answer, By, Trade
from loadgen.analysis.speed.rate_curve import curve
from loadgen.analysis.speed.step_model import Cells
from loadgen.records.model import ServerFacts, ServerStart

_ROUNDING = 1e-6
"""A ledger has the digits of a log: slots worth 3.9999999 are four."""
_ROOM = 0.05
"""Slots whose context differs by more than 5 % take other memory: those are no slots that the memory would buy."""

Rivals = Sequence[tuple[str, int]]
"""Variants without speculation that have about the slots that the memory would buy: (name, slots)."""


def equal_memory(
    valid: Cells,
    names: Sequence[str],
    baseline: str,
    *,
    off: Collection[str],
    memory: Sequence[Mapping[str, Any]],
    starts: Sequence[ServerStart] = (),
    diagnostics: Mapping[str, Diagnostic] | None = None,
) -> list[dict[str, Any]]:
    """The answers for every speculating variant and level; none where the baseline speculates too.

    `speedup` is speculation with k slots ÷ no speculation with the k' slots of the same memory: at N = k agents with
    all slots of both busy (k' agents on the other side), at N > k with N agents on both. At N < k more slots would
    stay idle, so it is the variant's speed-up at N. `slots_bought` are whole slots, `slots_worth` has the fraction.

    It is *measured* where a variant without speculation ran with k' slots, give or take one, of the same model and
    context; else *predicted* from the baseline's own curve: interpolated up to the largest level that its slots hold,
    and beyond it between two bounds (`low` and `high`, no value): at least what that level did, for slots can stay
    idle, and at most in proportion to the agents. `better` is `speculation` or `no_speculation` where that tells.

    Args:
        valid: the valid trials by variant and level.
        names: the variants in the order of the experiment.
        baseline: the name of the baseline.
        off: the variants that don't draft.
        memory: the memory entries of the summary.
        starts: the servers that ran.
        diagnostics: the diagnostic variants.
    """
    kinds = diagnostics or {}
    if baseline not in off:
        return []
    entries = {str(entry["variant"]): entry for entry in memory}
    facts = {start.variant: start.facts for start in reversed(starts)}
    out = []
    for name in names:
        levels = sorted(level for (variant, level), trials in valid.items() if variant == name and trials)
        if name == baseline or name in off or kinds.get(name) is Diagnostic.OVERHEAD or not levels:
            continue
        trade = _trade(name, baseline, entries, set_acceptance=kinds.get(name) is Diagnostic.SYNTHETIC)
        if isinstance(trade, str):
            says = text.unknown(name, baseline, trade)
            out += [_json(name, baseline, level, None, UNANSWERED, says) for level in levels]
            continue
        rivals = _rivals(trade, [plain for plain in names if plain in off], entries, facts)
        out += [_entry(trade, level, valid, rivals, full=trade.slots in levels) for level in levels]
    return out


def _trade(name: str, baseline: str, entries: Mapping[str, Mapping[str, Any]], *, set_acceptance: bool) -> Trade | str:
    """What is traded, or why that isn't known."""
    mine, base = entries.get(name), entries.get(baseline)
    if mine is None or base is None or mine["slots_worth"] is None:
        return f"no load log tells what {name}, {baseline} and a slot of {baseline} take"
    if not mine["slots"] or not base["slots"]:
        return f"how many slots {name} and {baseline} have is not known"
    worth = base["slots"] + mine["slots_worth"] - mine["slots"]
    bought = math.floor(worth + _ROUNDING)
    return Trade(name, baseline, mine["slots"], base["slots"], worth, bought, set_acceptance)


def _rivals(
    trade: Trade, plain: Sequence[str], entries: Mapping[str, Mapping[str, Any]], facts: Mapping[str, ServerFacts]
) -> Rivals:
    """Within one slot of what the memory would buy, and more than the variant's own; the nearest first."""
    wanted = trade.slots + trade.worth
    found = []
    for name in plain:
        slots = entries[name]["slots"] if name in entries else None
        if slots and slots > trade.slots and abs(slots - wanted) <= 1 and _alike(name, trade.baseline, facts):
            found.append((name, int(slots)))
    return sorted(found, key=lambda rival: abs(rival[1] - wanted))


def _alike(name: str, baseline: str, facts: Mapping[str, ServerFacts]) -> bool:
    """Whether two servers serve the same model with as much context a slot, as far as they tell."""
    one, base = facts.get(name), facts.get(baseline)
    if name == baseline or one is None or base is None:
        return name == baseline
    if one.model_digest is not None and base.model_digest is not None:
        same = one.model_digest == base.model_digest
    else:
        same = one.model == base.model
    if not one.context_per_slot or not base.context_per_slot:
        return same
    return same and abs(one.context_per_slot / base.context_per_slot - 1) <= _ROOM


def _entry(trade: Trade, level: int, valid: Cells, rivals: Rivals, *, full: bool) -> dict[str, Any]:
    mine = _by_round(valid, trade.variant, level)
    if trade.bought <= 0:
        answer = _measured(mine, valid, trade.baseline, level)
        says = text.nothing_bought(trade, level, answer)
    elif level < trade.slots:
        answer = _measured(mine, valid, trade.baseline, level)
        says = text.idle(trade, level, answer, full=full)
    else:
        found = (_against(rival, trade, mine, level, valid) for rival in rivals)
        answer = next((one for one in found if one.by is not None), UNANSWERED)
        if answer.by is None:
            answer = _predicted(trade, mine, level, valid)
        says = text.answered(trade, level, answer, dict(rivals))
    return _json(trade.variant, trade.baseline, level, trade, answer, says)


def _against(
    rival: tuple[str, int], trade: Trade, mine: Mapping[int, float | None], level: int, valid: Cells
) -> Answer:
    """Measured against one rival: at N = k with all slots of both busy, else with N agents on both."""
    name, slots = rival
    ran = [other for (variant, other), trials in valid.items() if variant == name and trials]
    if level > trade.slots:
        near = [other for other in ran if other == level]
    else:
        near = [other for other in ran if other > trade.slots and abs(other - trade.rival) <= 1]
    answers = (_measured(mine, valid, name, other) for other in sorted(near, key=lambda other: abs(other - slots)))
    return next((one for one in answers if one.by is not None), UNANSWERED)


def _measured(mine: Mapping[int, float | None], valid: Cells, other: str, level: int) -> Answer:
    ratio = speedup(list(log_ratios(mine, _by_round(valid, other, level)).values()))
    return UNANSWERED if ratio.value is None else Answer(ratio, By.MEASURED, other, level)


def _predicted(trade: Trade, mine: Mapping[int, float | None], level: int, valid: Cells) -> Answer:
    """From the baseline's curve, at as many agents as its slots would keep busy."""
    busy = trade.rival if level == trade.slots else min(level, trade.rival)
    known = curve(valid, trade.baseline, trade.baseline_slots)
    inside, largest = known.at(busy), known.largest
    if inside is not None:
        ratio = speedup(list(log_ratios(mine, inside).values()))
        return UNANSWERED if ratio.value is None else Answer(ratio, By.PREDICTED, agents=busy)
    if largest is None or largest > busy:
        return UNANSWERED
    most = speedup(list(log_ratios(mine, known.by_level[largest]).values()))
    if most.low is None or most.high is None:
        return UNANSWERED
    bounds = Estimate(None, most.low * largest / busy, most.high, most.n, estimable=False)
    return Answer(bounds, By.PREDICTED, agents=busy, from_level=largest)


def _by_round(valid: Cells, name: str, level: int) -> dict[int, float | None]:
    return {trial.record.round: trial.tasks_per_hour for trial in valid.get((name, level), ())}


def _json(  # noqa: PLR0917 - the parts of one entry
    name: str, baseline: str, level: int, trade: Trade | None, answer: Answer, says: str
) -> dict[str, Any]:
    return {
        "variant": name,
        "baseline": baseline,
        "concurrency": level,
        "slots": None if trade is None else trade.slots,
        "slots_bought": None if trade is None else float(max(trade.bought, 0)),
        "slots_worth": None if trade is None else trade.worth,
        "by": None if answer.by is None else answer.by.value,
        "other_variant": answer.other,
        "other_concurrency": answer.agents,
        "speedup": answer.speedup.as_json(),
        "better": None if answer.better is None else answer.better.value,
        "text": says,
    }
