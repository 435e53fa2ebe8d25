"""What to run: the experiment, as the command line and files both build it. Pure data."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from loadgen.experiment.memory_source import parse_memory_source
from loadgen.experiment.mix import Mix, check_mix
from loadgen.experiment.slo import Slo
from loadgen.experiment.tuning import Tuning
from loadgen.experiment.variant import Body, Frozen, LaunchVariant, Variant

MOST_SERIES_NAME = 64
"""Characters: every series of every metric repeats it."""


def _label(text: str | None) -> str | None:
    if text is not None and not (text.strip() == text and text.isprintable() and 0 < len(text) <= MOST_SERIES_NAME):
        raise ValueError(f"write a name of up to {MOST_SERIES_NAME} characters on one line")
    return text


SeriesName = Annotated[str | None, AfterValidator(_label)]
"""A label that every metric of the run carries."""

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


class Deadlines(Frozen):
    """When a request is given up, in seconds.

    Defaults are generous on purpose: a 100k prompt on a small GPU prefills for minutes, and llama-server holds a queued
    request silently until a slot is free. `stall` is the time without a token event.
    """

    connect_s: float = Field(default=5, gt=0)
    first_token_s: float = Field(default=300, gt=0)
    stall_s: float = Field(default=60, gt=0)
    total_s: float = Field(default=900, gt=0)


class Experiment(Frozen):
    """A comparison of variants (or, with one variant, a sweep) over concurrency levels."""

    variants: tuple[Variant, ...] = Field(min_length=1)
    baseline: str = Field(description="name of the variant that the others are compared with")
    levels: tuple[int, ...] = Field(min_length=1, description="concurrency: agents active at once")
    workload: str | None = Field(
        default=None,
        description="built-in name, YAML file, or file of recorded sessions (.json, .jsonl, .gz, .zst); null: the "
        "largest built-in one that fits",
    )
    mix: Mix | None = Field(
        default=None,
        description="classes of work that run together, in place of one workload: workloads and their shares of the "
        "agents, such as {chat: 1, batch-agents-4k: 3} or a text such as chat:1,batch-agents-4k:3",
    )
    history: Literal["recorded", "live", "frozen"] | None = Field(
        default=None,
        description="whose answers go back into prompts: the workload's own, those that the model just gave, or "
        "(frozen) those of the baseline, recorded once before anything is measured, for every variant to replay; null: "
        "as the workload says, and the recorded ones of a file",
    )
    tool_time_cap_s: float | None = Field(
        default=None, ge=0, description="longest wait for a tool; null: as the workload says"
    )
    time_scale: float = Field(default=1, ge=0, allow_inf_nan=False, description="factor on every wait; 0: no waits")
    depths: tuple[int, ...] = Field(
        default=(),
        description="measure at these prompt depths, in tokens, each at every concurrency; none: over all turns of the "
        "workload alike",
    )
    output_length: Literal["natural", "exact"] | None = Field(
        default=None,
        description="natural: answers end by themselves, within their cap; exact: the server is told to ignore "
        "end-of-text, which biases acceptance; null: the workload's own",
    )
    context_full: Literal["refuse", "finish", "compact", "fail"] = Field(
        default="refuse",
        description="what becomes of a workload that doesn't fit a slot's context. finish: sessions end before the "
        "turn that doesn't fit; compact: they go on from a summary; fail: that turn is sent all the same, and the "
        "session ends with it. The share is told",
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
    corpus: str | None = Field(
        default=None,
        description="folder whose text files made-up prompts are of; null: Python's standard library and reference",
    )
    thinking: Literal["on", "off", "server"] = Field(
        default="server",
        description="on, off: every request tells the chat template so (enable_thinking); server: nothing is sent",
    )
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
    series: SeriesName = Field(
        default=None, description="label of all metrics, for runs that follow each other; null: the model's alias"
    )
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
        self._depths_consistent()
        check_mix(self.mix, workload=self.workload, slo=self.slo, depths=self.depths, history=self.history)
        self._compares_something()
        return self

    def _depths_consistent(self) -> None:
        if any(depth < 1 for depth in self.depths):
            raise ValueError("a depth counts the tokens of a prompt and starts at 1")
        if len(set(self.depths)) != len(self.depths):
            raise ValueError("a depth is listed twice")
        if self.tune is not None and len(self.depths) > 1:
            raise ValueError(f"settings are raced at one depth, and there are {len(self.depths)}: name one")

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
