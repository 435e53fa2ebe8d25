"""Recorded sessions to a pool of sessions that can be played.

What was recorded goes out as it was: messages of every role, tool definitions, tool calls, reasoning. What a recording
lacks is made up and said: text of which only the length is known, answers that later turns go on from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from loadgen.errors import WorkloadError
from loadgen.records.manifest import Clipped, WorkloadFacts
from loadgen.workload.copy_rate import content_text
from loadgen.workload.corpus import ASSUMED_CHARS_PER_TOKEN
from loadgen.workload.made_up import FilledTurn, filled
from loadgen.workload.recorded import RecordedSession, RecordedTurn
from loadgen.workload.recorded_size import Scale, fitting_reach, needed_context
from loadgen.workload.session import History, Session, Turn, Workload, digest

__all__ = ["replay"]


def replay(
    sessions: Sequence[RecordedSession],
    *,
    name: str,
    chars_per_token: float | None = None,
    max_tokens: int | None = None,
    history: History = "recorded",
    context: int | None = None,
) -> Workload:
    """The pool of root sessions in their order, sub-agents with the turn that spawns them.

    Args:
        sessions: checked ones (`loadgen.workload.session_check`).
        name: what the workload is called.
        chars_per_token: characters a token at the server; None: 3.0, listed as assumed.
        max_tokens: caps every turn's output, which else is 1.5 times what was recorded, and 64 at least.
        history: whose answers go back.
        context: end sessions before the turn that doesn't fit a slot of so many tokens; None: none is ended.

    Raises `WorkloadError` where not even a first turn fits.
    """
    player = _Player(
        {session.session_id: session for session in sessions},
        Scale(chars_per_token or ASSUMED_CHARS_PER_TOKEN),
        max_tokens,
        history,
        None if context is None else fitting_reach(context),
    )
    spawned = {child for session in sessions for turn in session.turns for child in turn.spawn}
    made = [player.session(session) for session in sessions if session.session_id not in spawned]
    pool = tuple(session for session in made if session is not None)
    if not pool:
        raise WorkloadError(
            f"Workload {name}: not even one first turn fits {context} tokens of context a slot. "
            "Start the server with a larger context or fewer slots."
        )
    if chars_per_token is None:
        player.assumed.add("chars_per_token")
    clipped = player.clipped(context) if context is not None and player.turns_left_out else None
    assumed = tuple(sorted(player.assumed))
    return Workload(
        name=name,
        description=f"{len(pool)} recorded sessions.",
        facts=WorkloadFacts(
            name=name,
            digest=digest(pool),
            sessions=len(pool),
            turns=player.turns,
            min_context=needed_context(player.reached) if clipped is None else clipped.context,
            max_depth=player.reached,
            history=history,
            exact_length=False,
            chars_per_token=chars_per_token,
            assumed=list(assumed),
            clipped=clipped,
        ),
        sessions=pool,
        history=history,
        exact_length=False,
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
        notes.append(
            f"{clipped.turns_left_out} of {clipped.turns} turns ({share:.0%}) are left out, because they don't fit "
            f"{clipped.context} tokens of context a slot: {clipped.sessions_cut} sessions end early, "
            f"{clipped.sessions_left_out} are not played at all"
        )
    if made_up:
        notes.append(f"{made_up} answers that the file lacks are made up, for the turns behind them to go on from")
    return tuple(notes)


@dataclass
class _Player:
    """Makes sessions of recorded ones, and counts what became of them."""

    by_id: Mapping[str, RecordedSession]
    scale: Scale
    max_tokens: int | None
    history: History
    limit: int | None
    turns: int = 0
    turns_left_out: int = 0
    sessions_cut: int = 0
    sessions_left_out: int = 0
    reached: int = 0
    """Prompt and output of the deepest turn that is played."""
    made_up: int = 0
    assumed: set[str] = field(default_factory=set)

    def clipped(self, context: int) -> Clipped:
        """What was left out."""
        return Clipped(
            context=context,
            sessions_cut=self.sessions_cut,
            sessions_left_out=self.sessions_left_out,
            turns_left_out=self.turns_left_out,
            turns=self.turns + self.turns_left_out,
        )

    def session(self, recorded: RecordedSession, *, root: bool = True) -> Session | None:
        """The session as far as it fits; null where nothing of it does."""
        texts = filled(recorded, chars_per_token=self.scale.chars_per_token)
        turns: list[Turn] = []
        longer = 0
        for turn, text, depth in zip(recorded.turns, texts, self.scale.depths(recorded, texts), strict=True):
            longer = 0 if turn.history_reset is not None else longer
            output = self._output(turn)
            reach = depth + longer + output
            if self.limit is not None and reach > self.limit:
                break
            self.reached = max(self.reached, reach)
            if turns and turn.history_reset is None:
                self.made_up += texts[len(turns) - 1].made_up
            turns.append(self._turn(turn, text, output, depth))
            if self.history == "live":
                # An answer of the model's own may be as long as its cap.
                longer += max(0, output - self.scale.message(text.answer))
        self.turns += len(turns)
        self._leave_out(recorded, len(turns))
        if not turns:
            return None
        if root:
            turns[0] = replace(turns[0], wait_s=0.0, wait_kind=None)
        return Session(recorded.session_id, tuple(turns), tuple(recorded.tools or ()))

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
        """The cap of a turn's answer."""
        if self.scale.output(turn) is None:
            self.assumed.add("output")
        room = self.scale.room(turn)
        return room if self.max_tokens is None else min(room, self.max_tokens)

    def _leave_out(self, recorded: RecordedSession, played: int) -> None:
        """Count what is left out behind the turns that are played, sub-agents included."""
        left = recorded.turns[played:]
        self.turns_left_out += len(left)
        self.sessions_cut += bool(left and played)
        self.sessions_left_out += not played
        for turn in left:
            for child in turn.spawn:
                self._leave_out(self.by_id[child], 0)
