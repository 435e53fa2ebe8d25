"""Asks a server, as many sessions at once as the run will, for answers that show whose they are.

Every session has a code word of its own and a short text with it to copy. All are asked at once, twice: the second time
each on its neighbour's slot, so that no slot is judged by one text. An answer without its code word is asked for again
with nothing else on the server. What the answers amount to is told by `loadgen.analysis.output_check`.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from loadgen.client.chat import ChatClient, ChatResult
from loadgen.client.control import Control
from loadgen.experiment.llama_flags import has
from loadgen.experiment.variant import LaunchVariant, Variant
from loadgen.records.model import Outcome
from loadgen.records.output_check import CheckedAnswer, OutputCheck
from loadgen.servers.code_words import CodedSession, coded_sessions
from loadgen.servers.greedy_answers import GreedyAnswers
from loadgen.servers.greedy_call import GreedyCaller, at_once

TOKENS = 48
"""The text to copy, all but its last words, with the tokenizers of Gemma 3: the code word comes three times."""
WAVES = 2
MOST_ALONE = 4
"""Sessions asked for again alone. They are asked one after another, and one of them is enough to tell."""
IDLE_S = 30.0
"""How long requests of others may keep a server from being ours alone."""

_SYNTHETIC = ("--spec-synth-len", "--spec-synth-rates")
_SYNTHETIC_VARIABLES = ("LLAMA_ARG_SPEC_SYNTH_LEN", "LLAMA_ARG_SPEC_SYNTH_RATES")


async def check_output(
    chat: ChatClient,
    control: Control,
    *,
    run: str,
    variant: Variant,
    command: Sequence[str] | None,
    level: int,
    model: str | None,
    body: Mapping[str, Any],
    slots: int | None,
    random_weights: bool,
    greedy: GreedyAnswers | None = None,
) -> OutputCheck:
    """Check the answers of one variant's server, which must be ready and idle. No answer's text is kept.

    Args:
        chat: where requests go; its sink gets their records, under the trial `check-VARIANT`.
        control: the control routes of the same server.
        run: the run's id, from which the code words are made.
        variant: the variant under test.
        command: the server's command line, where it is known.
        level: sessions at once; no more than the server has slots.
        model: the model name to send.
        body: the user's fields of every request.
        slots: of a llama-server; null for another server, whose slots have no names.
        random_weights: the model's text is noise.
        greedy: with `--check-output full`: what the baseline answers alone. The baseline is checked first.
    """
    at_ns = time.monotonic_ns()
    skipped = skip_reason(variant, command, random_weights=random_weights)
    answers: list[CheckedAnswer] = []
    comparison = None
    caller = GreedyCaller(chat, run=run, variant=variant.name, level=level, model=model, body=body)
    if skipped is None:
        count = level if slots is None else min(level, slots)
        answers = await _Sessions(caller, coded_sessions(run, count), named_slots=slots is not None).ask(control)
    # Noise can't be told from wrong answers, but it can be told from the baseline's: that is what was asked.
    if greedy is not None and not random_weights and all(answer.outcome == Outcome.OK for answer in answers):
        comparison = await greedy.compare(caller, agents=level, llama=slots is not None)
    return OutputCheck(
        run=run,
        variant=variant.name,
        level=level,
        at_ns=at_ns,
        skipped=skipped,
        answers=answers,
        comparison=comparison,
    )


def skip_reason(variant: Variant, command: Sequence[str] | None, *, random_weights: bool) -> str | None:
    """Why a variant's text says nothing; null where it does."""
    if random_weights:
        return "the model's weights are random, so its text is noise"
    args = [*(command or ()), *(variant.args if isinstance(variant, LaunchVariant) else ())]
    env = variant.env if isinstance(variant, LaunchVariant) else {}
    if has(args, *_SYNTHETIC) or any(env.get(name) for name in _SYNTHETIC_VARIABLES):
        return "acceptance is synthetic (--spec-synth-…), so drafts are accepted at random and its text is noise"
    return None


class _Sessions:
    """The sessions of one check."""

    def __init__(self, caller: GreedyCaller, sessions: Sequence[CodedSession], *, named_slots: bool) -> None:
        self._caller = caller
        self._sessions = sessions
        self._named_slots = named_slots

    async def ask(self, control: Control) -> list[CheckedAnswer]:
        """All at once, twice; then alone those that lost their code word."""
        answers: list[CheckedAnswer] = []
        for wave in range(WAVES):
            answers += await self._at_once(wave)
            if any(answer.outcome != Outcome.OK for answer in answers):
                return answers
        lost = {answer.agent for answer in answers if not answer.own}
        for session in [session for session in self._sessions if session.agent in lost][:MOST_ALONE]:
            await control.wait_idle(IDLE_S)
            answers.append(await self._one(session, WAVES, alone=True))
        return answers

    async def _at_once(self, wave: int) -> list[CheckedAnswer]:
        return await at_once(self._one(session, wave, alone=False) for session in self._sessions)

    async def _one(self, session: CodedSession, turn: int, *, alone: bool) -> CheckedAnswer:
        """One answer; `turn` is also how many slots further than its first one a session is asked."""
        slot = (session.agent + turn) % len(self._sessions) if self._named_slots else None
        result = await self._caller.ask(
            session.messages(),
            agent=session.agent,
            agents=1 if alone else len(self._sessions),
            turn=turn,
            max_tokens=TOKENS,
            **({} if slot is None else {"id_slot": slot}),
        )
        return self._checked(session, result, slot, alone=alone)

    def _checked(self, session: CodedSession, result: ChatResult, slot: int | None, *, alone: bool) -> CheckedAnswer:
        parts = [part.strip() for part in (result.reasoning, result.text) if part is not None]
        return CheckedAnswer(
            agent=session.agent,
            slot=slot,
            alone=alone,
            outcome=result.record.outcome.value,
            characters=sum(map(len, parts)),
            own=any(map(session.found_in, parts)),
            foreign=[
                other.agent for other in self._sessions if other is not session and any(map(other.found_in, parts))
            ],
            drafted=_count(result, "draft_n"),
            accepted=_count(result, "draft_n_accepted"),
        )


def _count(result: ChatResult, name: str) -> int | None:
    value = (result.record.timings or {}).get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
