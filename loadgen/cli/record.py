"""`loadgen record`: real agents at work, recorded as sessions that can be played."""

import asyncio
import os
import shlex
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loadgen.cli.options import ApiKeyEnv, CaFile, Insecure
from loadgen.errors import ExperimentError

if TYPE_CHECKING:
    from loadgen.recording.call import Call
    from loadgen.recording.recorder import Recorder
    from loadgen.recording.server import Listen
    from loadgen.recording.sessions import Placed
    from loadgen.recording.upstream import Upstream
    from loadgen.workload.recorded import RecordedSession

EXAMPLES = (
    "Examples:\n\n- `loadgen record --upstream http://127.0.0.1:8080 -o sessions.jsonl`\n"
    "- `loadgen record --upstream https://host/v1 --api-key-env KEY --redact -o sessions.jsonl`"
)

_WAITED = {"tool": "for tools", "user": "for the user", "subagent": "for sub-agents", "arrival": "to begin"}


def record(
    upstream: Annotated[str, typer.Option("--upstream", metavar="URL", help="The server that the agents use.")],
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FILE", help="Sessions to write at the end; never overwritten.")
    ],
    listen: Annotated[str, typer.Option("--listen", metavar="HOST:PORT", help="Where the agents find it now.")] = (
        "127.0.0.1:8089"
    ),
    redact: Annotated[
        bool,
        typer.Option("--redact", help="Replace texts, names and numbers by others, as long and as repetitive."),
    ] = False,
    api_key_env: ApiKeyEnv = None,
    ca: CaFile = None,
    insecure: Insecure = False,
) -> None:
    """Record agents at work: a proxy that passes everything on unchanged, and keeps their sessions.

    Calls of /v1/chat/completions, /v1/messages and /v1/responses are recorded, with what was waited for in between; all
    else passes through. End it with Ctrl-C: the sessions are written then. Should it die before that, whatever had been
    answered is in FILE.journal (as it was said, with --redact too), and the same command goes on from there. Keys are
    never written; with --api-key-env the server gets that key in place of what the agents send.
    """
    from loadgen.client.endpoint import Endpoint
    from loadgen.recording.server import Listen, require
    from loadgen.recording.upstream import Upstream

    require()
    key, ca_file = _key(api_key_env), str(ca) if ca is not None else None
    _record(Upstream(Endpoint.parse(upstream), key, ca_file, insecure), Listen.parse(listen), out, redact=redact)


def _record(server: "Upstream", where: "Listen", out: Path, *, redact: bool) -> None:
    from loadgen.recording.recorder import Recorder
    from loadgen.recording.server import bound

    with bound(where) as listening:
        recorder = Recorder(out, tell=_say, placed=_progress)
        written = False
        try:
            if recorder.calls:
                cut = "; the last was cut off" if recorder.damaged else ""
                _say(f"going on with {recorder.calls} calls of a recording that ended badly{cut}")
            if not where.is_loopback:
                _say(f"others can reach {where.host}:{where.port}, and use {server.endpoint.label} through it")
            asyncio.run(_serve(server, listening, recorder))
            written = _write(recorder, server, redact=redact)
        finally:
            recorder.close(written=written)
    _conclude(recorder, server, written=written)


def _key(name: str | None) -> str | None:
    """The key in the variable that the user named. Raises `ExperimentError` where it isn't set."""
    key = os.environ.get(name) if name is not None else None
    if name is not None and not key:
        raise ExperimentError(f"--api-key-env names {name}, which is not set in the environment")
    return key


async def _serve(server: "Upstream", listening: socket.socket, recorder: "Recorder") -> None:
    from loadgen.recording.proxy import Proxy
    from loadgen.recording.server import serve

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with server.relay() as relay:
        await serve(Proxy(relay, recorder, _say), listening, stop, lambda: _introduce(server, listening))


def _introduce(server: "Upstream", listening: socket.socket) -> None:
    host, port = listening.getsockname()[:2]
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    _say(f"listening on {address}, passing on to {server.endpoint.label}")
    _say(f"base URL for agents: {address}/v1 (OpenAI), {address} (Anthropic); end with Ctrl-C")


def _progress(call: "Call", place: "Placed") -> None:
    from loadgen.report.numbers import seconds

    begins = f" (branches off from {place.parent})" if place.is_new and place.parent else ""
    cached = f" ({call.cached_tokens:,} cached)" if call.cached_tokens is not None else ""
    waited = f", waited {seconds(place.step.delay_s)} {_WAITED[place.step.delay_kind]}" if place.turn > 1 else ""
    given, made = (f"{count:,}" if count is not None else "n/a" for count in (call.input_tokens, call.output_tokens))
    ended = f" (broken off after {seconds(call.ended_s - call.begun_s)})" if call.cancel is not None else ""
    _say(f"{place.session} turn {place.turn}{begins}: {given} tokens in{cached}, {made} out{ended}{waited}")


def _write(recorder: "Recorder", server: "Upstream", *, redact: bool) -> bool:
    """Write the sessions, if there are any."""
    from loadgen.recording.recorder import write_sessions

    sessions = recorder.sessions()
    if sessions:
        write_sessions(_redacted(sessions, server) if redact else sessions, recorder.out)
    return bool(sessions)


def _redacted(sessions: "list[RecordedSession]", server: "Upstream") -> "list[RecordedSession]":
    from loadgen.client.control import Control
    from loadgen.recording.counted import counted
    from loadgen.workload.redacted import Lengths, redacted

    async def count() -> Lengths | None:
        async with server.transport() as transport:
            return await counted(sessions, Control(transport))

    lengths = asyncio.run(count())
    how = "as long in characters: the server has no tokenizer route" if lengths is None else "as long in tokens"
    _say(f"texts are replaced by others, {how}")
    return redacted(sessions, lengths)


def _conclude(recorder: "Recorder", server: "Upstream", *, written: bool) -> None:
    lost = f"; {recorder.lost} not recorded" if recorder.lost else ""
    if not written:
        _say(f"nothing was recorded{lost}")
        return
    sessions = recorder.sessions()
    turns = sum(len(session.turns) for session in sessions)
    name = shlex.quote(str(recorder.out))
    typer.echo(f"{recorder.out}: {len(sessions)} sessions, {turns} turns, {recorder.calls} calls{lost}")
    typer.echo(
        f"What they are like:\n  loadgen workloads stats {name}\nPlay them:\n"
        f"  loadgen sweep {server.endpoint.label} -c 1,2,4 --workload {name}"
    )


def _say(text: str) -> None:
    typer.echo(text, err=True)
