"""Whether prompts are as deep as the workload says, and the deepest fit: by the server's own count."""

from collections.abc import Callable
from itertools import islice

from loadgen.errors import WorkloadError
from loadgen.replay.templated import Prompts
from loadgen.workload.session import Session, Workload

__all__ = ["check_depth"]

_SALT = "0f1e2d3c"
_COUNTED = 4
"""Sessions of which the deepest turn is counted: those that reach deepest."""
_NOTHING = 0.0005
"""An error that shows as 0.0 %."""


async def check_depth(
    prompts: Prompts, workload: Workload, context: int | None, note: Callable[[str], None]
) -> float | None:
    """Has the server count the deepest prompts, without evaluating them.

    Returns the largest relative error of the depths that the workload states (0.02: 2 % off either way); null where
    the server doesn't count.

    Args:
        prompts: of the server.
        workload: whose prompts.
        context: tokens that a slot holds, where that is known.
        note: told what was found.

    Raises `WorkloadError` with the numbers where a prompt doesn't fit a slot with its answer.
    """
    if not prompts.is_llama:
        return None
    errors: list[float] = []
    deepest = 0
    for session, turn in _deepest(workload):
        tokens = await prompts.tokens(session, turn, _SALT)
        if tokens is None:
            return None
        output, stated = session.turns[turn].output_tokens, session.turns[turn].depth
        if context is not None and tokens + output > context:
            raise WorkloadError(
                f"Turn {turn + 1} of session {session.id} has {tokens} prompt tokens by the server's own count "
                f"({stated} were expected), and takes up to {output} more; a slot has {context}. Start the server with "
                "a larger context or fewer slots, or choose a smaller workload."
            )
        errors.append(tokens / stated - 1)
        deepest = max(deepest, tokens)
    worst = max(errors, key=abs)
    counted = f"the deepest prompt has {deepest:,} tokens by the server's own count"
    note(f"workload {workload.name}: {counted}, {_off(worst, len(errors))}")
    return abs(worst)


def _off(worst: float, counted: int) -> str:
    if abs(worst) < _NOTHING:
        return "as expected"
    most = f" at most (of {counted} counted)" if counted > 1 else ""
    return f"{abs(worst):.1%} {'more' if worst > 0 else 'less'} than expected{most}"


def _deepest(workload: Workload) -> list[tuple[Session, int]]:
    """The deepest turn, answer included, of the sessions that reach deepest."""
    found = [
        (session, max(range(len(session.turns)), key=lambda turn: _reach(session, turn)))
        for session in workload.sessions
    ]
    return list(islice(sorted(found, key=lambda one: -_reach(*one)), _COUNTED))


def _reach(session: Session, turn: int) -> int:
    return session.turns[turn].depth + session.turns[turn].output_tokens
