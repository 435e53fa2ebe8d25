"""How the texts of a workload are made, beside what its profile or file says."""

from dataclasses import dataclass

from loadgen.workload.corpus.library import Library
from loadgen.workload.sizing import Sizer


@dataclass(frozen=True)
class Making:
    """What a server and its user ask of the texts.

    Attributes:
        sizer: says how many tokens texts have; null: an average of characters a token does.
        library: the files that text is made of; null: those of Python's standard library.
        reasoning: recorded reasoning is sent again with its answer; false: it is left out, as a chat template would.
        left_out: parts of a recording that the chat template leaves out of prompts (`tool definitions`, `tool calls`).
        tools_as_text: of a profile, tools are told in plain text, because the chat template takes none.
    """

    sizer: Sizer | None = None
    library: Library | None = None
    reasoning: bool = True
    tools_as_text: bool = False
    left_out: frozenset[str] = frozenset()
