"""Which workload a run plays: the one that was asked for, or the largest that a slot of the server holds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from loadgen.errors import RunFolderError, WorkloadError
from loadgen.experiment.mix import Share, division_lines
from loadgen.experiment.model import Experiment
from loadgen.experiment.request_fields import request_fields
from loadgen.records.manifest import WorkloadFacts
from loadgen.records.model import ServerFacts
from loadgen.records.sizes import Sizes
from loadgen.replay.depth_check import check_depth
from loadgen.replay.fitting import described, fit
from loadgen.replay.template_check import check_template, refuses_tools
from loadgen.replay.templated import Prompts
from loadgen.servers.target import Target
from loadgen.workload.corpus.folder import own
from loadgen.workload.corpus.library import Library
from loadgen.workload.library import FAMILY, check_fits, is_session_file, load, profile_of, resolved
from loadgen.workload.making import Making
from loadgen.workload.mix import mixed
from loadgen.workload.profile import has_tools
from loadgen.workload.server_sizer import ServerSizer, UnsizedError
from loadgen.workload.session import Workload
from loadgen.workload.waits import Pace


async def choose(
    target: Target,
    experiment: Experiment,
    note: Callable[[str], None],
    *,
    known: WorkloadFacts | None = None,
    keep: Callable[[Mapping[str, Sizes]], None] = lambda _sizes: None,
) -> Workload:
    """The workload, cut to the tokens of the server's own tokenizer.

    Args:
        target: the baseline's server.
        experiment: what is run.
        note: told what was left out or changed.
        known: the same workload as an earlier run played it: texts are sized in the same way.
        keep: takes what the tokenizer said of each workload, by its name, so that `recorded` can do without it.

    Raises `WorkloadError` where it doesn't fit, or the server's chat template doesn't take its messages.
    """
    context = _facts_of(target).context_per_slot
    name = experiment.workload or FAMILY
    if experiment.context_full != "refuse" and context is None:
        note("the server doesn't say how much context a slot has, so that no session is made to fit it")
    if experiment.mix is not None:
        return await _mix(experiment.mix, target, experiment, note, known=known, keep=keep)
    workload, sizes = await _one(name, target, experiment, note, known)
    keep({} if sizes is None else {workload.facts.name: sizes})
    return workload


async def _mix(
    mix: Sequence[Share],
    target: Target,
    experiment: Experiment,
    note: Callable[[str], None],
    *,
    known: WorkloadFacts | None,
    keep: Callable[[Mapping[str, Sizes]], None],
) -> Workload:
    """The workloads of all classes as one. Their sizes are kept by the names of the classes."""
    for line in division_lines(mix, experiment.levels):
        note(f"mix {line}")
    before = {one.name: one.workload for one in (known.classes if known is not None else None) or ()}
    chosen = {share.name: await _one(share.workload, target, experiment, note, before.get(share.name)) for share in mix}
    keep({name: sizes for name, (_, sizes) in chosen.items() if sizes is not None})
    return mixed(mix, [workload for workload, _ in chosen.values()])


async def _one(
    name: str, target: Target, experiment: Experiment, note: Callable[[str], None], known: WorkloadFacts | None
) -> tuple[Workload, Sizes | None]:
    """One workload, and what the tokenizer said of it where it was asked."""
    facts = _facts_of(target)
    context = facts.context_per_slot
    prompts = Prompts(target, request_fields(experiment))
    library = _own_library(experiment)
    if name == FAMILY:
        name = resolved(name, context)
        note(f"workload: {name}, " + _why(context))
    as_text = await _tools_as_text(name, prompts, note) if known is None else known.tools_as_text

    def make(ratio: float | None, clip: int | None, making: Making) -> Workload:
        return _load(name, experiment, ratio, clip, replace(making, tools_as_text=as_text))

    clip = context if experiment.context_full != "refuse" else None
    fitted = await fit(make, target, prompts, note, clip=clip, known=known, library=library)
    workload = fitted.workload
    _check(workload, name, facts)
    for sentence in workload.notes:
        note(f"workload {workload.name}: {sentence}")
    if is_session_file(name) or any(session.tools for session in workload.sessions):
        await check_template(prompts, workload, note)
    meant_to_fail = context is not None and any(turn.depth > context for one in workload.sessions for turn in one.turns)
    error = None if meant_to_fail else await check_depth(prompts, workload, context, note)
    return described(fitted, library, error), fitted.sizes


async def _tools_as_text(name: str, prompts: Prompts, note: Callable[[str], None]) -> bool:
    """Whether the tools of a profile have to be told in plain text: what a recording has goes out as it is."""
    if is_session_file(name) or not has_tools(profile_of(name)):
        return False
    why = await refuses_tools(prompts)
    if why is not None:
        note(
            f"workload {name}: the server's chat template {why}: tools are told in the system message, and their "
            "results are what the user says"
        )
    return why is not None


def recorded(facts: WorkloadFacts, experiment: Experiment, sizes: Mapping[str, Sizes] | None = None) -> Workload:
    """The workload of an earlier run, without a server: `sizes` is what its tokenizer said.

    Raises `RunFolderError` where it isn't the same any more.
    """
    if experiment.mix is None:
        return _again(experiment.workload or FAMILY, facts, experiment, (sizes or {}).get(facts.name))
    before = {one.name: one.workload for one in facts.classes or ()}
    if list(before) != [share.name for share in experiment.mix]:
        raise _changed(facts)
    again = [
        _again(share.workload, before[share.name], experiment, (sizes or {}).get(share.name))
        for share in experiment.mix
    ]
    workload = mixed(experiment.mix, again)
    unchanged(facts, workload)
    return replace(workload, facts=facts)


def _again(asked: str, facts: WorkloadFacts, experiment: Experiment, sizes: Sizes | None) -> Workload:
    """One workload of an earlier run."""
    clip = facts.min_context if experiment.context_full != "refuse" else None
    sizer = None
    if facts.sized == "tokenizer":
        if sizes is None:
            raise RunFolderError(
                f"the run folder lacks the sizes of workload {facts.name} (sizes.json), which the server's tokenizer "
                "told; start a new run"
            )
        sizer = ServerSizer(sizes)
    making = Making(
        sizer,
        _own_library(experiment),
        reasoning=facts.reasoning is not False,
        tools_as_text=facts.tools_as_text,
        left_out=frozenset(facts.left_out),
    )
    name = facts.name if asked == FAMILY else asked
    try:
        workload = _load(name, experiment, facts.chars_per_token, clip, making)
    except UnsizedError:
        raise _changed(facts) from None
    unchanged(facts, workload)
    return replace(workload, facts=facts)


def unchanged(facts: WorkloadFacts, workload: Workload) -> None:
    """Raises `RunFolderError` where a workload is not the one that an earlier run played."""
    if workload.facts.digest != facts.digest:
        raise _changed(facts)


def _changed(facts: WorkloadFacts) -> RunFolderError:
    corpus = ", the files of its corpus" if facts.corpus is not None else ""
    return RunFolderError(
        f"the workload {facts.name} is not what it was when the run began (its digest differs): its file{corpus}, the "
        "tokenizer or the version of loadgen has changed; start a new run"
    )


def _load(name: str, experiment: Experiment, ratio: float | None, clip: int | None, making: Making) -> Workload:
    return load(
        name,
        seed=experiment.seed,
        chars_per_token=ratio,
        max_tokens=experiment.max_tokens,
        # What is recorded first is played live before that.
        history="live" if experiment.history == "frozen" else experiment.history,
        pace=Pace(experiment.tool_time_cap_s, experiment.time_scale),
        context=clip,
        context_full="finish" if experiment.context_full == "refuse" else experiment.context_full,
        output_length=experiment.output_length,
        making=making,
    )


def _facts_of(target: Target) -> ServerFacts:
    """What a server that is up said of itself."""
    if target.facts is None:
        raise RuntimeError("a target is open only after its facts were read")
    return target.facts


def _own_library(experiment: Experiment) -> Library | None:
    return own(Path(experiment.corpus)) if experiment.corpus is not None else None


def _check(workload: Workload, name: str, facts: ServerFacts) -> None:
    if workload.exact_length and facts.kind != "llama-server":
        raise WorkloadError(
            f"workload {name} needs answers of an exact length (ignore_eos), which only llama-server can give; "
            "choose another with --workload, or let answers end by themselves with --output-length natural"
        )
    if facts.context_per_slot is not None:
        check_fits(workload, facts.context_per_slot)


def _why(context: int | None) -> str:
    if context is None:
        return "because the server doesn't say how much context a slot has"
    return f"the largest built-in one for agents that fits {context} tokens of context a slot"
