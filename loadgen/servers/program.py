"""A program that a variant names: where it is, and the environment and folder that it runs in."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from loadgen.errors import LaunchError


def environment(extra: Mapping[str, str | None]) -> dict[str, str]:
    """Our environment with the variables of a variant; null removes one."""
    return {name: value for name, value in {**os.environ, **extra}.items() if value is not None}


def folder(name: str, cwd: str | None) -> Path:
    """The absolute folder that a variant runs in: `cwd`, or ours. Raises `LaunchError` where it isn't there."""
    path = Path(cwd or ".").absolute()
    if not path.is_dir():
        raise LaunchError(f"{name}: the working directory {cwd} is not there.")
    return path


def find_program(program: str, env: Mapping[str, str], cwd: Path, *, called: str) -> str:
    """The absolute path of a program: as in a shell in `cwd`, a name with a slash is a path, any other is on the PATH.

    `called` says in errors what the program is to be. Raises `LaunchError` where it isn't there or isn't executable.
    """
    here = cwd / program
    if "/" not in program:
        found = shutil.which(program, path=env.get("PATH"))
        if found is not None:
            return str(Path(found).absolute())
    elif here.is_file() and os.access(here, os.X_OK):
        return str(here)
    if here.is_file():
        raise LaunchError(f"{program} is not executable: chmod +x it, or name {called} itself.")
    raise LaunchError(f"the program {program} is not found: give its full path, or add its folder to PATH.")
