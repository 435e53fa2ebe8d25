"""What looks at the results found, as sentences."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from loadgen.analysis.estimators.comparison import Call, Comparison, Key

_PERCENT = 100


def look_note(round_: int, rounds: int, found: Sequence[Comparison], left: Collection[Key]) -> str:
    """One line for whoever watches the run: what a look found, and what is still measured."""
    begin = f"look after round {round_} of {rounds}"
    if not found:
        return f"{begin}: nothing more is known yet; measured on: {places(left)}"
    said: dict[str, list[Key]] = {}
    for c in found:
        word = "is known closely enough" if c.call is Call.UNRESOLVED else _WORDS[c.call]
        said.setdefault(f"{c.variant} {word}", []).append((c.variant, c.level))
    news = "; ".join(f"{text} at {_levels(level for _, level in keys)}" for text, keys in said.items())
    return f"{begin}: {news}; " + (f"measured on: {places(left)}" if left else "nothing is open any more")


_WORDS = {Call.PAYS: "pays", Call.COSTS: "costs", Call.SAME: "is the same"}


def looks_text(entry: Mapping[str, Any] | None) -> list[str]:
    """The looks of a summary in words; nothing where nobody has looked."""
    if entry is None or not entry["taken"]:
        return []
    looked = f"The results were looked at after {_rounds(entry['taken'])} (of {entry['rounds_planned']} planned)"
    by_round: dict[int, list[Key]] = {}
    for cell in entry["closed"]:
        by_round.setdefault(cell["after"], []).append((cell["variant"], cell["concurrency"]))
    known = [f"{places(keys)} after round {after}" for after, keys in sorted(by_round.items())]
    if not known:
        found = "nothing was known before the end"
    elif entry["open"]:
        found = f"known and measured no further: {', '.join(known)}"
    else:
        found = f"everything asked was known: {', '.join(known)}"
    looks, end = (f"{entry[name] * _PERCENT:.3g} %" for name in ("alpha_at_looks", "alpha_at_end"))
    return [f"{looked}; {found}. Of the error of all calls together, looks have {looks} and the end has {end}."]


def places(keys: Collection[Key]) -> str:
    """Variants and levels in words: `mtp at 2 and 4; ngram at 8`."""
    levels: dict[str, list[int]] = {}
    for variant, level in sorted(keys):
        levels.setdefault(variant, []).append(level)
    return "; ".join(f"{variant} at {_levels(every)}" for variant, every in levels.items())


def _levels(levels: Any) -> str:
    numbers = sorted(levels)
    last = str(numbers[-1])
    return f"{', '.join(map(str, numbers[:-1]))} and {last}" if len(numbers) > 1 else last


def _rounds(numbers: Sequence[int]) -> str:
    return f"round{'s' if len(numbers) > 1 else ''} {_levels(numbers)}"
