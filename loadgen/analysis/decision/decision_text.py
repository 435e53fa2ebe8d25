"""The decision for a number of agents in plain words: four to eight sentences that never disagree with the calls."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from loadgen.analysis.at_depth import deep
from loadgen.analysis.classes.wording import class_words, classes_text
from loadgen.analysis.comparison_text import refused, settled, unresolved
from loadgen.analysis.decision.binding import slots_bought
from loadgen.analysis.decision.choice import Answer, Choice, Standing
from loadgen.analysis.decision.grounds import Grounds
from loadgen.analysis.decision.objective_text import objective
from loadgen.analysis.decision.unmeasured import check_gap
from loadgen.analysis.decision.user_view import ONE_USER, view_text
from loadgen.analysis.estimators.comparison import Call
from loadgen.analysis.estimators.intervals import MIN_ROUNDS
from loadgen.analysis.wording import agents, count, interval
from loadgen.units import bytes_to_mib

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_View = Mapping[str, Any] | None


def subject(grounds: Grounds, choice: Choice) -> str:
    """The variant that the decision is about: the one that it keeps, else the one in focus."""
    if choice.answer is Answer.BASELINE and choice.stands in (Standing.UNSAFE, Standing.MISSES):
        return choice.focus or grounds.baseline
    if choice.answer in (Answer.BASELINE, Answer.NOTHING):
        return grounds.baseline
    return choice.focus or grounds.baseline


def paragraph(
    grounds: Grounds,
    choice: Choice,
    *,
    at: _View,
    alone: _View,
    limit: str | None,
    other: str | None,
    gaps: Sequence[str],
) -> list[str]:
    """The sentences, in the order in which they are read.

    Args:
        grounds: what the decision rests on.
        choice: the decision.
        at: what one user waits for at `grounds.agents`.
        alone: what one user waits for alone.
        limit: the limit that binds, as a clause.
        other: what to do instead, as a clause.
        gaps: what wasn't measured, as clauses.
    """
    name = subject(grounds, choice)
    entry = grounds.goodput_of(name)
    stated = choice.stands is Standing.IF_MEMORY or choice.answer is Answer.UNRESOLVED
    sentences = [
        advice(grounds, choice),
        effect(grounds, choice),
        None if choice.focus is None else classes_text(grounds.classes_of(choice.focus)),
        users(grounds, at, alone),
        memory(grounds, choice),
        _equal_memory(grounds, choice),
        objective(entry) if entry is not None else None,
        _joined([limit, None if stated else other]),
        _joined([f"not measured: {'; '.join(gaps)}"]),
    ]
    return [sentence for sentence in sentences if sentence]


def headline(grounds: Grounds, choice: Choice, alone: _View) -> str:
    """The answer in one line: `one interactive user: keep mtp; four background agents: off, …`.

    Of a mix the classes stand before it: `for chat (1 agent): mtp does more; for batch (3 agents): mtp does less; the
    four agents together: off`.
    """
    off, parts = grounds.baseline, []
    classes = [] if choice.focus is None else class_words(grounds.classes_of(choice.focus))
    if alone is not None and not classes:
        kept = alone["keep"]
        parts.append(f"one interactive user: {'open' if kept is None else off if kept == off else f'keep {kept}'}")
    background = "open"
    if choice.answer is Answer.KEEP:
        background = f"keep {choice.keep}"
    elif choice.answer is Answer.CONDITION:
        held = "its memory fits" if choice.stands is Standing.IF_MEMORY else "it meets the objective"
        background = f"{choice.focus}, if {held}"
    elif choice.answer is Answer.BASELINE:
        slots = choice.stands in (Standing.COSTS, Standing.SAME) and slots_bought(grounds, choice.focus) is not None
        background = f"{off}{', spend the memory on slots' if slots else ''}"
    several = f"{counted(grounds.agents)} background agent{'' if grounds.agents == 1 else 's'}{deep(grounds.depth)}"
    if classes:
        several = f"the {counted(grounds.agents)} agents together" if grounds.agents > 1 else agents(1)
    return "; ".join([*parts, *classes, f"{several}: {background}"])


def counted(number: int) -> str:
    """A whole number in words up to twelve."""
    return _WORDS[number] if 0 <= number < len(_WORDS) else str(number)


def advice(grounds: Grounds, choice: Choice) -> str:
    """What to run."""
    at, off, focus = f"At {agents(grounds.agents)}{deep(grounds.depth)}", grounds.baseline, choice.focus
    match choice.answer:
        case Answer.KEEP:
            gap = check_gap(grounds, str(focus))
            held = "" if gap is None else f", provided that its answers are right ({gap})"
            return f"{at} run {focus}{held}."
        case Answer.CONDITION if choice.stands is Standing.IF_MEMORY:
            return f"{at}: {focus}, if its memory fits: give --memory-budget."
        case Answer.CONDITION:
            return f"{at}: {focus}, if it meets the objective, which is not shown."
        case Answer.BASELINE:
            return f"{at} run {off}, not {_or(list(choice.standings))}."
        case Answer.BEATEN:
            return f"{at} don't keep {focus}: its memory does more as slots."
        case _:
            return _no_advice(grounds, choice, at)


def _no_advice(grounds: Grounds, choice: Choice, at: str) -> str:
    """Why nothing is advised."""
    off = grounds.baseline
    match choice.answer:
        case Answer.UNRESOLVED:
            names = choice.of(Standing.UNRESOLVED)
            return f"{at} nothing shows whether {_or([*names, off])} does {'more' if len(names) == 1 else 'most'}."
        case Answer.NO_PAIR | Answer.NOT_COMPARABLE:
            names = choice.of(Standing(choice.answer.value))
            why = "no round has a valid trial on both sides"
            if choice.answer is Answer.NOT_COMPARABLE:
                why = f"the turns of {off} are of another depth, so that the two are not comparable"
            return f"{at} nothing can be said of {_or(names)}: {why}."
        case Answer.NOTHING:
            short = (
                "leaves less memory than was asked for" if grounds.safety(off) == "unsafe" else "misses the objective"
            )
            return f"{at} nothing that was measured can be kept: {off} {short}."
        case Answer.FAILED:
            reasons = "; ".join(grounds.failed[off]) or "no reason is known"
            return f"{at} nothing can be advised: the output check failed for {off}, the baseline ({reasons})."
        case Answer.ALONE:
            return f"{at} there is nothing to choose: {off} is the only variant that could be kept."
        case _:
            why = "the time budget left them out" if grounds.agents in grounds.dropped_levels else "no trial was run"
            return f"{at} nothing was measured ({why}), so nothing says what to run."


def effect(grounds: Grounds, choice: Choice) -> str:
    """What the variant in focus gains or loses, and how the others stand."""
    if choice.answer is Answer.NOT_MEASURED:
        levels = ", ".join(map(str, grounds.levels)) or "none"
        return f"The concurrencies that were measured, {levels}, say nothing of {agents(grounds.agents)}."
    if choice.answer is Answer.FAILED:
        return "Against a baseline that answers wrongly no speed-up counts."
    if choice.answer is Answer.ALONE:
        return _alone(grounds)
    said = [] if choice.focus is None else [compared(grounds, choice.focus)]
    others = [_other(grounds, choice, name) for name in choice.standings if name != choice.focus]
    return _joined([*said, *others], capital=not said)


def compared(grounds: Grounds, variant: str) -> str:
    """The comparison of a variant with the baseline, as the report says it."""
    found = grounds.comparison(variant)
    if found is None:
        where = f"Whether {variant} pays at {agents(grounds.agents)}{deep(grounds.depth)}"
        return f"{where}: it takes {MIN_ROUNDS} rounds with a valid trial on both sides; there are 0."
    if found.refusals:
        return refused(found)
    return unresolved(found, grounds.family) if found.call is Call.UNRESOLVED else settled(found)


def users(grounds: Grounds, at: _View, alone: _View) -> str | None:
    """What one user waits for among the agents, and alone; null where neither was measured.

    Among the agents of a mix a median over all classes is nobody's: what each class waits for is said of it.
    """
    parts = []
    if at is not None and not grounds.classes_of(at["variant"]):
        where = "alone" if grounds.agents == ONE_USER else f"among {agents(grounds.agents)}"
        parts.append(f"for one user {where} {view_text(at, grounds.baseline)}")
    if alone is not None and grounds.agents != ONE_USER:
        work = next((f" ({one['work_class']})" for one in grounds.classes_of(alone["variant"], ONE_USER)), "")
        parts.append(f"for one user alone{work} {view_text(alone, grounds.baseline)}")
    if alone is not None and alone["keep"] is not None:
        who = "one agent alone" if grounds.classes_of(alone["variant"], ONE_USER) else "one interactive user"
        parts.append(f"{who} should run {alone['keep']}")
    return _joined(parts) if parts else None


def memory(grounds: Grounds, choice: Choice) -> str:
    """What memory the variant takes, and the margin that it leaves."""
    name = subject(grounds, choice)
    entry, bought = grounds.memory_of(name), slots_bought(grounds, choice.focus)
    worth = ""
    if bought is not None and name == grounds.baseline:
        worth = f"; what {choice.focus} takes beyond it would buy {count(bought)} more slots"
    if entry is None or entry["peak_bytes"] is None:
        return f"What memory {name} takes was not seen{worth}."
    text = f"{name} takes {_mib(entry['peak_bytes'])} of memory at its peak"
    if entry["safety"] == "unknown" or entry["margin_bytes"] is None:
        return f"{text}, and whether that is safe is unknown: {entry['safety_reason']}{worth}."
    where = f" ({entry['safety_reason']})" if entry["safety_reason"] is not None else ""
    return (
        f"{text} and leaves {_mib(entry['margin_bytes'])} of {_mib(entry['budget_bytes'])}, where "
        f"{_mib(entry['margin_asked_bytes'])} are asked for: that is {entry['safety']}{where}{worth}."
    )


def _equal_memory(grounds: Grounds, choice: Choice) -> str | None:
    """The equal-memory question as one sentence; null where it is the comparison with the baseline over again."""
    entry = None if choice.focus is None else grounds.equal_memory_of(choice.focus)
    if entry is None or not entry["text"]:
        return None
    if entry["other_variant"] == grounds.baseline and entry.get("other_concurrency") == grounds.agents:
        return None
    return re.sub(r"\. ([A-Z])", lambda found: f"; {found[1].lower()}", f"{entry['text'].rstrip('.')}.")


def _alone(grounds: Grounds) -> str:
    cell = grounds.cell(grounds.baseline)
    rate: Mapping[str, Any] = cell["tasks_per_hour"] if cell is not None else {"value": None}
    if rate["value"] is None:
        return f"No valid trial of {grounds.baseline} says how much it does."
    bounds = "without an interval"
    if rate["low"] is not None and rate["high"] is not None:
        bounds = f"95 % interval {count(rate['low'])} to {count(rate['high'])}"
    return f"{grounds.baseline} does {count(rate['value'])} tasks per hour ({bounds})."


def _other(grounds: Grounds, choice: Choice, name: str) -> str:
    """How a variant stands that isn't in focus, in few words."""
    off, reasons = grounds.baseline, "; ".join(grounds.failed.get(name, ())) or "no reason is known"
    short = {
        Standing.FAILED: f"the output check failed for {name} ({reasons})",
        Standing.NO_PAIR: f"no round has a valid trial of {name} and of {off}",
        Standing.NOT_COMPARABLE: f"{name} is not comparable with {off}",
        Standing.COSTS: f"{name} costs",
        Standing.SAME: f"{name} does the same as {off}",
        Standing.UNRESOLVED: f"whether {name} pays is unresolved",
        Standing.UNSAFE: f"{name} leaves less memory than was asked for",
        Standing.MISSES: f"{name} misses the objective",
        Standing.BEATEN: f"{name} does less than its memory does as slots",
    }
    return short.get(choice.standings[name]) or _beside(grounds, choice, name)


def _beside(grounds: Grounds, choice: Choice, name: str) -> str:
    """Another variant that pays: described beside the one in focus, not compared with it."""
    mine, first = grounds.comparison(name), grounds.comparison(str(choice.focus))
    if mine is None or first is None:
        return f"{name} pays too"
    shown = f"{name} pays too ({interval(mine.speedup.low, mine.speedup.high)})"
    condition = {
        Standing.IF_MEMORY: ", if its memory fits",
        Standing.IF_OBJECTIVE: ", if it meets the objective",
    }.get(choice.standings[name], "")
    if (mine.speedup.high or 0.0) < (first.speedup.low or 0.0):
        return f"{shown}{condition}"
    return f"{shown}{condition}, and nothing shows which of the two does more"


def _or(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _joined(parts: Sequence[str | None], *, capital: bool = True) -> str:
    """Clauses as one sentence, with a capital where it doesn't begin with a name; nothing where there is none."""
    text = "; ".join(part.rstrip(".") for part in parts if part)
    if not text:
        return ""
    return f"{text[0].upper() if capital else text[0]}{text[1:]}."


def _mib(size: float) -> str:
    return f"{'−' if size < 0 else ''}{bytes_to_mib(abs(size)):,.0f} MiB"
