"""Did a variant answer as it should? Answers of their own session, none empty, no slot whose drafts all fail."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from loadgen.analysis.estimators.intervals import Estimate
from loadgen.analysis.estimators.proportion import paired_difference, wilson
from loadgen.records.model import Outcome
from loadgen.records.output_check import CheckedAnswer, OutputCheck
from loadgen.records.run import Run

DEAD_SLOT_DRAFTED = 8
"""Drafted tokens from which a slot's acceptance says something. Every slot is asked with two texts that are copied, so
that one unlucky draft, however long, is not all that a slot drafts."""
DEAD_SLOT_ACCEPTANCE = 0.01
LIVE_ACCEPTANCE = 0.1
"""What the other slots must accept together before one that accepts nothing stands out. Copying gives 0.5 and more;
below this drafting fails everywhere, and that is slow, not wrong."""
NO_CHANGE_MARGIN = 0.15
"""Largest rise in changed answers that still counts as none. Batching alone changes about this share of greedy answers
at 4 agents (3 of 20 with llama.cpp and Gemma 3 270M), so less is not worth acting on; and 40 prompts can exclude it
where the variant changes as few as batching does, but not much less."""
SHOWN = 3
"""Reasons of one kind that are spelled out: with 64 agents there may be 64."""

Result = Literal["passed", "failed", "n/a"]


@dataclass(frozen=True)
class Judgement:
    """What a check amounts to, with a sentence for each reason; a check that passed has none."""

    result: Result
    reasons: tuple[str, ...] = ()


def judge(check: OutputCheck, baseline: OutputCheck | None) -> Judgement:
    """Judge the check of one variant; `baseline` is that of the baseline, null where there is none.

    It fails where an answer holds another agent's code word or is empty; where a slot's drafts all fail while those of
    other slots don't; and where a code word is lost that the agent's prompt gets alone, or gets from the baseline. A
    request that failed says nothing of answers (trials count failures), nor does a prompt that no one copies: `n/a`.
    """
    if check.skipped is not None:
        return Judgement("n/a", (f"not checked: {check.skipped}",))
    if not check.answers:
        return Judgement("n/a", ("nothing was asked",))
    lost, known = _own_words(check, baseline)
    found = (_texts(check.answers, _empty), _crossed(check.answers), _dead_slots(check.answers), lost)
    reasons = [text for texts in found for text in _few(texts)]
    if reasons:
        return Judgement("failed", tuple(reasons))
    if unanswered := _texts(check.answers, _unanswered):
        return Judgement("n/a", tuple(_few(unanswered)))
    if not known:
        return Judgement("n/a", ("the model copies none of the code words, so answers can't be told apart",))
    return Judgement("passed")


def _few(texts: Sequence[str]) -> list[str]:
    """A sentence names three of a kind, and counts the rest."""
    return [*texts[:SHOWN], *([f"{len(texts) - SHOWN} more of this kind"] if len(texts) > SHOWN else [])]


def _texts(answers: Iterable[CheckedAnswer], say: Callable[[CheckedAnswer], str | None]) -> list[str]:
    """What there is to say of the answers, each once."""
    return list(dict.fromkeys(text for answer in answers if (text := say(answer)) is not None))


def _empty(answer: CheckedAnswer) -> str | None:
    if answer.outcome == Outcome.EMPTY or (answer.outcome == Outcome.OK and answer.characters == 0):
        return f"agent {answer.agent} got an empty answer{_where(answer)}"
    return None


def _unanswered(answer: CheckedAnswer) -> str | None:
    if answer.outcome in (Outcome.OK, Outcome.EMPTY):
        return None
    return f"the request of agent {answer.agent} ended in {answer.outcome}{_where(answer)}"


def _crossed(answers: Iterable[CheckedAnswer]) -> list[str]:
    """Answers with the code word of another agent: for each two agents where it was first seen."""
    first: dict[tuple[int, int], str] = {}
    for answer in answers:
        for other in answer.foreign:
            text = f"agent {answer.agent} got text of agent {other}'s session{_where(answer)}"
            first.setdefault((answer.agent, other), text)
    return list(first.values())


def _where(answer: CheckedAnswer) -> str:
    slot = "" if answer.slot is None else f" on slot {answer.slot}"
    return f"{slot} with nothing else on the server" if answer.alone else slot


def _dead_slots(answers: Sequence[CheckedAnswer]) -> list[str]:
    """Slots whose drafts fail while those of the others don't."""
    slots: dict[int, tuple[int, int]] = {}
    for answer in answers:
        if answer.slot is not None and answer.drafted is not None:
            drafted, accepted = slots.get(answer.slot, (0, 0))
            slots[answer.slot] = drafted + answer.drafted, accepted + (answer.accepted or 0)
    out = []
    for slot, (drafted, accepted) in sorted(slots.items()):
        others = [counts for number, counts in slots.items() if number != slot]
        drafted_there, accepted_there = sum(d for d, _ in others), sum(a for _, a in others)
        dead = drafted >= DEAD_SLOT_DRAFTED and accepted < DEAD_SLOT_ACCEPTANCE * drafted
        if dead and drafted_there and accepted_there >= LIVE_ACCEPTANCE * drafted_there:
            share = accepted_there / drafted_there
            out.append(f"slot {slot} accepted {accepted} of {drafted} drafted tokens, the other slots {share:.0%}")
    return out


def _own_words(check: OutputCheck, baseline: OutputCheck | None) -> tuple[list[str], int]:
    """What was lost of the agents' own code words, and how many agents' prompts tell anything."""
    by_baseline = {answer.agent for answer in baseline.answers if answer.own} if baseline is not None else set[int]()
    lost, known = [], 0
    for agent in dict.fromkeys(answer.agent for answer in check.answers):
        mine = [
            answer
            for answer in check.answers
            if answer.agent == agent and answer.outcome == Outcome.OK and answer.characters
        ]
        among = [answer for answer in mine if not answer.alone]
        if among and all(answer.own for answer in among):
            known += 1
        elif any(answer.own for answer in mine if answer.alone):
            known += 1
            lost.append(f"agent {agent}'s code word is missing among others, and there with nothing else on the server")
        elif mine and agent in by_baseline and not any(answer.own for answer in mine):
            known += 1
            lost.append(f"agent {agent}'s code word is missing, and there in the baseline's answer to the same prompt")
    return lost, known


def answers(check: OutputCheck, baseline: OutputCheck | None) -> dict[str, Any] | None:
    """Whether a variant changes greedy answers beyond what batching does: `yes`, `no` or `unresolved`.

    Both checks count the prompts whose answer differs from the baseline's with one agent at a time; that share is
    `batch_noise` for the baseline itself at its largest concurrency. `yes`: the 95 % interval of the difference, paired
    by prompt, lies above 0; `no`: below `NO_CHANGE_MARGIN`. The baseline's own entry, and one without a baseline to
    compare with, have no difference and no call. Null without `--check-output full`.
    """
    if check.comparison is None:
        return None
    mine = check.comparison.equal
    theirs: list[bool | None] = []
    if baseline is not None and baseline.comparison is not None and baseline.variant != check.variant:
        theirs = baseline.comparison.equal
    pairs = [(a, b) for a, b in zip(mine, theirs, strict=False) if a is not None and b is not None]
    difference = _difference(pairs)
    noise = theirs if baseline is None or baseline.variant != check.variant else mine
    return {
        "agents": check.comparison.agents,
        "changed": _changed(mine).as_json(),
        "batch_noise": _changed(noise).as_json(),
        "difference": difference.as_json(),
        "margin": NO_CHANGE_MARGIN,
        "call": _call(difference),
    }


def _changed(equal: Sequence[bool | None]) -> Estimate:
    """The share of prompts whose answer changed."""
    told = [same for same in equal if same is not None]
    if not told:
        return Estimate(None, estimable=False)
    changed = told.count(False)
    low, high = wilson(changed, len(told))
    return Estimate(changed / len(told), low, high, len(told))


def _difference(pairs: Sequence[tuple[bool, bool]]) -> Estimate:
    """The share that the variant changed minus the share that the baseline changed, of the same prompts."""
    if not pairs:
        return Estimate(None, estimable=False)
    counts = (pairs.count((False, False)), pairs.count((False, True)), pairs.count((True, False)))
    low, high = paired_difference(*counts, len(pairs) - sum(counts))
    return Estimate((counts[1] - counts[2]) / len(pairs), low, high, len(pairs))


def _call(difference: Estimate) -> str | None:
    if difference.low is None or difference.high is None:
        return None
    if difference.low > 0:
        return "yes"
    return "no" if difference.high < NO_CHANGE_MARGIN else "unresolved"


def output_check_summary(run: Run) -> list[dict[str, Any]]:
    """One entry for each variant that was checked, in the order of the experiment; its last check counts."""
    last = {check.variant: check for check in run.checks}
    baseline = last.get(str(run.manifest.experiment.get("baseline", "")))
    named = [str(variant["name"]) for variant in run.manifest.experiment.get("variants", [])]
    ordered = sorted(last, key=lambda name: named.index(name) if name in named else len(named))
    return [_entry(last[name], baseline) for name in ordered]


def _entry(check: OutputCheck, baseline: OutputCheck | None) -> dict[str, Any]:
    judgement = judge(check, baseline)
    reported = [answer for answer in check.answers if answer.drafted is not None]
    return {
        "variant": check.variant,
        "concurrency": check.level,
        "result": judgement.result,
        "reasons": list(judgement.reasons),
        "drafted": sum(answer.drafted or 0 for answer in reported) if reported else None,
        "accepted": sum(answer.accepted or 0 for answer in reported) if reported else None,
        "answers": answers(check, baseline),
    }
