"""Memory of the variants, as their servers' load logs show it."""

from typing import Any

from rich.console import Console
from rich.text import Text

from loadgen.report.lines import print_hanging
from loadgen.report.numbers import mebibytes


def print_memory(summary: dict[str, Any], console: Console) -> None:
    """Print the ledgers: one entry a variant, then what differs from the baseline; nothing where no log was read."""
    lines = memory_lines(summary)
    if lines:
        console.print()
        console.print(Text("Memory by the load log", style="bold"))
    for line in lines:
        print_hanging(console, "  - ", line)


def memory_lines(summary: dict[str, Any]) -> list[str]:
    """One line a variant, then one that names what differs from the baseline."""
    ledgers = {entry["variant"]: totals(entry["ledger"]) for entry in summary["memory"] if entry["ledger"]}
    if not ledgers:
        return []
    rows = {entry["variant"]: _rows(entry["ledger"]) for entry in summary["memory"]}
    lines = []
    for entry in summary["memory"]:
        ledger = ledgers.get(entry["variant"])
        if ledger is None:
            continue
        parts = [f"{name.replace('_', ' ')} {mebibytes(size)}" for name, size in ledger.items()]
        peak = entry["peak_bytes"]
        seen = f"; process at most {mebibytes(peak)}" if peak is not None else ""
        lines.append(f"{entry['variant']}: {mebibytes(sum(ledger.values()))} = {' + '.join(parts)}{seen}")
    baseline = summary["run"]["baseline"]
    for variant, ledger in ledgers.items():
        if variant != baseline and baseline in ledgers:
            lines.append(f"{variant} − {baseline}: {_difference(ledger, ledgers[baseline])}")
            grown = _recurrent(ledger, ledgers[baseline], rows.get(variant))
            if grown:
                lines.append(grown)
    return lines


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


def _recurrent(ledger: dict[str, int], base: dict[str, int], rows: int | None) -> str | None:
    """The multiplication that people miss: rollback rows keep (1 + draft tokens) copies of a slot's state."""
    before, after = base.get("recurrent_state"), ledger.get("recurrent_state")
    if not before or not after or rows is None or rows <= 1:
        return None
    return (
        f"recurrent state: {mebibytes(before)} × {rows} rows a slot (1 + {rows - 1} draft tokens) = "
        f"{mebibytes(before * rows)}; the log says {mebibytes(after)}"
    )
