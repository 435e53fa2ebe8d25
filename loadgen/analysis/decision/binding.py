"""Which limit binds at the operating point, and what to do instead of what can't be kept."""

from collections.abc import Mapping
from typing import Any

from loadgen.analysis.decision.choice import Answer, Choice, Standing
from loadgen.analysis.decision.goodput import Meets
from loadgen.analysis.decision.grounds import Grounds
from loadgen.analysis.decision.objective_text import LIMITS, whose
from loadgen.analysis.estimators.comparison import Call
from loadgen.analysis.wording import agents, count

THROUGHPUT = "throughput"
MEMORY = "memory"
WHOLE_SLOT = 1.0
"""Memory for less than one slot buys nothing."""


def binding(grounds: Grounds, choice: Choice) -> dict[str, str] | None:
    """What keeps the variant in focus (or the baseline, where that can't be kept either) from being run.

    `limit` is `throughput`, `memory`, `failures` or a limit of the objective by its name, with the `work_class` of a
    mix whose it is; `text` says it as a clause. Null
    where a variant is kept, and where a question is open that more measuring may settle.
    """
    off, name = grounds.baseline, choice.focus
    if choice.answer is Answer.NOTHING:
        return _memory(grounds, off) if grounds.safety(off) == "unsafe" else _objective(grounds, off)
    if name is None or choice.answer not in (Answer.BASELINE, Answer.CONDITION, Answer.BEATEN):
        return None
    if choice.stands in (Standing.UNSAFE, Standing.IF_MEMORY):
        return _memory(grounds, name)
    if choice.stands is Standing.BEATEN:
        text = f"the limit that binds is memory: {name} does less than its memory does as slots"
        return {"limit": MEMORY, "text": text}
    if choice.stands in (Standing.MISSES, Standing.IF_OBJECTIVE):
        return _objective(grounds, name)
    does = f"does fewer tasks per hour than {off}"
    if choice.stands is Standing.SAME:
        does = f"does no more tasks per hour than {off} that would be worth acting on"
    return {"limit": THROUGHPUT, "text": f"the limit that binds is throughput: {name} {does}"}


def _memory(grounds: Grounds, name: str) -> dict[str, str]:
    known = grounds.safety(name) == "unsafe"
    state = f"{name} leaves less than was asked for" if known else f"nobody knows whether that of {name} suffices"
    return {"limit": MEMORY, "text": f"the limit that binds is memory: {state}"}


def _objective(grounds: Grounds, name: str) -> dict[str, str] | None:
    entry = grounds.goodput_of(name)
    limit = None if entry is None else entry["binds"]
    if entry is None or limit is None:
        return None
    work_class = entry.get("binds_class")
    own = [one for one in entry["limits"] if one["limit"] == limit and one.get("work_class") == work_class]
    asked = "".join(f", {count(one['asked_s'])} s at most" for one in own[:1])
    text = f"the limit that binds is the {LIMITS[limit]} of {whose(name, work_class)}{asked}"
    return {"limit": limit, **({} if work_class is None else {"work_class": work_class}), "text": text}


def slots_bought(grounds: Grounds, variant: str | None) -> float | None:
    """How many more slots of the baseline the memory of a variant would buy.

    Null below one, where it isn't known, and where the variant has more slots than there are agents already.
    """
    if variant is None:
        return None
    equal, entry = grounds.equal_memory_of(variant), grounds.memory_of(variant)
    slots = entry.get("slots") if entry is not None else None
    if slots is not None and grounds.agents < slots:
        return None
    found = equal["slots_bought"] if equal is not None else None
    if found is None and entry is not None:
        found = entry["slots_worth"]
    return None if found is None or found < WHOLE_SLOT else float(found)


def instead(grounds: Grounds, choice: Choice) -> str | None:
    """What to do where no variant can be kept as it is, as a clause; null where one is kept or there is no advice."""
    off, dropped = grounds.baseline, grounds.agents in grounds.dropped_levels
    fixed = {
        Answer.KEEP: None,
        Answer.FAILED: f"find out why {off} answers wrongly",
        Answer.ALONE: "compare it with a variant that speculates",
        Answer.NO_PAIR: "find out why its trials don't count",
        Answer.NOT_COMPARABLE: "find out why its turns are of another depth: failing turns and live history move them",
        Answer.NOT_MEASURED: (
            "give a larger --time-budget, or fewer levels" if dropped else f"measure {agents(grounds.agents)} too"
        ),
        Answer.NOTHING: _for_baseline(grounds),
    }
    if choice.answer in fixed or choice.focus is None:
        return fixed.get(choice.answer)
    return _about(grounds, choice, choice.focus)


def _for_baseline(grounds: Grounds) -> str:
    """For a baseline that can't be kept."""
    if grounds.safety(grounds.baseline) == "unsafe":
        return f"give {grounds.baseline} fewer slots or a smaller context, and measure again"
    fewer = _fewer_agents(grounds, grounds.baseline)
    return fewer or "no concurrency that was measured meets the objective: it takes a faster server"


def _about(grounds: Grounds, choice: Choice, name: str) -> str | None:
    """Instead of the variant that isn't kept, or isn't yet."""
    match choice.stands:
        case Standing.UNRESOLVED:
            advice = _more_rounds(grounds, name)
        case Standing.BEATEN:
            advice = f"run {_with_slots(grounds, name)}"
        case Standing.IF_MEMORY:
            advice = "give --memory-budget"
        case Standing.UNSAFE:
            advice = f"give {name} fewer slots, a smaller --spec-draft-n-max or a smaller context, and measure again"
        case Standing.MISSES:
            advice = _fewer_agents(grounds, name)
        case Standing.IF_OBJECTIVE:
            advice = _fewer_agents(grounds, name) or "measure more rounds (--resume)"
        case _:
            advice = _slots_and_levels(grounds, name)
    return advice


def _slots_and_levels(grounds: Grounds, name: str) -> str | None:
    """What the memory of a variant that doesn't pay here buys, and where it does pay."""
    parts, bought = [], slots_bought(grounds, name)
    if bought is not None:
        parts.append(f"spend the memory of {name} on {count(bought)} more slots")
    pays = sorted(c.level for c in grounds.comparisons if c.variant == name and c.call is Call.PAYS)
    if pays:
        parts.append(f"keep {name} for {' or '.join(map(str, pays))} agent{'' if pays == [1] else 's'}")
    return ", and ".join(parts) or None


def _more_rounds(grounds: Grounds, name: str) -> str | None:
    compared = grounds.comparison(name)
    if compared is None:
        return None
    if compared.more_rounds is None:
        return "ask for a larger --min-effect: more rounds would not settle it"
    return f"measure about {compared.more_rounds} more round{'' if compared.more_rounds == 1 else 's'} (--resume)"


def _with_slots(grounds: Grounds, name: str) -> str:
    entry: Mapping[str, Any] = grounds.equal_memory_of(name) or {}
    if entry.get("other_variant"):
        return str(entry["other_variant"])
    bought = slots_bought(grounds, name)
    return f"{grounds.baseline} with {'more' if bought is None else f'{count(bought)} more'} slots"


def _fewer_agents(grounds: Grounds, name: str) -> str | None:
    """The largest measured concurrency below `agents` at which a variant meets the objective."""
    met = [
        one["concurrency"]
        for one in grounds.goodput
        if one["variant"] == name and one["meets"] == Meets.YES and one["concurrency"] < grounds.agents
    ]
    return f"run {name} for {agents(max(met))} at most, where it meets the objective" if met else None
