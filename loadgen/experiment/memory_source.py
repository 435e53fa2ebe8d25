"""Where memory and power are read from, as `--memory-source` names it. Pure data."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from loadgen.experiment.llama_flags import MASK, masked

AUTO = "auto"
NAMED = (AUTO, "none", "process", "nvidia", "amd", "apple")
_COMMAND = "command:"
_METRIC = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*(?:=(?:B|MiB|GiB|MB|GB))?")
_SECRET = re.compile(r"authorization|bearer|token|secret|password|api[-_]?key", re.IGNORECASE)


@dataclass(frozen=True)
class MemorySource:
    """One way to read memory.

    Attributes:
        kind: one of `NAMED`, `exporter` or `command`.
        url: address of an exporter's text page.
        metric: its metric to read; null: those that are known by name.
        unit: what that metric counts in.
        command: the words of a command that prints one number.
    """

    kind: str
    url: str | None = None
    metric: str | None = None
    unit: str = "B"
    command: tuple[str, ...] = ()


def parse_memory_source(text: str) -> MemorySource:
    """The source in a text: a name, `http://HOST:PORT/metrics#METRIC=UNIT`, or `command:WORDS` as a shell splits them.

    Metric and unit (B, MiB, GiB, MB, GB; without one bytes) may be left out. Raises `ValueError`.
    """
    stripped = text.strip()
    if stripped in NAMED:
        return MemorySource(stripped)
    if stripped.startswith(_COMMAND):
        words = tuple(shlex.split(stripped.removeprefix(_COMMAND)))
        if not words:
            raise ValueError("name a command after command:, such as command:/usr/local/bin/used-bytes")
        return MemorySource("command", command=words)
    if stripped.startswith(("http://", "https://")):
        return _exporter(stripped)
    # The text isn't repeated: it may be an address with a password, or a command with a key.
    names = ", ".join(NAMED)
    raise ValueError(f"a memory source is {names}, http://HOST:PORT/metrics or command:PROGRAM ARGUMENTS")


def _exporter(text: str) -> MemorySource:
    address, _, metric = text.partition("#")
    parts = urlsplit(address)
    if parts.username is not None or parts.password is not None or parts.query:
        raise ValueError("the address of a memory source holds no user, password or query")
    if not parts.hostname:
        raise ValueError("the address of a memory source is http://HOST:PORT/metrics")
    if metric and not _METRIC.fullmatch(metric):
        raise ValueError(f"{metric!r} is no metric name, such as my_gpu_used or my_gpu_used=MiB")
    url = address if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}/metrics"
    name, _, unit = metric.partition("=")
    return MemorySource("exporter", url=url, metric=name or None, unit=unit or "B")


def without_secrets(text: str) -> str:
    """The source as it may be written down: words of a command that may hold a key are masked."""
    if not text.strip().startswith(_COMMAND):
        return text
    words = masked(parse_memory_source(text).command)
    return _COMMAND + shlex.join(_hidden(words))


def _hidden(words: Sequence[str]) -> list[str]:
    out, hide = [], False
    for word in words:
        secret = bool(_SECRET.search(word))
        flag = secret and word.startswith("-") and "=" not in word
        out.append(MASK if hide or (secret and not flag) else word)
        hide = flag
    return out
