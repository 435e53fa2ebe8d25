"""Each parameter of a profile as a person wrote it."""

from pathlib import Path
from typing import Any

import yaml

from loadgen.workload.builtin import builtin_path
from loadgen.workload.profile_file import place, read_profile

__all__ = ["written_parameters"]

_WIDTH = 10_000
"""Characters a line: a parameter is one line, however long."""


def written_parameters(path: Path) -> dict[str, str]:
    """Each parameter that a profile's file states, as it is written there, those of sub-agents as `subagents.…`.

    Raises `WorkloadError`.
    """
    profile = read_profile(path, builtin=builtin_path)
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    found = {name: _at(content, name.split("."), path) for name in profile.parameters}
    return {
        name: yaml.safe_dump(value, default_flow_style=True, width=_WIDTH).removesuffix("...\n").strip()
        for name, value in found.items()
        if value is not None
    }


def _at(content: Any, parts: list[str], path: Path) -> Any:
    """What stands in a file at the place of a parameter; null where nothing does."""
    for number, part in enumerate(parts):
        if part not in content and "profile" in content:
            below = content["profile"]
            if isinstance(below, str):
                file = place(below, path, builtin_path)
                return _at(yaml.safe_load(file.read_text(encoding="utf-8")), parts[number:], file) if file else None
            content = below
        content = content.get(part)
        if content is None:
            return None
    if isinstance(content, dict) and "tokens" in content:
        # The kind of text is a parameter of its own.
        return {name: value for name, value in content.items() if name != "corpus"}
    return content
