"""The findings of a run in plain sentences: what it says, and what it does not answer."""

from collections.abc import Mapping, Sequence
from typing import Any

from loadgen.analysis.at_depth import ASKED, deep
from loadgen.analysis.classes.wording import opposed
from loadgen.analysis.comparison_text import crossing, overhead, refused, settled, unresolved
from loadgen.analysis.diagnostic import Diagnostic
from loadgen.analysis.estimators.comparison import Call, Comparison
from loadgen.analysis.evidence import Evidence
from loadgen.analysis.false_alarm import false_alarms
from loadgen.analysis.memory.wording import growing, unanswered, unsafe
from loadgen.analysis.sequential.tuning_text import tuned, untuned
from loadgen.analysis.speed.scaling_text import scaling_sentences
from loadgen.analysis.wording import agents, count


def verdict(
    evidence: Evidence,
    *,
    operating_point: Mapping[str, Any] | None = None,
    operating_points: Sequence[Mapping[str, Any]] = (),
    tuning: Mapping[str, Any] | None = None,
    scaling: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """`says` and `does_not_answer`, two lists of sentences, and a `text`.

    Where it was asked what to run for a number of `agents`, `keep` and `text` are the answer to that, and after tuning
    `keep` is what it came to. Else `agents` and `keep` are null and `text` is all sentences; but a comparison of a
    variant with itself keeps the baseline, unless it is unsafe. A variant whose output check failed has no sentence on
    its speed.

    Args:
        evidence: what the sentences are made of.
        operating_point: the decision for a number of agents, where it was asked for.
        operating_points: the same at each fixed depth, where the run has them; a variant is kept that all of them keep.
        tuning: how a tuning run stands.
        scaling: how tasks per hour grow with the agents.
    """
    says = [*_failures(evidence), *_given_up(evidence), *unsafe(evidence.memory), *growing(evidence.memory)]
    open_questions: list[str] = []
    if evidence.aa:
        standing = evidence.standing
        says += false_alarms(standing, evidence.noise, evidence.baseline, evidence.variants) if standing else []
    elif tuning is not None:
        says += tuned(tuning)
        open_questions += untuned(tuning)
    else:
        found, open_questions = _comparisons(evidence)
        says += found
        says += opposed([one for one in evidence.class_comparisons if one["variant"] not in evidence.void])
        says += scaling_sentences(scaling, evidence.void)
    if tuning is None:
        open_questions += [refused(c) for c in evidence.refused]
    says += _changed_answers(evidence)
    if len(evidence.variants) == 1:
        name = evidence.variants[0]
        says += [] if evidence.void else _alone(name, evidence.cells)
        open_questions.append(f"Whether another configuration is faster: one server, {name}, is one variant.")
    says += _not_counted(evidence.cells)
    open_questions += _never_answered(evidence)
    points = list(operating_points) if operating_point is None else [operating_point]
    return {
        **_answer(evidence, points, tuning, " ".join(says + open_questions)),
        "says": says,
        "does_not_answer": open_questions,
    }


def _answer(
    evidence: Evidence, points: Sequence[Mapping[str, Any]], tuning: Mapping[str, Any] | None, all_sentences: str
) -> dict[str, Any]:
    if points:
        kept = {point["keep"] for point in points}
        text = " ".join(point["text"] for point in points)
        return {"agents": points[0]["agents"], "keep": kept.pop() if len(kept) == 1 else None, "text": text}
    if tuning is not None:
        return {"agents": tuning["agents"], "keep": tuning["keep"], "text": all_sentences}
    same = evidence.aa and evidence.baseline not in evidence.void | evidence.unsafe
    return {"agents": None, "keep": evidence.baseline if same else None, "text": all_sentences}


def _failures(evidence: Evidence) -> list[str]:
    """They go before everything else."""
    out = [
        f"No verdict: the output check failed for {variant}: {'; '.join(reasons) or 'no reason is known'}."
        for variant, reasons in evidence.failed.items()
    ]
    if out and evidence.standing:
        out.append("What follows is about the other variants.")
    return out


def _given_up(evidence: Evidence) -> list[str]:
    return [
        f"{entry['variant']} was given up: {(entry['reason'] or 'no reason is known').rstrip('.')}."
        for entry in evidence.given_up
    ]


def _comparisons(evidence: Evidence) -> tuple[list[str], list[str]]:
    """The sentences of what is settled, and of what isn't. What a diagnostic shows is said whatever its call is."""
    kinds = evidence.diagnostics
    idle = [c for c in evidence.standing if kinds.get(c.variant) is Diagnostic.OVERHEAD]
    compared = [c for c in evidence.standing if kinds.get(c.variant) is not Diagnostic.OVERHEAD]
    says = [settled(c, kinds.get(c.variant)) for c in compared if c.call is not Call.UNRESOLVED]
    for entry in evidence.crossovers:
        text = crossing(entry, evidence.baseline, compared, kinds.get(entry["variant"]))
        says += [] if text is None else [text]
    says += [overhead(c) for c in idle]
    family = len(_tested(evidence.comparisons))
    return says, [unresolved(c, family, kinds.get(c.variant)) for c in compared if c.call is Call.UNRESOLVED]


def _tested(comparisons: Sequence[Comparison]) -> list[Comparison]:
    return [c for c in comparisons if c.p_value is not None]


def _changed_answers(evidence: Evidence) -> list[str]:
    """Greedy answers that a variant changes: faster is not better then."""
    return [
        f"{entry['variant']} changes greedy answers beyond what batching does: {answers['changed']['value']:.0%} of "
        f"them at {agents(answers['agents'])}, {answers['batch_noise']['value']:.0%} by batching alone."
        for entry in evidence.output_check
        if (answers := entry["answers"]) is not None and answers["call"] == "yes"
    ]


def _alone(variant: str, cells: Sequence[Mapping[str, Any]]) -> list[str]:
    out = []
    for entry in cells:
        rate = entry["tasks_per_hour"]
        if rate["value"] is None:
            continue
        bounds = ""
        if rate["low"] is not None:
            bounds = f" (95 % interval {count(rate['low'])} to {count(rate['high'])})"
        where = f"{agents(entry['concurrency'])}{deep(entry.get(ASKED))}"
        out.append(f"{variant} at {where}: {count(rate['value'])} tasks per hour{bounds}.")
    return [*out, "There is one variant, so nothing was compared."]


def _not_counted(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    total = sum(entry["trials"] for entry in cells)
    valid = sum(entry["valid_trials"] for entry in cells)
    if total == 0:
        return ["No trial was measured."]
    return [] if valid == total else [f"{total - valid} of {total} trials do not count; the reasons are listed."]


def _never_answered(evidence: Evidence) -> list[str]:
    out = []
    if evidence.cells:
        most = max(entry["concurrency"] for entry in evidence.cells)
        out.append(f"More than {agents(most)}: nothing was extrapolated.")
    out += _unchecked(evidence)
    out.append("Whether the answers are as good: their quality was not measured.")
    out += unanswered(evidence.memory)
    if evidence.random_weights:
        out.append("How a real model does: these weights are random and acceptance was set.")
    return out


def _unchecked(evidence: Evidence) -> list[str]:
    """What the output check didn't tell: it wasn't made, or couldn't say."""
    if not evidence.output_check:
        why = "not made" if evidence.check_asked else "off"
        return [f"Whether answers keep to their session: the output check was {why}."]
    checked = [entry["variant"] for entry in evidence.output_check]
    unknown: dict[str, list[str]] = {}
    for entry in evidence.output_check:
        if entry["result"] == "n/a":
            unknown.setdefault("; ".join(entry["reasons"]), []).append(entry["variant"])
    missing = [name for name in evidence.variants if name not in checked]
    if missing:
        unknown["not checked"] = missing
    out = [f"Whether answers of {', '.join(names)} keep to their session: {why}." for why, names in unknown.items()]
    return out + [
        f"Whether {entry['variant']} changes greedy answers beyond what batching does: too few prompts to tell."
        for entry in evidence.output_check
        if entry["answers"] is not None and entry["answers"]["call"] == "unresolved"
    ]
