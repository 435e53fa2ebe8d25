"""Prometheus' own programs, where this machine has them: `.ci/prometheus` fetches them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = "PROMETHEUS_PROGRAMS"
"""The variable that names the folder of the programs. Where it is set, they must be there."""


def found(program: str) -> str | None:
    """The path of a program: in that folder, or on the path; null where it is in neither."""
    folder = os.environ.get(FOLDER)
    return str(Path(folder) / program) if folder else shutil.which(program)


def needs(program: str) -> pytest.MarkDecorator:
    """Skips a test by name where the program is missing and nobody has said that it is there."""
    why = f"needs {program}: .ci/prometheus build/prometheus, then {FOLDER}=build/prometheus/usr/bin"
    return pytest.mark.skipif(found(program) is None, reason=why)


def run(program: str, *args: str | Path, text: str | None = None) -> str:
    """What a program prints; it must end with 0."""
    path = found(program)
    assert path is not None
    done = subprocess.run([path, *map(str, args)], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


class Server:
    """One of the programs, serving on loopback until it is closed."""

    def __init__(self, program: str, *args: str, ready: str) -> None:
        """Start it, and wait until it has said `ready`."""
        path = found(program)
        assert path is not None
        self._process = subprocess.Popen([path, *args], stderr=subprocess.PIPE, text=True)
        said = []
        assert self._process.stderr is not None
        for line in self._process.stderr:
            said.append(line)
            if ready in line:
                return
        raise AssertionError(f"{program} ended without saying {ready!r}:\n{''.join(said)}")

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()
