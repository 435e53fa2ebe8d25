"""Pushing the final values to a Prometheus Pushgateway: for jobs that end before anybody scrapes them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPException
from urllib.parse import unquote, urlsplit

from prometheus_client import push_to_gateway
from prometheus_client.exposition import basic_auth_handler, default_handler

from loadgen.errors import ExperimentError
from loadgen.metrics.store import Store

JOB = "loadgen"
TIMEOUT_S = 10.0
"""A gateway that is down must not keep the report waiting."""


class PushError(Exception):
    """The gateway didn't take the values. The message says why, without a password."""


@dataclass(frozen=True)
class Gateway:
    """A gateway's address, and who we are there."""

    url: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    def push(self, store: Store, series: str) -> None:
        """Replace all values of this series at the gateway. Raises `PushError`.

        The series is the grouping key: the next run of the same series takes the place of this one, and nothing piles
        up.
        """
        try:
            push_to_gateway(
                self.url, JOB, store, grouping_key={"series": series}, timeout=TIMEOUT_S, handler=self._handler()
            )
        except (OSError, ValueError, HTTPException) as error:  # urllib's errors are OSErrors
            raise PushError(
                f"{self.url} did not take the metrics ({error}); the run is not affected, and loadgen export "
                "openmetrics writes them to a file"
            ) from None

    def _handler(self) -> Callable[..., Callable[[], None]]:
        if self.user is None:
            return default_handler
        return partial(basic_auth_handler, username=self.user, password=self.password or "")


def parse_gateway(text: str) -> Gateway:
    """The gateway in an option's text, such as `http://gateway:9091` or `https://user:password@gateway`.

    Raises `ExperimentError`, without the text where it may hold a password.
    """
    problem = "--push-gateway is no address; write http://HOST:PORT"
    try:
        found = urlsplit(text.strip() if "://" in text else f"http://{text.strip()}")
        port = found.port
    except ValueError:
        raise ExperimentError(problem) from None
    if found.scheme not in ("http", "https") or not found.hostname or found.query or found.fragment:
        raise ExperimentError(problem)
    host = f"[{found.hostname}]" if ":" in found.hostname else found.hostname
    place = host if port is None else f"{host}:{port}"
    user = unquote(found.username) if found.username else None
    password = unquote(found.password) if found.password else None
    return Gateway(f"{found.scheme}://{place}{found.path.rstrip('/')}", user, password)
