"""The tools of one agent: their definitions, and calls of them that fit what comes back."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from loadgen.workload.distribution import RandomSource
from loadgen.workload.sizing import Sizer
from loadgen.workload.tools.coding import CODING
from loadgen.workload.tools.definitions import defined, named, tokens_of
from loadgen.workload.tools.research import RESEARCH
from loadgen.workload.tools.service import SERVICE
from loadgen.workload.tools.tool import Tool, ToolKind

__all__ = ["CATALOGUES", "SUB_AGENT", "Toolbox", "call_tokens", "toolbox"]

CATALOGUES: dict[ToolKind, tuple[Tool, ...]] = {"coding": CODING, "research": RESEARCH, "service": SERVICE}
"""By the kind of agent. The first tool of each is the one that an agent with a single tool has."""
SUB_AGENT = "task"
"""The tool that gives a job to a sub-agent."""
_CALL_TOKENS = 15
"""What a template puts around the name and the arguments of a call: marks, and the names of both fields."""
_SHELL = "command"
"""The argument that takes what was really run, where the text that comes back names it."""


@dataclass(frozen=True)
class Toolbox:
    """The tools of one agent.

    Attributes:
        tools: names and what they stand for.
        definitions: in OpenAI's shape.
        tokens: that the definitions take in a prompt.
    """

    tools: tuple[tuple[str, Tool], ...] = ()
    definitions: tuple[dict[str, Any], ...] = ()
    tokens: int = 0

    def call(self, call_id: str, printed: str, command: str, source: RandomSource) -> dict[str, Any]:
        """A call whose result is a text of the kind `printed`, in OpenAI's shape.

        Args:
            call_id: its id.
            printed: the kind of text, or the name of a tool.
            command: what a shell would have run for it.
            source: of the choices between tools and between arguments; two floats are taken.
        """
        fitting = [one for one in self.tools if printed in one[1].prints or printed == one[1].name] or self.tools[:1]
        name, tool = fitting[int(source.random() * len(fitting))]
        u = source.random()
        arguments: dict[str, Any] = {
            one.name: one.examples[int(u * len(one.examples))] for one in tool.parameters if one.required
        }
        if _SHELL in arguments and command:
            arguments[_SHELL] = command
        return {
            "id": call_id,
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }


def toolbox(kind: ToolKind, count: int, tokens: int, *, sizer: Sizer, note: Callable[[int], str]) -> Toolbox:
    """The first `count` tools of a kind of agent, whose definitions have about `tokens` tokens of JSON together.

    Args:
        kind: of agent.
        count: of tools; none for 0.
        tokens: of all definitions.
        sizer: counts them.
        note: prose of about so many tokens, for long descriptions.
    """
    tools = tuple(named(CATALOGUES[kind], count))
    definitions = tuple(defined(tools, tokens, sizer=sizer, note=note)) if tools else ()
    return Toolbox(tools, definitions, tokens_of(definitions, sizer))


def call_tokens(calls: Sequence[dict[str, Any]], sizer: Sizer) -> int:
    """Tokens that calls take in the answer that makes them."""
    return sum(
        _CALL_TOKENS + sizer.tokens(call["function"]["name"]) + sizer.tokens(call["function"]["arguments"])
        for call in calls
    )
