"""How many tokens a server's chat template puts around messages, measured with conversations of our own."""

from dataclasses import dataclass

from loadgen.replay.templated import Prompts
from loadgen.servers.target import Target
from loadgen.workload.session import Message, Session, Turn
from loadgen.workload.sizing import PROMPT_TOKENS, SPELT_MESSAGE_TOKENS

__all__ = ["TemplateSize", "template_size"]

_SYSTEM, _ASKED, _ANSWER = "Be brief.", "What is next?", "A short look at the files."
_SHORT, _LONG = 0, 3
"""The turns that are held against each other: 1 and 4 questions, so that 6 messages lie between them."""


@dataclass(frozen=True)
class TemplateSize:
    """Tokens around each message, and around all; the latter may be below 0, where the first two are joined."""

    message_tokens: int = SPELT_MESSAGE_TOKENS
    prompt_tokens: int = PROMPT_TOKENS


async def template_size(target: Target, prompts: Prompts) -> TemplateSize:
    """By the counts of a short and a long conversation; the assumed ones where the server doesn't count.

    Templates put as much around every message of one kind, and nearly as much around those of another: what is left
    over lies in the tokens around all.
    """
    session = _conversation()
    whole = [await prompts.tokens(session, turn, "") for turn in (_SHORT, _LONG)]
    texts = [await target.control.tokenize(text) for text in (_SYSTEM, _ASKED, _ANSWER)]
    short, long = whole
    system, asked, answer = texts
    if None in (*whole, *texts) or short is None or long is None or system is None or asked is None or answer is None:
        return TemplateSize()
    pairs = _LONG - _SHORT
    around = round((long - short - pairs * (asked + answer)) / (2 * pairs))
    return TemplateSize(max(0, around), short - system - asked - 2 * max(0, around))


def _conversation() -> Session:
    system: Message = {"role": "system", "content": _SYSTEM}
    asked: Message = {"role": "user", "content": _ASKED}
    turns = [
        Turn(
            messages=(system, asked) if index == 0 else (asked,),
            answer=_ANSWER,
            wait_s=0.0,
            wait_kind=None,
            output_tokens=1,
            kind="prose",
            depth=1,
        )
        for index in range(_LONG + 1)
    ]
    return Session("size", tuple(turns))
