"""What looks at the results found, as sentences."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from loadgen.analysis.at_depth import ASKED, deep
from loadgen.analysis.estimators.comparison import Call, Comparison
from loadgen.cell_key import CellKey

_PERCENT = 100


def look_note(round_: int, rounds: int, found: Sequence[Comparison], left: Collection[CellKey]) -> str:
    """One line for whoever watches the run: what a look found, and what is still measured."""
    begin = f"look after round {round_} of {rounds}"
    if not found:
        return f"{begin}: nothing more is known yet; measured on: {places(left)}"
    said: dict[tuple[str, int | None], list[int]] = {}
    for c in found:
        word = _WORDS.get(c.call or Call.UNRESOLVED, "is known closely enough")
        said.setdefault((f"{c.variant} {word}", c.depth), []).append(c.level)
    news = "; ".join(f"{text} at {_levels(levels)}{deep(depth)}" for (text, depth), levels in said.items())
    return f"{begin}: {news}; " + (f"measured on: {places(left)}" if left else "nothing is open any more")


_WORDS = {Call.PAYS: "pays", Call.COSTS: "costs", Call.SAME: "is the same"}


def looks_text(entry: Mapping[str, Any] | None) -> list[str]:
    """The looks of a summary in words; nothing where nobody has looked."""
    if entry is None or not entry["taken"]:
        return []
    looked = f"The results were looked at after {_rounds(entry['taken'])} (of {entry['rounds_planned']} planned)"
    by_round: dict[int, list[CellKey]] = {}
    for cell in entry["closed"]:
        key = CellKey(cell["variant"], cell["concurrency"], cell.get(ASKED))
        by_round.setdefault(cell["after"], []).append(key)
    known = [f"{places(keys)} after round {after}" for after, keys in sorted(by_round.items())]
    if not known:
        found = "nothing was known before the end"
    elif entry["open"]:
        found = f"known and measured no further: {', '.join(known)}"
    else:
        found = f"everything asked was known: {', '.join(known)}"
    looks, end = (f"{entry[name] * _PERCENT:.3g} %" for name in ("alpha_at_looks", "alpha_at_end"))
    return [f"{looked}; {found}. Of the error of all calls together, looks have {looks} and the end has {end}."]


def places(keys: Collection[CellKey]) -> str:
    """Variants and levels in words: `mtp at 2 and 4; ngram at 8`, at a depth `mtp at 2 and 4, 2,048 tokens deep`."""
    levels: dict[tuple[str, int | None], list[int]] = {}
    for key in sorted(keys):
        levels.setdefault((key.variant, key.depth), []).append(key.level)
    return "; ".join(f"{variant} at {_levels(every)}{deep(depth)}" for (variant, depth), every in levels.items())


def _levels(levels: Any) -> str:
    numbers = sorted(levels)
    last = str(numbers[-1])
    return f"{', '.join(map(str, numbers[:-1]))} and {last}" if len(numbers) > 1 else last


def _rounds(numbers: Sequence[int]) -> str:
    return f"round{'s' if len(numbers) > 1 else ''} {_levels(numbers)}"
