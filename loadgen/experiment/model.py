"""What to run: the experiment, as the command line and files both build it. Pure data."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from loadgen.experiment.cpus import cpu_set
from loadgen.experiment.memory_source import parse_memory_source
from loadgen.experiment.server_log import LogText
from loadgen.experiment.slo import Slo
from loadgen.experiment.tuning import Tuning

EMBEDDED = "embedded"
"""The program name that stands for the server in the package xllamacpp."""


RESERVED_FIELDS = frozenset({"messages", "stream", "stream_options", "max_tokens", "model"})
"""Request fields that loadgen sets itself: another value would break the measurement."""


class _Frozen(BaseModel):
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


class _Variant(_Frozen):
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

Difference = Literal[
    "model",
    "slots",
    "context_per_slot",
    "cache",
    "sampling",
    "chat_template",
    "kv",
    "device",
    "threads",
    "batch",
    "build",
]
"""What can differ between the servers of two variants, beside speculation."""


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
    baseline: str = Field(description="name of the variant that the others are compared with")
    levels: tuple[int, ...] = Field(min_length=1, description="concurrency: agents active at once")
    workload: str | None = Field(
        default=None,
        description="built-in name, YAML file, or file of recorded sessions (.json, .jsonl, .gz, .zst); null: the "
        "largest built-in one that fits",
    )
    history: Literal["recorded", "live"] | None = Field(
        default=None,
        description="whose answers go back into prompts: the workload's own, or those that the model just gave; null: "
        "as the workload says, and the recorded ones of a file",
    )
    tool_time_cap_s: float | None = Field(
        default=None, ge=0, description="longest wait for a tool; null: as the workload says"
    )
    time_scale: float = Field(default=1, ge=0, allow_inf_nan=False, description="factor on every wait; 0: no waits")
    context_full: Literal["refuse", "finish"] = Field(
        default="refuse",
        description="what becomes of a workload that doesn't fit a slot's context. finish: sessions end before the "
        "turn that doesn't fit, and the share is told",
    )
    seed: int = Field(default=1, description="of everything that is drawn: the same seed is the same work")
    rounds: int | None = Field(default=None, ge=1, description="null: as many as the time budget holds")
    time_budget_s: float = Field(default=900, gt=0, description="seconds for the whole run")
    warmup_s: float = Field(
        default=3,
        ge=0,
        allow_inf_nan=False,
        description="how long agents play before a trial measures, at least; every agent plays a whole turn besides",
    )
    max_tokens: int | None = Field(default=None, ge=1, description="caps every turn's output; null: the workload's")
    body: Body = Field(default_factory=dict, description="extra fields of every request")
    deadlines: Deadlines = Field(default=Deadlines(), description="when a request is given up")
    min_effect: float = Field(default=0.05, gt=0, lt=1, description="smallest difference worth acting on (a share)")
    agents: int | None = Field(
        default=None, ge=1, description="how many agents the verdict is for; null: every concurrency gets its call"
    )
    slo: Slo | None = Field(default=None, description="limits that requests and tasks must keep; null: none")
    tune: Tuning | None = Field(default=None, description="a race of settings at `agents`; null: none")
    stop_when_known: bool = Field(
        default=True,
        description="without a number of rounds: look at the results after preset rounds, measure what is settled no "
        "further, and end the run when everything is",
    )
    precision: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="an interval this narrow (half its width, as a share of the speed-up) settles a comparison too",
    )
    add_levels: bool = Field(
        default=True,
        description="where the time budget allows, also measure the concurrencies on both sides of a width at which "
        "kernels switch (agents x (drafted tokens + 1) = 8, 16, 32)",
    )
    api_key_env: str | None = Field(default=None, description="environment variable that holds the API key")
    ca_file: str | None = Field(default=None, description="certificate authority to trust for https targets")
    insecure: bool = Field(default=False, description="don't check the certificate of https targets")
    wait_s: float = Field(default=120, ge=0, description="how long to wait for a server that is still loading")
    max_request_rate: float | None = Field(default=None, gt=0, description="safety ceiling, requests per second")
    check_output: Literal["on", "off", "full"] = Field(
        default="on",
        description="on: answers keep to their own session, none is empty, acceptance is alike across slots; "
        "full: also whether a variant changes greedy answers beyond what batching does",
    )
    allow_different: tuple[Difference, ...] = Field(
        default=(), description="differences between servers that would stop the run, and may stay"
    )
    under_test: tuple[Difference, ...] = Field(
        default=(), description="differences that the variants mean to have, such as slots in a matrix over -np"
    )
    restart_per_level: bool = Field(
        default=False, description="launched servers are started anew at every level, and variants alternate there"
    )
    coresident: bool = Field(
        default=False, description="launched servers stay up side by side and share the device; variants alternate"
    )
    drift_check: bool = Field(default=True, description="repeat the first trial at the end")
    at_least: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="what the tasks per hour of every variant must be, as a share of the baseline's; null: not asked",
    )
    fail_on: tuple[str, ...] = Field(
        default=(), description="thresholds that must hold, as --fail-on takes them: the report judges by them"
    )
    aa: bool = Field(default=False, description="a comparison of a variant with itself: equal variants are meant")
    memory_source: str | None = Field(
        default=None,
        description="where memory and power are read: auto (also null), none, process, nvidia, amd, apple, an "
        "exporter's address (http://HOST:PORT/metrics#METRIC=UNIT), or command:PROGRAM ARGUMENTS, which prints bytes",
    )
    memory_budget_bytes: int | None = Field(
        default=None, gt=0, description="memory that a server may take; null: what the device has"
    )
    memory_margin_bytes: int | None = Field(
        default=None, ge=0, description="memory to keep free of the budget; null: the larger of 1 GiB and 5 %"
    )

    @field_validator("memory_source")
    @classmethod
    def _source(cls, text: str | None) -> str | None:
        if text is not None:
            parse_memory_source(text)
        return text

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
        if self.agents is not None and self.agents not in self.levels:
            raise ValueError(f"the verdict is for {self.agents} agents, which is none of the levels {self.levels}")
        self._compares_something()
        return self

    def _compares_something(self) -> None:
        """Equal variants say how much chance there is, and nothing else: they must be meant."""
        baseline = next(variant for variant in self.variants if variant.name == self.baseline)
        others = [variant for variant in self.variants if variant is not baseline]
        equal = [variant.name for variant in others if _server(variant) == _server(baseline)]
        if equal and not self.aa:
            raise ValueError(
                f"{equal[0]} is the same as the baseline {self.baseline} under another name; "
                "a comparison of a variant with itself is asked for with --aa (in a file, aa: true)"
            )
        if self.aa and (not others or len(equal) < len(others)):
            raise ValueError("an A/A comparison has a variant twice, and no other one")


def _server(variant: Any) -> dict[str, Any]:
    """What a variant is, without what it is called and what is expected of it."""
    fields: dict[str, Any] = variant.model_dump(exclude={"name", "speculative", "overhead", "server_log"})
    if isinstance(variant, LaunchVariant):
        del fields["kind"]  # `embedded` is the kind and the program
    return fields
