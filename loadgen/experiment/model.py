"""What to run: the experiment, as the command line and files both build it. Pure data."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
"""A variant's name is also a file name, a label and a column: letters, digits, dot, dash and underscore."""


class UrlVariant(_Frozen):
    """A server that runs already."""

    kind: Literal["url"] = "url"
    name: Name
    url: str
    model: str | None = Field(default=None, description="model name to send; default: the first of /v1/models")


class LaunchVariant(_Frozen):
    """A server that loadgen starts: `program` on the path (or `embedded`) with llama-server arguments."""

    kind: Literal["launch"] = "launch"
    name: Name
    program: str
    args: tuple[str, ...] = ()
    env: dict[str, str | None] = Field(default_factory=dict, description="added to ours; null removes a variable")
    speculative: bool | None = Field(default=None, description="what preflight must find; null: not checked")


Variant = Annotated[UrlVariant | LaunchVariant, Field(discriminator="kind")]


class Deadlines(_Frozen):
    """When a request is given up, in seconds.

    Defaults are generous on purpose: a 100k prompt on a small GPU prefills for minutes, and llama-server holds a queued
    request silently until a slot is free. `stall` is the time without a token event.
    """

    connect_s: float = Field(default=5, gt=0)
    first_token_s: float = Field(default=300, gt=0)
    stall_s: float = Field(default=60, gt=0)
    total_s: float = Field(default=900, gt=0)


class Experiment(_Frozen):
    """A comparison of variants (or, with one variant, a sweep) over concurrency levels."""

    variants: tuple[Variant, ...] = Field(min_length=1)
    baseline: str
    levels: tuple[int, ...] = Field(min_length=1, description="concurrency: agents active at once")
    workload: str | None = Field(default=None, description="built-in name or YAML file; null: the largest that fits")
    seed: int = 1
    rounds: int | None = Field(default=None, ge=1, description="null: as many as the time budget holds")
    time_budget_s: float = Field(default=900, gt=0)
    max_tokens: int | None = Field(default=None, ge=1, description="caps every turn's output; null: the workload's")
    body: dict[str, Any] = Field(default_factory=dict, description="extra fields of every request")
    deadlines: Deadlines = Deadlines()
    min_effect: float = Field(default=0.05, gt=0, lt=1, description="smallest difference worth acting on (a share)")
    api_key_env: str | None = None
    ca_file: str | None = None
    insecure: bool = False
    wait_s: float = Field(default=120, ge=0, description="how long to wait for a server that is still loading")
    max_request_rate: float | None = Field(default=None, gt=0, description="safety ceiling, requests per second")

    @model_validator(mode="after")
    def _consistent(self) -> "Experiment":
        names = [variant.name for variant in self.variants]
        if len(set(names)) != len(names):
            raise ValueError(f"two variants share a name: {', '.join(names)}")
        if self.baseline not in names:
            raise ValueError(f"the baseline {self.baseline!r} is none of the variants {', '.join(names)}")
        if min(self.levels) < 1:
            raise ValueError("concurrency starts at 1")
        if len(set(self.levels)) != len(self.levels):
            raise ValueError("a concurrency is listed twice")
        return self
