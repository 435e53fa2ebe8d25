"""The built-in profiles by name, and which of the tiers of `batch-agents` a slot holds."""

from pathlib import Path

from loadgen.errors import WorkloadError
from loadgen.workload.profile import Profile
from loadgen.workload.profile_file import read_profile

__all__ = [
    "FALLBACK",
    "FAMILY",
    "builtin_names",
    "builtin_path",
    "builtin_profile",
    "largest_fitting",
    "resolved",
    "tiers",
]

FAMILY = "batch-agents"
"""The same kind of agents, sized for one context each. The name alone stands for the largest tier that fits, which is
also played when no workload is named."""
FALLBACK = "batch-agents-4k"
"""Played when the server doesn't say how much context a slot has: small enough for most."""
_PACKAGE = Path(__file__).resolve().parent.parent


def builtin_names() -> list[str]:
    """Names of the built-in workloads, sorted; of the tiers each its own."""
    return sorted(path.stem for path in _folder().glob("*.yaml"))


def builtin_path(name: str) -> Path:
    """Where the profile of a built-in name is, if there is one."""
    return _folder() / f"{name}.yaml"


def builtin_profile(name: str) -> Profile:
    """A built-in profile. Raises `WorkloadError` that lists the names when there is none of this name."""
    if name not in builtin_names():
        raise WorkloadError(
            f"No workload is called {name!r}. Built in: {', '.join(builtin_names())}; or give the path of a YAML file, "
            "or of recorded sessions (.json, .jsonl, .gz, .zst)."
        )
    return read_profile(builtin_path(name), builtin=builtin_path)


def tiers() -> list[Profile]:
    """The tiers of `batch-agents`, the smallest first."""
    found = [builtin_profile(name) for name in builtin_names() if name.startswith(f"{FAMILY}-")]
    return sorted(found, key=lambda tier: tier.min_context)


def largest_fitting(context_per_slot: int) -> str:
    """The name of the largest tier (`batch-agents-…`) whose sessions a slot of so many tokens holds.

    Raises `WorkloadError` with the numbers when not even the smallest does.
    """
    fitting = [tier for tier in tiers() if tier.min_context <= context_per_slot]
    if not fitting:
        smallest = tiers()[0]
        raise WorkloadError(
            f"A slot of this server holds {context_per_slot} tokens; the smallest built-in workload, {smallest.name}, "
            f"needs {smallest.min_context}. Start the server with a larger context or fewer slots."
        )
    return fitting[-1].name


def resolved(name: str, context_per_slot: int | None) -> str:
    """The name of a workload, with the tier in place of `batch-agents` alone. Raises `WorkloadError` where none fits.

    `context_per_slot` is null where the server doesn't say.
    """
    if name != FAMILY:
        return name
    return FALLBACK if context_per_slot is None else largest_fitting(context_per_slot)


def _folder() -> Path:
    """Where the built-in profiles lie: inside the package, or beside it in a checkout."""
    packaged = _PACKAGE / "_workloads"
    return packaged if packaged.is_dir() else _PACKAGE.parent / "workloads"
