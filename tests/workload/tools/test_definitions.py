"""Definitions of tools, and calls of them."""

import json
from typing import Any

import pytest

from loadgen.workload.corpus import CORPORA
from loadgen.workload.corpus.text import made
from loadgen.workload.draws import rng
from loadgen.workload.sizing import Ratio
from loadgen.workload.tools.definitions import HEAD_TOKENS, named
from loadgen.workload.tools.tool import ToolKind
from loadgen.workload.tools.toolbox import CATALOGUES, SUB_AGENT, Toolbox, call_tokens, toolbox

KINDS: tuple[ToolKind, ...] = ("coding", "research", "service")
SIZER = Ratio(3.5)


def box(kind: ToolKind, count: int, tokens: int) -> Toolbox:
    """So many tools, with notes from a seeded stream."""
    source = rng(1, "notes")
    return toolbox(kind, count, tokens, sizer=SIZER, note=lambda wanted: made("prose", source, wanted, SIZER).text)


def tokens_of(definition: dict[str, Any]) -> int:
    """Of one definition as JSON."""
    return SIZER.tokens(json.dumps(definition))


@pytest.mark.parametrize(
    ("kind", "count", "tokens"),
    [
        ("coding", 1, 61),
        ("coding", 12, 8000),
        ("coding", 18, 12300),
        ("research", 6, 1500),
        ("service", 15, 2550),
        ("coding", 50, 20000),
    ],
)
def test_definitions_have_the_tokens_that_are_asked_for(kind: ToolKind, count: int, tokens: int) -> None:
    """Within 5 %, whatever that takes of descriptions and notes; each has its share."""
    made_box = box(kind, count, tokens)
    sizes = [tokens_of(one) for one in made_box.definitions]
    assert len(sizes) == count
    assert sum(sizes) == pytest.approx(tokens, rel=0.05)
    assert made_box.tokens == sum(sizes) + HEAD_TOKENS
    assert max(sizes) < 2.5 * tokens / count


@pytest.mark.parametrize("kind", KINDS)
def test_definitions_are_of_openais_shape_with_names_of_their_own(kind: ToolKind) -> None:
    """Every name once, also where servers bring the same tools again; what is required is described."""
    definitions = box(kind, 3 * len(CATALOGUES[kind]), 9000).definitions
    names = [one["function"]["name"] for one in definitions]
    assert len(set(names)) == len(names)
    for one in definitions:
        assert one.keys() == {"type", "function"}
        assert one["type"] == "function"
        parameters = one["function"]["parameters"]
        assert parameters["type"] == "object"
        assert set(parameters["required"]) <= set(parameters["properties"])
        assert one["function"]["description"]


def test_more_tools_than_the_catalogue_has_come_from_servers() -> None:
    """The first ones keep their names."""
    names = [name for name, _ in named(CATALOGUES["research"], 8)]
    assert names[:6] == [tool.name for tool in CATALOGUES["research"]]
    assert names[6:] == ["files_web_search", "files_open_page"]


def test_too_few_tokens_give_the_shortest_definitions() -> None:
    """No name and no required parameter is lost."""
    (short,) = box("coding", 1, 1).definitions
    assert short["function"]["name"] == "bash"
    assert short["function"]["parameters"]["required"] == ["command"]
    assert short["function"]["description"] == "Run a shell command"
    assert "description" not in short["function"]["parameters"]["properties"]["command"]


def test_no_tools_take_no_tokens() -> None:
    """Nothing is said around what isn't there."""
    assert box("coding", 0, 500) == Toolbox()


def test_the_same_stream_gives_the_same_definitions() -> None:
    """And so the same prompts in every process."""
    assert box("service", 15, 2550) == box("service", 15, 2550)


def test_every_kind_of_text_that_a_tool_prints_exists() -> None:
    """Catalogues name texts that can be made."""
    printed = {kind for tools in CATALOGUES.values() for tool in tools for kind in tool.prints}
    assert printed <= set(CORPORA)


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_names_a_tool_that_prints_such_text_with_what_it_requires(kind: ToolKind) -> None:
    """Arguments are JSON with exactly the required parameters; text that no tool prints comes from the first."""
    tools = box(kind, len(CATALOGUES[kind]), 5000)
    by_name = {tool.name: tool for tool in CATALOGUES[kind]}
    source = rng(2, "calls")
    for printed in ("view", "grep", "json", "prose", "diff"):
        call = tools.call("c00010000", printed, "", source)
        assert (call["id"], call["type"]) == ("c00010000", "function")
        tool = by_name[call["function"]["name"]]
        could = any(printed in one.prints for one in by_name.values())
        assert printed in tool.prints if could else tool is CATALOGUES[kind][0]
        arguments = json.loads(call["function"]["arguments"])
        assert list(arguments) == [one.name for one in tool.parameters if one.required]


def test_a_shell_is_called_with_the_command_that_was_run() -> None:
    """The text that comes back is what it prints."""
    call = box("coding", 1, 61).call("c00010000", "grep", "grep -rn 'self' Lib", rng(1))
    assert call["function"] == {"name": "bash", "arguments": '{"command": "grep -rn \'self\' Lib"}'}
    assert call_tokens([call], SIZER) == 15 + SIZER.tokens("bash") + SIZER.tokens(call["function"]["arguments"])


def test_a_sub_agent_is_called_by_the_name_of_its_tool() -> None:
    """Where the agent has that tool; else through its first."""
    assert box("coding", 18, 9000).call("c00010000", SUB_AGENT, "", rng(1))["function"]["name"] == "task"
    assert box("coding", 2, 300).call("c00010000", SUB_AGENT, "", rng(1))["function"]["name"] == "bash"
