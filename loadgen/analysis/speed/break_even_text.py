"""Break-even in sentences: what is needed, and what this workload gives."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from loadgen.analysis.speed.break_even import MEASURED
from loadgen.analysis.speed.needed_tokens import Side
from loadgen.analysis.wording import agents


def break_even_sentences(entries: Sequence[Mapping[str, Any]], void: Collection[str] = ()) -> list[str]:
    """One sentence a variant and level of which something is known; `void`: variants of whose speed nothing is said."""
    return [
        f"{entry['variant']} at {agents(entry['concurrency'])}: {text}."
        for entry in entries
        if not {entry["variant"], *entry["set_variants"]} & set(void) and (text := needed_text(entry)) is not None
    ]


def needed_text(entry: Mapping[str, Any]) -> str | None:
    """`you need 3.9 tokens a step to pay (…); your workload gives 2.6`; null where nothing is known."""
    if entry["source"] is None:
        return None
    needed, gives = entry["needed_tokens_per_step"], entry["measured_tokens_per_step"]
    digits = _digits(entry)
    text = _needed(entry, needed, digits)
    how = "measured with set acceptance" if entry["source"] == MEASURED else "modelled from the time of a step"
    bounds = ", ".join(part for part in (_bounds(needed, digits), how) if part)
    most = _most(entry, needed, digits)
    if gives is None or gives["value"] is None:
        return f"{text} ({bounds}){most}"
    return f"{text} ({bounds}){most}; your workload gives {gives['value']:.{digits}f}"


def _needed(entry: Mapping[str, Any], needed: Mapping[str, Any], digits: int) -> str:
    if needed["value"] is not None:
        return f"you need {needed['value']:.{digits}f} tokens a step for it to pay"
    if entry["beyond_tokens"] is None:
        return "no number of tokens a step would make it pay"
    side = "more" if entry["beyond"] == Side.MORE_THAN else "less"
    return f"you need {side} than {entry['beyond_tokens']:.{digits}f} tokens a step for it to pay"


def _bounds(needed: Mapping[str, Any], digits: int) -> str | None:
    low, high = needed["low"], needed["high"]
    if low is not None and high is not None:
        return f"95 % interval {low:.{digits}f} to {high:.{digits}f}"
    if low is not None:
        return f"95 % interval from {low:.{digits}f} on"
    if high is not None:
        return f"95 % interval up to {high:.{digits}f}"
    return "without an interval"


def _most(entry: Mapping[str, Any], needed: Mapping[str, Any], digits: int) -> str:
    """Where the length isn't within reach of the variant's drafts."""
    most = entry["most_tokens"]
    if most is None or needed["value"] is not None or entry["beyond"] != Side.MORE_THAN:
        return ""
    if entry["beyond_tokens"] is not None and entry["beyond_tokens"] >= most:
        return ", the most that its drafts can give"
    return f", and its drafts can give {most:.{digits}f} at most"


def _digits(entry: Mapping[str, Any]) -> int:
    """One digit, or two where what is needed and what is given would read alike."""
    needed = entry["needed_tokens_per_step"]["value"]
    shown = entry["beyond_tokens"] if needed is None else needed
    gives = entry["measured_tokens_per_step"]
    if shown is None or gives is None or gives["value"] is None:
        return 1
    return 2 if f"{shown:.1f}" == f"{gives['value']:.1f}" else 1
