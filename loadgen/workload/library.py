"""Finds workloads: built-in profiles by name, own profiles and recorded sessions by path, and what a slot can hold."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import msgspec
import yaml

from loadgen.errors import WorkloadError
from loadgen.records.manifest import Clipped
from loadgen.workload.pool import build
from loadgen.workload.profile import PARAMETERS, Profile, read_profile
from loadgen.workload.replayed import replay
from loadgen.workload.session import History, Workload
from loadgen.workload.session_file import SessionFile, read_sessions
from loadgen.workload.waits import Pace, paced

_PACKAGE = Path(__file__).resolve().parent.parent
_SESSION_FILES = (".json", ".jsonl", ".gz", ".zst")
"""Endings of files that hold recorded sessions, in any of the formats."""
_TIER_PREFIX = "batch-agents-"
"""The same kind of agents, sized for one context each: the default when none is named."""


def builtin_names() -> list[str]:
    """Names of the built-in workloads, sorted."""
    return sorted(path.stem for path in _folder().glob("*.yaml"))


def builtin_profile(name: str) -> Profile:
    """A built-in profile. Raises `WorkloadError` that lists the names when there is none of this name."""
    if name not in builtin_names():
        raise WorkloadError(
            f"No workload is called {name!r}. Built in: {', '.join(builtin_names())}; or give the path of a YAML file, "
            "or of recorded sessions (.json, .jsonl, .gz, .zst)."
        )
    return read_profile(_folder() / f"{name}.yaml")


def load(
    name_or_path: str | Path,
    *,
    seed: int,
    chars_per_token: float | None = None,
    max_tokens: int | None = None,
    history: History | None = None,
    pace: Pace | None = None,
    context: int | None = None,
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
        context: clip to a slot of so many tokens: sessions end before the turn that doesn't fit; None: nothing is.

    Raises `WorkloadError`.
    """
    if is_session_file(name_or_path):
        workload = _replayed(Path(name_or_path), chars_per_token, max_tokens, history or "recorded", context)
    else:
        profile = profile_of(name_or_path)
        if history is not None:
            profile = profile.model_copy(update={"history": history})
        workload = _built(profile, seed, chars_per_token, max_tokens, context)
    return workload if pace is None else paced(workload, pace)


def is_session_file(name_or_path: str | Path) -> bool:
    """Whether a workload is a file of recorded sessions, by the ending of its name."""
    return Path(name_or_path).suffix in _SESSION_FILES


def _built(
    profile: Profile, seed: int, chars_per_token: float | None, max_tokens: int | None, context: int | None
) -> Workload:
    """The workload of a profile, with sessions cut to `context` where that is less than it asks for."""
    whole = build(profile, seed=seed, chars_per_token=chars_per_token, max_tokens=max_tokens)
    if context is None or context >= profile.min_context:
        return whole
    smaller = profile.model_copy(update={"min_context": context})
    cut = build(smaller, seed=seed, chars_per_token=chars_per_token, max_tokens=max_tokens)
    if cut.sessions == whole.sessions:
        return cut
    clipped = Clipped(
        context=context,
        sessions_cut=sum(
            len(ours.turns) < len(theirs.turns) for ours, theirs in zip(cut.sessions, whole.sessions, strict=True)
        ),
        sessions_left_out=0,
        turns_left_out=max(0, whole.facts.turns - cut.facts.turns),
        turns=whole.facts.turns,
    )
    note = (
        f"{clipped.sessions_cut} of {len(cut.sessions)} sessions end early, because a slot holds {context} tokens and "
        f"the workload needs {profile.min_context}; {cut.redrawn} were drawn afresh"
    )
    return replace(cut, facts=msgspec.structs.replace(cut.facts, clipped=clipped), notes=(note,))


def _replayed(
    path: Path, chars_per_token: float | None, max_tokens: int | None, history: History, context: int | None
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
    """The profile of a built-in name, or of a YAML file. Raises `WorkloadError`."""
    return read_profile(Path(name_or_path)) if _is_file(name_or_path) else builtin_profile(str(name_or_path))


def written_parameters(name_or_path: str | Path) -> dict[str, str]:
    """Each parameter that a profile's file states, as it is written there. Raises `WorkloadError`."""
    profile_of(name_or_path)  # whatever is wrong with it is said there
    path = Path(name_or_path) if _is_file(name_or_path) else _folder() / f"{name_or_path}.yaml"
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {
        name: yaml.safe_dump(content[name], default_flow_style=True, width=10_000).removesuffix("...\n").strip()
        for name in PARAMETERS
        if name in content
    }


def _is_file(name_or_path: str | Path) -> bool:
    path = Path(name_or_path)
    return isinstance(name_or_path, Path) or path.suffix in {".yaml", ".yml"} or len(path.parts) > 1


def largest_fitting(context_per_slot: int) -> str:
    """The name of the largest tier (`batch-agents-…`) whose sessions a slot of so many tokens holds.

    Raises `WorkloadError` with the numbers when not even the smallest does.
    """
    tiers = [builtin_profile(name) for name in builtin_names() if name.startswith(_TIER_PREFIX)]
    fitting = [tier for tier in tiers if tier.min_context <= context_per_slot]
    if not fitting:
        smallest = min(tiers, key=lambda tier: tier.min_context)
        raise WorkloadError(
            f"A slot of this server holds {context_per_slot} tokens; the smallest built-in workload, {smallest.name}, "
            f"needs {smallest.min_context}. Start the server with a larger context or fewer slots."
        )
    return max(fitting, key=lambda tier: tier.min_context).name


def check_fits(workload: Workload, context_per_slot: int) -> None:
    """Raises `WorkloadError` with the numbers when a slot of so many tokens can't hold the workload's sessions."""
    needed = workload.facts.min_context
    if context_per_slot < needed:
        raise WorkloadError(
            f"Workload {workload.name} needs {needed} tokens of context a slot; this server has {context_per_slot}. "
            "Start it with a larger context or fewer slots, choose a smaller workload, or let sessions end early with "
            "--context-full finish."
        )


def _folder() -> Path:
    """Where the built-in profiles lie: inside the package, or beside it in a checkout."""
    packaged = _PACKAGE / "_workloads"
    return packaged if packaged.is_dir() else _PACKAGE.parent / "workloads"
