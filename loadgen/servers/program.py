"""A program that a variant names: where it is, and the environment and folder that it runs in."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from loadgen.errors import LaunchError
from loadgen.experiment.build import SECRET_NAME
from loadgen.experiment.llama_flags import MASK

_READ = (
    *("LLAMA_", "GGML_", "CUDA_", "NVIDIA_", "HIP_", "ROCR_", "HSA_", "AMD_", "GPU_", "ZE_", "ONEAPI_", "SYCL_"),
    *("VK_", "MESA_", "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "LD_LIBRARY_PATH", "LD_PRELOAD", "HF_HUB_OFFLINE"),
)
"""Beginnings of their names. The rest of an environment says nothing of a server and may say much of its user."""


def environment(extra: Mapping[str, str | None]) -> dict[str, str]:
    """Our environment with the variables of a variant; null removes one."""
    return {name: value for name, value in {**os.environ, **extra}.items() if value is not None}


def telling(env: Mapping[str, str]) -> dict[str, str]:
    """The variables that llama.cpp, its back ends and drivers read, by name, secrets masked: what a record keeps."""
    found = {name: env[name] for name in sorted(env) if name.startswith(_READ)}
    return {name: MASK if SECRET_NAME.search(name) else value for name, value in found.items()}


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
