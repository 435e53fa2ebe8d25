"""Several workloads that run together, as one: each class keeps its own pool, history, lengths and draws."""

import hashlib
import json
from collections.abc import Sequence
from typing import TypeVar

from loadgen.experiment.mix import Share, label
from loadgen.records.manifest import ClassFacts, Clipped, WorkloadFacts
from loadgen.workload.session import WorkClass, Workload

__all__ = ["class_seed", "mixed"]

_SEED_BYTES = 8
_Value = TypeVar("_Value")


def class_seed(seed: int, work_class: str) -> int:
    """The seed of what a class draws: its own, so that two classes of equal size don't go through their pools alike."""
    digest = hashlib.sha256(json.dumps([seed, "class", work_class], separators=(",", ":")).encode()).digest()
    return int.from_bytes(digest[:_SEED_BYTES], "big")


def mixed(mix: Sequence[Share], workloads: Sequence[Workload]) -> Workload:
    """The workload of a mix, from the workloads of its classes in their order.

    Its sessions are those of all classes. Its digest covers the classes' names, weights and digests, so that a run with
    other shares is another run.
    """
    classes = tuple(
        WorkClass(share.name, share.weight, workload) for share, workload in zip(mix, workloads, strict=True)
    )
    facts = [workload.facts for workload in workloads]
    name = label(mix)
    return Workload(
        name=name,
        description=f"A mix of {', '.join(share.name for share in mix)}.",
        facts=_facts(name, mix, facts),
        sessions=tuple(session for workload in workloads for session in workload.sessions),
        history=workloads[0].history,
        exact_length=any(workload.exact_length for workload in workloads),
        sources={},
        assumed=tuple(_assumed(mix, facts)),
        cut=sum(workload.cut for workload in workloads),
        redrawn=sum(workload.redrawn for workload in workloads),
        classes=classes,
    )


def _facts(name: str, mix: Sequence[Share], facts: Sequence[WorkloadFacts]) -> WorkloadFacts:
    classes = [
        ClassFacts(name=share.name, weight=share.weight, workload=one) for share, one in zip(mix, facts, strict=True)
    ]
    return WorkloadFacts(
        name=name,
        digest=_digest(classes),
        sessions=sum(one.sessions for one in facts),
        turns=sum(one.turns for one in facts),
        min_context=max(one.min_context for one in facts),
        max_depth=max(one.max_depth for one in facts),
        history=" and ".join(sorted({one.history for one in facts})),
        exact_length=any(one.exact_length for one in facts),
        chars_per_token=_common([one.chars_per_token for one in facts]),
        assumed=_assumed(mix, facts),
        clipped=_clipped([one.clipped for one in facts if one.clipped is not None], facts),
        sized=_common([one.sized for one in facts]),
        depth_error=max((one.depth_error for one in facts if one.depth_error is not None), default=None),
        corpus=_common([one.corpus for one in facts]),
        corpus_digest=_common([one.corpus_digest for one in facts]),
        reasoning=_common([one.reasoning for one in facts]),
        tools_as_text=any(one.tools_as_text for one in facts),
        classes=classes,
    )


def _common(values: Sequence[_Value]) -> _Value | None:
    """What all classes have; null where they differ, and each has its own."""
    return values[0] if all(value == values[0] for value in values) else None


def _digest(classes: Sequence[ClassFacts]) -> str:
    parts = [[one.name, one.weight, one.workload.digest] for one in classes]
    return hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).hexdigest()


def _assumed(mix: Sequence[Share], facts: Sequence[WorkloadFacts]) -> list[str]:
    """Every assumed parameter with its class."""
    return [f"{share.name}: {name}" for share, one in zip(mix, facts, strict=True) for name in one.assumed]


def _clipped(parts: Sequence[Clipped], facts: Sequence[WorkloadFacts]) -> Clipped | None:
    """What was left out of all classes together; null where nothing was of any."""
    if not parts:
        return None
    whole = sum(one.turns for one in facts if one.clipped is None)
    return Clipped(
        context=min(one.context for one in parts),
        sessions_cut=sum(one.sessions_cut for one in parts),
        sessions_left_out=sum(one.sessions_left_out for one in parts),
        turns_left_out=sum(one.turns_left_out for one in parts),
        turns=whole + sum(one.turns for one in parts),
        how=parts[0].how,
        sessions_compacted=sum(one.sessions_compacted for one in parts),
        sessions_failing=sum(one.sessions_failing for one in parts),
    )
