"""Spans of OpenTelemetry's generative AI conventions become sessions."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.workload.formats import otel
from loadgen.workload.recorded import RecordedSession
from loadgen.workload.session_check import checked
from tests.workload.formats.reading import FILE, NUMBERS, VALUES, WORDS, objects_of, only, read, survives, texts

ASK = {"role": "user", "parts": [{"type": "text", "content": "Weather in Paris?"}]}
CALL = {"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": {"location": "Paris"}}
RESULT = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "rainy, 57°F"}]}
CALLED = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"location": "Paris"}'}}
SAID = {"type": "text", "content": "It rains."}
TOOL = {"type": "function", "name": "get_weather", "description": "Now.", "parameters": {"type": "object"}}


def span(name: str, start: float, end: float, operation: str = "chat", **fields: Any) -> dict[str, Any]:
    """A span of a list, with times in seconds from a day in 2026."""
    attributes = {"gen_ai.operation.name": operation} | fields.pop("attributes", {})
    stamps = {key: f"2026-01-01T00:{int(at // 60):02}:{at % 60:09.6f}Z" for key, at in (("start", start), ("end", end))}
    head = {"span_id": name, "name": f"{operation} m", "start_time": stamps["start"], "end_time": stamps["end"]}
    return head | {"attributes": attributes} | fields


def chat(name: str, start: float, end: float, given_: list[Any], said: list[Any], **fields: Any) -> dict[str, Any]:
    """A call of a model with content, as JSON in texts."""
    output = [{"role": "assistant", "parts": said, "finish_reason": "stop"}]
    content = {"gen_ai.input.messages": json.dumps(given_), "gen_ai.output.messages": json.dumps(output)}
    return span(name, start, end, attributes=content | fields.pop("attributes", {}), **fields)


def counted(name: str, start: float, end: float, tokens: int, output: int, **fields: Any) -> dict[str, Any]:
    """A call of a model without content."""
    usage = {"gen_ai.usage.input_tokens": tokens, "gen_ai.usage.output_tokens": output}
    return span(name, start, end, attributes=usage | fields.pop("attributes", {}), **fields)


def trace(*spans: dict[str, Any], name: str = "t1") -> dict[str, Any]:
    """A list of spans."""
    return {"trace_id": name, "spans": list(spans)}


def tool(name: str, start: float, end: float, call: str | None = None, **fields: Any) -> dict[str, Any]:
    """A tool at work."""
    attributes = {"gen_ai.tool.name": "get_weather"} | ({"gen_ai.tool.call.id": call} if call else {})
    return span(name, start, end, "execute_tool", attributes=attributes, **fields)


FIRST = chat("s1", 0, 2, [ASK], [CALL], attributes={"gen_ai.tool.definitions": json.dumps([TOOL])})
HISTORY = [ASK, {"role": "assistant", "parts": [CALL]}, RESULT]
SECOND = chat("s2", 5, 6, HISTORY, [SAID])


def test_a_prompt_that_goes_on_behind_an_answer_is_the_next_turn() -> None:
    """Messages and definitions come out in OpenAI's shape; the tool's time is the gap between the calls."""
    session = only(otel, trace(FIRST, SECOND))
    first, second = session.turns
    assert session.session_id == "t1"
    assert session.tools == [
        {
            "type": "function",
            "function": {"name": "get_weather", "description": "Now.", "parameters": {"type": "object"}},
        }
    ]
    assert first.messages == [{"role": "user", "content": "Weather in Paris?"}]
    assert first.assistant == {"role": "assistant", "content": "", "tool_calls": [CALLED]}
    assert second.messages == [{"role": "tool", "tool_call_id": "c1", "content": "rainy, 57°F"}]
    assert second.assistant == {"role": "assistant", "content": "It rains."}
    assert (second.delay_s, second.delay_kind, first.kind, second.kind) == (3.0, "tool", "tool_call", "prose")


def test_spans_of_tools_say_how_long_they_ran() -> None:
    """Of two that ran at once the wait is the time in which one did, and both times are kept."""
    runs = [tool("x1", 2.5, 3.5, "c1"), tool("x2", 3.0, 4.0, "c2"), tool("x3", 2.1, 4.9, "elsewhere")]
    second_call = CALL | {"id": "c2"}
    first = chat("s1", 0, 2, [ASK], [CALL, second_call])
    results = [RESULT, {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c2", "response": 5}]}]
    second = chat("s2", 5, 6, [ASK, {"role": "assistant", "parts": [CALL, second_call]}, *results], [SAID])
    turn = only(otel, trace(first, *runs, second)).turns[1]
    assert (turn.delay_s, turn.tool_times_s) == (1.5, [1.0, 1.0])
    one_after_other = [tool("x1", 2.5, 3.5, "c1"), tool("x2", 3.5, 4.0, "c2")]
    turn = only(otel, trace(first, *one_after_other, second)).turns[1]
    assert (turn.delay_s, turn.tool_times_s) == (1.5, None)


def test_instructions_reasoning_and_counts_are_kept() -> None:
    """Instructions stand in front; reasoning and counts belong to the answer."""
    more = {
        "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "Be brief."}]),
        "gen_ai.usage.input_tokens": 97,
        "gen_ai.usage.output_tokens": 52,
        "gen_ai.usage.cache_read.input_tokens": 60,
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "gen_ai.response.model": "m-2",
    }
    session = only(
        otel, trace(chat("s1", 0, 1, [ASK], [{"type": "reasoning", "content": "Hm."}, SAID], attributes=more))
    )
    (turn,) = session.turns
    assert turn.messages[0] == {"role": "system", "content": "Be brief."}
    assert turn.assistant == {"role": "assistant", "content": "It rains.", "reasoning_content": "Hm."}
    assert (turn.input_tokens, turn.output_tokens, turn.cached_tokens) == (97, 52, 60)
    assert turn.finish_reason == "tool_calls"
    assert session.source == {"name": "otel", "model": "m-2"}


def value_of(value: Any) -> dict[str, Any]:
    """A value as OTLP types it."""
    if isinstance(value, list):
        return {"arrayValue": {"values": [value_of(one) for one in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": value_of(one)} for key, one in value.items()]}}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def test_otlp_is_read_with_its_types_and_nanoseconds() -> None:
    """Spans of one trace may come in several lines; values may be typed to any depth."""

    def exported(raw: dict[str, Any], start_ns: int, end_ns: int) -> dict[str, Any]:
        attributes = {key: json.loads(value) if key.endswith("messages") else value for key, value in raw.items()}
        listed = [{"key": key, "value": value_of(value)} for key, value in attributes.items()]
        one = {"traceId": "ab", "spanId": str(start_ns), "name": "chat m", "attributes": listed}
        one |= {"startTimeUnixNano": str(start_ns), "endTimeUnixNano": str(end_ns)}
        return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": [one]}]}]}

    second = 1_000_000_000
    begin = 1_767_225_600 * second
    usage = {"gen_ai.usage.input_tokens": 12}
    rows = [
        exported(SECOND["attributes"], begin + 5 * second, begin + 6 * second),
        exported(FIRST["attributes"] | usage, begin, begin + 2 * second),
    ]
    session = only(otel, *rows)
    assert session.session_id == "ab"
    assert session.turns[0].input_tokens == 12
    assert [turn.messages for turn in session.turns] == [
        turn.messages for turn in only(otel, trace(FIRST, SECOND)).turns
    ]
    assert session.turns[1].delay_s == 3.0
    assert only(otel, *[{"trace": row} for row in rows]) == session
    assert only(otel, *[{"batches": row["resourceSpans"]} for row in rows]) == session


def test_one_span_a_row_is_read() -> None:
    """The SDKs' console exporter prints `context` and `parent_id`."""
    rows = [
        {"name": one["name"], "context": {"trace_id": "0x1", "span_id": one["span_id"]}, "parent_id": None}
        | {name: one[name] for name in ("start_time", "end_time", "attributes")}
        for one in (FIRST, SECOND)
    ]
    session = only(otel, *rows)
    assert (session.session_id, len(session.turns)) == ("0x1", 2)


def test_a_conversation_may_have_several_traces() -> None:
    """Calls with one conversation id are one session, a trace each request."""
    named = {"gen_ai.conversation.id": "conv"}
    again = [*HISTORY, {"role": "assistant", "parts": [SAID]}, {"role": "user", "parts": ["Thanks"]}]
    rows = [
        trace(FIRST | {"attributes": FIRST["attributes"] | named}, SECOND, name="t1"),
        trace(chat("s1", 30, 31, again, [SAID], attributes=named), name="t2"),
    ]
    session = only(otel, *rows)
    assert session.session_id == "conv"
    assert [turn.delay_kind for turn in session.turns] == ["arrival", "tool", "user"]
    assert session.turns[2].delay_s == 24.0


def test_older_ways_of_keeping_content_are_read() -> None:
    """One event a message, indexed attributes, and the details' event say the same."""
    output = [{"role": "assistant", "parts": [SAID], "finish_reason": "stop"}]
    details: dict[str, Any] = {"name": "gen_ai.client.inference.operation.details"}
    details |= {"attributes": {"gen_ai.input.messages": [ASK], "gen_ai.output.messages": output}}
    events = [
        {"name": "gen_ai.user.message", "attributes": {"content": "Weather in Paris?"}},
        {"name": "gen_ai.choice", "attributes": {"index": 0, "message": json.dumps({"content": "It rains."})}},
    ]
    indexed = {
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "Weather in Paris?",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "It rains.",
    }
    plain = {
        "gen_ai.input.messages": [{"role": "user", "content": "Weather in Paris?"}],
        "gen_ai.output.text": "It rains.",
    }
    for one in (
        span("s", 0, 1, events=[details]),
        span("s", 0, 1, events=events),
        span("s", 0, 1, attributes=indexed),
        span("s", 0, 1, attributes=plain),
    ):
        (turn,) = only(otel, trace(one)).turns
        assert turn.messages == [{"role": "user", "content": "Weather in Paris?"}]
        assert turn.assistant == {"role": "assistant", "content": "It rains."}


def test_calls_and_results_without_ids_find_each_other() -> None:
    """Ids are optional in the conventions: the order stands for them."""
    call = {"type": "tool_call", "name": "f", "arguments": None}
    result = {"role": "user", "parts": [{"type": "tool_call_response", "response": {"a": 1}}]}
    first = chat("s1", 0, 1, [ASK], [call])
    second = chat("s2", 2, 3, [ASK, {"role": "assistant", "parts": [call]}, result], [SAID])
    begin, after = only(otel, trace(first, second)).turns
    assert begin.assistant is not None
    assert begin.assistant["tool_calls"][0]["id"] == "call-1"
    assert after.messages == [{"role": "tool", "tool_call_id": "call-1", "content": '{"a": 1}'}]


def family(*rows: dict[str, Any]) -> dict[str, RecordedSession]:
    """The sessions of rows without a problem, by name."""
    sessions, problems = read(otel, *rows)
    assert problems == []
    assert checked(sessions, FILE) == (sessions, [])
    return {session.session_id: session for session in sessions}


def test_an_agent_within_an_agent_is_a_sub_agent() -> None:
    """It begins behind the last answer of the outer one, which waits for it before its next call."""
    inner = {"gen_ai.agent.name": "helper"}
    found = family(
        trace(
            span("a", 0, 60, "invoke_agent", attributes={"gen_ai.agent.name": "lead"}),
            counted("c1", 1, 5, 100, 10, parent_span_id="a"),
            span("x", 5, 21, "execute_tool", parent_span_id="a"),
            span("b", 6, 20, "invoke_agent", attributes=inner, parent_span_id="x"),
            counted("h1", 7, 9, 50, 5, parent_span_id="b"),
            counted("h2", 12, 19, 80, 5, parent_span_id="b"),
            counted("c2", 22, 25, 200, 10, parent_span_id="a"),
        )
    )
    lead, helper = found["t1"], found["t1/helper"]
    assert (lead.parent_session_id, helper.parent_session_id) == (None, "t1")
    assert lead.turns[0].spawn == ["t1/helper"]
    assert (lead.turns[1].join, lead.turns[1].delay_kind, lead.turns[1].delay_s) == (["t1/helper"], "subagent", 2.0)
    assert (helper.turns[0].delay_s, helper.turns[0].delay_kind) == (2.0, "arrival")


def test_calls_without_content_become_turns_of_their_lengths() -> None:
    """What is new is what the prompt has above the one before and its answer; a shorter one begins anew."""
    usage = {"gen_ai.response.finish_reasons": ["tool_calls"]}
    session = only(
        otel,
        trace(counted("a", 0, 1, 100, 10, attributes=usage), counted("b", 2, 3, 150, 5), counted("c", 4, 5, 60, 5)),
    )
    first, second, third = session.turns
    assert first.messages == [{"role": "user", "tokens": 100, "corpus": "code", "seed": "t1:0"}]
    assert first.assistant == {"role": "assistant", "tokens": 10, "corpus": "code", "seed": "t1:0:answer"}
    assert [one["tokens"] for one in second.messages] == [40]
    assert (second.delay_kind, second.delay_s, third.history_reset) == ("tool", 1.0, "compact")
    assert [one["tokens"] for one in third.messages] == [60]


def test_calls_of_one_trace_that_dont_go_on_are_sessions_beside_each_other() -> None:
    """A call that an answer is taken from into the conversation is waited for; one that isn't, isn't."""
    report = "The weather office says that it rains in Paris."
    helper = [{"role": "system", "parts": ["You look up."]}, {"role": "user", "parts": ["Paris"]}]
    beside = [{"role": "user", "parts": ["A title, please"]}]
    result = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": report}]}
    found = family(
        trace(
            FIRST,
            chat("h", 2.5, 4, helper, [{"type": "text", "content": report}]),
            chat("title", 2.5, 3, beside, [{"type": "text", "content": "Rain over a city"}]),
            chat("s2", 5, 6, [*HISTORY[:2], result], [SAID]),
        )
    )
    assert sorted(found) == ["t1", "t1/1", "t1/2"]
    main = found["t1"]
    helper_name = next(name for name in found if found[name].turns[0].messages[0]["content"] == "You look up.")
    assert sorted(main.turns[0].spawn) == ["t1/1", "t1/2"]
    assert main.turns[1].join == [helper_name]
    assert (main.turns[1].delay_s, main.turns[1].delay_kind) == (1.0, "subagent")


def test_an_edited_history_is_sent_whole() -> None:
    """A prompt with most of the one before, but not all, belongs to the session and stands there whole."""
    edited = [
        *HISTORY[:2],
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "(cut)"}]},
    ]
    later = [*edited, {"role": "assistant", "parts": [SAID]}, {"role": "user", "parts": ["And?"]}]
    turns = only(otel, trace(FIRST, SECOND, chat("s3", 9, 10, later, [SAID]))).turns
    assert [turn.history_reset for turn in turns] == [None, None, "edit"]
    assert len(turns[2].messages) == 5


def test_an_answer_is_as_the_next_prompt_has_it() -> None:
    """Blanks that the client changed are changed in what is played; reasoning that it dropped stays."""
    first = chat(
        "s1", 0, 1, [ASK], [{"type": "reasoning", "content": "Hm."}, {"type": "text", "content": " It rains."}]
    )
    second = chat("s2", 2, 3, [ASK, {"role": "assistant", "parts": [SAID]}, {"role": "user", "parts": ["So?"]}], [SAID])
    turns = only(otel, trace(first, second)).turns
    assert turns[0].assistant == {"role": "assistant", "content": "It rains.", "reasoning_content": "Hm."}
    assert turns[1].history_reset is None


def test_a_span_that_was_exported_twice_is_one_call() -> None:
    """The same call with another span id isn't a second turn."""
    assert len(only(otel, trace(FIRST, FIRST | {"span_id": "again"}, SECOND)).turns) == 2


def test_what_cant_be_played_is_named() -> None:
    """Failed calls, strange roles, spans without a time and without anything to send are skipped with their line."""
    failed = FIRST | {"span_id": "f", "status": {"code": 2}}
    strange = chat("q", 0, 1, [{"role": "narrator", "content": "x"}], [SAID])
    image = {"role": "user", "parts": [{"type": "blob", "modality": "image", "content": "x"}, "And?"]}
    rows = [7, {"spans": []}, trace(failed), trace(strange), trace(span("n", 0, 1)), trace({"attributes": {}})]
    assert texts(otel, *rows, trace(chat("i", 0, 1, [image], [SAID]), name="t7")) == [
        "rows.jsonl:1: skipped: the row is no JSON object",
        "rows.jsonl:2: skipped: the row has no spans",
        "rows.jsonl:6: skipped: the span None doesn't say when it began",
        "rows.jsonl:4: skipped: the span 'q': a message has the role 'narrator'",
        "rows.jsonl:5: skipped: the span 'n': it has neither messages nor a count of input tokens",
        "rows.jsonl:3: skipped: the span 'f': the call ended in an error",
        "rows.jsonl:7: 't7': left out: parts that are no text (1)",
    ]


def test_a_call_without_content_among_others_with_it_is_skipped() -> None:
    """It isn't known where it belongs."""
    assert texts(otel, trace(FIRST, counted("n", 3, 4, 9, 1))) == [
        "rows.jsonl:1: skipped: a call of 't1' has no messages, where others have"
    ]


def test_spans_that_stand_in_a_circle_are_read() -> None:
    """A span that is its own ancestor belongs to nobody else."""
    loop = [span("a", 0, 9, "invoke_agent", parent_span_id="b"), span("b", 0, 9, "invoke_agent", parent_span_id="a")]
    assert len(family(trace(*loop, counted("c", 1, 2, 9, 1, parent_span_id="a")))) == 1


PARTS = objects_of(
    {"type": st.sampled_from(["text", "tool_call", "tool_call_response", "reasoning", "blob"])}
    | {"content": WORDS, "id": WORDS, "name": WORDS, "arguments": VALUES, "response": VALUES}
)
MESSAGES = st.lists(
    objects_of(
        {"role": st.sampled_from(["system", "user", "assistant", "tool"]), "parts": st.lists(PARTS, max_size=3)}
        | {"content": WORDS, "tool_calls": VALUES, "tool_call_id": WORDS}
    ),
    max_size=4,
)
ATTRIBUTES = objects_of(
    {
        "gen_ai.operation.name": st.sampled_from(["chat", "execute_tool", "invoke_agent"]),
        "gen_ai.input.messages": MESSAGES,
        "gen_ai.output.messages": MESSAGES,
        "gen_ai.system_instructions": VALUES,
        "gen_ai.tool.definitions": st.lists(objects_of({"name": WORDS, "parameters": VALUES})),
        "gen_ai.usage.input_tokens": NUMBERS,
        "gen_ai.usage.output_tokens": NUMBERS,
        "gen_ai.response.finish_reasons": VALUES,
        "gen_ai.conversation.id": WORDS,
        "gen_ai.prompt.0.role": WORDS,
        "gen_ai.prompt.0.tool_calls.1.name": WORDS,
    }
)
NAMES = st.sampled_from(["a", "b", "c", "d"])
SPANS = objects_of(
    {"span_id": NAMES, "parent_span_id": NAMES, "name": WORDS, "attributes": ATTRIBUTES, "status": VALUES}
    | {
        "start_time": NUMBERS,
        "end_time": NUMBERS,
        "events": st.lists(objects_of({"name": WORDS, "attributes": VALUES})),
    }
)


@settings(max_examples=50)
@given(st.lists(objects_of({"trace_id": NAMES, "spans": st.lists(SPANS, max_size=6)}) | VALUES, max_size=3))
def test_anything_is_read(values: list[Any]) -> None:
    """No spans make the importer fail."""
    survives(otel, values)


@given(st.lists(objects_of({"resourceSpans": VALUES | st.lists(objects_of({"scopeSpans": VALUES}))}), max_size=3))
def test_any_batch_is_read(values: list[Any]) -> None:
    """No batch of OTLP makes the importer fail."""
    survives(otel, values)
