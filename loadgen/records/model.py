"""What happened: facts, in the words of the glossary, each written once and never changed.

All `*_ns` are readings of one monotonic clock (`time.monotonic_ns`) of the process that wrote them. `None` means *not
measured* and is written as JSON `null`. Nothing here is computed from anything else: meanings are in
`loadgen.analysis`.
"""

from enum import StrEnum
from typing import Any

import msgspec

from loadgen.cell_key import CellKey


class Outcome(StrEnum):
    """How a request ended: exactly one."""

    OK = "ok"
    EMPTY = "empty"
    TRUNCATED = "truncated"
    HTTP_ERROR = "http_error"
    RATE_LIMITED = "rate_limited"
    UNAVAILABLE = "unavailable"
    CONTEXT_OVERFLOW = "context_overflow"
    STREAM_ERROR = "stream_error"
    PROTOCOL_ERROR = "protocol_error"
    CONNECT_ERROR = "connect_error"
    CONNECTION_LOST = "connection_lost"
    TIMEOUT_FIRST_TOKEN = "timeout_first_token"
    TIMEOUT_STALL = "timeout_stall"
    TIMEOUT_TOTAL = "timeout_total"
    CANCELLED = "cancelled"
    CLIENT_ERROR = "client_error"

    @property
    def failed(self) -> bool:
        """Whether the turn failed. `cancelled` (scripted, or at drain) is no failure."""
        return self not in (Outcome.OK, Outcome.CANCELLED)


class Phase(StrEnum):
    """Where in a trial a request was sent. Only `segment` is measured."""

    WARMUP = "warmup"
    SEGMENT = "segment"
    DRAIN = "drain"


class EventKind(StrEnum):
    """What a token event carried. Events of other kinds are not kept."""

    CONTENT = "content"
    REASONING = "reasoning"
    TOOL_CALL = "tool_call"


class TokenEvent(msgspec.Struct, frozen=True):
    """One token event: arrival, kind, and whether it is the first of a socket read."""

    at_ns: int
    kind: EventKind
    new_read: bool


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a request belongs: run, trial, agent, session and turn, and the load around it at its start."""

    run: str
    trial: str
    round: int
    variant: str
    level: int
    agent: int
    session: str
    root: str
    turn: int
    turns: int
    turn_kind: str
    attempt: int
    phase: Phase
    ready_ns: int
    """The agent became free: the previous turn ended. [ready, scheduled] is the declared wait."""
    scheduled_ns: int
    """When the turn was due: `ready_ns` plus its declared wait (tool, user, back-off)."""
    wait_kind: str | None
    in_flight: int
    """Requests in flight at the start of this one, itself included."""
    active_agents: int
    begins_anew: bool | None = None
    """Whether the prompt does not go on from the turn before; null in older runs."""
    work_class: str | None = None
    """The class of work that the agent belongs to, in a mix; null where one workload is played."""


class RequestRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One HTTP call that carried a turn: every time, count and name that the report rests on.

    The first block is the `Place` of the request, the second what the client saw, the third what the server said.
    """

    run: str
    trial: str
    round: int
    variant: str
    level: int
    agent: int
    session: str
    root: str
    turn: int
    turns: int
    turn_kind: str
    attempt: int
    phase: Phase
    ready_ns: int
    scheduled_ns: int
    wait_kind: str | None
    in_flight: int
    active_agents: int

    target: str
    """Scheme, host and port; never a key or a query."""
    start_ns: int
    """The call began (before connecting)."""
    connect_ns: int | None
    """Duration of TCP and TLS connecting; null on a reused connection."""
    send_ns: int | None
    """Just before the bytes were written on an open connection: every latency counts from here."""
    send_done_ns: int | None
    headers_ns: int | None
    first_event_ns: int | None
    first_token_ns: int | None
    first_answer_ns: int | None
    last_token_ns: int | None
    end_ns: int
    outcome: Outcome
    status: int | None
    error: str | None
    """What went wrong, in one line, without prompt text or keys."""
    finish_reason: str | None
    done_seen: bool
    """Whether `[DONE]` came."""
    decode_warnings: int
    token_events: int
    events_at: int | None
    """Byte offset of its events in `events/TRIAL.bin`; null when there were none."""
    max_tokens: int
    exact_length: bool
    """Whether the server was told to ignore end-of-text, so that exactly `max_tokens` come."""

    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None
    timings: dict[str, Any] | None
    """llama-server's `timings` object as received."""
    begins_anew: bool | None = None
    work_class: str | None = None
    answer_equal: bool | None = None
    """It says what the recorded answer says; null where history is live, or the request did not end well."""
    answer_kept: bool | None = None
    """Later prompts have exactly this answer, and so can share it in the cache; null where that is not known."""


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """What a trial measured of one agent: from the end of its warm-up to the end of its k-th turn."""

    agent: int
    start_ns: int
    end_ns: int
    turns: int
    work_class: str | None = None
    """The class of work that the agent belongs to, in a mix; null where one workload is played."""


class CounterReading(msgspec.Struct, frozen=True, kw_only=True):
    """The server's own counters at one moment, by metric name; labelled series as `name{label="value"}`."""

    at_ns: int
    values: dict[str, float]


class ClientReading(msgspec.Struct, frozen=True, kw_only=True):
    """How our own process did during the measured part of a trial.

    `stamps`: `kernel` (arrival times are receive stamps of the network stack) or `user` (read when bytes reach Python).
    `receive_lag_*`: how long bytes had lain in the socket when we read them; null with user stamps, which can't tell.
    `lag_*`: how late a timer of our event loop fired, an estimate of the same.
    """

    stamps: str
    wall_ns: int
    cpu_ns: int
    receive_lag_samples: int
    receive_lag_p50_ns: int | None
    receive_lag_p99_ns: int | None
    receive_lag_max_ns: int | None
    lag_samples: int
    lag_p50_ns: int | None
    lag_p99_ns: int | None
    lag_max_ns: int | None


class TrialRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One variant at one level in one round: how it was set up and how it went, without its requests."""

    run: str
    trial: str
    round: int
    """From 1; 0 marks a pilot, which fixes trial lengths and is never reported."""
    variant: str
    level: int
    order: int
    """Position in the run, from 0."""
    turns_per_agent: int
    short: bool
    start_ns: int
    measured_ns: int | None
    """When every agent had begun its segment; null if that never happened."""
    end_ns: int
    complete: bool
    """Every agent ended its segment."""
    aborted: str | None
    """Why the trial stopped early; null if it didn't."""
    server_alive: bool | None
    """Whether the server's process (or, for a running server, its health route) was there at the end."""
    segments: list[Segment]
    counters_before: CounterReading | None
    counters_after: CounterReading | None
    client: ClientReading | None
    attempt: int = 1
    """From 2 where a run was resumed and this trial done again; only the last attempt counts."""
    drift: bool = False
    """The first trial repeated at the end (round 0): outside its cell, only to see whether the machine drifted."""
    depth: int | None = None
    """The prompt depth, in tokens, that its segments were to stay near; null: they began anywhere in the workload."""

    @property
    def cell(self) -> CellKey:
        """The cell that it belongs to."""
        return CellKey(self.variant, self.level, self.depth)


class Component(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the memory ledger: a component (`model`, `kv`, `recurrent_state`, `mtp_kv`, …) and its bytes."""

    component: str
    bytes: int
    source: str
    """`log`; of a prediction `gguf` (header and command) or `estimated`."""
    device: str | None
    rows: int | None = None
    """Rows of recurrent state a slot: 1 + rollback rows. Null for other components."""


class ServerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a server says of itself. Null where it doesn't say."""

    kind: str
    """`llama-server` or `openai` (anything that speaks the chat completions API)."""
    model: str | None
    model_path: str | None
    build: str | None
    slots: int | None
    context_per_slot: int | None
    metrics: bool
    speculative: bool | None
    """What `/slots[].speculative` says."""
    drafted: int | None
    """Tokens drafted in the probe request: 0 when it was answered without drafts, null when it was not sent, was not
    answered, or the server doesn't say."""
    sampling: dict[str, Any] | None
    """The server's own sampling defaults, as `/props` shows them, without what speaks of speculation or one request."""
    model_bytes: int | None = None
    """Size of the model file (all of a split one), where it can be read from here."""
    model_digest: str | None = None
    """SHA-256 of size, head and tail of the model file: tells files apart without reading gigabytes."""
    chat_template: str | None = None
    """SHA-256 of the chat template."""
    tokenizer: bool | None = None
    """Whether `/tokenize` answers."""
    settings: dict[str, Any] | None = None
    """KV mode, caches, threads and batch sizes by name, as far as the load log or the command tells: absent where
    neither does, `not given` where the command could and doesn't."""
    drafted_plain: int | None = None
    """For fields of a request that switch speculation: tokens drafted in the same probe without these fields."""


class ServerStart(msgspec.Struct, frozen=True, kw_only=True):
    """One server, ready for its block of trials: its command, facts and the memory that its load log shows."""

    run: str
    round: int
    variant: str
    at_ns: int
    ready_s: float | None
    command: list[str] | None
    """The arguments as started, keys masked; null for a server that ran already."""
    target: str
    log: str | None
    """Name of its log in the run folder."""
    facts: ServerFacts
    ledger: list[Component]
    ledger_missing: str | None = None
    """Why no load log told the ledger, which is then predicted or empty; null where one did."""
    environment: dict[str, str] | None = None
    """The variables of a server of ours that llama.cpp, its back ends and drivers read, secrets masked."""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One reading of one telemetry source: bytes for memory, a null value with a reason where it couldn't be read."""

    run: str
    trial: str | None
    variant: str
    at_ns: int
    source: str
    name: str
    value: float | None
    reason: str | None = None
    device: str | None = None
    """The device that it is about (UUID where it has one); null for a process, or where the source knows only one."""
