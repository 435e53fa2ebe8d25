"""Memory of the variants: what their servers' logs attribute, what was watched, and what differs."""

from typing import Any

from rich.console import Console
from rich.text import Text

from loadgen.analysis.memory.entries import PREDICTED
from loadgen.analysis.memory.series import LOG
from loadgen.analysis.memory.slots_worth import HOST_SIDE
from loadgen.footprint.prediction import ESTIMATED
from loadgen.report.energy_lines import energy_lines
from loadgen.report.lines import print_hanging
from loadgen.report.memory_use_lines import host_text, use_lines
from loadgen.report.numbers import mebibytes, significant


def print_memory(summary: dict[str, Any], console: Console) -> None:
    """Print ledgers, use and differences, then energy; nothing where there is nothing to say."""
    for title, lines in (("Memory", memory_lines(summary)), ("Energy", energy_lines(summary))):
        if lines:
            console.print()
            console.print(Text(title, style="bold"))
        for line in lines:
            print_hanging(console, "  - ", line)


def memory_lines(summary: dict[str, Any]) -> list[str]:
    """The ledger and the use of each variant, then what differs from the baseline."""
    lines = []
    for entry in summary["memory"]:
        lines += [*_ledger_lines(entry), *use_lines(entry)]
    baseline = next((entry for entry in summary["memory"] if entry["variant"] == summary["run"]["baseline"]), None)
    if baseline is None or not baseline["ledger"]:
        return lines
    for entry in summary["memory"]:
        if entry is not baseline and entry["ledger"] and entry["ledger_source"] == baseline["ledger_source"]:
            lines += _difference_lines(entry, baseline)
    return lines


def _ledger_lines(entry: dict[str, Any]) -> list[str]:
    loaded = _loaded(entry)
    host = host_text(entry["ledger"])
    missing = entry["ledger_missing"]
    if not loaded:
        return [f"{entry['variant']}: no ledger: {missing}"] if missing is not None else []
    estimated = {line["component"] for line in entry["ledger"] if line["source"] == ESTIMATED}
    parts = " + ".join(_part(name, size, estimated=name in estimated) for name, size in loaded.items())
    source = " predicted from the GGUF and the command" if entry["ledger_source"] == PREDICTED else ""
    text = f"{entry['variant']}: {mebibytes(sum(loaded.values()))}{source} = {parts}"
    text += f"; beside it {host}" if host else ""
    return [f"{text}; predicted, because {missing}" if missing is not None else text]


def _part(name: str, size: int, *, estimated: bool) -> str:
    return f"{name.replace('_', ' ')} {'about ' if estimated else ''}{mebibytes(size)}"


def _loaded(entry: dict[str, Any]) -> dict[str, int]:
    return totals([line for line in entry["ledger"] if line["component"] not in HOST_SIDE])


def _difference_lines(entry: dict[str, Any], base: dict[str, Any]) -> list[str]:
    """What differs, in slots too, and the multiplication behind recurrent state."""
    ledger, before = _loaded(entry), _loaded(base)
    text = f"{entry['variant']} − {base['variant']}: {_difference(ledger, before)}"
    if entry["slots_worth"] is not None:
        number = significant(abs(entry["slots_worth"]))
        what = f"would buy {number} more" if entry["slots_worth"] >= 0 else f"is the memory of {number}"
        text += f"; that {what} slots of {base['variant']}, {mebibytes(base['slot_bytes'])} each at its context"
    grown = _recurrent(ledger, before, entry, base["slots"])
    return [text, grown] if grown else [text]


def totals(ledger: list[dict[str, Any]]) -> dict[str, int]:
    """Bytes by component, summed over devices, in the order of the log."""
    sums: dict[str, int] = {}
    for line in ledger:
        sums[line["component"]] = sums.get(line["component"], 0) + line["bytes"]
    return sums


def _rows(ledger: list[dict[str, Any]]) -> int | None:
    return next((line["rows"] for line in ledger if line["component"] == "recurrent_state"), None)


def _difference(ledger: dict[str, int], base: dict[str, int]) -> str:
    total = sum(ledger.values()) - sum(base.values())
    changed = {name: ledger.get(name, 0) - base.get(name, 0) for name in ledger.keys() | base.keys()}
    parts = [f"{name.replace('_', ' ')} {_signed(size)}" for name, size in sorted(changed.items()) if size]
    return f"{_signed(total)} ({', '.join(parts) or 'nothing differs'})"


def _signed(size: int) -> str:
    return f"{'+' if size >= 0 else '−'}{mebibytes(abs(size))}"


def _recurrent(
    ledger: dict[str, int], base: dict[str, int], entry: dict[str, Any], base_slots: int | None
) -> str | None:
    """The multiplication that people miss: rollback rows keep (1 + draft tokens) copies of a slot's state."""
    before, after = base.get("recurrent_state"), ledger.get("recurrent_state")
    rows = _rows(entry["ledger"])
    if not before or not after or rows is None or rows <= 1:
        return None
    drafted = f"{rows} rows a slot (1 + {rows - 1} draft tokens)"
    slots = entry["slots"]
    if slots == base_slots or slots is None or base_slots is None:
        text = f"recurrent state: {mebibytes(before)} × {drafted} = {mebibytes(before * rows)}"
    else:
        row = before / base_slots
        text = f"recurrent state: {mebibytes(row)} × {slots} slots × {drafted} = {mebibytes(row * slots * rows)}"
    return f"{text}; the log says {mebibytes(after)}" if entry["ledger_source"] == LOG else text
