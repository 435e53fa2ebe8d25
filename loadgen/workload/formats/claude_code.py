"""Session logs of Claude Code: `~/.claude/projects/<project>/<session>.jsonl`, and its sub-agents' files.

Schema: the vendor publishes none and calls the format internal (docs.claude.com/en/docs/claude-code); read here is what
the files have. A line has `type`, `uuid`, `parentUuid`, `sessionId`, `timestamp`, and for `user` and `assistant` a
`message` in Anthropic's shape (blocks `text`, `thinking`, `tool_use`, `tool_result`). One answer is written as several
lines, one a block, with one `message.id` (and `requestId`) and a count of output tokens that only the last has right.
`isSidechain` marks sub-agents' lines, which have an `agentId` and, from version 2 on, stand in files of their own
(`<session>/subagents/agent-*.jsonl`): put the files one behind the other to have the sub-agents in their places.

The log has neither the system prompt nor the definitions of tools (some 15,000 tokens), so prompts are shorter than
they were, while the counts are those of the calls. Waits run from the last line of an answer to the last input: they
hold approvals besides the tools. Lines that the client wrote itself for a failed call are no answers.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from loadgen.workload.formats.claude_log import ClaudeLog, Delegation
from loadgen.workload.formats.dialogue import begin_behind
from loadgen.workload.formats.fields import first_text, good_rows, text
from loadgen.workload.recorded import Problem, RecordedSession
from loadgen.workload.rows import Row

__all__ = ["looks_like", "read"]

_SIGNS = frozenset({"sessionId", "parentUuid", "leafUuid", "snapshot", "isSidechain"})


def looks_like(value: Any) -> bool:
    """Whether a row is a line of such a log: the first may be a title or a snapshot."""
    return isinstance(value, dict) and isinstance(value.get("type"), str) and bool(_SIGNS & value.keys())


def read(rows: Iterator[Row | Problem], file: str) -> Iterator[RecordedSession | Problem]:
    """The sessions: the agents and sub-agents in the order in which they began. All rows are read before the first."""
    logs = _Logs()
    for row in good_rows(rows, file):
        if isinstance(row, Problem):
            yield row
            continue
        line, value = row
        wrong = logs.of(line, value).add(value) if text(value.get("type")) else "the line has no type"
        if wrong is not None:
            yield Problem(file, line, f"skipped: {wrong}")
    found = logs.closed()
    parents: dict[str, str] = {}
    for log in found:
        started = _started(log, found)
        if started is not None and log.dialogue.turns:
            parent, delegation = started
            result = None if delegation.background else delegation.answered
            begin_behind(log.dialogue, log.name, parent.dialogue, answer=delegation.turn, result=result)
            parents[log.name] = parent.name
    for log in found:
        for loss in log.dialogue.losses(untimed=log.untimed):
            yield Problem(file, log.line, f"{log.name!r}: {loss}")
        if log.dialogue.turns:
            yield _session(log, parents.get(log.name))


class _Logs:
    """The agents of a file, by what their lines say."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str | None], ClaudeLog] = {}
        self._chains: dict[str, str] = {}
        self._count = 0

    def of(self, line: int, value: dict[str, Any]) -> ClaudeLog:
        """The agent to which a line belongs."""
        session = first_text(value, "sessionId") or self._last_session()
        agent = first_text(value, "agentId")
        chain = agent
        if agent is None and value.get("isSidechain") is True:
            chain = self._chain(value)
        if uuid := first_text(value, "uuid"):
            self._chains[uuid] = chain or ""
        key = (session, chain)
        if key not in self._found:
            name = session if chain is None else f"{session}/{chain}"
            self._found[key] = ClaudeLog(name, session, agent, line)
        return self._found[key]

    def closed(self) -> list[ClaudeLog]:
        """All agents, each with its last answer."""
        for log in self._found.values():
            log.finish()
        return list(self._found.values())

    def _last_session(self) -> str:
        """Lines without a session (titles, snapshots) belong to nobody's turns: any will do."""
        return next(iter(self._found), ("session", None))[0]

    def _chain(self, value: dict[str, Any]) -> str:
        """The side chain of a line in older versions, which have no id for it: that of its parent, or a new one."""
        chain = self._chains.get(first_text(value, "parentUuid") or "")
        if not chain:
            self._count += 1
        return chain or f"sidechain-{self._count}"


def _started(log: ClaudeLog, logs: Sequence[ClaudeLog]) -> tuple[ClaudeLog, Delegation] | None:
    """Who started a sub-agent, and with which call; null: nobody in the file."""
    if log.name == log.session:
        return None
    others = [other for other in logs if other is not log and other.session == log.session]
    several = [(other, delegation) for other in others for delegation in other.delegations.values()]
    for other, delegation in several:
        if log.agent is not None and delegation.agent == log.agent:
            return other, delegation
    # Older versions don't say which: the sub-agent's first prompt is what the call told it.
    for other, delegation in several:
        if delegation.agent is None and log.told == delegation.prompt:
            delegation.agent = log.name
            return other, delegation
    return None


def _session(log: ClaudeLog, parent: str | None) -> RecordedSession:
    source = {"name": "claude_code", "lacks": "system prompt, definitions of tools"}
    if log.model is not None:
        source["model"] = log.model
    source["harness"] = f"claude-code {log.version}" if log.version else "claude-code"
    return RecordedSession(session_id=log.name, parent_session_id=parent, source=source, turns=log.dialogue.turns)
