"""Finds workloads: built-in profiles by name, own profiles and recorded sessions by path, and what a slot can hold."""

from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

from loadgen.errors import WorkloadError
from loadgen.workload.builtin import (
    FALLBACK,
    FAMILY,
    builtin_names,
    builtin_path,
    builtin_profile,
    largest_fitting,
    resolved,
    tiers,
)
from loadgen.workload.clipping import clipped_to
from loadgen.workload.making import Making
from loadgen.workload.plain_tools import with_plain_tools
from loadgen.workload.pool import build
from loadgen.workload.profile import ContextFull, Profile
from loadgen.workload.profile_file import read_profile
from loadgen.workload.replayed import replay
from loadgen.workload.session import History, OutputLength, Workload
from loadgen.workload.session_file import SessionFile, read_sessions
from loadgen.workload.waits import Pace, paced
from loadgen.workload.written import written_parameters as _written

__all__ = [
    "FALLBACK",
    "FAMILY",
    "builtin_names",
    "builtin_profile",
    "check_fits",
    "is_session_file",
    "largest_fitting",
    "load",
    "profile_of",
    "resolved",
    "tiers",
    "written_parameters",
]

_SESSION_FILES = (".json", ".jsonl", ".gz", ".zst")
"""Endings of files that hold recorded sessions, in any of the formats."""


def load(
    name_or_path: str | Path,
    *,
    seed: int,
    chars_per_token: float | None = None,
    max_tokens: int | None = None,
    history: History | None = None,
    pace: Pace | None = None,
    context: int | None = None,
    context_full: ContextFull = "finish",
    output_length: OutputLength | None = None,
    making: Making | None = None,
) -> Workload:
    """The workload of a built-in name, of a YAML file, or of a file of recorded sessions.

    Args:
        name_or_path: a name; `.json`, `.jsonl`, `.gz` and `.zst` are recorded sessions, and anything else with a folder
            or a `.yaml`/`.yml` ending is a profile.
        seed: the seed of the run; recorded sessions are the same with every seed.
        chars_per_token: characters a token at the server; None: assumed.
        max_tokens: caps every turn's output.
        history: whose answers go back; None: as the profile says, and the recorded ones of a file.
        pace: what is done to waits; None: nothing.
        context: clip to a slot of so many tokens; None: nothing is.
        context_full: what becomes of sessions that such a slot doesn't hold.
        output_length: whether answers end by themselves or have an exact length; None: as the profile says, and by
            themselves for a file.
        making: how texts are made and counted; None: of the standard library, by `chars_per_token`.

    Raises `WorkloadError`.
    """
    if is_session_file(name_or_path):
        played = history or "recorded"
        exact = output_length == "exact"
        path = Path(name_or_path)
        workload = _replayed(
            path,
            chars_per_token,
            max_tokens,
            played,
            context,
            context_full,
            exact_length=exact,
            making=making or Making(),
        )
    else:
        profile = profile_of(name_or_path)
        if history is not None:
            profile = profile.model_copy(update={"history": history})
        if output_length is not None:
            output = profile.output.model_copy(update={"mode": output_length})
            profile = profile.model_copy(update={"output": output})
        workload = _built(profile, seed, chars_per_token, max_tokens, context, context_full, making or Making())
        workload = with_plain_tools(workload, making.sizer) if making is not None and making.tools_as_text else workload
    return workload if pace is None else paced(workload, pace)


def is_session_file(name_or_path: str | Path) -> bool:
    """Whether a workload is a file of recorded sessions, by the ending of its name."""
    return Path(name_or_path).suffix in _SESSION_FILES


def _built(  # noqa: PLR0917 - the parts of `load`
    profile: Profile,
    seed: int,
    chars_per_token: float | None,
    max_tokens: int | None,
    context: int | None,
    context_full: ContextFull,
    making: Making,
) -> Workload:
    """The workload of a profile, made to fit `context` where that is less than it asks for."""
    of = partial(
        build,
        seed=seed,
        chars_per_token=chars_per_token,
        max_tokens=max_tokens,
        sizer=making.sizer,
        library=making.library,
    )
    whole = of(profile)
    if context is None or context >= profile.min_context:
        return whole
    smaller = of(profile.model_copy(update={"min_context": context, "context_full": context_full}))
    return clipped_to(whole, smaller, context=context, how=context_full)


def _replayed(  # noqa: PLR0917 - the parts of `load`
    path: Path,
    chars_per_token: float | None,
    max_tokens: int | None,
    history: History,
    context: int | None,
    context_full: ContextFull,
    *,
    exact_length: bool,
    making: Making,
) -> Workload:
    try:
        status = path.stat()
    except OSError as error:
        raise WorkloadError(f"{path}: {error.strerror or 'it cannot be read'}.") from error
    file = _read(path, status.st_mtime_ns, status.st_size)
    name = path.name
    while Path(name).suffix in _SESSION_FILES:
        name = Path(name).stem
    workload = replay(
        file.sessions,
        name=name,
        chars_per_token=chars_per_token,
        max_tokens=max_tokens,
        history=history,
        context=context,
        context_full=context_full,
        exact_length=exact_length,
        sizer=making.sizer,
        library=making.library,
        reasoning=making.reasoning,
        left_out=making.left_out,
    )
    notes = workload.notes
    if file.problems:
        notes = (f"{path}: {len(file.problems)} problems; loadgen workloads check lists what was skipped", *notes)
    return replace(workload, description=f"{workload.description[:-1]} ({file.format.title}).", notes=notes)


@lru_cache(maxsize=1)
def _read(path: Path, changed_ns: int, size: int) -> SessionFile:
    """The sessions of a file, which a run needs twice: with and without the server's characters a token."""
    del changed_ns, size
    return read_sessions(path)


def profile_of(name_or_path: str | Path) -> Profile:
    """The profile of a built-in name (of `batch-agents` the fallback's tier), or of a YAML file.

    Raises `WorkloadError`.
    """
    if _is_file(name_or_path):
        return read_profile(Path(name_or_path), builtin=builtin_path)
    return builtin_profile(resolved(str(name_or_path), None))


def written_parameters(name_or_path: str | Path) -> dict[str, str]:
    """Each parameter that a profile's file states, as it is written there. Raises `WorkloadError`."""
    if _is_file(name_or_path):
        return _written(Path(name_or_path))
    return _written(builtin_path(builtin_profile(resolved(str(name_or_path), None)).name))


def _is_file(name_or_path: str | Path) -> bool:
    path = Path(name_or_path)
    return isinstance(name_or_path, Path) or path.suffix in {".yaml", ".yml"} or len(path.parts) > 1


def check_fits(workload: Workload, context_per_slot: int) -> None:
    """Raises `WorkloadError` with the numbers when a slot of so many tokens can't hold the workload's sessions."""
    needed = workload.facts.min_context
    if context_per_slot < needed:
        raise WorkloadError(
            f"Workload {workload.name} needs {needed} tokens of context a slot; this server has {context_per_slot}. "
            "Start it with a larger context or fewer slots, choose a smaller workload, or say what becomes of sessions "
            "that don't fit: --context-full finish, compact or fail."
        )
