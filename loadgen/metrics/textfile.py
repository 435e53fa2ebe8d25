"""The final values as a file for node_exporter's textfile collector."""

import re
from pathlib import Path

from prometheus_client import write_to_textfile

from loadgen.errors import ExperimentError
from loadgen.metrics.store import Store

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class TextfileError(Exception):
    """The file can't be written. The message says why."""


def checked_folder(path: Path) -> Path:
    """The folder, if it is one. Raises `ExperimentError`."""
    if not path.is_dir():
        raise ExperimentError(f"--metrics-textfile {path} is no folder; name the one that node_exporter reads")
    return path


def write_textfile(folder: Path, store: Store, series: str) -> Path:
    """Write or replace `loadgen-SERIES.prom` in one step: nobody reads half of it. Raises `TextfileError`."""
    path = folder / f"loadgen-{_UNSAFE.sub('_', series)}.prom"
    try:
        write_to_textfile(str(path), store)
    except OSError as error:
        raise TextfileError(f"{path} can't be written ({error.strerror or error}); the run is not affected") from None
    return path
