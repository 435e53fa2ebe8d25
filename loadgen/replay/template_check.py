"""Whether a server's chat template takes the messages of a workload, before anything is measured.

A recording has what the model had that it was made with: tool definitions, tool calls, reasoning, several messages of
one role in a row. A template of another model may refuse some of it, and then every request would fail; or it may leave
some of it out, silently, and then prompts are not what was recorded.
"""

from collections.abc import Callable, Iterator

from loadgen.errors import WorkloadError
from loadgen.replay.template_probe import ARGUMENT, DEFINITION, REASONING, probe
from loadgen.replay.templated import Prompts
from loadgen.workload.recorded_reasoning import has_reasoning
from loadgen.workload.recorded_size import CALLS, DEFINITIONS
from loadgen.workload.session import Session, Workload

__all__ = ["check_template", "keeps_reasoning", "left_out", "refuses_tools"]

_SESSIONS = 8
"""Sessions that are looked at: recordings of one file are of one making."""
_SALT, _OTHER_SALT = "00000000", "ffffffff"
_FEW = 200
"""Characters in front of the salt that don't matter: the template's opening words, some dozens of tokens."""


async def check_template(prompts: Prompts, workload: Workload, note: Callable[[str], None]) -> None:
    """Has the server put the first and the last prompt of some sessions into its template.

    Told to `note`: what the template leaves out, and that tool definitions stand in front of the salt. Raises
    `WorkloadError` with the server's words where the template refuses a prompt. A server without the route isn't asked.
    """
    if not prompts.is_llama:
        return
    in_front = 0
    for session, turn in _looked_at(workload):
        one = await prompts.text(session, turn, _SALT)
        other = await prompts.text(session, turn, _OTHER_SALT)
        if one is None or other is None:
            return
        in_front = max(in_front, _alike(one, other))
    if in_front > _FEW:
        note(
            f"workload {workload.name}: the server's chat template puts {in_front} characters (tool definitions, most "
            "likely) in front of what makes prompts unique, so that first turns find them in its cache"
        )
    missing = await left_out(prompts, workload)
    if missing:
        note(
            f"workload {workload.name}: the server's chat template leaves out {' and '.join(missing)}, without a "
            "word: prompts lack what the recording has"
        )


async def keeps_reasoning(prompts: Prompts, workload: Workload) -> bool | None:
    """Whether the server's template puts recorded reasoning into later prompts; null where the workload has none.

    True where the server can't be asked: it is sent then, as it was recorded.
    """
    if not any(has_reasoning(turn.assistant) for session in workload.sessions for turn in session.turns):
        return None
    if not prompts.is_llama:
        return True
    calls, tools = _calls(workload), _tools(workload)
    try:
        text = await prompts.text(probe(calls=calls, tools=tools), 1, _SALT)
    except WorkloadError:
        return not await _takes(prompts, probe(calls=calls, tools=tools, reasoning=False))
    return text is None or REASONING in text


async def refuses_tools(prompts: Prompts) -> str | None:
    """What the server's template does with tools in place of taking them; null where it takes them, or can't be asked.

    Told by a conversation of our own, in which a tool is defined, called, and answers.
    """
    if not prompts.is_llama:
        return None
    try:
        text = await prompts.text(probe(calls=True, tools=True, reasoning=False), 1, _SALT)
    except WorkloadError:
        return "refuses tools"
    parts = ((DEFINITIONS, DEFINITION), (CALLS, ARGUMENT))
    missing = [name for name, mark in parts if text is not None and mark not in text]
    return f"leaves out {' and '.join(missing)}" if missing else None


async def _takes(prompts: Prompts, session: Session) -> bool:
    try:
        return await prompts.text(session, 1, _SALT) is not None
    except WorkloadError:
        return False


async def left_out(prompts: Prompts, workload: Workload) -> list[str]:
    """Parts that the recording has and the template leaves out, told by marks in a conversation of our own."""
    calls, tools = _calls(workload), _tools(workload)
    if not prompts.is_llama or not (calls or tools):
        return []
    try:
        text = await prompts.text(probe(calls=calls, tools=tools, reasoning=False), 1, _SALT)
    except WorkloadError:
        return []
    parts = ((DEFINITIONS, DEFINITION, tools), (CALLS, ARGUMENT, calls))
    return [name for name, mark, is_there in parts if is_there and text is not None and mark not in text]


def _calls(workload: Workload) -> bool:
    return any((turn.assistant or {}).get("tool_calls") for session in workload.sessions for turn in session.turns)


def _tools(workload: Workload) -> bool:
    return any(session.tools for session in workload.sessions)


def _looked_at(workload: Workload) -> Iterator[tuple[Session, int]]:
    """Some sessions spread over the workload, with their first and last turns."""
    step = -(-len(workload.sessions) // _SESSIONS)
    for session in workload.sessions[::step]:
        for turn in sorted({0, len(session.turns) - 1}):
            yield session, turn


def _alike(one: str, other: str) -> int:
    """How many characters two texts share at their beginning."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
