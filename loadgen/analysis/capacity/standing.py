"""Which variants may be recommended at all, and what isn't known of those that may."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from loadgen.analysis.diagnostic import Diagnostic
from loadgen.analysis.memory.wording import unsafe

_SHOWS = {
    Diagnostic.OVERHEAD: "it drafts nothing and shows what loading speculation costs",
    Diagnostic.SYNTHETIC: "its acceptance was set",
}


def excluded(summary: Mapping[str, Any], kinds: Mapping[str, Diagnostic], variant: str) -> list[str]:
    """Every reason why a variant is never recommended, in sentences; none for one that may be.

    Wrong answers, too little memory, no trial that counts, and variants that are no candidates (diagnostics).
    """
    out = [
        f"The output check failed for {variant}: {'; '.join(entry['reasons']) or 'no reason is known'}."
        for entry in summary["output_check"]
        if entry["variant"] == variant and entry["result"] == "failed"
    ]
    out += unsafe([entry for entry in summary["memory"] if entry["variant"] == variant])
    if not any(cell["valid_trials"] for cell in summary["cells"] if cell["variant"] == variant):
        out.append(_no_trial(summary, variant))
    if variant in kinds:
        out.append(f"{variant} is a diagnostic: {_SHOWS[kinds[variant]]}.")
    return out


def not_known(summary: Mapping[str, Any], variant: str, *, check_asked: bool) -> list[str]:
    """What a recommendation of a variant takes for granted, as clauses without a full stop."""
    out = []
    memory = next((entry for entry in summary["memory"] if entry["variant"] == variant), None)
    if memory is None or memory["safety"] == "unknown":
        why = memory["safety_reason"] if memory is not None else "no memory was seen"
        out.append(f"whether memory suffices for {variant} ({why})")
    for lost in (one for one in summary["given_up"] if one["variant"] == variant):
        why = (lost["reason"] or "no reason is known").rstrip(".")
        out.append(f"that {variant} stays up: the run gave it up ({why})")
    if memory is not None and memory["leak"]:
        out.append(f"that {variant} is restarted in time: its memory keeps growing")
    check = next((entry for entry in summary["output_check"] if entry["variant"] == variant), None)
    if check is None:
        why = "was not made" if check_asked else "was off"
        out.append(f"whether answers of {variant} keep to their session (the output check {why})")
    elif check["result"] == "n/a":
        why = "; ".join(check["reasons"]) or "the output check could not tell"
        out.append(f"whether answers of {variant} keep to their session ({why})")
    return out


def _no_trial(summary: Mapping[str, Any], variant: str) -> str:
    tried = sum(cell["trials"] for cell in summary["cells"] if cell["variant"] == variant)
    if not tried:
        lost = next((one["reason"] for one in summary["given_up"] if one["variant"] == variant), None)
        return f"{variant} was never measured: {lost.rstrip('.')}." if lost else f"{variant} was never measured."
    # Round 0 is the first trial repeated at the end, which is outside of its cell.
    lost_ones = [one for one in summary["invalid"] if one["variant"] == variant and one["round"] > 0]
    why = Counter(reason for one in lost_ones for reason in one["reasons"])
    names = ", ".join(f"{name} in {count}" for name, count in why.most_common())
    return f"No trial of {variant} counts, of {tried}{f' ({names})' if names else ''}."
