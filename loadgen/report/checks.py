"""What was checked: trials and our client, answers, history, and the machine's drift."""

from collections import Counter
from typing import Any

from rich.console import Console

from loadgen.analysis.at_depth import ASKED, deep
from loadgen.report.history_lines import history_text
from loadgen.report.lines import print_named
from loadgen.report.numbers import NOT_MEASURED, agents, of, seconds, share

_STATES = ("ok", "suspect", "client_bound", None)


def print_checks(summary: dict[str, Any], console: Console) -> None:
    """Print a line for the trials, one for the answers and, where they were measured, for history and drift."""
    print_named(console, "checks", _trials(summary))
    if (advice := client_advice(summary)) is not None:
        print_named(console, "client", advice)
    print_named(console, "answers", answers_text(summary["output_check"]))
    if (history := history_text(summary)) is not None:
        print_named(console, "history", history)
    if summary["drift"] is not None:
        print_named(console, "drift", drift_text(summary["drift"]))


def client_advice(summary: dict[str, Any]) -> str | None:
    """What to do where our own client was too slow for the server; null where it never was."""
    states = [trial["client_state"] for cell in summary["cells"] for trial in cell["by_trial"]]
    bound = states.count("client_bound")
    if not bound:
        return None
    return (
        f"loadgen itself was too slow in {bound} of {len(states)} trials. Where the server computes on this machine's "
        "CPUs, leave loadgen one of them (--server-cpus 0-6, or cpus: in an experiment file); else run it elsewhere"
    )


def answers_text(entries: list[dict[str, Any]]) -> str:
    """The output check of all variants in one line; variants with the same result and reasons share it."""
    if not entries:
        return "output check: not made"
    results: dict[str, list[str]] = {}
    for entry in entries:
        why = f" ({'; '.join(entry['reasons'])})" if entry["reasons"] else ""
        results.setdefault(f"{entry['result']}{why}", []).append(entry["variant"])
    # "off passed, mtp passed": who passed is named one by one, who has a reason together with those that share it.
    parts = []
    for result, variants in results.items():
        named = [" and ".join(variants)] if "(" in result else variants
        parts += [f"{name} {result}" for name in named]
    changes = [text for entry in entries if (text := _changes(entry)) is not None]
    return "; ".join([f"output check: {', '.join(parts)}", *changes])


def _changes(entry: dict[str, Any]) -> str | None:
    """With --check-output full: whether greedy answers change, and what was seen."""
    answers = entry["answers"]
    if answers is None or answers["call"] is None:
        return None
    changed, noise, difference = answers["changed"], answers["batch_noise"], answers["difference"]
    return (
        f"{entry['variant']} changes answers beyond batch noise: {answers['call']} ({share(of(changed))} of "
        f"{changed['n']} at {agents(answers['agents'])}, batching alone {share(of(noise))}; difference "
        f"{share(of(difference))}, 95 % interval {share(difference['low'])} to {share(difference['high'])})"
    )


def drift_text(drift: dict[str, Any]) -> str:
    """What the repetition of the first trial did against the first, and how much of that noise explains."""
    beyond = ": more than noise explains" if drift["exceeds"] else ""
    where = f"{agents(drift['concurrency'])}{deep(drift.get(ASKED))}"
    return (
        f"{drift['variant']} at {where}, the first trial, repeated at the end: "
        f"{drift['ratio']:.3f} times its tasks per hour; noise explains {1 / drift['limit']:.3f} to "
        f"{drift['limit']:.3f}{beyond}"
    )


def _by_state(entry: tuple[str | None, int]) -> int:
    return _STATES.index(entry[0])


def _trials(summary: dict[str, Any]) -> str:
    cells, client = summary["cells"], summary["client"]
    trials = sum(cell["trials"] for cell in cells)
    valid = sum(cell["valid_trials"] for cell in cells)
    states = Counter(trial["client_state"] for cell in cells for trial in cell["by_trial"])
    counts = ", ".join(f"{state or 'unknown'} in {count}" for state, count in sorted(states.items(), key=_by_state))
    cached = [value for cell in cells if (value := of(cell["first_turn_cached_share"])) is not None]
    drift = "" if summary["drift"] is not None else f"; drift {NOT_MEASURED}"
    return (
        f"{valid} of {trials} trials valid; our client {counts} (lag p99 {seconds(client['receive_lag_p99_s'])} "
        f"at worst, {share(client['cpu_share'])} CPU, {client['stamps'] or 'no'} stamps); "
        f"first turns found {share(max(cached) if cached else None)} of their prompt cached{drift}"
    )
