"""The command of a server that runs already."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from loadgen.client.endpoint import Endpoint
from loadgen.servers.discovery import local_command

if TYPE_CHECKING:
    from tests.servers.conftest import Served


@pytest.mark.live
def test_the_process_that_listens_shows_its_arguments(tiny_model: Path, serve: "Callable[..., Served]") -> None:
    """A server on this machine is found by its port."""
    served = serve("-m", str(tiny_model), "-np", "2", "-c", "2048")
    command = local_command(Endpoint.parse(served.url))
    assert command is not None
    assert command[command.index("-np") + 1] == "2"


def test_other_machines_and_closed_ports_show_nothing() -> None:
    """Null where nobody listens, or where the address isn't this machine's."""
    assert local_command(Endpoint.parse("http://127.0.0.1:1")) is None
    assert local_command(Endpoint.parse("http://192.0.2.1:80")) is None
