"""A profile and a seed to a pool of sessions.

Every number is drawn from one stream of random numbers a session and every text from another, so that the draws of
turns, lengths, waits and kinds don't depend on the tokenizer.

Tool results and later user messages all have the role `user`, because many chat templates reject the role `tool`
without tool definitions and tool calls before it. The first message is `system`; the salt of a trial stands in front
of it, so nothing at all is shared between sessions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, isfinite

from loadgen.errors import WorkloadError
from loadgen.records.manifest import WorkloadFacts
from loadgen.workload.corpus import ASSUMED_CHARS_PER_TOKEN
from loadgen.workload.distribution import Distribution, RandomSource
from loadgen.workload.draws import rng
from loadgen.workload.profile import Profile
from loadgen.workload.session import Message, Session, Turn, Workload, digest
from loadgen.workload.task import Kind, Size, Tasks, TextTasks, WordTasks

_MESSAGE_TOKENS, _SPELT_MESSAGE_TOKENS = 5, 15
"""What a chat template puts around a message. ChatML and Gemma take 5 tokens: start mark, role, line end, end mark,
line end. For real models 15 are counted: llama-server gives a model file without a template ChatML, and a tokenizer
that doesn't know its marks spells them out (measured with Gemma 3 270M). Rather too many than a prompt too long."""
_PROMPT_TOKENS = 4
"""The begin-of-text mark, and the head of the answer to come."""
_SALT_TOKENS = 9
"""Eight hex digits and a line end, at most a token each."""
_EXACT_FILL, _ESTIMATED_FILL = 1.0, 0.9
"""The share of `min_context` that the deepest turn may fill. Text that is cut by an average of characters a token
misses its length by a few percent either way; 10 % covers that and the room that templates take."""
_ATTEMPTS = 20
_EDIT_SHARE_OF_OUTPUT = 0.65
"""The text of an edit comes back whole: it is kept below the cap, so that a model that obeys isn't cut off."""
_EDIT_ROOM = 1.25
"""And where the text is longer all the same (a drawn cap may be tiny), the cap is this many times its length."""


@dataclass(frozen=True)
class _Ask:
    """The drawn numbers of one turn; lengths in tokens."""

    user: bool
    kind: Kind
    size: Size
    output: int
    wait_s: float


def build(
    profile: Profile, *, seed: int, chars_per_token: float | None = None, max_tokens: int | None = None
) -> Workload:
    """The pool of sessions of a profile: the same on every machine for one seed (code and prose: for one Python).

    A session ends early, at a turn boundary, where its next turn would not fit: prompt plus output, with live history
    earlier answers counted at their cap, must stay within `min_context` (within 90 % of it where token counts are
    estimates). A session of which not even two turns fit is drawn afresh. `Workload.cut` and `.redrawn` count both.

    Args:
        profile: what to draw.
        seed: the seed of the run.
        chars_per_token: characters a token at the server, for code and prose; None: 3.0, listed as assumed.
        max_tokens: caps every turn's output. Sessions are otherwise the same with and without it.

    Raises `WorkloadError` when the profile's sessions don't fit its own `min_context`, `ValueError` when
    `chars_per_token` is no positive number.
    """
    if chars_per_token is not None and not (isfinite(chars_per_token) and chars_per_token > 0):
        raise ValueError(f"characters a token must be above 0, not {chars_per_token}")
    tasks: Tasks = WordTasks()
    assumed = profile.assumed
    if profile.corpus != "words":
        tasks = TextTasks(profile.corpus, chars_per_token or ASSUMED_CHARS_PER_TOKEN)
        assumed += ("chars_per_token",) if chars_per_token is None else ()
    dealer = _Dealer(profile, tasks, seed)
    sessions = tuple(dealer.session(index, max_tokens) for index in range(profile.pool))
    exact = profile.output.mode == "exact"
    return Workload(
        name=profile.name,
        description=profile.description,
        facts=WorkloadFacts(
            name=profile.name,
            digest=digest(sessions),
            sessions=len(sessions),
            turns=sum(len(session.turns) for session in sessions),
            min_context=profile.min_context,
            max_depth=max(
                dealer.reach(session.turns[: t + 1]) for session in sessions for t in range(len(session.turns))
            ),
            history=profile.history,
            exact_length=exact,
            chars_per_token=chars_per_token,
            assumed=list(assumed),
        ),
        sessions=sessions,
        history=profile.history,
        exact_length=exact,
        sources=dict(profile.sources),
        assumed=assumed,
        cut=dealer.cut,
        redrawn=dealer.redrawn,
    )


class _Dealer:
    """Draws the sessions of one profile."""

    def __init__(self, profile: Profile, tasks: Tasks, seed: int) -> None:
        self._profile = profile
        self._tasks = tasks
        self._seed = seed
        exact = profile.corpus == "words"
        self._limit = int(profile.min_context * (_EXACT_FILL if exact else _ESTIMATED_FILL))
        self._around = _MESSAGE_TOKENS if exact else _SPELT_MESSAGE_TOKENS
        self.cut = 0
        self.redrawn = 0

    def session(self, index: int, max_tokens: int | None) -> Session:
        """Session number `index`, redrawn until its first turns fit."""
        profile = self._profile
        for attempt in range(_ATTEMPTS):
            shape, text = (rng(self._seed, part, profile.name, index, attempt) for part in ("shape", "text"))
            wanted = self._tokens(profile.turns, shape)
            turns = self._turns(shape, text, wanted)
            if len(turns) >= min(2, wanted):
                self.cut += len(turns) < wanted
                return Session(f"{profile.name}-{index:03d}", tuple(_capped(turn, max_tokens) for turn in turns))
            self.redrawn += 1
        raise WorkloadError(
            f"Workload {profile.name}: even two turns do not fit its min_context of {profile.min_context} tokens. "
            "Raise min_context, or lower first_user, tool_result or output."
        )

    def reach(self, turns: Sequence[Turn]) -> int:
        """Tokens in the context when the last of `turns` has been answered, at most: its prompt and its output.

        With live history an earlier answer may be as long as its cap, with recorded history it is what is recorded.
        """
        longer = 0
        if self._profile.history == "live":
            longer = sum(max(0, turn.output_tokens - self._tasks.tokens(turn.answer)) for turn in turns[:-1])
        return turns[-1].depth + longer + turns[-1].output_tokens

    def _turns(self, shape: RandomSource, text: RandomSource, wanted: int) -> list[Turn]:
        """At most `wanted` turns, as many as fit."""
        tasks = self._tasks
        system: Message = {"role": "system"}
        system["content"] = tasks.system(text, self._tokens(self._profile.system_tokens, shape))
        users = self._user_turns(wanted, shape)
        turns: list[Turn] = []
        before = _SALT_TOKENS
        for index in range(wanted):
            ask = self._ask(index, index in users, shape)
            step = tasks.step(text, ask.kind, opening=ask.user, size=ask.size)
            said: Message = {"role": "user", "content": step.content}
            messages = (said,) if index else (system, said)
            before += sum(tasks.tokens(message["content"]) + self._around for message in messages)
            turn = Turn(
                messages=messages,
                answer=step.answer,
                wait_s=ask.wait_s if index else 0.0,
                wait_kind=None if index == 0 else "user" if ask.user else "tool",
                output_tokens=self._room(ask, tasks.tokens(step.answer)),
                kind=ask.kind,
                depth=before + _PROMPT_TOKENS,
            )
            if self.reach([*turns, turn]) > self._limit:
                break
            turns.append(turn)
            before += tasks.tokens(step.answer) + self._around
        return turns

    def _ask(self, index: int, user: bool, shape: RandomSource) -> _Ask:
        profile = self._profile
        material = self._tokens((profile.tool_result if index else profile.first_user).tokens, shape)
        output = self._tokens(profile.output.tokens, shape)
        answer = self._tokens(profile.answer.tokens, shape)
        kind = self._kind(shape)
        wait_s = (profile.think_time_s if user else profile.tool_time_s).draw(shape)
        size = Size(material, min(answer, output), int(_EDIT_SHARE_OF_OUTPUT * output))
        # Whole microseconds: the last digit of exp() differs between machines, and the digest must not.
        return _Ask(user, kind, size, output, round(wait_s, 6))

    def _user_turns(self, turns: int, shape: RandomSource) -> set[int]:
        """The turns in which the user speaks: the first, and others at equal distances."""
        wanted = min(self._tokens(self._profile.user_turns, shape), turns)
        return {number * turns // wanted for number in range(wanted)}

    def _kind(self, shape: RandomSource) -> Kind:
        u = shape.random()
        if u < self._profile.edit_turns:
            return "edit"
        return "extract" if u < self._profile.edit_turns + self._profile.extract_turns else "prose"

    def _room(self, ask: _Ask, answer: int) -> int:
        """The output of a turn, raised where a natural answer to an edit needs more."""
        if ask.kind != "edit" or self._profile.output.mode == "exact":
            return ask.output
        return max(ask.output, ceil(answer * _EDIT_ROOM))

    def _tokens(self, distribution: Distribution, shape: RandomSource) -> int:
        """A whole number of 1 or more, and no more than could ever fit."""
        return max(1, min(round(distribution.draw(shape)), self._profile.min_context))


def _capped(turn: Turn, max_tokens: int | None) -> Turn:
    if max_tokens is None or turn.output_tokens <= max_tokens:
        return turn
    return replace(turn, output_tokens=max_tokens)
