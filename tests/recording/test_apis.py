"""Requests and answers of three APIs, in one shape."""

from typing import Any

import pytest

from loadgen.recording.answer import Answer
from loadgen.recording.apis import APIS, Asked, api_of
from loadgen.workload.row_fields import Notes

WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"city":"Ulm"}'}}


def asked(api: str, **body: Any) -> Asked:
    """What a request asks."""
    return APIS[api].reader.asked(body, Notes("request"))


def streamed(api: str, *events: dict[str, Any]) -> Answer:
    """The answer of these events."""
    answer = Answer()
    for event in events:
        APIS[api].reader.take(answer, event)
    return answer


def replied(api: str, reply: dict[str, Any]) -> Answer:
    """The answer of one reply."""
    answer = Answer()
    APIS[api].reader.whole(answer, reply)
    return answer


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("POST", "/v1/chat/completions", "chat"),
        ("POST", "/chat/completions", "chat"),
        ("POST", "/api/v1/chat/completions", "chat"),
        ("POST", "/v1/messages", "messages"),
        ("POST", "/v1/responses", "responses"),
        ("GET", "/v1/responses", None),
        ("POST", "/v1/messages/count_tokens", None),
        ("POST", "/v1/threads/t1/messages", None),
        ("GET", "/v1/models", None),
    ],
)
def test_calls_of_three_apis_are_recorded_and_nothing_else(method: str, path: str, name: str | None) -> None:
    """By the end of the path: a client's base URL may have more in front."""
    found = api_of(method, path)
    assert (found.name if found else None) == name


def test_chat_messages_stay_as_they_are() -> None:
    """But for null fields, which say nothing."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Look"}]},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
    ]
    tools = [{"type": "function", "function": {"name": "look", "parameters": WEATHER}}]
    found = asked("chat", messages=messages, tools=tools, model="m", stream=True)
    assert found == Asked([*messages[:2], {"role": "assistant", "tool_calls": [CALL]}, messages[3]], tools, "m")


def test_a_chat_stream_is_put_together() -> None:
    """Text, reasoning, calls that grow, the finish reason, and the server's counts."""
    answer = streamed(
        "chat",
        {"model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": None}}]},
        {"choices": [{"index": 0, "delta": {"reasoning_content": "Hm"}}]},
        {"choices": [{"index": 0, "delta": {"content": "I "}}, {"index": 1, "delta": {"content": "other"}}]},
        {"choices": [{"index": 0, "delta": {"content": "look"}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "look"}}]}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": '{"city":'}}]}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": '"Ulm"}'}}]}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
        {
            "choices": [],
            "usage": {"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}},
            "timings": {"prompt_n": 1, "cache_n": 0, "predicted_n": 7},
        },
    )
    assert answer.as_message() == {
        "role": "assistant",
        "content": "I look",
        "reasoning_content": "Hm",
        "tool_calls": [CALL],
    }
    assert (answer.ended, answer.finish_reason, answer.model, answer.token_events) == (True, "tool_calls", "m", 6)
    assert (answer.input_tokens, answer.output_tokens, answer.cached_tokens) == (9, 5, 4)


def test_llama_servers_timings_count_where_no_usage_is_asked_for() -> None:
    """The last ones: some servers send them with every chunk."""
    chunks = [{"choices": [], "timings": {"prompt_n": 3, "cache_n": 2, "predicted_n": n}} for n in (1, 8)]
    answer = streamed("chat", *chunks)
    assert (answer.input_tokens, answer.output_tokens, answer.cached_tokens) == (5, 8, 2)


def test_an_error_in_a_stream_is_no_answer() -> None:
    """In the words of each API."""
    for api, event in (
        ("chat", {"error": {"message": "no"}}),
        ("messages", {"type": "error", "error": {"message": "no"}}),
        ("responses", {"type": "response.failed", "response": {"error": {"message": "no"}}}),
    ):
        assert streamed(api, event).failed is not None


def test_anthropics_blocks_become_messages_as_llama_server_makes_them() -> None:
    """A user's text in front of the results beside it; parts kept apart; no blank put between joined texts."""
    found = asked(
        "messages",
        model="m",
        system=[{"type": "text", "text": "Be "}, {"type": "text", "text": "brief.", "cache_control": {}}],
        tools=[{"name": "look", "description": "Looks.", "input_schema": WEATHER}],
        messages=[
            {"role": "user", "content": "Look"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm", "signature": "x"},
                    {"type": "tool_use", "id": "c1", "name": "look", "input": {"city": "Ulm"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": [{"type": "text", "text": "ra"}, {"type": "text", "text": "in"}],
                    },
                    {"type": "text", "text": "And?", "cache_control": {"type": "ephemeral"}},
                ],
            },
        ],
    )
    assert found.messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Look"},
        {"role": "assistant", "content": "", "tool_calls": [CALL], "reasoning_content": "Hm"},
        {"role": "user", "content": [{"type": "text", "text": "And?"}]},
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
    ]
    assert found.tools == [
        {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": WEATHER}}
    ]


def test_a_stamp_that_differs_in_every_request_is_evened_out() -> None:
    """As llama-server does it: else no prompt would go on from another."""
    system = "x-anthropic-billing-header: cc_version=2.1; cch={};You are an agent; cch=abcde;"
    found = [
        asked("messages", system=system.format(one), messages=[{"role": "user", "content": "hi"}])
        for one in ("a5145", "00000")
    ]
    assert found[0].messages == found[1].messages
    assert found[0].messages[0]["content"] == system.format("fffff")


def test_an_anthropic_stream_is_put_together() -> None:
    """Blocks that grow; tokens from the cache and into it count as prompt."""
    usage = {"input_tokens": 3, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 2, "output_tokens": 1}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"model": "m", "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "I look"}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "tool_use", "id": "c1", "name": "look", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": '{"city":"Ulm"}'},
        },
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 20}},
    ]
    answer = streamed("messages", *events)
    assert answer.as_message() == {"role": "assistant", "content": "I look", "tool_calls": [CALL]}
    assert (answer.input_tokens, answer.output_tokens, answer.cached_tokens) == (9, 20, 4)
    assert (answer.finish_reason, answer.ended, answer.closed) == ("tool_calls", True, False)
    assert streamed("messages", *events, {"type": "message_stop"}).closed


def test_items_of_responses_become_messages_as_llama_server_makes_them() -> None:
    """What belongs to one answer is one message; tools that are no functions go."""
    found = asked(
        "responses",
        model="m",
        instructions="Be brief.",
        input=[
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look"}]},
            {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm"}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look"}]},
            {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"city":"Ulm"}'},
            {"type": "function_call_output", "call_id": "c1", "output": "rain"},
        ],
        tools=[{"type": "function", "name": "look", "parameters": WEATHER, "strict": True}, {"type": "web_search"}],
    )
    assert found.heading == [{"role": "system", "content": "Be brief."}]
    assert found.messages == [
        {"role": "user", "content": [{"type": "text", "text": "Look"}]},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "I look"}],
            "reasoning_content": "Hm",
            "tool_calls": [CALL],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
    ]
    assert found.tools == [{"type": "function", "function": {"name": "look", "parameters": WEATHER, "strict": True}}]


def test_custom_tools_of_responses_are_functions_of_one_text() -> None:
    """Definition and call alike."""
    found = asked(
        "responses",
        input=[{"type": "custom_tool_call", "call_id": "c1", "name": "patch", "input": "*** Begin"}],
        tools=[{"type": "custom", "name": "patch", "description": "Patches."}],
    )
    assert found.messages[0]["tool_calls"][0]["function"] == {"name": "patch", "arguments": '{"input": "*** Begin"}'}
    assert found.tools is not None
    assert found.tools[0]["function"]["parameters"]["required"] == ["input"]


def test_a_stream_of_responses_ends_with_the_whole_answer() -> None:
    """What came before is for one that is broken off."""
    begin: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "r1", "model": "m"}},
        {"type": "response.output_item.added", "item": {"type": "message"}},
        {"type": "response.output_text.delta", "delta": "I lo"},
    ]
    half = streamed("responses", *begin)
    assert half.as_message() == {"role": "assistant", "content": "I lo"}
    assert not half.ended
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look"}]}
    call = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"city":"Ulm"}'}
    usage = {"input_tokens": 9, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 4}}
    response = {"id": "r1", "output": [item, call], "usage": usage}
    answer = streamed("responses", *begin, {"type": "response.completed", "response": response})
    assert answer.as_message() == {
        "role": "assistant",
        "content": [{"type": "text", "text": "I look"}],
        "tool_calls": [CALL],
    }
    assert (answer.closed, answer.finish_reason, answer.response_id) == (True, "tool_calls", "r1")
    assert (answer.input_tokens, answer.output_tokens, answer.cached_tokens) == (9, 5, 4)


def test_a_call_that_is_broken_off_in_a_stream_of_responses_has_what_came_of_it() -> None:
    """Its tool and the arguments so far."""
    answer = streamed(
        "responses",
        {"type": "response.output_item.added", "item": {"type": "function_call", "call_id": "c1", "name": "look"}},
        {"type": "response.function_call_arguments.delta", "delta": '{"ci'},
    )
    called = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"ci'}}
    assert answer.as_message() == {"role": "assistant", "content": "", "tool_calls": [called]}


def test_answers_in_one_piece_are_read_too() -> None:
    """Of each API, with the same result."""
    usage = {"prompt_tokens": 9, "completion_tokens": 5}
    chat = {"role": "assistant", "content": "done", "tool_calls": None}
    given = {
        "chat": {"choices": [{"index": 0, "message": chat, "finish_reason": "stop"}], "usage": usage},
        "messages": {
            "type": "message",
            "content": [{"type": "text", "text": "done"}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 9, "output_tokens": 5},
        },
        "responses": {
            "status": "completed",
            "output": [{"type": "message", "role": "assistant", "content": "done"}],
            "usage": {"input_tokens": 9, "output_tokens": 5},
        },
    }
    for api, reply in given.items():
        answer = replied(api, reply)
        assert (answer.ended, answer.finish_reason, answer.input_tokens, answer.output_tokens) == (True, "stop", 9, 5)
        message = answer.as_message()
        assert message is not None
        assert message["content"] in ("done", [{"type": "text", "text": "done"}])
