"""Which workload a run plays: the one that was asked for, or the largest that a slot of the server holds."""

from collections.abc import Callable

from loadgen.errors import RunFolderError, WorkloadError
from loadgen.experiment.model import Experiment
from loadgen.records.manifest import WorkloadFacts
from loadgen.records.model import ServerFacts
from loadgen.replay.template_check import check_template
from loadgen.servers.target import Target
from loadgen.workload.library import check_fits, is_session_file, largest_fitting, load
from loadgen.workload.session import Workload, sample_text, spread_text
from loadgen.workload.waits import Pace

FALLBACK_WORKLOAD = "batch-agents-4k"
"""Played when the server doesn't say how much context a slot has: small enough for most."""


async def choose(target: Target, experiment: Experiment, note: Callable[[str], None]) -> Workload:
    """The workload, cut to the tokens of the server's own tokenizer.

    What was left out or changed of it is told to `note`. Raises `WorkloadError` where it doesn't fit, or the server's
    chat template doesn't take its messages.
    """
    facts = target.facts
    if facts is None:
        raise RuntimeError("a target is open only after its facts were read")
    context = facts.context_per_slot
    name = experiment.workload
    if name is None:
        name = FALLBACK_WORKLOAD if context is None else largest_fitting(context)
        note(f"workload: {name}, " + _why(context))
    if experiment.context_full == "finish" and context is None:
        note("the server doesn't say how much context a slot has, so that no session is ended early")
    # What the server's tokenizer is asked about is the workload as it is, before anything is cut.
    workload = _load(name, experiment, None, None)
    sample = spread_text(workload) if is_session_file(name) else sample_text(workload)
    tokens = await target.control.tokenize(sample)
    chars_per_token = len(sample) / tokens if tokens else None
    clip = context if experiment.context_full == "finish" else None
    if chars_per_token is not None or clip is not None:
        workload = _load(name, experiment, chars_per_token, clip)
    _check(workload, name, facts)
    for sentence in workload.notes:
        note(f"workload {workload.name}: {sentence}")
    if is_session_file(name):
        await check_template(target, workload, note)
    return workload


def recorded(facts: WorkloadFacts, experiment: Experiment) -> Workload:
    """The workload of an earlier run. Raises `RunFolderError` where it isn't the same any more."""
    clip = facts.min_context if experiment.context_full == "finish" else None
    workload = _load(experiment.workload or facts.name, experiment, facts.chars_per_token, clip)
    unchanged(facts, workload)
    return workload


def unchanged(facts: WorkloadFacts, workload: Workload) -> None:
    """Raises `RunFolderError` where a workload is not the one that an earlier run played."""
    if workload.facts.digest != facts.digest:
        raise RunFolderError(
            f"the workload {facts.name} is not what it was when the run began (its digest differs): its file, the "
            "tokenizer or the version of loadgen has changed; start a new run"
        )


def _load(name: str, experiment: Experiment, chars_per_token: float | None, clip: int | None) -> Workload:
    return load(
        name,
        seed=experiment.seed,
        chars_per_token=chars_per_token,
        max_tokens=experiment.max_tokens,
        history=experiment.history,
        pace=Pace(experiment.tool_time_cap_s, experiment.time_scale),
        context=clip,
    )


def _check(workload: Workload, name: str, facts: ServerFacts) -> None:
    if workload.exact_length and facts.kind != "llama-server":
        raise WorkloadError(
            f"workload {name} needs answers of an exact length (ignore_eos), which only llama-server can give; "
            "choose another with --workload"
        )
    if facts.context_per_slot is not None:
        check_fits(workload, facts.context_per_slot)


def _why(context: int | None) -> str:
    if context is None:
        return "because the server doesn't say how much context a slot has"
    return f"the largest built-in one for agents that fits {context} tokens of context a slot"
