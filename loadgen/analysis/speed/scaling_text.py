"""The growth of tasks per hour in sentences, only where it tells something: agents beyond a peak make it slower."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from loadgen.analysis.at_depth import ASKED, deep
from loadgen.analysis.wording import agents


def scaling_sentences(entries: Sequence[Mapping[str, Any]], void: Collection[str] = ()) -> list[str]:
    """One sentence a variant whose peak lies, with its interval, within what was measured."""
    out = []
    for entry in entries:
        peak = entry["peak"]
        if entry["variant"] in void or peak is None or peak["low"] is None or peak["high"] is None:
            continue
        where = f"{agents(peak['value'])}{deep(entry.get(ASKED))}"
        out.append(
            f"{entry['variant']} does most with about {where} (95 % interval {peak['low']:.3g} to "
            f"{peak['high']:.3g}, Universal Scalability Law): more agents at a time get less done in all."
        )
    return out
