"""The command line of a server that runs on this machine, found by its listening port, or that a router tells."""

import psutil

from loadgen.client.control import Control
from loadgen.client.endpoint import Endpoint


def local_command(endpoint: Endpoint) -> list[str] | None:
    """The arguments of the local process that listens at `endpoint`; null where it isn't local or can't be seen."""
    pid = local_pid(endpoint)
    if pid is None:
        return None
    try:
        return psutil.Process(pid).cmdline() or None
    except psutil.Error:
        return None


def local_pid(endpoint: Endpoint) -> int | None:
    """The local process that listens at `endpoint`; null where it isn't local or can't be seen."""
    if not endpoint.is_loopback:
        return None
    try:
        connections = psutil.net_connections(kind="tcp")
    except psutil.AccessDenied:
        return None
    for connection in connections:
        port = getattr(connection.laddr, "port", None)
        if connection.status == psutil.CONN_LISTEN and port == endpoint.port and connection.pid is not None:
            pid: int = connection.pid
            return pid
    return None


async def router_command(control: Control, model: str | None) -> list[str] | None:
    """The arguments with which a llama-server router started `model` (`status.args` of /models); null without one."""
    listing = await control.models()
    for entry in (listing or {}).get("data", []):
        status = entry.get("status") if isinstance(entry, dict) else None
        args = status.get("args") if isinstance(status, dict) else None
        if isinstance(args, list) and args and (model is None or entry.get("id") == model):
            return [str(arg) for arg in args]
    return None
