"""A workload made to the measure of one server: its tokenizer, and what its chat template does with reasoning."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import msgspec

from loadgen.records.manifest import WorkloadFacts
from loadgen.records.sizes import Sizes
from loadgen.replay.sizing import PATIENCE_S, made_by_tokenizer
from loadgen.replay.template_check import keeps_reasoning, left_out
from loadgen.replay.template_size import template_size
from loadgen.replay.templated import Prompts
from loadgen.servers.target import Target
from loadgen.workload.corpus.library import Library
from loadgen.workload.making import Making
from loadgen.workload.server_sizer import splits_at_lines
from loadgen.workload.session import Workload, spread_text

__all__ = ["Fitted", "Make", "described", "fit"]

Make = Callable[[float | None, int | None, Making], Workload]
"""Makes the workload of characters a token (or assumed), the context to clip to (or none), and how texts are made."""


@dataclass(frozen=True)
class Fitted:
    """A workload, and how it was made.

    Attributes:
        workload: as it is played.
        sizes: what the tokenizer said; null where it wasn't asked.
        reasoning: whether recorded reasoning is sent again; null where there is none.
        left_out: parts of a recording that the chat template leaves out of prompts.
    """

    workload: Workload
    sizes: Sizes | None
    reasoning: bool | None
    left_out: frozenset[str]


async def fit(
    make: Make,
    target: Target,
    prompts: Prompts,
    note: Callable[[str], None],
    *,
    clip: int | None,
    known: WorkloadFacts | None,
    library: Library | None,
) -> Fitted:
    """The workload, with texts of as many tokens as it says by the count of the server's tokenizer.

    Where the server has none, or it is slow, by an average of characters a token: of a sample, or assumed.

    Args:
        make: makes the workload.
        target: the server.
        prompts: of the same server.
        note: told what is worth knowing.
        clip: the context to clip to; null: none.
        known: the workload as an earlier run played it, which is to be the same.
        library: the files that text is of; null: those of Python's standard library.
    """
    # What the server's tokenizer is asked about is the workload as it is, before anything is cut.
    plain = make(None, None, Making(library=library))
    reasoning = await keeps_reasoning(prompts, plain) if known is None else known.reasoning
    if reasoning is False and known is None:
        note(f"workload {plain.name}: the server's chat template leaves recorded reasoning out, and so it isn't sent")
    missing = frozenset(await left_out(prompts, plain) if known is None else known.left_out)
    made = Making(library=library, reasoning=reasoning is not False, left_out=missing)
    if known is None or known.sized == "tokenizer":
        sample, asks = await _sampled(plain, target), True
    else:
        sample, asks = _Sample(known.chars_per_token), False
    ratio = sample.ratio
    if plain.facts.sized == "words" or ratio is None or not asks:
        is_done = ratio is None and clip is None and made == Making(library=library)
        return Fitted(plain if is_done else make(ratio, clip, made), None, reasoning, missing)
    around = await template_size(target, prompts)
    sizes = Sizes(chars_per_token=ratio, by_line=sample.by_line, **vars(around))
    counted = await made_by_tokenizer(
        lambda sizer: make(ratio, clip, replace(made, sizer=sizer)),
        sizes,
        target.control,
        note,
        patience_s=PATIENCE_S if known is None else None,
    )
    if counted is None:
        return Fitted(make(ratio, clip, made), None, reasoning, missing)
    return Fitted(counted, sizes, reasoning, missing)


def described(fitted: Fitted, library: Library | None, depth_error: float | None) -> Workload:
    """The workload, with what became of it in its facts. `library`: the user's own; null: Python's."""
    facts = msgspec.structs.replace(
        fitted.workload.facts,
        corpus=library.name if library is not None else None,
        corpus_digest=library.digest if library is not None else None,
        reasoning=fitted.reasoning,
        left_out=sorted(fitted.left_out),
        depth_error=depth_error,
    )
    return replace(fitted.workload, facts=facts)


@dataclass(frozen=True)
class _Sample:
    """Characters a token of a sample (null: the server has no tokenizer), and whether lines can be counted apart."""

    ratio: float | None
    by_line: bool = False


async def _sampled(workload: Workload, target: Target) -> _Sample:
    """The workload's own mix of text, by the server's tokenizer."""
    sample = spread_text(workload)
    pieces = await target.control.tokenize_pieces(sample)
    if pieces:
        return _Sample(len(sample) / len(pieces), splits_at_lines(sample, pieces))
    tokens = await target.control.tokenize(sample)
    return _Sample(len(sample) / tokens if tokens else None)
