"""Recorded sessions to a pool of sessions that can be played.

What was recorded goes out as it was: messages of every role, tool definitions, tool calls, reasoning. What a recording
lacks is made up and said: text of which only the length is known, answers that later turns go on from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from loadgen.errors import WorkloadError
from loadgen.records.manifest import Clipped, WorkloadFacts
from loadgen.workload.copy_rate import content_text
from loadgen.workload.corpus.library import Library
from loadgen.workload.made_up import FilledTurn, filled
from loadgen.workload.profile import ContextFull
from loadgen.workload.recorded import RecordedSession, RecordedTurn
from loadgen.workload.recorded_reasoning import without_reasoning
from loadgen.workload.recorded_size import Scale, fitting_reach, needed_context
from loadgen.workload.session import History, Message, Session, Turn, Workload, digest
from loadgen.workload.sizing import ASSUMED_CHARS_PER_TOKEN, Ratio, Sizer
from loadgen.workload.summing_up import summed_up

__all__ = ["replay"]


def replay(
    sessions: Sequence[RecordedSession],
    *,
    name: str,
    chars_per_token: float | None = None,
    max_tokens: int | None = None,
    history: History = "recorded",
    context: int | None = None,
    context_full: ContextFull = "finish",
    exact_length: bool = False,
    sizer: Sizer | None = None,
    library: Library | None = None,
    reasoning: bool = True,
    left_out: frozenset[str] = frozenset(),
) -> Workload:
    """The pool of root sessions in their order, sub-agents with the turn that spawns them.

    Args:
        sessions: checked ones (`loadgen.workload.session_check`).
        name: what the workload is called.
        chars_per_token: characters a token at the server; None: 3.0, listed as assumed.
        max_tokens: caps every turn's output, which else is 1.5 times what was recorded, and 64 at least.
        history: whose answers go back.
        context: make sessions fit a slot of so many tokens; None: nothing is done.
        context_full: how: end them before the turn that doesn't fit, go on from a summary, or send it all the same.
        exact_length: every answer gets exactly as many tokens as the recorded one, whatever the model would say.
        sizer: says how many tokens texts have; None: an average of `chars_per_token` does.
        library: the files that made-up text is of; None: those of Python's standard library.
        reasoning: recorded reasoning is sent again with its answer; False: it is left out, as a chat template would.
        left_out: parts that the chat template leaves out of prompts: they are sent, and take no tokens.

    Raises `WorkloadError` where not even a first turn fits.
    """
    measure = sizer or Ratio(chars_per_token or ASSUMED_CHARS_PER_TOKEN)
    player = _Player(
        {session.session_id: session for session in sessions},
        Scale(measure, left_out),
        library,
        reasoning,
        max_tokens,
        history,
        context,
        context_full,
        exact_length,
    )
    spawned = {child for session in sessions for turn in session.turns for child in turn.spawn}
    made = [player.session(session) for session in sessions if session.session_id not in spawned]
    pool = tuple(session for session in made if session is not None)
    if not pool:
        raise WorkloadError(
            f"Workload {name}: not even one first turn fits {context} tokens of context a slot. "
            "Start the server with a larger context or fewer slots."
        )
    if chars_per_token is None and not measure.exact:
        player.assumed.add("chars_per_token")
    clipped = player.clipped()
    assumed = tuple(sorted(player.assumed))
    return Workload(
        name=name,
        description=f"{len(pool)} recorded sessions.",
        facts=WorkloadFacts(
            name=name,
            digest=digest(pool),
            sessions=len(pool),
            turns=player.turns,
            min_context=needed_context(player.reached, measure) if clipped is None else clipped.context,
            max_depth=player.reached,
            history=history,
            exact_length=exact_length,
            chars_per_token=chars_per_token,
            assumed=list(assumed),
            sized=measure.name,
            clipped=clipped,
        ),
        sessions=pool,
        history=history,
        exact_length=exact_length,
        sources={},
        assumed=assumed,
        cut=player.sessions_cut,
        redrawn=0,
        notes=_notes(clipped, player.made_up),
    )


def _notes(clipped: Clipped | None, made_up: int) -> tuple[str, ...]:
    notes = []
    if clipped is not None:
        share = clipped.turns_left_out / clipped.turns
        early = f"{clipped.sessions_cut} sessions end early, {clipped.sessions_left_out} are not played at all"
        if clipped.how == "compact":
            early = f"{clipped.sessions_compacted} sessions go on from a summary, {early}"
        if clipped.how == "fail":
            early = f"{clipped.sessions_failing} sessions end with a turn that is sent although it doesn't fit, {early}"
        notes.append(
            f"{clipped.turns_left_out} of {clipped.turns} turns ({share:.0%}) are left out, because they don't fit "
            f"{clipped.context} tokens of context a slot: {early}"
        )
    if made_up:
        notes.append(f"{made_up} answers that the file lacks are made up, for the turns behind them to go on from")
    return tuple(notes)


@dataclass
class _Player:
    """Makes sessions of recorded ones, and counts what became of them."""

    by_id: Mapping[str, RecordedSession]
    scale: Scale
    library: Library | None
    reasoning: bool
    max_tokens: int | None
    history: History
    context: int | None
    """Tokens of a slot; null: nothing is made to fit."""
    context_full: ContextFull
    exact_length: bool
    turns: int = 0
    turns_left_out: int = 0
    sessions_cut: int = 0
    sessions_left_out: int = 0
    summaries: int = 0
    failing: int = 0
    reached: int = 0
    """Prompt and output of the deepest turn that is played."""
    made_up: int = 0
    assumed: set[str] = field(default_factory=set)

    def clipped(self) -> Clipped | None:
        """What was left out or changed; null where everything fits."""
        if self.context is None or not (self.turns_left_out or self.summaries or self.failing):
            return None
        return Clipped(
            context=self.context,
            sessions_cut=self.sessions_cut,
            sessions_left_out=self.sessions_left_out,
            turns_left_out=self.turns_left_out,
            turns=self.turns + self.turns_left_out,
            how=self.context_full,
            sessions_compacted=self.summaries,
            sessions_failing=self.failing,
        )

    def session(self, recorded: RecordedSession, *, root: bool = True) -> Session | None:
        """The session as far as it fits; null where nothing of it does."""
        turns = self._turns(recorded)
        self._count(recorded, turns)
        if not turns:
            return None
        if root:
            turns[0] = replace(turns[0], wait_s=0.0, wait_kind=None)
        return Session(recorded.session_id, tuple(turns), tuple(recorded.tools or ()))

    def _turns(self, recorded: RecordedSession) -> list[Turn]:
        """The turns that are played."""
        played = recorded if self.reasoning else without_reasoning(recorded)
        texts = filled(played, sizer=self.scale.sizer, library=self.library)
        turns: list[Turn] = []
        longer = shift = 0
        for turn, text, estimate in zip(recorded.turns, texts, self.scale.depths(recorded, texts), strict=True):
            longer, shift = (0, 0) if turn.history_reset is not None else (longer, shift)
            output, depth, anew = self._output(turn), estimate + shift, None
            if not self._fits(depth + longer + output):
                anew = self._anew(recorded, texts, len(turns), output)
                if anew is None and self.context_full != "fail":
                    break
                if anew is not None:
                    longer, depth = 0, anew[1]
                    shift = depth - estimate
            self.reached = max(self.reached, depth + longer + output)
            made = self._turn(turn, text, output, depth)
            if anew is not None:
                made = replace(made, messages=anew[0], begins_anew=True)
            if turns and not made.begins_anew:
                self.made_up += texts[len(turns) - 1].made_up
            turns.append(made)
            if self._fails(made):
                break
            if self.history == "live":
                # An answer of the model's own may be as long as its cap.
                longer += max(0, output - self.scale.message(text.answer))
        return turns

    def _fits(self, reach: int) -> bool:
        return self.context is None or reach <= fitting_reach(self.context, self.scale.sizer)

    def _fails(self, turn: Turn) -> bool:
        """Whether a turn is there to fail: its prompt alone is longer than a slot's context, by what is known."""
        return self.context_full == "fail" and self.context is not None and turn.depth > self.context

    def _anew(
        self, recorded: RecordedSession, texts: Sequence[FilledTurn], number: int, output: int
    ) -> tuple[tuple[Message, ...], int] | None:
        """The prompt of a turn behind a summary, and its tokens; null where that isn't asked for, or doesn't fit."""
        if self.context_full != "compact" or self.context is None or not number:
            return None
        messages = summed_up(
            texts[0].messages,
            texts[number].messages,
            context=self.context,
            seed=f"{recorded.session_id}:{number}",
            sizer=self.scale.sizer,
            library=self.library,
        )
        depth = self.scale.fresh(recorded, messages)
        return (messages, depth) if self._fits(depth + output) else None

    def _count(self, recorded: RecordedSession, turns: Sequence[Turn]) -> None:
        resets = [turn.history_reset is not None for turn in recorded.turns[: len(turns)]]
        self.summaries += any(turn.begins_anew and not was for turn, was in zip(turns, resets, strict=True))
        failing = bool(turns) and self._fails(turns[-1])
        self.failing += failing
        self.turns += len(turns)
        # What a session that is to fail doesn't come to is no session that ends early.
        self._leave_out(recorded, len(turns), ends_early=not failing)

    def _turn(self, turn: RecordedTurn, text: FilledTurn, output: int, depth: int) -> Turn:
        children = [self.session(self.by_id[child], root=False) for child in turn.spawn]
        is_text = text.answer.keys() == {"role", "content"} and isinstance(text.answer["content"], str)
        # Between turns nobody arrives: whoever starts the next one is the user.
        kind = "user" if turn.delay_kind == "arrival" else turn.delay_kind
        return Turn(
            messages=text.messages,
            answer=content_text(text.answer.get("content")),
            wait_s=turn.delay_s,
            wait_kind=kind if turn.delay_s > 0 or turn.delay_kind != "arrival" else None,
            output_tokens=output,
            kind=turn.kind or ("tool_call" if text.answer.get("tool_calls") else "prose"),
            depth=depth,
            assistant=None if is_text else text.answer,
            begins_anew=turn.history_reset is not None,
            cancel=turn.cancel,
            spawn=tuple(child for child in children if child is not None),
            join=tuple(turn.join or ()),
        )

    def _output(self, turn: RecordedTurn) -> int:
        """The cap of a turn's answer, or its exact length."""
        if turn.max_tokens is None and self.scale.output(turn) is None:
            self.assumed.add("output")
        room = turn.max_tokens or self.scale.room(turn)
        if self.exact_length:
            room = self.scale.length(turn)
        return room if self.max_tokens is None else min(room, self.max_tokens)

    def _leave_out(self, recorded: RecordedSession, played: int, *, ends_early: bool = True) -> None:
        """Count what is left out behind the turns that are played, sub-agents included."""
        left = recorded.turns[played:]
        self.turns_left_out += len(left)
        self.sessions_cut += bool(left and played and ends_early)
        self.sessions_left_out += not played
        for turn in left:
            for child in turn.spawn:
                self._leave_out(self.by_id[child], 0)
