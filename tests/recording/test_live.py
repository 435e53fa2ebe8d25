"""An agent at work through the recording, against llama.cpp's real server: what is played gives the same prompts."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from loadgen.client.endpoint import Endpoint
from loadgen.gguf.tiny import write_tiny_model
from loadgen.recording.recorder import write_sessions
from loadgen.workload.recorded import RecordedSession
from loadgen.workload.replayed import replay
from loadgen.workload.session import prompt
from loadgen.workload.session_file import read_sessions
from tests.servers.standins.llama import EmbeddedBackend

if TYPE_CHECKING:
    from tests.recording.conftest import Record

pytestmark = pytest.mark.live

TEMPLATE = """
{%- for tool in tools or [] %}{{ 'tool ' + (tool | tojson) + '\\n' }}{% endfor %}
{%- for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' }}
{%- if message['reasoning_content'] %}{{ '[' + message['reasoning_content'] + ']' }}{% endif %}
{%- if message['content'] %}{{ message['content'] }}{% endif %}
{%- for call in message['tool_calls'] or [] %}{{ '\\ncall ' + (call['function'] | tojson) }}{% endfor %}
{{- '<|im_end|>\\n' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""
"""Shows all that there is of a conversation."""

SYSTEM, TASK, RESULT, THANKS = "be brief", "read the file of the user", "data = list of lines ", "and now?"
PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
ARGUMENTS = '{"path":"a.py"}'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBackend]:
    """llama.cpp's server with one slot, which shows its last prompt."""
    folder = tmp_path_factory.mktemp("model")
    template = folder / "template.jinja"
    template.write_text(TEMPLATE)
    os.environ["LLAMA_SERVER_SLOTS_DEBUG"] = "1"
    backend = EmbeddedBackend(
        *("-m", str(write_tiny_model(folder / "small.gguf")), "-np", "1", "-c", "4096", "-t", "1", "--poll", "0"),
        *("--chat-template-file", str(template)),
    )
    del os.environ["LLAMA_SERVER_SLOTS_DEBUG"]
    yield backend
    backend.stop()


class Agent:
    """An agent that asks, reads a file with a tool, and is thanked; and the prompts that the server had of it."""

    def __init__(self, client: httpx.AsyncClient, proxy: str, server: str) -> None:
        self._client = client
        self._proxy = proxy
        self._server = server
        self.prompts: list[str] = []

    async def send(self, path: str, body: dict[str, Any], *, direct: bool = False) -> list[dict[str, Any]]:
        """A call; its events."""
        where = self._server if direct else self._proxy
        reply = await self._client.post(f"{where}{path}", json=body | {"stream": True}, timeout=60)
        assert reply.status_code == 200, reply.text
        slots = (await self._client.get(f"{self._server}/slots")).json()
        self.prompts.append(slots[0]["prompt"])
        lines = reply.text.splitlines()
        return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]

    async def chat(self) -> None:
        """Through OpenAI's chat completions."""
        tool = {"type": "function", "function": {"name": "read", "description": "Reads.", "parameters": PARAMETERS}}
        messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": TASK}]
        call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": ARGUMENTS}}
        for number in range(3):
            events = await self.send(
                "/v1/chat/completions", {"messages": messages, "tools": [tool], "max_tokens": 6, "model": "m"}
            )
            deltas = [choice["delta"] for event in events for choice in event["choices"]]
            said = "".join(delta.get("content") or "" for delta in deltas)
            if number == 0:
                messages += [
                    {"role": "assistant", "content": said, "reasoning_content": "why", "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": "c1", "content": RESULT},
                ]
            else:
                messages += [{"role": "assistant", "content": said}, {"role": "user", "content": THANKS}]

    async def messages(self) -> None:
        """Through Anthropic's messages."""
        tool = {"name": "read", "description": "Reads.", "input_schema": PARAMETERS}
        messages: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": TASK}]}]
        for number in range(3):
            body = {"model": "m", "system": [{"type": "text", "text": SYSTEM}], "tools": [tool], "max_tokens": 6}
            events = await self.send("/v1/messages", body | {"messages": messages})
            deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
            said = [{"type": "text", "text": "".join(delta.get("text", "") for delta in deltas)}]
            if number == 0:
                thought = {"type": "thinking", "thinking": "why", "signature": ""}
                call = {"type": "tool_use", "id": "c1", "name": "read", "input": json.loads(ARGUMENTS)}
                result = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": RESULT}]}
                messages += [
                    {"role": "assistant", "content": [thought, *said, call]},
                    {"role": "user", "content": [result, {"type": "text", "text": "note"}]},
                ]
            else:
                messages += [{"role": "assistant", "content": said}, {"role": "user", "content": THANKS}]

    async def responses(self) -> None:
        """Through OpenAI's responses."""
        tool = {"type": "function", "name": "read", "description": "Reads.", "parameters": PARAMETERS}
        items: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "input_text", "text": TASK}]}]
        for number in range(3):
            body = {"model": "m", "instructions": SYSTEM, "tools": [tool], "max_output_tokens": 6}
            events = await self.send("/v1/responses", body | {"input": items})
            (response,) = [event["response"] for event in events if event["type"] == "response.completed"]
            thought = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "why"}]}
            items += [*([] if number else [thought]), *response["output"]]
            if number == 0:
                items += [
                    {"type": "function_call", "call_id": "c1", "name": "read", "arguments": ARGUMENTS},
                    {"type": "function_call_output", "call_id": "c1", "output": RESULT},
                ]
            else:
                items += [{"role": "user", "content": THANKS}]

    async def play(self, sessions: list[RecordedSession]) -> None:
        """The sessions of a recording, turn by turn."""
        for session in replay(sessions, name="mine").sessions:
            for turn in range(len(session.turns)):
                body = {"messages": prompt(session, turn, salt="", answers={}), "tools": session.tools, "max_tokens": 1}
                await self.send("/v1/chat/completions", body, direct=True)


WAYS: dict[str, Callable[[Agent], Awaitable[None]]] = {
    "chat": Agent.chat,
    "messages": Agent.messages,
    "responses": Agent.responses,
}


@pytest.mark.parametrize("api", sorted(WAYS))
async def test_a_recorded_session_is_played_with_the_same_prompts(
    server: EmbeddedBackend, record: "Record", tmp_path: Path, api: str
) -> None:
    """Token for token as the server had them, with the tool, its call and result, and reasoning in them."""
    while not server.ready():
        await asyncio.sleep(0.02)
        assert server.exit_code() is None
    out = tmp_path / "mine.jsonl"
    # llama.cpp's server closes connections behind streams: none is used twice.
    async with httpx.AsyncClient(limits=httpx.Limits(max_keepalive_connections=0)) as client:
        async with record(Endpoint.parse(server.address)) as recording:
            agent = Agent(client, recording.url, server.address)
            await WAYS[api](agent)
            await recording.ended(3)
            write_sessions(recording.recorder.sessions(), out)
        found = read_sessions(out)
        assert (found.problems, recording.told, len(found.sessions)) == ([], [], 1)
        player = Agent(client, server.address, server.address)
        await player.play(found.sessions)
    assert player.prompts == agent.prompts
    for text in ('"read"', SYSTEM, TASK, "[why]", "call ", "a.py", RESULT, THANKS):
        assert text in agent.prompts[2]
    (session,) = found.sessions
    assert [(turn.delay_kind, turn.output_tokens) for turn in session.turns] == [
        ("arrival", 6),
        ("tool", 6),
        ("user", 6),
    ]
    assert all(turn.input_tokens is not None for turn in session.turns)
    assert session.source["api"] == api
