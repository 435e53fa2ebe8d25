"""A run as a whole: what it set out to do, on what, in which order, and how it went.

Facts in the words of the glossary, each written once and never changed; times as in `loadgen.records.model`.
"""

from typing import Any

import msgspec

from loadgen.cell_key import CellKey


class Clipped(msgspec.Struct, frozen=True, kw_only=True):
    """What of a workload was left out, on request, because it doesn't fit a slot's context."""

    context: int
    """Tokens of context a slot."""
    sessions_cut: int
    """Sessions that end before the turn that doesn't fit."""
    sessions_left_out: int
    """Sessions of which not even the first turn fits."""
    turns_left_out: int
    turns: int
    """Turns of the workload as it was, those left out included."""
    how: str = "finish"
    """What became of sessions that don't fit: `finish`, `compact` or `fail`."""
    sessions_compacted: int = 0
    """Sessions that go on from a summary."""
    sessions_failing: int = 0
    """Sessions that end with a turn that doesn't fit, which is sent all the same."""
    reuse: float | None = None
    """Share of prompt tokens that stood in the prompt of the turn before; null where it wasn't looked at."""
    whole_reuse: float | None = None
    """The same of the workload as it was."""


class WorkloadFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Which workload was played, so that two runs can be told apart: its digest covers every session."""

    name: str
    digest: str
    sessions: int
    turns: int
    min_context: int
    max_depth: int
    """Prompt plus output tokens of the deepest turn, as the workload states them."""
    history: str
    exact_length: bool
    chars_per_token: float | None
    """Characters of workload text a token, as the baseline's tokenizer counts them; null where it has none."""
    assumed: list[str]
    """Parameters without a published source."""
    clipped: Clipped | None = None
    """Null where nothing was left out."""
    sized: str | None = None
    """How texts were sized: `tokenizer` (the server's), `ratio` (`chars_per_token`, or assumed), or `words` (a token
    each to the tiny model); null in older runs, which knew the last two."""
    depth_error: float | None = None
    """Largest relative error of the stated depths, of the deepest prompts that the server counted; null: none was."""
    corpus: str | None = None
    """The folder whose files text is of, by its name alone; null: Python's standard library, or nothing is made up."""
    corpus_digest: str | None = None
    """SHA-256 over those files."""
    reasoning: bool | None = None
    """Whether recorded reasoning is sent again, as the chat template needs; null where there is none."""
    left_out: list[str] = msgspec.field(default_factory=list)
    """Parts of a recording that the chat template leaves out of prompts: `tool definitions`, `tool calls`."""
    tools_as_text: bool = False
    """Tools stand in the system message and their results are the user's, because the chat template takes none."""
    frozen: str | None = None
    """SHA-256 of `frozen.jsonl` in the run folder, where the baseline's answers were recorded first."""
    classes: list["ClassFacts"] | None = None
    """Of a mix every class of work; null where one workload was played."""


class ClassFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One class of a mix: what it is called, its weight among the agents, and what they play."""

    name: str
    weight: float
    workload: WorkloadFacts


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a run set out to do and where: written before the first trial."""

    schema: str
    run: str
    tool_version: str
    started_at: str
    """Wall-clock time (ISO 8601, UTC): a label, never used in arithmetic."""
    started_ns: int
    experiment: dict[str, Any]
    workload: WorkloadFacts
    host: dict[str, Any]
    random_weights: bool
    """The model's weights are random (the demo): acceptance is set, text is noise."""
    rerun_of: str | None = None
    """The run that this one repeats."""


class PlannedTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One trial that the run set out to do."""

    trial: str
    round: int
    variant: str
    level: int
    order: int
    turns_per_agent: int
    short: bool
    block: int = 0
    """Consecutive trials of one block share a server start."""
    attempt: int = 1
    drift: bool = False
    """The first trial, repeated at the end."""
    depth: int | None = None
    """The prompt depth, in tokens, that its segments stay near; null: they begin anywhere in the workload."""
    class_turns: dict[str, int] | None = None
    """Of a mix the turns an agent of each class, so that all segments take about as long; null: `turns_per_agent`."""

    def turns_of(self, work_class: str | None) -> int:
        """How many turns of an agent of this class are measured."""
        return (self.class_turns or {}).get(work_class or "", self.turns_per_agent)

    @property
    def cell(self) -> CellKey:
        """The cell that it belongs to."""
        return CellKey(self.variant, self.level, self.depth)

    @property
    def work_round(self) -> int:
        """The round whose work is played: the drift check (round 0) plays that of the first round."""
        return 1 if self.drift else self.round


class AddedLevels(msgspec.Struct, frozen=True, kw_only=True):
    """Levels that nobody asked for, on both sides of a width at which kernels switch, measured because time allows."""

    width: int
    drafted: int
    """Tokens that an agent drafts at once: agents × (drafted + 1) is the width of a verification."""
    levels: list[int]
    """Those that were added: the other side is missing where it was asked for anyway."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The trials of a run in their order, fixed after the pilot and before round 1. Resuming may add rounds."""

    rounds: int
    trials: list[PlannedTrial]
    dropped_levels: list[int]
    """Levels left out because the time budget holds fewer than 3 rounds with them."""
    estimated_s: float
    turn_s: dict[str, float]
    """Seconds a turn and agent by level (as text), waits included, as the pilot measured or interpolated them."""
    drawn_rounds: int | None = None
    """Rounds over which start turns were spread: those of the first plan. Null: `rounds`."""
    looks: list[int] = msgspec.field(default_factory=list)
    """Rounds after which the results are looked at, and what is known by then is measured no further."""
    added_levels: list[AddedLevels] = msgspec.field(default_factory=list)


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """A look at the results of the rounds up to `round`, this one included."""

    round: int
    closed: list[CellKey]
    """What is measured no further from here on, the baseline and what earlier looks closed left out."""


class JournalEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A happening of the run as a whole.

    It begins (`started`, `resumed`) and ends (`complete`, `interrupted`, `server_died`, `gave_up`, `check_failed`); in
    between stand marks: `server_lost`, `given_up`, `answers_failed`, `torn_tail_cut`, `looked`.
    """

    at_ns: int
    what: str
    detail: str | None = None
    look: Look | None = None
    """Of `looked`: what it closed."""
