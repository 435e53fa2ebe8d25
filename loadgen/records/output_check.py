"""What the output check saw: of each answer whether it kept to its own session, without its text."""

import msgspec


class CheckedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One answer to a session that carries a code word of its own. Every session asks more than once."""

    agent: int
    slot: int | None
    """The slot that was asked for; null where the server has none to name."""
    alone: bool
    """Asked again with nothing else on the server, because the code word was missing among others."""
    outcome: str
    characters: int
    """Of answer and reasoning together."""
    own: bool
    """Whether the answer holds the session's own code word."""
    foreign: list[int]
    """Agents whose code words the answer holds besides."""
    drafted: int | None
    accepted: int | None


class AnswerComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Greedy answers of one variant, held against those of the baseline to the same prompts, one agent at a time."""

    agents: int
    """Agents at once while this variant answered."""
    equal: list[bool | None]
    """One a prompt, in the order of the prompts: whether the texts are equal; null where either answer is missing."""


class OutputCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The answers of one variant at the largest concurrency, once a run, before anything is measured."""

    run: str
    variant: str
    level: int
    at_ns: int
    skipped: str | None
    """Why nothing could be asked or told, such as random weights; null where the check ran."""
    answers: list[CheckedAnswer]
    comparison: AnswerComparison | None = None
    """With `--check-output full`."""
