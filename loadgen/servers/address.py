"""Where a launched server listens, with which key, and which process it is."""

import contextlib
import socket
from collections.abc import Mapping
from pathlib import Path

import psutil

from loadgen.experiment import llama_flags as flags

HOST = "127.0.0.1"

_API_KEY = ("--api-key",)
_API_KEY_FILE = ("--api-key-file",)


def free_port() -> int:
    """A port of this machine that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
    return port


def url_of(args: tuple[str, ...], port: int) -> str:
    """The address of a server with these arguments."""
    scheme = "https" if flags.has(args, "--ssl-cert-file") else "http"
    return f"{scheme}://{HOST}:{port}{flags.value_of(args, '--api-prefix') or ''}"


def key_of(args: tuple[str, ...], env: Mapping[str, str], cwd: Path) -> str | None:
    """The first key that the server accepts, or null. A key file lies in the folder `cwd` if its path is relative."""
    keys = (flags.value_of(args, *_API_KEY) or env.get("LLAMA_API_KEY") or "").split(",")
    path = flags.value_of(args, *_API_KEY_FILE) or env.get("LLAMA_ARG_API_KEY_FILE")
    if path is not None:
        with contextlib.suppress(OSError):
            keys += [line for line in (cwd / path).read_text().splitlines() if not line.startswith("#")]
    return next((key.strip() for key in keys if key.strip()), None)


def listener(pid: int, port: int) -> int:
    """The process that listens on the port: the command's own, or a descendant where a wrapper stays in between."""
    try:
        family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return pid
    for process in family:
        with contextlib.suppress(psutil.Error):
            for connection in process.net_connections(kind="tcp"):
                if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port:
                    return process.pid
    return pid
