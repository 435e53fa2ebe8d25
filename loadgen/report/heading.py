"""The first lines of a report: servers and hardware, workload, checks."""

from collections import Counter
from pathlib import PurePath
from typing import Any

from rich.console import Console
from rich.text import Text

from loadgen.report.lines import print_hanging
from loadgen.report.numbers import NOT_MEASURED, of, seconds, share, significant
from loadgen.units import BYTES_PER_GIB

_SAMPLING = ("temperature", "top_k", "top_p", "min_p")
_STATES = ("ok", "suspect", "client_bound", None)


def print_heading(summary: dict[str, Any], console: Console) -> None:
    """Print the head of a report."""
    setup, run = summary["setup"], summary["run"]
    console.print(Text(f"run {run['id']}, loadgen {run['tool_version']}: {_ending(setup, complete=run['complete'])}"))
    if setup["random_weights"]:
        note = (
            "The model's weights are random and its acceptance is set: the text is noise. "
            "Timing, queueing and memory are those of the real server."
        )
        console.print(Text(note, style="yellow"))
    for server in setup["servers"]:
        _print_line("server", _server(server), console)
    _print_line("host", _host(setup["host"]), console)
    _print_line("workload", _workload(setup), console)
    _print_line("checks", _checks(summary), console)


def _print_line(name: str, text: str, console: Console) -> None:
    print_hanging(console, f"{name:<9}", text, style="bold")


def _ending(setup: dict[str, Any], *, complete: bool) -> str:
    detail = f" ({setup['ended_detail']})" if setup["ended_detail"] else ""
    if complete:
        return f"complete{detail}"
    return f"incomplete, {setup['ended'] or 'its process was killed'}{detail}"


def _server(server: dict[str, Any]) -> str:
    facts = server["facts"]
    parts = [f"{server['variant']}: {facts['kind']}"]
    if facts["model"]:
        parts.append(PurePath(facts["model"]).name)
    if facts["slots"] is not None:
        context = NOT_MEASURED if facts["context_per_slot"] is None else f"{facts['context_per_slot']:,}"
        parts.append(f"{facts['slots']} slots of {context} tokens")
    parts.append(_speculation(facts))
    if server["command"] is None:
        parts.append(server["target"])
    elif server["ready_s"] is not None:
        parts.append(f"started {server['starts']} times, ready in {seconds(server['ready_s'])} at most")
    return ", ".join(parts)


def _speculation(facts: dict[str, Any]) -> str:
    if facts["drafted"]:
        return f"speculation on (a probe drafted {facts['drafted']} tokens)"
    if facts["speculative"] is None:
        return "speculation unknown"
    return "speculation on by /slots, nothing drafted in the probe" if facts["speculative"] else "speculation off"


def _host(host: dict[str, Any]) -> str:
    memory = host.get("memory_bytes")
    size = f", {significant(memory / BYTES_PER_GIB)} GiB" if memory else ""
    load = host.get("load_average") or []
    busy = f", load {load[0]:.1f} before the run" if load else ""
    return f"{host.get('cpu') or 'unknown CPU'}, {host.get('cores')} cores{size}, {host.get('system')}{busy}"


def _workload(setup: dict[str, Any]) -> str:
    facts = setup["workload"]
    lengths = "exact output lengths" if facts["exact_length"] else "natural output lengths"
    text = (
        f"{facts['name']}: {facts['sessions']} sessions, {facts['turns']} turns, up to {facts['max_depth']:,} tokens "
        f"deep, history {facts['history']}, {lengths}"
    )
    sampling = next((s["facts"]["sampling"] for s in setup["servers"] if s["facts"]["sampling"]), None)
    if sampling:
        shown = ", ".join(f"{name} {sampling[name]:.3g}" for name in _SAMPLING if name in sampling)
        text += f"; the server's sampling: {shown}"
    return text


def _by_state(entry: tuple[str | None, int]) -> int:
    return _STATES.index(entry[0])


def _checks(summary: dict[str, Any]) -> str:
    cells, client = summary["cells"], summary["client"]
    trials = sum(cell["trials"] for cell in cells)
    valid = sum(cell["valid_trials"] for cell in cells)
    states = Counter(trial["client_state"] for cell in cells for trial in cell["by_trial"])
    counts = ", ".join(f"{state or 'unknown'} in {count}" for state, count in sorted(states.items(), key=_by_state))
    cached = [value for cell in cells if (value := of(cell["first_turn_cached_share"])) is not None]
    return (
        f"{valid} of {trials} trials valid; our client {counts} (lag p99 {seconds(client['receive_lag_p99_s'])} "
        f"at worst, {share(client['cpu_share'])} CPU, {client['stamps'] or 'no'} stamps); "
        f"first turns found {share(max(cached) if cached else None)} of their prompt cached"
    )
