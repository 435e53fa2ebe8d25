"""Where the log of a server is read that loadgen did not start, as `--server-log` names it. Pure data."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from loadgen.errors import ExperimentError

_JOURNAL, _DOCKER = "journal:", "docker:"
_UNIT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9:_.@\\-]{0,255}")
_CONTAINER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,255}")
_LAUNCHED = ("launch", "embedded")


@dataclass(frozen=True)
class ServerLog:
    """One log: the path of a file, the unit whose journal it is, or the container that prints it."""

    kind: Literal["file", "journal", "docker"]
    name: str

    def __str__(self) -> str:
        return self.name if self.kind == "file" else f"{self.kind}:{self.name}"


def parse_server_log(text: str) -> ServerLog:
    """The log that a text names: `journal:UNIT`, `docker:NAME`, or the path of a file. Raises `ValueError`."""
    stripped = text.strip()
    if stripped.startswith(_JOURNAL):
        unit = stripped.removeprefix(_JOURNAL)
        if not _UNIT.fullmatch(unit):
            raise ValueError(f"{unit!r} is no name of a systemd unit, such as journal:llama.service")
        return ServerLog("journal", unit)
    if stripped.startswith(_DOCKER):
        container = stripped.removeprefix(_DOCKER)
        if not _CONTAINER.fullmatch(container):
            raise ValueError(f"{container!r} is no name of a container, such as docker:llama")
        return ServerLog("docker", container)
    if not stripped or "\0" in stripped:
        raise ValueError("a server's log is FILE, journal:UNIT or docker:NAME")
    return ServerLog("file", stripped)


def _checked(text: str | None) -> str | None:
    if text is not None:
        parse_server_log(text)
    return text


LogText = Annotated[
    str | None,
    AfterValidator(_checked),
    Field(description="the log of a server that loadgen does not start: a file, journal:UNIT or docker:NAME"),
]
"""A field of a variant."""


def with_server_logs(variants: Sequence[Any], texts: Sequence[str]) -> list[Any]:
    """The variants (objects, or their fields) with the logs that `--server-log` names, `NAME=LOG` or `LOG` alone.

    A log alone is that of the only server that loadgen does not start. Raises `ExperimentError` where it can't be told
    whose a log is, or loadgen starts that server itself.
    """
    out = list(variants)
    places = {str(_field(variant, "name")): place for place, variant in enumerate(out)}
    for text in texts:
        name, source = _addressed(text, places)
        if name is None:
            name = _only_one(out, source)
        variant = out[places[name]]
        if _field(variant, "kind") in _LAUNCHED:
            raise ExperimentError(
                f"--server-log {text}: loadgen starts the server of {name} itself, and keeps its log in the run folder"
            )
        try:
            parse_server_log(source)
        except ValueError as error:
            raise ExperimentError(f"--server-log {text}: {error}") from None
        out[places[name]] = _with(variant, source)
    return out


def _addressed(text: str, places: Mapping[str, int]) -> tuple[str | None, str]:
    """The variant and the log in a text. A path may hold an equals sign: what stands before must be a variant."""
    name, equals, source = text.partition("=")
    return (name, source) if equals and name in places else (None, text)


def _only_one(variants: Sequence[Any], source: str) -> str:
    names = [str(_field(variant, "name")) for variant in variants if _field(variant, "kind") not in _LAUNCHED]
    if not names:
        raise ExperimentError(f"--server-log {source}: loadgen starts every server itself, and keeps their logs")
    if len(names) > 1:
        raise ExperimentError(f"--server-log {source}: say whose log it is, such as {names[0]}={source}")
    return names[0]


def _field(variant: Any, name: str) -> Any:
    if isinstance(variant, Mapping):
        return variant.get(name, "url" if name == "kind" else None)
    return getattr(variant, name)


def _with(variant: Any, source: str) -> Any:
    if isinstance(variant, Mapping):
        return {**variant, "server_log": source}
    return variant.model_copy(update={"server_log": source})
