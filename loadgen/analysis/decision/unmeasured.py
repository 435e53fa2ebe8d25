"""What the decision for a number of agents doesn't rest on, because nobody measured it."""

from collections.abc import Mapping
from typing import Any

from loadgen.analysis.decision.binding import slots_bought
from loadgen.analysis.decision.choice import Answer, Choice, Standing
from loadgen.analysis.decision.grounds import Grounds
from loadgen.analysis.decision.objective_text import LIMITS, whose
from loadgen.analysis.decision.user_view import ONE_USER
from loadgen.analysis.measured.attempt import TASK
from loadgen.analysis.wording import agents

_View = Mapping[str, Any] | None


def not_measured(grounds: Grounds, choice: Choice, name: str, *, at: _View, alone: _View) -> list[str]:
    """What wasn't measured, as clauses without a full stop.

    Args:
        grounds: what the decision rests on.
        choice: the decision.
        name: the variant that it is about.
        at: what one user waits for at `grounds.agents`.
        alone: what one user waits for alone.
    """
    where = agents(grounds.agents)
    out = [where] if choice.answer is Answer.NOT_MEASURED else _open_variants(grounds, choice)
    if at is None and choice.focus is not None and choice.answer is not Answer.NOT_MEASURED:
        out.append(f"what one user of {where} waits for")
    if alone is None and grounds.agents != ONE_USER:
        out.append("what one user alone waits for")
    out += _absent_classes(grounds)
    gap = check_gap(grounds, name)
    if gap is not None:
        out.append(f"whether answers of {name} keep to their session ({gap})")
    if grounds.safety(name) == "unknown":
        entry = grounds.memory_of(name)
        why = entry["safety_reason"] if entry is not None else "no memory was seen"
        out.append(f"whether memory suffices for {name} ({why})")
    return [*out, *_objective(grounds, name), *_equal_memory(grounds, choice), "the quality of the answers"]


def check_gap(grounds: Grounds, variant: str) -> str | None:
    """Why the output check says nothing of a variant, as a clause; null where it passed or failed."""
    entry = next((one for one in grounds.output_check if one["variant"] == variant), None)
    if entry is None:
        return f"the output check was {'not made' if grounds.check_asked or grounds.output_check else 'off'}"
    return None if entry["result"] != "n/a" else "; ".join(entry["reasons"]) or "the output check could not tell"


def _open_variants(grounds: Grounds, choice: Choice) -> list[str]:
    lacking = choice.of(Standing.NO_PAIR, Standing.NOT_COMPARABLE)
    out = [f"{name} against {grounds.baseline} at {agents(grounds.agents)}" for name in lacking]
    if choice.answer is not Answer.UNRESOLVED:
        out += [f"whether {name} pays (unresolved)" for name in choice.of(Standing.UNRESOLVED)]
    return out


def _objective(grounds: Grounds, name: str) -> list[str]:
    entry = grounds.goodput_of(name)
    if entry is None or entry["requests"]["attainment"]["value"] is None:
        return []
    missing = [
        (one["limit"], whose(name, one.get("work_class")))
        for one in entry["limits"]
        if one["attainment"]["value"] is None
    ]
    return [f"whole tasks of {who}" if limit == TASK else f"the {LIMITS[limit]} of {who}" for limit, who in missing]


def _absent_classes(grounds: Grounds) -> list[str]:
    """The classes of a mix that have agents at other concurrencies alone."""
    names: dict[int, list[str]] = {}
    for entry in grounds.cells:
        names.setdefault(entry["concurrency"], []).extend(one["name"] for one in entry.get("classes", ()))
    every = list(dict.fromkeys(name for level in sorted(names) for name in names[level]))
    here = names.get(grounds.agents, every)
    return [f"{name}, which has none of {agents(grounds.agents)}" for name in every if name not in here]


def _equal_memory(grounds: Grounds, choice: Choice) -> list[str]:
    if choice.focus is None:
        return []
    entry = grounds.equal_memory_of(choice.focus)
    if entry is not None and entry["by"] == "measured":
        return []
    if slots_bought(grounds, choice.focus) is None:
        return []
    predicted = " (predicted)" if entry is not None and entry["by"] == "predicted" else ""
    return [f"{grounds.baseline} with the slots that the memory of {choice.focus} buys{predicted}"]
