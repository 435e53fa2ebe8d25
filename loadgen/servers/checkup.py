"""Is a running server fit to be measured? Findings, each with the exact flag to change."""

import os
import resource
from dataclasses import dataclass
from typing import Literal

from loadgen.client.control import Control
from loadgen.client.transport import HttpTransport
from loadgen.records.model import ServerFacts
from loadgen.servers.preflight import probe_drafts, read_facts

DESCRIPTORS_SPARE = 64
"""Files, event loop, control connections. An agent takes one descriptor: its connection."""
SHOWN_SAMPLING = ("temperature", "top_k", "top_p", "min_p", "repeat_penalty", "seed")


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. `fix` says what to change, where something is to be changed."""

    level: Literal["ok", "note", "problem"]
    text: str
    fix: str | None = None


async def check_up(transport: HttpTransport) -> tuple[ServerFacts, list[Finding]]:
    """Look at the server behind `transport`, which must be ready; sends one short request as a probe."""
    control = Control(transport)
    facts = await read_facts(control)
    drafted = await probe_drafts(transport, facts.model)
    findings = [
        _identity(transport, facts),
        _slots(facts),
        _metrics(facts),
        _speculation(facts, drafted),
        _sampling(facts),
        _descriptors(),
    ]
    return facts, [finding for finding in findings if finding is not None]


def _identity(transport: HttpTransport, facts: ServerFacts) -> Finding:
    model = facts.model or "no name"
    if facts.kind == "llama-server":
        return Finding("ok", f"llama-server at {transport.endpoint.label} serves {model}")
    return Finding(
        "note",
        f"{transport.endpoint.label} speaks the chat completions API but is no llama-server; it serves {model}",
        "columns that only llama-server can fill (acceptance, queue wait, slots) stay n/a",
    )


def _slots(facts: ServerFacts) -> Finding | None:
    if facts.slots is None:
        return Finding("note", "the number of slots is unknown") if facts.kind == "llama-server" else None
    context = "unknown" if facts.context_per_slot is None else str(facts.context_per_slot)
    text = f"{facts.slots} slots, {context} tokens of context each"
    if facts.slots == 1:
        return Finding("note", text, "a second agent would queue: start the server with -np N (and N times the -c)")
    return Finding("ok", text, f"above {facts.slots} agents the excess queues; -np N sets the slots")


def _metrics(facts: ServerFacts) -> Finding | None:
    if facts.kind != "llama-server":
        return None
    if facts.metrics:
        return Finding("ok", "/metrics answers")
    return Finding(
        "problem",
        "/metrics is off: acceptance length and the wait for an idle server are lost",
        "start the server with --metrics",
    )


def _speculation(facts: ServerFacts, drafted: int | None) -> Finding | None:
    if facts.kind != "llama-server":
        return None
    if drafted:
        return Finding("ok", f"speculation is on: a probe request drafted {drafted} tokens")
    if facts.speculative is None:
        return Finding(
            "note",
            "speculation: unknown; /slots doesn't say, and a probe request reported no drafts",
            "start the server without --no-slots",
        )
    if facts.speculative:
        return Finding(
            "problem",
            "speculation is loaded (/slots says so) but a probe request drafted nothing",
            "look at --spec-draft-p-min, --spec-draft-n-max and, for n-gram types, their size-n",
        )
    return Finding(
        "ok",
        "speculation is off: /slots says so, and a probe request drafted nothing",
        "turn it on with --spec-type TYPE (a draft model alone, -md, does not)",
    )


def _sampling(facts: ServerFacts) -> Finding | None:
    if not facts.sampling:
        return None
    shown = ", ".join(f"{name} {_short(facts.sampling[name])}" for name in SHOWN_SAMPLING if name in facts.sampling)
    return Finding("ok", f"sampling defaults, used unless --body says otherwise: {shown}")


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _descriptors() -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0  # noqa: PTH112, PTH208 - no Path needed
    agents = max(0, soft - used - DESCRIPTORS_SPARE)
    text = f"descriptor limit {soft}: enough for {agents} agents"
    return Finding("ok", text, None if soft == hard else f"ulimit -n {hard} raises it")
