"""Is a running server fit to be measured? Findings, each with the exact flag to change."""

from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from loadgen.client.control import Control
from loadgen.client.endpoint import Endpoint
from loadgen.client.transport import HttpTransport
from loadgen.records.differences import NOT_GIVEN
from loadgen.records.model import ServerFacts
from loadgen.servers.connection import SLOW_S, Connection, measure
from loadgen.servers.descriptors import Descriptors, descriptors
from loadgen.servers.discovery import local_command
from loadgen.servers.preflight import probe_drafts, read_facts
from loadgen.units import BYTES_PER_GIB, BYTES_PER_MIB

SHOWN_SAMPLING = ("temperature", "top_k", "top_p", "min_p", "repeat_penalty", "seed")
SHOWN_DIGEST = 12
"""Characters of a digest: enough to tell two apart."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. `fix` says what to change, where something is to be changed."""

    level: Literal["ok", "note", "problem"]
    text: str
    fix: str | None = None


async def check_up(transport: HttpTransport) -> tuple[ServerFacts, list[Finding]]:
    """Look at the server behind `transport`, which must be ready; sends one or two short requests as a probe."""
    control = Control(transport)
    connection = await measure(transport.endpoint)
    facts = await read_facts(control, command=local_command(transport.endpoint))
    props = await control.props() if facts.kind == "llama-server" else None
    facts = msgspec.structs.replace(facts, drafted=await probe_drafts(transport, facts.model))
    findings = [
        _identity(transport, facts),
        connecting(connection, transport.endpoint),
        sleeping(props, facts),
        _model_file(facts),
        _slots(facts),
        _settings(facts),
        _text_routes(facts),
        _metrics(facts),
        speculation(facts),
        _sampling(facts),
        room(descriptors(), facts.slots),
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


def connecting(connection: Connection | None, endpoint: Endpoint) -> Finding | None:
    """Whether a new connection takes long. llama-server closes its connections, so most turns open one."""
    if connection is None or connection.seconds <= SLOW_S:
        return None
    first = connection.tried[0]
    behind = f", {first} tried first and {connection.tried[-1]} in the end" if len(connection.tried) > 1 else ""
    fix = "give an address instead of the name" + (": http://127.0.0.1:PORT" if endpoint.is_loopback else "")
    return Finding("problem", f"a connection takes {connection.seconds:.2f} s{behind}", fix)


def sleeping(props: dict[str, Any] | None, facts: ServerFacts) -> Finding | None:
    """Whether it unloads its model when it is idle, as far as `/props` or its command shows."""
    after = (facts.settings or {}).get("sleep_idle_s")
    if (props or {}).get("is_sleeping") is not True and not (isinstance(after, int) and after > 0):
        return None
    return Finding(
        "problem",
        "the server sleeps when it is idle: the first request after a wait loads the model anew",
        "start it without --sleep-idle-seconds",
    )


def _model_file(facts: ServerFacts) -> Finding | None:
    if facts.kind != "llama-server":
        return None
    if facts.model_bytes is None or facts.model_digest is None:
        return Finding("note", "the model file can't be read from here: two servers are told apart by its name alone")
    big = facts.model_bytes >= BYTES_PER_GIB
    size = f"{facts.model_bytes / (BYTES_PER_GIB if big else BYTES_PER_MIB):.4g} {'GiB' if big else 'MiB'}"
    return Finding("ok", f"model file of {size}, digest {facts.model_digest[:SHOWN_DIGEST]}")


def _settings(facts: ServerFacts) -> Finding | None:
    if facts.kind != "llama-server":
        return None
    if facts.settings is None:
        return Finding("note", "its command line can't be seen from here: KV mode, caches, threads and batch unknown")
    given = {name: value for name, value in facts.settings.items() if value != NOT_GIVEN}
    shown = ", ".join(f"{name} {_short(value)}" for name, value in given.items()) or "nothing"
    rest = "; it gives no other setting of KV, caches, threads and batch" if len(given) < len(facts.settings) else ""
    return Finding("ok", f"set by its command: {shown}{rest}")


def _text_routes(facts: ServerFacts) -> Finding | None:
    if facts.kind != "llama-server":
        return None
    template = "unknown" if facts.chat_template is None else facts.chat_template[:SHOWN_DIGEST]
    if facts.tokenizer:
        return Finding("ok", f"/tokenize answers; chat template {template}")
    return Finding("note", f"/tokenize doesn't answer: token counts of prompts are estimated; chat template {template}")


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


def speculation(facts: ServerFacts) -> Finding | None:
    """What `/slots` and the probe say together."""
    if facts.kind != "llama-server":
        return None
    if facts.drafted:
        return Finding("ok", f"speculation is on: a probe request drafted {facts.drafted} tokens")
    probed = "drafted nothing" if facts.drafted == 0 else "got no answer that tells of drafts"
    if facts.speculative is None:
        return Finding(
            "note",
            f"speculation: unknown; /slots doesn't say, and a probe request {probed}",
            "start the server without --no-slots",
        )
    if facts.speculative:
        return Finding(
            "problem",
            f"speculation is loaded (/slots says so) but a probe request {probed}",
            "look at --spec-draft-p-min, --spec-draft-n-max and, for n-gram types, their size-n",
        )
    return Finding(
        "ok",
        f"speculation is off: /slots says so, and a probe request {probed}",
        "turn it on with --spec-type TYPE (a draft model alone, -md, does not)",
    )


def _sampling(facts: ServerFacts) -> Finding | None:
    if not facts.sampling:
        return None
    shown = ", ".join(f"{name} {_short(facts.sampling[name])}" for name in SHOWN_SAMPLING if name in facts.sampling)
    return Finding("ok", f"sampling defaults, used unless --body says otherwise: {shown}")


def _short(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def room(now: Descriptors, slots: int | None) -> Finding:
    """Whether our own process may open as many connections as the server has slots, after raising its limit."""
    most = now.agents(now.hard)
    if most is None:
        return Finding("ok", "descriptors without limit: enough for any number of agents")
    text = f"descriptor limit {now.soft}"
    if now.soft != now.hard:
        text += f", raised up to {now.hard} where needed"
    text += f": enough for {most} agents"
    if most < (slots or 1):
        return Finding("problem", text, "raise the hard limit (ulimit -Hn, LimitNOFILE=, --ulimit nofile=)")
    return Finding("ok", text)
