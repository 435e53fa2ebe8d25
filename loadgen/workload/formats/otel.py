"""Traces of OpenTelemetry's conventions for generative AI: OTLP/JSON lines, lists of spans, one span a row.

Schema: opentelemetry.io/docs/specs/semconv/gen-ai (spans, agent spans, and the JSON schemas of the messages), and of
OTLP/JSON opentelemetry.io/docs/specs/otlp. A call of a model is a span whose `gen_ai.operation.name` is `chat`,
`generate_content` or `text_completion`; `execute_tool` spans say how long tools ran, without them a tool's time is the
gap between calls; an `invoke_agent` span within another is a sub-agent.

The calls of one conversation (`gen_ai.conversation.id`, else the trace) are one session, as far as their prompts go on
from each other. Exporters leave content out unless told otherwise: such calls become turns of their lengths.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loadgen.workload.formats.calls import Call, Thread, ToolRun, attach, main_thread, session_of, threads_of
from loadgen.workload.formats.fields import first_text, good_rows
from loadgen.workload.formats.span_calls import call_of, is_agent, is_call, is_tool, tool_run
from loadgen.workload.formats.spans import Span, has_spans, spans_of
from loadgen.workload.recorded import Problem, RecordedSession
from loadgen.workload.rows import Row

__all__ = ["looks_like", "read", "sessions_of"]

_CONVERSATION = ("gen_ai.conversation.id", "session.id", "gen_ai.session.id")


def looks_like(value: Any) -> bool:
    """Whether a row holds spans, and isn't a row of a data set that has its own format."""
    return has_spans(value) and "harness" not in value


def read(rows: Iterator[Row | Problem], file: str) -> Iterator[RecordedSession | Problem]:
    """The sessions of all spans of a file: those of one trace may stand in several rows."""
    spans: list[Span] = []
    for row in good_rows(rows, file):
        if isinstance(row, Problem):
            yield row
            continue
        for span in spans_of(*row, file):
            if isinstance(span, Problem):
                yield span
            else:
                spans.append(span)
    yield from sessions_of(spans, {"name": "otel"}, file)


@dataclass
class _Scope:
    """What one agent did: its calls, its tools, and the span in which another called it (null: a root)."""

    name: str
    calls: list[Call] = field(default_factory=list)
    tools: list[ToolRun] = field(default_factory=list)
    caller: str | None = None
    span: Span | None = None
    model: str | None = None


def sessions_of(
    spans: Sequence[Span], source: Mapping[str, Any], file: str, *, name: str | None = None, task: str | None = None
) -> Iterator[RecordedSession | Problem]:
    """The sessions that spans are, and what can't be played of them.

    Args:
        spans: of one file, or of one run.
        source: where they come from.
        file: its name.
        name: of the session, where all spans are one run; null: by conversation and trace.
        task: what the job is called.
    """
    scopes = _Scopes(spans, name)
    yield from _sorted(spans, scopes, file)
    threads: dict[str, list[Thread]] = {}
    for key, scope in scopes.found.items():
        yield from _without_bare(scope, file)
        if scope.calls:
            threads[key] = _named(scope)
    for key, several in threads.items():
        _join(scopes.found[key], several, threads, main_thread(several))
    for key, several in threads.items():
        scope = scopes.found[key]
        told = dict(source) | ({"model": scope.model} if scope.model else {})
        for thread in several:
            left_out = max(call.left_out for call in thread.calls)
            if left_out:
                what = f"{thread.name!r}: left out: parts that are no text ({left_out})"
                yield Problem(file, thread.calls[0].line, what)
            yield session_of(thread, scope.tools, told, task=task)


def _sorted(spans: Sequence[Span], scopes: "_Scopes", file: str) -> Iterator[Problem]:
    """Give each call and each tool to its agent; what can't be played is a problem."""
    for span in _once(spans):
        if is_tool(span):
            scopes.of(span).tools.append(tool_run(span))
        elif is_call(span):
            call = call_of(span)
            if isinstance(call, str):
                yield Problem(file, span.line, f"skipped: the span {span.name_of or span.title!r}: {call}")
                continue
            scope = scopes.of(span)
            scope.calls.append(call)
            scope.model = scope.model or first_text(span.attributes, "gen_ai.response.model", "gen_ai.request.model")


def _once(spans: Sequence[Span]) -> Iterator[Span]:
    """Each span once, in the order in which they began: some instrumentations export a span twice."""
    seen: set[tuple[Any, ...]] = set()
    for span in sorted(spans, key=lambda span: (span.start_s, span.end_s)):
        said = tuple(str(span.attributes.get(f"gen_ai.{name}.messages", "")) for name in ("input", "output"))
        same = (span.trace, span.start_s, span.end_s, span.title, *(said if any(said) else (span.name_of,)))
        if same not in seen:
            seen.add(same)
            yield span


def _without_bare(scope: _Scope, file: str) -> Iterator[Problem]:
    """Take out the calls without messages where others have them: it isn't known where they belong."""
    full = [call for call in scope.calls if call.messages]
    if full and len(full) < len(scope.calls):
        for call in scope.calls:
            if not call.messages:
                yield Problem(file, call.line, f"skipped: a call of {scope.name!r} has no messages, where others have")
        scope.calls = full


def _named(scope: _Scope) -> list[Thread]:
    threads = threads_of(scope.calls)
    main, number = main_thread(threads), 0
    main.name = scope.name
    for thread in threads:
        if thread is not main:
            number += 1
            thread.name = f"{scope.name}/{number}"
    return threads


def _join(scope: _Scope, several: Sequence[Thread], threads: Mapping[str, Sequence[Thread]], main: Thread) -> None:
    """Say which session begins behind which answer."""
    for thread in several:
        if thread is not main:
            attach(main, thread)
    caller = threads.get(scope.caller) if scope.caller is not None else None
    if caller and scope.span is not None:
        attach(main_thread(caller), main, ended_s=scope.span.end_s)


class _Scopes:
    """Finds the agent to which a span belongs."""

    def __init__(self, spans: Sequence[Span], name: str | None) -> None:
        self.found: dict[str, _Scope] = {}
        self._name = name
        self._by_id = {(span.trace, span.name_of): span for span in spans if span.name_of}
        self._conversations: dict[str, str] = {}
        for span in spans:
            conversation = first_text(span.attributes, *_CONVERSATION)
            if conversation is not None:
                self._conversations.setdefault(span.trace, conversation)
        callers = [self._agents(span)[0] for span in spans if is_call(span) and self._agents(span)]
        self._with_calls = {(agent.trace, agent.name_of) for agent in callers}
        self._taken: set[str] = set()

    def of(self, span: Span) -> _Scope:
        """The scope of a span."""
        agents = [agent for agent in self._agents(span) if (agent.trace, agent.name_of) in self._with_calls]
        key = self._key(span, agents)
        if key not in self.found:
            root = self._root(span)
            inner = agents[0] if len(agents) > 1 else None
            title = first_text(agents[0].attributes, "gen_ai.agent.name") if agents else None
            first = self._unique(root if inner is None else f"{root}/{title or inner.name_of}")
            caller = self._key(span, agents[1:]) if inner is not None else None
            self.found[key] = _Scope(first, caller=caller, span=inner)
        return self.found[key]

    def _agents(self, span: Span) -> list[Span]:
        """The agents within which a span stands, the inner first."""
        found: list[Span] = []
        passed = {span.name_of}
        while span.parent is not None and span.parent not in passed:
            passed.add(span.parent)
            above = self._by_id.get((span.trace, span.parent))
            if above is None:
                break
            if is_agent(above):
                found.append(above)
            span = above
        return found

    def _key(self, span: Span, agents: Sequence[Span]) -> str:
        """A sub-agent is one by its span; one that no other calls by its name, as each request starts it anew."""
        if len(agents) > 1:
            return f"{agents[0].trace}:{agents[0].name_of}"
        name = first_text(agents[0].attributes, "gen_ai.agent.name") if agents else None
        return f"{self._root(span)}::{name or ''}"

    def _root(self, span: Span) -> str:
        own = first_text(span.attributes, *_CONVERSATION)
        return self._name or own or self._conversations.get(span.trace) or span.trace or "trace"

    def _unique(self, name: str) -> str:
        found, number = name, 1
        while found in self._taken:
            number += 1
            found = f"{name}-{number}"
        self._taken.add(found)
        return found
