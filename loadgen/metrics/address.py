"""Where metrics are served: HOST:PORT, as it is written."""

from dataclasses import dataclass

from loadgen.errors import ExperimentError

_MOST_PORT = 65535
_LOOPBACK = ("localhost", "::1")


@dataclass(frozen=True)
class Address:
    """A host (a name, or an IP address without brackets) and a port; port 0 is any that is free."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in _LOOPBACK or self.host.startswith("127.")

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """The address in an option's text, such as `127.0.0.1:9464`, `[::1]:9464` or `:9464` (this machine alone).

    Raises `ExperimentError`.
    """
    host, colon, port = text.strip().rpartition(":")
    is_number = port.isascii() and port.isdecimal() and len(port) <= len(str(_MOST_PORT))
    if not colon or not is_number or int(port) > _MOST_PORT:
        raise ExperimentError(f"--metrics {text!r} is no address; write HOST:PORT, such as 127.0.0.1:9464")
    is_bracketed = host.startswith("[") and host.endswith("]")
    bare = host[1:-1] if is_bracketed else host
    is_odd = not bare.isprintable() or any(letter in bare for letter in "/@ []")
    if is_odd or (":" in bare and not is_bracketed):
        raise ExperimentError(
            f"--metrics {text!r} is no address; write HOST:PORT, such as 127.0.0.1:9464 or [::1]:9464"
        )
    return Address(bare or "127.0.0.1", int(port))
