"""A recorded turn that goes on from a summary, because what was before no longer fits."""

from collections.abc import Sequence

from loadgen.workload.conversation import summary_tokens
from loadgen.workload.copy_rate import content_text
from loadgen.workload.corpus.library import Library
from loadgen.workload.made_up import with_text
from loadgen.workload.session import Message
from loadgen.workload.sizing import Sizer

__all__ = ["summed_up"]

_STANDING = frozenset({"system", "developer"})


def summed_up(
    opening: Sequence[Message],
    new: Sequence[Message],
    *,
    context: int,
    seed: str,
    sizer: Sizer,
    library: Library | None = None,
) -> tuple[Message, ...]:
    """The whole prompt of such a turn: what the session was told to be, a summary, and what is new.

    What is new goes in one message of the user's with the summary, results of tools too: the calls that they answer are
    gone with what was before.

    Args:
        opening: the messages of the session's first turn.
        new: those of this turn.
        context: tokens of a slot.
        seed: of the summary's text.
        sizer: says how long it is.
        library: the files that it is made of; null: Python's standard library.
    """
    lengths = {"role": "user", "tokens": summary_tokens(context), "corpus": "prose"}
    summary = with_text(lengths, seed=f"{seed}:summary", sizer=sizer, library=library)
    texts = [content_text(message.get("content")) for message in new]
    content = "\n\n".join((summary["content"], *(text for text in texts if text)))
    standing = [dict(message) for message in opening if message.get("role") in _STANDING]
    return (*standing, {"role": "user", "content": content})
