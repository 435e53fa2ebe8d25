"""Finds workloads: built-in profiles by name, own profiles by path, and the largest that a server can hold."""

from pathlib import Path

from loadgen.errors import WorkloadError
from loadgen.workload.pool import build
from loadgen.workload.profile import Profile, read_profile
from loadgen.workload.session import Workload

_PACKAGE = Path(__file__).resolve().parent.parent
_TIER_PREFIX = "batch-agents-"
"""The same kind of agents, sized for one context each: the default when none is named."""


def builtin_names() -> list[str]:
    """Names of the built-in workloads, sorted."""
    return sorted(path.stem for path in _folder().glob("*.yaml"))


def builtin_profile(name: str) -> Profile:
    """A built-in profile. Raises `WorkloadError` that lists the names when there is none of this name."""
    if name not in builtin_names():
        raise WorkloadError(
            f"No workload is called {name!r}. Built in: {', '.join(builtin_names())}; or give the path of a YAML file."
        )
    return read_profile(_folder() / f"{name}.yaml")


def load(
    name_or_path: str | Path, *, seed: int, chars_per_token: float | None = None, max_tokens: int | None = None
) -> Workload:
    """The workload of a built-in name, or of a YAML file (anything with a folder or a `.yaml`/`.yml` ending).

    See `loadgen.workload.pool.build` for the other arguments. Raises `WorkloadError`.
    """
    path = Path(name_or_path)
    is_file = isinstance(name_or_path, Path) or path.suffix in {".yaml", ".yml"} or len(path.parts) > 1
    profile = read_profile(path) if is_file else builtin_profile(str(name_or_path))
    return build(profile, seed=seed, chars_per_token=chars_per_token, max_tokens=max_tokens)


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
            "Start it with a larger context or fewer slots, or choose a smaller workload."
        )


def _folder() -> Path:
    """Where the built-in profiles lie: inside the package, or beside it in a checkout."""
    packaged = _PACKAGE / "_workloads"
    return packaged if packaged.is_dir() else _PACKAGE.parent / "workloads"
