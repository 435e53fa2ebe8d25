"""What the memory watch needs to know of a variant's server."""

import os
from collections.abc import Mapping

import psutil

from loadgen.client.endpoint import Endpoint
from loadgen.experiment.model import LaunchVariant, ModelVariant, RouterVariant, Variant
from loadgen.servers.discovery import local_pid
from loadgen.servers.target import Target
from loadgen.telemetry.watch import Watched

_CHOOSING = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")


def watched(variant: Variant, environment: Mapping[str, str] = os.environ) -> Watched:
    """The server of a variant, up or not: where it runs, and which devices its environment lets it see.

    `environment` is ours, which servers that we start have with the variant's changes.
    """
    if isinstance(variant, LaunchVariant):
        variables = {**environment, **variant.env}
        return Watched(variant.name, local=True, variables=_chosen(variables))
    endpoint = Endpoint.parse(variant.url)
    pid = local_pid(endpoint)
    return Watched(variant.name, local=endpoint.is_loopback, variables=_variables(pid) if pid is not None else {})


def server_pid(target: Target) -> int | None:
    """The process of a server on this machine; null where what listens is a router or gateway, or can't be seen."""
    if target.pid is not None or isinstance(target.variant, (RouterVariant, ModelVariant)):
        return target.pid
    return local_pid(target.transport.endpoint)


def _variables(pid: int) -> dict[str, str]:
    try:
        told = psutil.Process(pid).environ()
    except (psutil.Error, OSError):
        return {}
    return _chosen(told)


def _chosen(variables: Mapping[str, str | None]) -> dict[str, str]:
    return {name: told for name in _CHOOSING if (told := variables.get(name)) is not None}
