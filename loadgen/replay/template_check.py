"""Whether a server's chat template takes the messages of a workload, before anything is measured.

A recording has what the model had that it was made with: tool definitions, tool calls, reasoning, several messages of
one role in a row. A template of another model may refuse some of it, and then every request would fail; or it may leave
some of it out, silently, and then prompts are not what was recorded.
"""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from loadgen.client.chunk import replace_surrogates
from loadgen.client.request_body import build_body
from loadgen.client.server_error import read_error_body
from loadgen.client.transport_error import TransportError
from loadgen.errors import WorkloadError
from loadgen.replay.template_probe import ARGUMENT, DEFINITION, REASONING, probe
from loadgen.servers.target import Target
from loadgen.workload.session import Session, Workload, prompt

_SESSIONS = 8
"""Sessions that are looked at: recordings of one file are of one making."""
_TIMEOUT_S = 20.0
_SALT, _OTHER_SALT = "00000000", "ffffffff"
_FEW = 200
"""Characters in front of the salt that don't matter: the template's opening words, some dozens of tokens."""
_OK, _BAD_REQUEST, _SERVER_ERROR = 200, 400, 500
"""llama-server answers 400 or 500 where a template raises; other answers are of servers without the route."""


async def check_template(target: Target, workload: Workload, note: Callable[[str], None]) -> None:
    """Has the server put the first and the last prompt of some sessions into its template.

    Told to `note`: what the template leaves out, and that tool definitions stand in front of the salt. Raises
    `WorkloadError` with the server's words where the template refuses a prompt, and with the numbers where the deepest
    prompt doesn't fit by the server's own count. A server without the route isn't asked.
    """
    if target.facts is None or target.facts.kind != "llama-server":
        return
    in_front = 0
    for session, turn in _looked_at(workload):
        one = await _templated(target, session, turn, _SALT)
        other = await _templated(target, session, turn, _OTHER_SALT)
        if one is None or other is None:
            return
        in_front = max(in_front, _alike(one, other))
    if in_front > _FEW:
        note(
            f"workload {workload.name}: the server's chat template puts {in_front} characters (tool definitions, most "
            "likely) in front of what makes prompts unique, so that first turns find them in its cache"
        )
    left_out = await _left_out(target, workload)
    if left_out:
        note(
            f"workload {workload.name}: the server's chat template leaves out {' and '.join(left_out)}, without a "
            "word: prompts lack what the recording has"
        )
    await _check_depth(target, workload)


async def _left_out(target: Target, workload: Workload) -> list[str]:
    """Parts that the recording has and the template leaves out, told by marks in a conversation of our own."""
    answers = [turn.assistant or {} for session in workload.sessions for turn in session.turns]
    calls = any(answer.get("tool_calls") for answer in answers)
    tools = any(session.tools for session in workload.sessions)
    reasons = any(answer.get("reasoning_content") for answer in answers)
    try:
        text = await _templated(target, probe(calls=calls, tools=tools), 1, _SALT)
    except WorkloadError:
        return []
    parts = (
        ("tool definitions", DEFINITION, tools),
        ("tool calls", ARGUMENT, calls),
        ("reasoning", REASONING, reasons),
    )
    return [name for name, mark, is_there in parts if is_there and text is not None and mark not in text]


async def _check_depth(target: Target, workload: Workload) -> None:
    """Raises `WorkloadError` where the deepest prompt, counted by the server itself, doesn't fit with its answer."""
    context = target.facts.context_per_slot if target.facts is not None else None
    deepest = [
        (turn.depth + turn.output_tokens, session, index)
        for session in workload.sessions
        for index, turn in enumerate(session.turns)
    ]
    _, session, turn = max(deepest, key=lambda one: one[0])
    text = await _templated(target, session, turn, _SALT)
    tokens = await target.control.tokenize(text) if text is not None else None
    output = session.turns[turn].output_tokens
    if context is not None and tokens is not None and tokens + output > context:
        raise WorkloadError(
            f"Turn {turn + 1} of session {session.id} has {tokens} prompt tokens by the server's own count, and takes "
            f"up to {output} more; a slot has {context}. Start the server with a larger context or fewer slots."
        )


def _looked_at(workload: Workload) -> Iterator[tuple[Session, int]]:
    """Some sessions spread over the workload, with their first and last turns."""
    step = -(-len(workload.sessions) // _SESSIONS)
    for session in workload.sessions[::step]:
        for turn in sorted({0, len(session.turns) - 1}):
            yield session, turn


async def _templated(target: Target, session: Session, turn: int, salt: str) -> str | None:
    """The text of a turn's prompt as the template makes it; null where the server doesn't do that."""
    tools = {"tools": session.tools} if session.tools else {}
    messages = prompt(session, turn, salt=salt, answers={})
    body = build_body(messages, model=target.model, max_tokens=1, exact_length=False, extra=tools)
    try:
        reply = await target.transport.post("/apply-template", body, _TIMEOUT_S)
    except TransportError:
        return None
    error = read_error_body(reply.body)
    if reply.status in (_BAD_REQUEST, _SERVER_ERROR) and error is not None:
        said = error.one_line(body, target.transport.redact)
        raise WorkloadError(
            f"The server's chat template refuses turn {turn + 1} of session {session.id}: {said}. "
            "Choose another template (llama-server: --jinja with --chat-template-file), or other sessions."
        )
    if reply.status != _OK:
        return None
    try:
        value: Any = msgspec.json.decode(reply.body)
    except msgspec.DecodeError:
        return None
    text = value.get("prompt") if isinstance(value, dict) else None
    return replace_surrogates(text) if isinstance(text, str) else None


def _alike(one: str, other: str) -> int:
    """How many characters two texts share at their beginning."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
