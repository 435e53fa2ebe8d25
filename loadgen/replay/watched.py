"""What the memory watch needs to know of a variant's server."""

import os
from collections.abc import Mapping, Sequence

import psutil

from loadgen.client.endpoint import Endpoint
from loadgen.experiment.llama_flags import value_of
from loadgen.experiment.variant import LaunchVariant, ModelVariant, RouterVariant, Variant
from loadgen.servers.discovery import local_pid
from loadgen.servers.target import Target
from loadgen.telemetry.choice import CHOOSING, TAKEN
from loadgen.telemetry.watch import Watched

_DEVICE = ("-dev", "--device")


def watched(variant: Variant, environment: Mapping[str, str] = os.environ) -> Watched:
    """The server of a variant, up or not: where it runs, and which devices its environment lets it see.

    `environment` is ours, which servers that we start have with the variant's changes.
    """
    if isinstance(variant, LaunchVariant):
        return Watched(variant.name, local=True, variables=_chosen({**environment, **variant.env}, variant.args))
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
        process = psutil.Process(pid)
        return _chosen(process.environ(), process.cmdline())
    except (psutil.Error, OSError):
        return {}


def _chosen(variables: Mapping[str, str | None], args: Sequence[str]) -> dict[str, str]:
    """What chooses devices; an argument goes over its variable."""
    given = {**variables, TAKEN: value_of(args, *_DEVICE) or variables.get(TAKEN)}
    return {name: told for name in CHOOSING if (told := given.get(name)) is not None}
