"""The first lines of a report: servers and hardware, workload, checks."""

from pathlib import PurePath
from typing import Any

from rich.console import Console
from rich.text import Text

from loadgen.report.checks import print_checks
from loadgen.report.difference import difference_text
from loadgen.report.lines import print_named
from loadgen.report.numbers import NOT_MEASURED, seconds, share, significant
from loadgen.report.text_lines import asked_text, made_text
from loadgen.units import BYTES_PER_GIB

_SAMPLING = ("temperature", "top_k", "top_p", "min_p")


def print_heading(summary: dict[str, Any], console: Console) -> None:
    """Print the head of a report."""
    setup, run = summary["setup"], summary["run"]
    console.print(Text(f"run {run['id']}, loadgen {run['tool_version']}: {_ending(summary)}"))
    if setup["random_weights"]:
        note = (
            "The model's weights are random and its acceptance is set: the text is noise. "
            "Timing, queueing and memory are those of the real server."
        )
        console.print(Text(note, style="yellow"))
    if run["aa"]:
        note = "The variants are the same: every call of pays or costs is a false alarm."
        console.print(Text(note, style="yellow"))
    differing = {entry["variant"]: difference_text(entry) for entry in summary["differences"]}
    for server in setup["servers"]:
        text = ", ".join([_server(server), *filter(None, [differing.get(server["variant"])])])
        print_named(console, "server", text)
    print_named(console, "host", _host(setup["host"]))
    print_named(console, "workload", _workload(setup))
    details = (
        ("text", made_text(setup["workload"])),
        ("clipped", clipped_text(setup["workload"]["clipped"])),
        ("waits", waits_text(setup["waits"])),
    )
    for name, told in details:
        if told is not None:
            print_named(console, name, told)
    print_checks(summary, console)
    for entry in summary["given_up"]:
        print_named(console, "given up", f"{entry['variant']}: {entry['reason'] or 'no reason is known'}")


def _ending(summary: dict[str, Any]) -> str:
    setup, run = summary["setup"], summary["run"]
    detail = f" ({setup['ended_detail']})" if setup["ended_detail"] else ""
    ended = "complete" if run["complete"] else f"incomplete, {setup['ended'] or 'its process was killed'}"
    parts = [f"{ended}{detail}"]
    if run["resumed"]:
        parts.append(f"resumed {_times(run['resumed'])}")
    if setup["superseded_trials"]:
        trials = setup["superseded_trials"]
        parts.append(f"{trials} trial{'' if trials == 1 else 's'} done again")
    if run["rerun_of"] is not None:
        parts.append(f"a rerun of {run['rerun_of']}")
    return "; ".join(parts)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


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
        parts.append(f"started {_times(server['starts'])}, ready in {seconds(server['ready_s'])} at most")
    return ", ".join(parts)


def _speculation(facts: dict[str, Any]) -> str:
    """By the probe first: it shows what happens, `/slots` only what is loaded."""
    drafted, plain = facts["drafted"], facts["drafted_plain"]
    if plain is not None:
        return f"a probe drafted {_tokens(drafted)} with the variant's fields, {_tokens(plain)} without"
    if drafted:
        return f"speculation on (a probe drafted {drafted} tokens)"
    probed = "not probed" if drafted is None else "nothing drafted in the probe"
    if facts["speculative"] is None:
        return f"speculation unknown ({probed})"
    return f"speculation on by /slots, {probed}" if facts["speculative"] else "speculation off"


def _tokens(drafted: int | None) -> str:
    return NOT_MEASURED if drafted is None else f"{drafted} tokens"


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
    if facts["assumed"]:
        text += f"; assumed rather than measured: {', '.join(facts['assumed'])}"
    sampling = next((s["facts"]["sampling"] for s in setup["servers"] if s["facts"]["sampling"]), None)
    if sampling:
        shown = ", ".join(f"{name} {sampling[name]:.3g}" for name in _SAMPLING if name in sampling)
        text += f"; the server's sampling: {shown}"
    asked = asked_text(setup["asked"])
    return text if asked is None else f"{text}; {asked}"


def clipped_text(clipped: dict[str, Any] | None) -> str | None:
    """What of the workload doesn't fit a slot, and what became of it; null where everything fits."""
    if clipped is None:
        return None
    counts = {
        "ended early": clipped["sessions_cut"],
        "going on from a summary": clipped["sessions_compacted"],
        "failing at a turn that doesn't fit": clipped["sessions_failing"],
        "left out": clipped["sessions_left_out"],
    }
    sessions = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count) or "all whole"
    left_out, turns = clipped["turns_left_out"], clipped["turns"]
    text = (
        f"to {clipped['context']:,} tokens of context a slot; sessions: {sessions}; turns left out: {left_out:,} of "
        f"{turns:,} ({share(left_out / turns if turns else None)})"
    )
    if clipped["reuse"] is None or clipped["whole_reuse"] is None:
        return text
    reused = f"{share(clipped['reuse'])} of the prompt tokens stood in the turn before"
    return f"{text}; {reused}, {share(clipped['whole_reuse'])} without clipping"


def waits_text(waits: dict[str, Any]) -> str | None:
    """What was done to the waits of the workload; null where they are as it has them."""
    cap, scale = waits["tool_time_cap_s"], waits["time_scale"]
    if scale == 0:
        return "none: all are left out"
    parts = [] if cap is None else [f"for tools at most {seconds(cap)}"]
    parts += [] if scale in (None, 1) else [f"all multiplied by {scale:g}"]
    return "; ".join(parts) or None
