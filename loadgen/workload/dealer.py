"""Draws the sessions of a profile, each from random numbers of its own."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from loadgen.errors import WorkloadError
from loadgen.workload.asks import Numbers, whole_tokens
from loadgen.workload.conversation import Conversation, Head, Spawn
from loadgen.workload.corpus.library import Library
from loadgen.workload.draws import rng
from loadgen.workload.profile import Profile
from loadgen.workload.session import Session, Turn
from loadgen.workload.sizing import Sizer
from loadgen.workload.task import Tasks, TextTasks, WordTasks
from loadgen.workload.tools.toolbox import Toolbox, toolbox
from loadgen.workload.writer import Writer

__all__ = ["Dealer", "deepest", "every_turn"]

_ATTEMPTS = 20
_LEAST_WITH_SUB_AGENTS = 2
"""Turns: one that spawns them, one that has their reports."""


class Dealer:
    """Draws the sessions of one profile.

    Args:
        profile: what to draw, its sub-agents' profile filled in.
        seed: the seed of the run.
        sizer: counts tokens.
        library: the files that code and prose are made of; null: Python's standard library.
        max_tokens: caps every turn's output; null: nothing does.
    """

    def __init__(
        self, profile: Profile, *, seed: int, sizer: Sizer, library: Library | None, max_tokens: int | None
    ) -> None:
        self.cut = 0
        """Sessions that end early, without those that a turn ends which is meant not to fit."""
        self.redrawn = 0
        self._profile = profile
        self._seed = seed
        self._sizer = sizer
        self._max_tokens = max_tokens
        tasks: Tasks = WordTasks() if profile.corpus == "words" else TextTasks(profile.corpus, sizer, library)
        self._writer = Writer(profile, tasks, sizer, library)
        self._heads: dict[int | str, Head] = {}
        self._sub_agents: Dealer | None = None
        if profile.subagents is not None and isinstance(profile.subagents.profile, Profile):
            # They share the run's history and slots with their parent.
            below = profile.subagents.profile
            update = {
                "history": profile.history,
                "context_full": profile.context_full,
                "min_context": min(below.min_context, profile.min_context),
                "output": below.output.model_copy(update={"mode": profile.output.mode}),
            }
            self._sub_agents = Dealer(
                below.model_copy(update=update), seed=seed, sizer=sizer, library=library, max_tokens=max_tokens
            )

    def session(self, index: int | str, name: str | None = None) -> Session:
        """Session number `index` (of sub-agents: the parent's number and their own), redrawn until its turns fit."""
        profile = self._profile
        session_id = name or f"{profile.name}-{index:03d}"
        for attempt in range(_ATTEMPTS):
            wanted, talk, spawn = self._attempt(index, attempt)
            if spawn is not None and len(talk.turns) < wanted:
                # The sub-agents have their place in the session as it is.
                _, talk, spawn = self._attempt(index, attempt, most=max(1, len(talk.turns)))
            if len(talk.turns) >= min(2, wanted):
                self.cut += len(talk.turns) < wanted and not talk.overflows
                turns = [_capped(turn, self._max_tokens) for turn in talk.turns]
                if spawn is not None:
                    turns = self._with_sub_agents(turns, spawn, index, session_id)
                return Session(session_id, tuple(turns), talk.tools)
            self.redrawn += 1
        raise WorkloadError(
            f"Workload {profile.name}: even two turns do not fit its min_context of {profile.min_context} tokens. "
            "Raise min_context, or lower first_user, tool_result or output."
        )

    def _attempt(
        self, index: int | str, attempt: int, *, most: int | None = None
    ) -> tuple[int, Conversation, Spawn | None]:
        """How many turns are wanted (`most` at most), those that fit, and the sub-agents of so many."""
        profile = self._profile
        stream = partial(rng, self._seed)
        shape, text, extra = (stream(part, profile.name, index, attempt) for part in ("shape", "text", "extra"))
        wanted = whole_tokens(profile.turns, shape, most=profile.min_context)
        wanted = wanted if most is None else min(wanted, most)
        head = self._head(index)
        if head is None:
            tokens = (
                whole_tokens(profile.system_tokens, shape, most=profile.min_context) if profile.system_tokens else 1
            )
            head = Head(self._writer.system(text, tokens), Toolbox())
        numbers = Numbers(profile, shape, extra, wanted)
        spawn = self._spawn(index, attempt, wanted)
        talk = Conversation(profile, self._writer, head, self._sizer, text=text, extra=extra, spawn=spawn)
        for turn in range(wanted):
            if not talk.add(numbers.turn(turn, interrupted=talk.interrupted)):
                break
        return wanted, talk, spawn

    def _head(self, index: int | str) -> Head | None:
        """What sessions share, each scope made once; null where every session draws its own system message."""
        prefix = self._profile.shared_prefix
        if prefix is None:
            return None
        scope, _, groups = prefix.scope.partition(":")
        place: int | str = index
        if scope == "run":
            place = "all"
        elif scope == "group":
            place = int(str(index).partition(".")[0]) % int(groups)
        if place not in self._heads:
            source = rng(self._seed, "prefix", self._profile.name, place)
            most = self._profile.min_context
            system = self._writer.system(source, whole_tokens(prefix.system_tokens, source, most=most))
            box = Toolbox()
            if prefix.tool_tokens is not None and prefix.kind is not None:
                tokens = whole_tokens(prefix.tool_tokens, source, most=most)
                note = partial(self._writer.note, source)
                box = toolbox(prefix.kind, prefix.tools, tokens, sizer=self._sizer, note=note)
            self._heads[place] = Head(system, box)
        return self._heads[place]

    def _spawn(self, index: int | str, attempt: int, turns: int) -> Spawn | None:
        below = self._profile.subagents
        if below is None or turns < _LEAST_WITH_SUB_AGENTS:
            return None
        source = rng(self._seed, "sub-agents", self._profile.name, index, attempt)
        at = min(int(below.at_turn.draw(source) * turns), turns - _LEAST_WITH_SUB_AGENTS)
        count = round(below.count.draw(source))
        return Spawn(at, count, joined=below.join == "all") if count else None

    def _with_sub_agents(self, turns: Sequence[Turn], spawn: Spawn, index: int | str, session_id: str) -> list[Turn]:
        """The turns, one with sub-agents that begin behind it and the next with their end; as they are where cut."""
        if self._sub_agents is None or spawn.at + 1 >= len(turns):
            return list(turns)
        children = tuple(
            self._sub_agents.session(f"{index}.{number}", f"{session_id}.{number}")
            for number in range(1, spawn.count + 1)
        )
        out = list(turns)
        out[spawn.at] = replace(out[spawn.at], spawn=children)
        if spawn.joined:
            join = tuple(child.id for child in children)
            out[spawn.at + 1] = replace(out[spawn.at + 1], join=join)
        return out


def every_turn(session: Session) -> list[Turn]:
    """The turns of a session and of its sub-agents."""
    out = []
    for turn in session.turns:
        out.append(turn)
        for child in turn.spawn:
            out += every_turn(child)
    return out


def deepest(session: Session, sizer: Sizer, *, live: bool) -> int:
    """Tokens in the context when the fullest turn has been answered, at most: its prompt and its output.

    With live history an earlier answer may be as long as its cap, with recorded history it is what is recorded.
    """
    found = longer = 0
    for turn in session.turns:
        longer = 0 if turn.begins_anew else longer
        found = max(found, turn.depth + longer + turn.output_tokens)
        dropped = turn.cancel is not None and turn.cancel.then == "drop"
        if live and not dropped:
            longer += max(0, turn.output_tokens - sizer.tokens(turn.answer))
        found = max(found, *(deepest(child, sizer, live=live) for child in turn.spawn), 0)
    return found


def _capped(turn: Turn, max_tokens: int | None) -> Turn:
    """The turn with its output capped; an answer is broken off before its cap, or not at all."""
    if max_tokens is None or turn.output_tokens <= max_tokens:
        return turn
    cancel = turn.cancel
    if cancel is not None and (cancel.after_tokens or 0) >= max_tokens:
        cancel = type(cancel)(after_tokens=max_tokens - 1, then=cancel.then) if max_tokens > 1 else None
    return replace(turn, output_tokens=max_tokens, cancel=cancel)
