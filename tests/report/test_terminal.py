"""The report's lists and ledgers."""

import io
from typing import Any

import pytest
from rich.console import Console

from loadgen.report.lines import print_hanging
from loadgen.report.memory_table import memory_lines
from loadgen.report.terminal import warning_lines
from loadgen.units import mib_to_bytes


def warning(variant: str | None, level: int | None, text: str) -> dict[str, Any]:
    """A warning as the summary holds it."""
    where = f"{variant} at {level}: " if variant else ""
    return {"kind": "k", "variant": variant, "concurrency": level, "text": where + text}


def test_cells_that_share_a_warning_share_a_line() -> None:
    """One line a sentence; a sentence that holds for every cell names none."""
    warnings = [
        warning("off", 1, "slow."),
        warning("mtp", 1, "slow."),
        warning("off", 1, "short."),
        warning(None, None, "Hm."),
    ]
    assert warning_lines(warnings, cells=3) == ["off at 1, mtp at 1: slow.", "off at 1: short.", "Hm."]
    assert warning_lines(warnings[:2], cells=2) == ["everywhere: slow."]


def component(name: str, mib: float, *, device: str = "CPU", rows: int | None = None) -> dict[str, Any]:
    """A line of a ledger."""
    return {"component": name, "bytes": mib_to_bytes(mib), "source": "log", "device": device, "rows": rows}


def test_the_multiplied_state_is_spelled_out() -> None:
    """3.28 MiB × (1 + 3) rows a slot = 13.12 MiB, and what else differs, largest question first answered."""
    summary = {
        "run": {"baseline": "off"},
        "memory": [
            {"variant": "off", "peak_bytes": None, "ledger": [component("recurrent_state", 3.28, rows=1)]},
            {
                "variant": "mtp",
                "peak_bytes": mib_to_bytes(100),
                "ledger": [
                    component("recurrent_state", 13.12, rows=4),
                    component("mtp_kv", 2),
                    component("mtp_kv", 2, device="GPU"),
                ],
            },
        ],
    }
    assert memory_lines(summary) == [
        "off: 3.28 MiB = recurrent state 3.28 MiB",
        "mtp: 17.12 MiB = recurrent state 13.12 MiB + mtp kv 4.00 MiB; process at most 100.00 MiB",
        "mtp − off: +13.84 MiB (mtp kv +4.00 MiB, recurrent state +9.84 MiB)",
        "recurrent state: 3.28 MiB × 4 rows a slot (1 + 3 draft tokens) = 13.12 MiB; the log says 13.12 MiB",
    ]


def test_without_a_log_there_is_no_ledger() -> None:
    """A server that ran already shows nothing, not zeros."""
    summary = {"run": {"baseline": "a"}, "memory": [{"variant": "a", "peak_bytes": None, "ledger": []}]}
    assert memory_lines(summary) == []


@pytest.mark.parametrize("text", ["[bold]not markup[/bold]", "a [red]b", "x" * 70])
def test_text_from_servers_is_never_markup(text: str) -> None:
    """What a server or a file says is printed as it is, wrapped at the width of the terminal."""
    console = Console(width=40, file=io.StringIO(), color_system=None)
    print_hanging(console, "- ", text)
    out = console.file.getvalue()  # type: ignore[attr-defined] # it is the StringIO above
    assert out.replace("\n", "").replace("  ", "") == f"- {text}"
    assert max(len(line) for line in out.splitlines()) <= 40
