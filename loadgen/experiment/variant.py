"""The seven kinds of variants: what loadgen does for a server to be there, and what the server is."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from loadgen.experiment.cpus import cpu_set
from loadgen.experiment.server_log import LogText

EMBEDDED = "embedded"
"""The program name that stands for the server in the package xllamacpp."""


RESERVED_FIELDS = frozenset({"messages", "stream", "stream_options", "max_tokens", "model"})
"""Request fields that loadgen sets itself: another value would break the measurement."""


class Frozen(BaseModel):
    """A part of an experiment: unknown fields are refused, and nothing changes once it is built."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
"""A variant's name is also a file name, a label and a column: letters, digits, dot, dash and underscore."""


def _free(body: dict[str, Any]) -> dict[str, Any]:
    taken = sorted(RESERVED_FIELDS & body.keys())
    if taken:
        raise ValueError(f"{taken[0]} would break the measurement: loadgen sets that field itself")
    return body


Body = Annotated[dict[str, Any], AfterValidator(_free)]
"""Extra fields of requests."""


class _Variant(Frozen):
    name: Name
    speculative: bool | None = Field(default=None, description="what preflight must find; null: not checked")
    overhead: bool = Field(default=False, description="speculation is loaded, but nothing may be drafted")


class UrlVariant(_Variant):
    """A server that runs already."""

    kind: Literal["url"] = "url"
    url: str
    model: str | None = Field(default=None, description="model name to send; default: the first of /v1/models")
    server_log: LogText = None


class LaunchVariant(_Variant):
    """A server that loadgen starts: `program` on the path (or `embedded`) with llama-server arguments."""

    kind: Literal["launch", "embedded"] = "launch"
    program: str
    args: tuple[str, ...] = ()
    env: dict[str, str | None] = Field(default_factory=dict, description="added to ours; null removes a variable")
    cwd: str | None = Field(default=None, description="working directory; default: ours")
    cpus: str | None = Field(
        default=None,
        description="CPUs that the server may run on, such as 0-6; default: all. A server that computes on all CPUs "
        "keeps loadgen waiting: leave it one",
    )
    fresh: bool | None = Field(
        default=None,
        description="start the server anew for every trial; null: for speculation whose memory outlives requests "
        "(ngram-mod, ngram-cache)",
    )

    @field_validator("cpus")
    @classmethod
    def _cpus(cls, text: str | None) -> str | None:
        if text is not None:
            cpu_set(text)
        return text

    @model_validator(mode="before")
    @classmethod
    def _embedded(cls, fields: Any) -> Any:
        if not isinstance(fields, dict) or fields.get("kind") != "embedded":
            return fields
        if fields.get("program", EMBEDDED) != EMBEDDED:
            raise ValueError("an embedded server takes no program; write kind: launch")
        return {**fields, "program": EMBEDDED}


class RouterVariant(_Variant):
    """A preset of a running llama-server router, loaded and unloaded through its API."""

    kind: Literal["router"] = "router"
    url: str
    preset: str
    server_log: LogText = None


class ModelVariant(_Variant):
    """A model name at a gateway (llama-swap or alike) that brings up another server for another name."""

    kind: Literal["model"] = "model"
    url: str
    model: str
    server_log: LogText = None


class SwitchVariant(_Variant):
    """A running server that a command of the user's brings into this state: an argument list, run without a shell."""

    kind: Literal["switch"] = "switch"
    url: str
    command: tuple[str, ...] = Field(min_length=1)
    env: dict[str, str | None] = Field(default_factory=dict, description="added to ours; null removes a variable")
    cwd: str | None = None
    model: str | None = None
    server_log: LogText = None


class RequestVariant(_Variant):
    """A running server that takes speculation per request (forks do, llama-server doesn't): fields of every request."""

    kind: Literal["request"] = "request"
    url: str
    body: Body = Field(min_length=1)
    model: str | None = None
    server_log: LogText = None
    speculative: bool = Field(description="whether these fields switch speculation on or off: probed first")


Variant = Annotated[
    UrlVariant | LaunchVariant | RouterVariant | ModelVariant | SwitchVariant | RequestVariant,
    Field(discriminator="kind"),
]
