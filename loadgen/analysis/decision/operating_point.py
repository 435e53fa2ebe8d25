"""The verdict at the operating point: what to run for so many agents, in the background and for one user."""

from collections.abc import Mapping
from typing import Any

from loadgen.analysis.classes.wording import classes_text
from loadgen.analysis.comparison_text import crossing
from loadgen.analysis.decision.binding import binding, instead
from loadgen.analysis.decision.choice import Answer, Choice, choose
from loadgen.analysis.decision.decision_text import compared, headline, memory, paragraph, subject, users
from loadgen.analysis.decision.grounds import Grounds
from loadgen.analysis.decision.objective_text import objective
from loadgen.analysis.decision.unmeasured import not_measured
from loadgen.analysis.decision.user_view import ONE_USER, best_view

_View = Mapping[str, Any] | None


def operating_point(grounds: Grounds) -> dict[str, Any]:
    """The decision for `grounds.agents` as it stands in the summary.

    `keep` is the variant to run, or null where that can't be said: see `choose`. `background` is the same question by
    tasks/hour, `interactive` what one user waits for among so many agents (`at`) and alone (`alone`): it may keep
    another variant. `classes` says what it does for each class of a mix, null without one. `binds` is what keeps the
    variant in focus from being run. `because` are all sentences that the answer rests on, `text` is the paragraph made
    of the most important ones, `answer` the answer in one line.
    """
    choice = choose(grounds)
    at = best_view(grounds, choice, grounds.agents) if choice.answer is not Answer.NOT_MEASURED else None
    alone = best_view(grounds, choice, ONE_USER)
    name = subject(grounds, choice)
    bound, other = binding(grounds, choice), instead(grounds, choice)
    gaps = not_measured(grounds, choice, name, at=at, alone=alone)
    limit = bound["text"] if bound is not None else None
    sentences = paragraph(grounds, choice, at=at, alone=alone, limit=limit, other=other, gaps=gaps)
    return {
        "agents": grounds.agents,
        "keep": choice.keep,
        "answer": headline(grounds, choice, alone),
        "background": _background(grounds, choice),
        "classes": None if choice.focus is None else classes_text(grounds.classes_of(choice.focus)),
        "interactive": {
            "keep": alone["keep"] if alone is not None else None,
            "at": at,
            "alone": alone,
            "text": users(grounds, at, alone),
        },
        "binds": bound,
        "because": _because(grounds, choice),
        "not_measured": gaps,
        "instead": other,
        "text": " ".join(sentences),
    }


def _background(grounds: Grounds, choice: Choice) -> dict[str, Any]:
    """The answer by tasks/hour, and by the objective where there is one; of the variant in focus."""
    found = None if choice.focus is None else grounds.comparison(choice.focus)
    return {
        "keep": choice.keep,
        "variant": choice.focus,
        "standing": choice.stands,
        "standings": dict(choice.standings),
        "call": found.call.value if found is not None and found.call is not None else None,
        "speedup": found.speedup.as_json() if found is not None else None,
        "text": compared(grounds, choice.focus) if found is not None and choice.focus is not None else None,
    }


def _because(grounds: Grounds, choice: Choice) -> list[str]:
    """Every sentence that the decision rests on; of variants that answer wrongly only that they do."""
    out = [
        f"The output check failed for {name}: {'; '.join(reasons) or 'no reason is known'}."
        for name, reasons in grounds.failed.items()
    ]
    if choice.answer in (Answer.FAILED, Answer.NOT_MEASURED):
        return out
    standing = [name for name in choice.standings if name not in grounds.failed]
    out += [compared(grounds, name) for name in standing]
    for entry in grounds.crossovers:
        crosses = crossing(entry, grounds.baseline, grounds.comparisons) if entry["variant"] in standing else None
        out += [] if crosses is None else [crosses]
    out.append(memory(grounds, choice))
    for name in standing:
        equal = grounds.equal_memory_of(name)
        out += [str(equal["text"])] if equal is not None and equal["text"] else []
    known = [found for name in (grounds.baseline, *standing) if (found := grounds.goodput_of(name)) is not None]
    return [*out, *map(objective, known)]
