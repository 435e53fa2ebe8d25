"""The server that agents use while they are recorded: how it is reached."""

from dataclasses import dataclass

from loadgen.client.endpoint import Endpoint
from loadgen.client.relay import Relay
from loadgen.client.transport import HttpTransport

__all__ = ["Upstream"]


@dataclass(frozen=True)
class Upstream:
    """A server's address, the key for it, and whose certificates are trusted.

    Attributes:
        endpoint: where it is.
        api_key: sent in place of what agents send; null: what they send.
        ca_file: replaces the trusted certificates.
        insecure: no certificate is checked.
    """

    endpoint: Endpoint
    api_key: str | None = None
    ca_file: str | None = None
    insecure: bool = False

    def relay(self) -> Relay:
        """For requests that are passed on. Raises `ExperimentError` where the key or the CA file can't be used."""
        return Relay(self.endpoint, api_key=self.api_key, ca_file=self.ca_file, insecure=self.insecure)

    def transport(self) -> HttpTransport:
        """For requests of our own."""
        return HttpTransport(self.endpoint, api_key=self.api_key, ca_file=self.ca_file, insecure=self.insecure)
