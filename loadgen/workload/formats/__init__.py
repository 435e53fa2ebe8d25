"""Formats of recorded sessions: one module a format, one line each in `FORMATS`.

A module has `read(rows, file)`, a generator of sessions and problems that never raises for what is in the file, and
`looks_like(value)`, which tells its rows from those of others by the first one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, Protocol, cast

from loadgen.errors import WorkloadError
from loadgen.workload.recorded import Problem, RecordedSession
from loadgen.workload.rows import Row

__all__ = ["FORMATS", "Format", "recognise", "the_format"]


class Reader(Protocol):
    """What a module of this package has."""

    def read(self, rows: Iterator[Row | Problem], file: str) -> Iterator[RecordedSession | Problem]:
        """The sessions of a file, and what was skipped of it."""
        ...

    def looks_like(self, value: Any) -> bool:
        """Whether the first row of a file is of this format."""
        ...


@dataclass(frozen=True)
class Format:
    """A format: its name, what it is, whether a file of the real thing has gone through, and where it is published.

    Attributes:
        name: as `--format` takes it, and the name of its module.
        title: what writes such files.
        status: *verified* where a file that others published has been read, *unverified* where only rows of our own
            making have.
        source: where the schema is published.
        text: whether it carries text, or only lengths.
        a_row_each: whether each session is one row, so that its line is known when the whole file is checked.
    """

    name: str
    title: str
    status: Literal["verified", "unverified"]
    source: str
    text: bool = True
    a_row_each: bool = False

    @property
    def reader(self) -> Reader:
        """Its module."""
        return cast("Reader", import_module(f"{__name__}.{self.name}"))


_ALL = (
    Format("session", "loadgen's own sessions (agent-session/1)", "verified", "workloads/README.md", a_row_each=True),
    Format("mlperf", "MLPerf Endpoints, agentic JSONL", "verified", "github.com/mlcommons/endpoints"),
    Format("abench", "agentic-bench sessions", "unverified", "pypi.org/project/agentic-bench", a_row_each=True),
    Format("openai_batch", "OpenAI Batch JSONL", "unverified", "platform.openai.com/docs/guides/batch"),
    Format("openai", "OpenAI chat JSONL (messages)", "unverified", "platform.openai.com/docs/guides/fine-tuning"),
    Format("aiperf_dag", "aiperf, dag_jsonl", "verified", "github.com/ai-dynamo/aiperf"),
    Format("aiperf", "aiperf: mooncake rows with text, multi-turn", "unverified", "github.com/ai-dynamo/aiperf"),
    Format("otel", "OpenTelemetry GenAI spans", "unverified", "opentelemetry.io/docs/specs/semconv/gen-ai"),
    Format("exgentic", "Exgentic agent-llm-traces", "unverified", "huggingface.co/datasets/Exgentic/agent-llm-traces"),
    Format("claude_code", "Claude Code session logs", "unverified", "docs.claude.com/en/docs/claude-code"),
    Format("codex", "Codex session logs (rollout)", "unverified", "github.com/openai/codex"),
    Format("sharegpt", "ShareGPT conversations", "unverified", "github.com/vllm-project/vllm (benchmarks)"),
    Format("vllm", "vLLM multi-turn conversations", "unverified", "github.com/vllm-project/vllm (benchmarks)"),
    Format("mooncake", "Mooncake traces", "unverified", "github.com/kvcache-ai/Mooncake", text=False),
    Format("weka", "Weka / SemiAnalysis traces", "unverified", "github.com/callanjfox/kv-cache-tester", text=False),
)
FORMATS: Mapping[str, Format] = {one.name: one for one in _ALL}
"""All formats, in the order in which a file is tried: those whose rows nothing else resembles come first."""


def the_format(name: str) -> Format:
    """A format by its name. Raises `WorkloadError` naming all."""
    if name not in FORMATS:
        raise WorkloadError(f"no format is called {name!r}; there are {', '.join(FORMATS)}.")
    return FORMATS[name]


def recognise(value: Any) -> Format | None:
    """The format of a file whose first row is `value`; null where it resembles none."""
    return next((one for one in _ALL if one.reader.looks_like(value)), None)
