"""The options that `ab` and `sweep` share: what was given, and how it goes over a file and the defaults.

An option on the command line goes before its variable (`LOADGEN_…`), a variable before an experiment file, and a file
before the default. So an option that is not given is null here, and its default is only shown.
"""

import copy
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from loadgen.cli import options
from loadgen.cli.option_values import parse_body, parse_depths, parse_levels, parse_mix, parse_objective, seconds, size
from loadgen.cli.options import CheckOutput, ContextFull, Field, History, OutputLength, Thinking

FALLBACKS = {
    "time_budget": "15m",
    "warmup": "3s",
    "seed": "1",
    "min_effect": "0.05",
    "time_scale": "1",
    "context_full": "refuse",
    "thinking": "server",
}
"""Defaults as `--help` shows them, where the experiment's are no text; a test holds them equal."""


@dataclass(frozen=True)
class Shared:
    """What was given of the shared options, on the command line or by variables; null where nothing was.

    `typed` names those on the command line.
    """

    concurrency: Annotated[str | None, options.CONCURRENCY] = None
    workload: Annotated[str | None, options.WORKLOAD] = None
    mix: Annotated[str | None, options.MIX] = None
    corpus: Annotated[Path | None, options.CORPUS] = None
    history: Annotated[History | None, options.HISTORY] = None
    tool_time_cap: Annotated[str | None, options.TOOL_TIME_CAP] = None
    time_scale: Annotated[float | None, options.TIME_SCALE] = None
    depth: Annotated[str | None, options.DEPTH] = None
    output_length: Annotated[OutputLength | None, options.OUTPUT_LENGTH] = None
    context_full: Annotated[ContextFull | None, options.CONTEXT_FULL] = None
    time_budget: Annotated[str | None, options.TIME_BUDGET] = None
    warmup: Annotated[str | None, options.WARMUP] = None
    rounds: Annotated[int | None, options.ROUNDS] = None
    max_tokens: Annotated[int | None, options.MAX_TOKENS] = None
    thinking: Annotated[Thinking | None, options.THINKING] = None
    body: Annotated[list[str] | None, options.BODY] = None
    seed: Annotated[int | None, options.SEED] = None
    max_request_rate: Annotated[float | None, options.REQUEST_RATE] = None
    min_effect: Annotated[float | None, options.MIN_EFFECT] = None
    agents: Annotated[int | None, options.AGENTS] = None
    slo: Annotated[str | None, options.SLO] = None
    stop_when_known: Annotated[bool | None, options.STOP] = None
    precision: Annotated[float | None, options.PRECISION] = None
    add_levels: Annotated[bool | None, options.ADD_LEVELS] = None
    allow_different: Annotated[list[Field] | None, options.ALLOW_DIFFERENT] = None
    check_output: Annotated[CheckOutput | None, options.CHECK_OUTPUT] = None
    drift_check: Annotated[bool | None, options.DRIFT_CHECK] = None
    wait: Annotated[str | None, options.WAIT] = None
    restart_per_level: Annotated[bool | None, options.RESTART_PER_LEVEL] = None
    coresident: Annotated[bool | None, options.CORESIDENT] = None
    memory_source: Annotated[str | None, options.MEMORY_SOURCE] = None
    memory_budget: Annotated[str | None, options.MEMORY_BUDGET] = None
    memory_margin: Annotated[str | None, options.MEMORY_MARGIN] = None
    server_log: Annotated[list[str] | None, options.SERVER_LOG] = None
    api_key_env: Annotated[str | None, options.API_KEY_ENV] = None
    ca: Annotated[Path | None, options.CA] = None
    insecure: Annotated[bool | None, options.INSECURE] = None
    series: Annotated[str | None, options.SERIES] = None
    metrics: Annotated[str | None, options.METRICS_ADDRESS] = None
    metrics_linger: Annotated[str | None, options.METRICS_LINGER] = None
    push_gateway: Annotated[str | None, options.PUSH_GATEWAY] = None
    metrics_textfile: Annotated[Path | None, options.METRICS_TEXTFILE] = None
    out: Annotated[Path | None, options.OUT] = None
    as_json: Annotated[bool, options.JSON] = False
    dry_run: Annotated[bool, options.DRY_RUN] = False
    resume: Annotated[Path | None, options.RESUME] = None
    typed: frozenset[str] = frozenset()

    def given(self) -> dict[str, Any]:
        """The experiment's fields among them that were given. Raises `ExperimentError` naming the option."""
        found: dict[str, Any] = {
            "levels": parse_levels(self.concurrency) if self.concurrency is not None else None,
            "workload": self.workload,
            "mix": parse_mix(self.mix) if self.mix is not None else None,
            "corpus": str(self.corpus) if self.corpus is not None else None,
            "history": self.history.value if self.history is not None else None,
            "tool_time_cap_s": seconds("--tool-time-cap", self.tool_time_cap) if self.tool_time_cap else None,
            "time_scale": self.time_scale,
            "depths": parse_depths(self.depth) if self.depth is not None else None,
            "output_length": self.output_length.value if self.output_length is not None else None,
            "context_full": self.context_full.value if self.context_full is not None else None,
            "time_budget_s": seconds("--time-budget", self.time_budget) if self.time_budget is not None else None,
            "warmup_s": seconds("--warmup", self.warmup) if self.warmup is not None else None,
            "rounds": self.rounds,
            "max_tokens": self.max_tokens,
            "thinking": self.thinking.value if self.thinking is not None else None,
            "body": parse_body(self.body) if self.body else None,
            "seed": self.seed,
            "max_request_rate": self.max_request_rate,
            "min_effect": self.min_effect,
            "agents": self.agents,
            "slo": parse_objective(self.slo) if self.slo is not None else None,
            "stop_when_known": self.stop_when_known,
            "precision": self.precision,
            "add_levels": self.add_levels,
            "allow_different": tuple(field.value for field in self.allow_different) if self.allow_different else None,
            "check_output": self.check_output.value if self.check_output is not None else None,
            "drift_check": self.drift_check,
            "wait_s": seconds("--wait", self.wait) if self.wait is not None else None,
            "restart_per_level": self.restart_per_level,
            "coresident": self.coresident,
            "memory_source": self.memory_source,
            "memory_budget_bytes": size("--memory-budget", self.memory_budget) if self.memory_budget else None,
            "memory_margin_bytes": size("--memory-margin", self.memory_margin) if self.memory_margin else None,
            "api_key_env": self.api_key_env,
            "ca_file": str(self.ca) if self.ca is not None else None,
            "insecure": self.insecure,
            "series": self.series,
        }
        return {name: value for name, value in found.items() if value is not None}


def shares_options(**shown: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command the shared options in place of its parameter `shared`.

    `shown` are the command's own defaults as `--help` shows them, by option.
    """
    texts = {**FALLBACKS, **shown}

    def wrap(command: Callable[..., None]) -> Callable[..., None]:
        own = [one for one in inspect.signature(command).parameters.values() if one.name != "shared"]
        names = [field.name for field in fields(Shared) if field.name != "typed"]

        @functools.wraps(command)
        def called(ctx: typer.Context, **values: Any) -> None:
            typed = {name for name in names if _typed(ctx, name)}
            shared = Shared(**{name: values.pop(name) for name in names}, typed=frozenset(typed))
            command(**values, shared=shared)

        parameters = [
            inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context),
            *(_parameter(name, texts.get(name)) for name in names),
            *(one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own),
        ]
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # what typer reads
        called.__annotations__ = {one.name: one.annotation for one in parameters}
        return called

    return wrap


def _parameter(name: str, shown: str | None) -> inspect.Parameter:
    field = next(field for field in fields(Shared) if field.name == name)
    kind, option = get_args(field.type)
    if shown is not None:
        option = copy.copy(option)
        option.show_default = shown
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=Annotated[kind, option]
    )


def _typed(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
