"""The experiment file as it is written: `Experiment` under the same names, and what makes it short to write.

`loadgen.experiment.document` turns it into an experiment; `file_schema` describes it to editors.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from loadgen.experiment.file_values import (
    Arguments,
    Command,
    Depths,
    Duration,
    Levels,
    Matrix,
    Share,
    Size,
    Text,
    Texts,
)
from loadgen.experiment.mix import Mix
from loadgen.experiment.model import Deadlines, Difference, Experiment

Kind = Literal["url", "launch", "embedded", "router", "model", "switch", "request"]

_SCHEMA = "https://json-schema.org/draft/2020-12/schema"


class _Written(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


_MATRIX = (
    "arguments and the values that each takes in turn: every combination is a variant. --spec-draft-n-max 0 (or "
    "--spec-type none) stands for the command without speculation; equal commands become one"
)


class BaseEntry(_Written):
    """What variants share. A field goes to the variants whose kind has it; a variant's own value goes over it."""

    kind: Kind | None = Field(
        default=None, description="how a variant is brought up; without it launch where there is a program, else url"
    )
    url: Text | None = Field(default=None, description="address of the server (url, router, model, switch, request)")
    model: Text | None = Field(default=None, description="model name to send (url, model, switch, request)")
    program: Text | None = Field(default=None, description="llama-server's program or a wrapper of it (launch)")
    args: Arguments | None = Field(
        default=None,
        description="llama-server's arguments (launch, embedded): a list of words, one text as a shell reads it, or a "
        "mapping (true: a switch, null: take the base's out, a list: repeat). A variant's go over the base's: the same "
        "argument is replaced under whichever of its names, others are added",
    )
    env: Texts | None = Field(
        default=None, description="variables added to ours; null removes one (launch, embedded, switch)"
    )
    cwd: Text | None = Field(default=None, description="working directory (launch, embedded, switch); default: ours")
    cpus: Text | None = Field(
        default=None, description="CPUs that the server may run on, such as 0-6 (launch, embedded); default: all"
    )
    fresh: bool | None = Field(
        default=None, description="start the server anew for every trial (launch, embedded); default: where it must be"
    )
    preset: Text | None = Field(default=None, description="name of the router's preset (router)")
    command: Command | None = Field(
        default=None, description="brings the running server into this state and ends (switch): words, or one text"
    )
    server_log: Text | None = Field(
        default=None,
        description="log of a server that loadgen does not start (url, router, model, switch, request): a file, "
        "journal:UNIT or docker:NAME; its memory is read there",
    )
    body: dict[str, Any] | None = Field(default=None, description="fields of every request (request)")
    speculative: bool | None = Field(
        default=None, description="what preflight must find; launched servers: default by their arguments"
    )


class VariantEntry(BaseEntry):
    """One variant, or with a matrix or acceptance lengths several."""

    name: Text = Field(description="what it is called in the report: letters, digits, dot, dash, underscore")
    matrix: Matrix = Field(
        default=None, description=f"in place of the matrix of the file (null: none): {_MATRIX} (launch, embedded)"
    )
    synthetic_acceptance: Annotated[tuple[float, ...], Field(min_length=1)] | None = Field(
        default=None,
        description="mean tokens a step that the server is told to accept, whatever the model says, from 1 to the "
        "longest draft + 1: one variant for each length takes the place of this one (launch, embedded)",
    )
    overhead: bool = Field(
        default=False,
        description="launch, embedded: add NAME-overhead, with speculation loaded and nothing drafted. Other kinds: "
        "this variant is such a one",
    )


class DeadlinesEntry(_Written):
    """When a request is given up; seconds, or a text such as 30s."""

    connect: Duration | None = Field(default=None, description="until the connection stands")
    connect_s: Duration | None = Field(default=None, description="the same in seconds")
    first_token: Duration | None = Field(default=None, description="until the first token")
    first_token_s: Duration | None = Field(default=None, description="the same in seconds")
    stall: Duration | None = Field(default=None, description="without a token")
    stall_s: Duration | None = Field(default=None, description="the same in seconds")
    total: Duration | None = Field(default=None, description="until the end of the answer")
    total_s: Duration | None = Field(default=None, description="the same in seconds")


class LimitsEntry(_Written):
    """What the requests and tasks of one class of a mix must keep, beside and in place of what all must."""

    ttft: Duration | None = Field(default=None, description="time to the first token")
    ttft_s: Duration | None = Field(default=None, description="the same in seconds")
    tpot: Duration | None = Field(default=None, description="time a token after the first")
    tpot_s: Duration | None = Field(default=None, description="the same in seconds")
    step_gap: Duration | None = Field(default=None, description="longest pause between two steps")
    step_gap_s: Duration | None = Field(default=None, description="the same in seconds")
    request: Duration | None = Field(default=None, description="time of a whole request")
    request_s: Duration | None = Field(default=None, description="the same in seconds")
    task: Duration | None = Field(default=None, description="time of a whole session, waits included")
    task_s: Duration | None = Field(default=None, description="the same in seconds")
    attainment: Share | None = Field(
        default=None, description="share of all attempts that must keep every limit: 0.95 (the default), or 95%"
    )


class SloEntry(LimitsEntry):
    """What requests and tasks must keep; limits in seconds, or a text such as 80ms. One limit at least."""

    classes: dict[str, LimitsEntry] | None = Field(
        default=None, description="limits of single classes of a mix, by their names: they go over the others"
    )


SIZES = ("memory_budget", "memory_margin")
"""Fields that are sizes, without their unit: the file takes them with and without `_bytes`."""

DURATIONS = ("time_budget", "wait", "warmup", "tool_time_cap")
DEADLINES = tuple(name.removesuffix("_s") for name in Deadlines.model_fields)
"""Fields that are durations, without their unit: the file takes them with and without `_s`."""

_OWN: dict[str, Any] = {
    "base": (BaseEntry, Field(default=BaseEntry(), description="what variants share")),
    "variants": (tuple[VariantEntry, ...], Field(min_length=1, description="what is compared")),
    "matrix": (Matrix, Field(default=None, description=f"of every launched variant that speculates: {_MATRIX}")),
    "baseline": (
        Text | None,
        Field(default=None, description="what the others are compared with; default: `off`, else the first variant"),
    ),
    "levels": (
        Levels | None,
        Field(default=None, description="concurrency, agents active at once: a list, or a text such as 1,2,4 or 1..8"),
    ),
    "depths": (
        Depths | None,
        Field(
            default=None,
            description="measure at these prompt depths, each at every concurrency: a list, or a text such as "
            "2k,16k,48k (k: 1,024 tokens); default: over all turns of the workload alike",
        ),
    ),
    "workload": (Text | None, Field(default=None, description=Experiment.model_fields["workload"].description)),
    "mix": (Mix | None, Field(default=None, description=Experiment.model_fields["mix"].description)),
    "ca_file": (Text | None, Field(default=None, description=Experiment.model_fields["ca_file"].description)),
    "series": (Text | None, Field(default=None, description=Experiment.model_fields["series"].description)),
    "time_budget": (Duration | None, Field(default=None, description="time for the whole run, such as 15m")),
    "time_budget_s": (Duration | None, Field(default=None, description="the same in seconds")),
    "wait": (Duration | None, Field(default=None, description="how long to wait for a server that is still loading")),
    "wait_s": (Duration | None, Field(default=None, description="the same in seconds")),
    "warmup": (Duration | None, Field(default=None, description="warm-up of a trial, at least; default: 3s")),
    "warmup_s": (Duration | None, Field(default=None, description="the same in seconds")),
    "tool_time_cap": (Duration | None, Field(default=None, description="longest wait for a tool, such as 10s")),
    "tool_time_cap_s": (Duration | None, Field(default=None, description="the same in seconds")),
    "memory_budget": (Size | None, Field(default=None, description="memory that a server may take, such as 24GiB")),
    "memory_budget_bytes": (Size | None, Field(default=None, description="the same in bytes")),
    "memory_margin": (Size | None, Field(default=None, description="memory to keep free of it, such as 1GiB")),
    "memory_margin_bytes": (Size | None, Field(default=None, description="the same in bytes")),
    "deadlines": (DeadlinesEntry, Field(default=DeadlinesEntry(), description="when a request is given up")),
    "slo": (SloEntry | None, Field(default=None, description=Experiment.model_fields["slo"].description)),
    "under_test": (
        tuple[Difference, ...],
        Field(
            default=(),
            description="differences that variants mean to have, beside those that the matrix and the variants' own "
            "arguments make",
        ),
    ),
}

_MADE = ("tune", "at_least", "fail_on")
"""Fields that a command makes: nobody writes them."""

_FIELDS: dict[str, Any] = {
    name: (field.annotation, field) for name, field in Experiment.model_fields.items() if name not in _MADE
} | _OWN

ExperimentFile: type[BaseModel] = create_model(
    "ExperimentFile",
    __base__=_Written,
    __doc__="An experiment of loadgen: variants of a server, compared over concurrency levels.",
    **_FIELDS,
)


def file_schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of an experiment file."""
    return {"$schema": _SCHEMA, **ExperimentFile.model_json_schema()}
