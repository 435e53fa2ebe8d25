"""Runs at fixed depths, and runs whose cells did their work at different depths."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from loadgen.records.model import RequestRecord, TrialRecord
from loadgen.records.run import Run
from tests.analysis.conftest import Maker

Tasks = Mapping[tuple[str, int], Sequence[float]]


def with_prompts(run: Run, tokens: Mapping[str, int], **fields: Any) -> Run:
    """The run with prompts of so many tokens by variant, and these fields of its requests."""
    requests = [
        msgspec.structs.replace(one, prompt_tokens=tokens.get(one.variant, one.prompt_tokens), **fields)
        for one in run.requests
    ]
    return replace(run, requests=requests)


def deep_run(make: Maker, by_depth: Mapping[int, Tasks], **known: Any) -> Run:
    """A run that did so many tasks per hour at each depth, each with prompts of just that depth."""
    parts = {
        depth: with_prompts(make.run(dict(tasks), **known), dict.fromkeys((name for name, _ in tasks), depth))
        for depth, tasks in by_depth.items()
    }
    first = next(iter(parts.values()))
    experiment = {**first.manifest.experiment, "depths": list(by_depth)}
    trials: list[TrialRecord] = []
    requests: list[RequestRecord] = []
    for depth, part in parts.items():
        for trial in part.trials:
            name = f"{trial.trial}-d{depth}"
            trials.append(msgspec.structs.replace(trial, trial=name, depth=depth, order=len(trials)))
        requests += [
            msgspec.structs.replace(one, trial=f"{one.trial}-d{depth}", session=f"{one.session}-d{depth}")
            for one in part.requests
        ]
    rooted = [msgspec.structs.replace(one, root=one.session) for one in requests]
    manifest = msgspec.structs.replace(first.manifest, experiment=experiment)
    return replace(first, manifest=manifest, trials=trials, requests=rooted)
