"""Rows of Exgentic's data sets become sessions of their spans."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from loadgen.workload.formats import exgentic, recognise
from tests.workload.formats.reading import NUMBERS, VALUES, WORDS, objects_of, only, read, survives, texts

ASK = {"role": "user", "parts": [{"type": "text", "content": "Book a flight."}]}


def run(name: str, **fields: Any) -> dict[str, Any]:
    """A row of the published shape: one call of a model with its content in texts."""
    said = [{"role": "assistant", "parts": [{"type": "text", "content": "Done."}], "finish_reason": "stop"}]
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.input.messages": json.dumps([ASK]),
        "gen_ai.output.messages": json.dumps(said),
        "gen_ai.usage.input_tokens": 40,
        "gen_ai.usage.output_tokens": 3,
    }
    call = {"trace_id": "x", "span_id": "s", "parent_span_id": "r", "name": "chat m", "attributes": attributes}
    call |= {
        "start_time": "2026-02-01T10:00:00.000000",
        "end_time": "2026-02-01T10:00:02.500000",
        "status": {"code": 1},
    }
    root = {"trace_id": "x", "span_id": "r", "name": "tau2 airline session", "attributes": {}} | {
        "start_time": "2026-02-01T09:59:59.000000"
    }
    row = {"harness": "claude_code", "benchmark": "tau2", "models": ["m"], "total_tokens": 43, "session_id": name}
    return row | {"spans": [root, call]} | fields


def test_a_row_is_a_run_of_a_harness() -> None:
    """The session has the row's name and benchmark, its source names harness, licence and model."""
    session = only(exgentic, run("r1"))
    assert (session.session_id, session.task) == ("r1", "tau2")
    assert session.source == {
        "name": "exgentic",
        "licence": "CDLA-Permissive-2.0",
        "harness": "claude_code",
        "benchmark": "tau2",
        "model": "m",
    }
    (turn,) = session.turns
    assert turn.messages == [{"role": "user", "content": "Book a flight."}]
    assert turn.assistant == {"role": "assistant", "content": "Done."}
    assert (turn.input_tokens, turn.output_tokens) == (40, 3)


def test_rows_dont_mix() -> None:
    """Runs with the same trace id are runs of their own; a second row of one name is skipped."""
    sessions, problems = read(exgentic, run("r1"), run("r2"), run("r1"))
    assert [session.session_id for session in sessions] == ["r1", "r2"]
    assert [str(problem) for problem in problems] == ["rows.jsonl:3: skipped: session_id 'r1' stands twice"]


def test_spans_may_be_json_in_a_text() -> None:
    """As a table's cell has them."""
    row = run("r1")
    assert only(exgentic, row | {"spans": json.dumps(row["spans"])}) == only(exgentic, row)


def test_a_row_without_spans_is_named() -> None:
    """It holds nothing to play."""
    assert texts(exgentic, run("r1", spans=[]), "x") == [
        "rows.jsonl:1: skipped: the row has no spans",
        "rows.jsonl:2: skipped: the row is no JSON object",
    ]


def test_its_rows_are_taken_for_nothing_else() -> None:
    """A plain list of spans is no run on a benchmark, and the other way round."""
    found = recognise(run("r1"))
    assert found is not None
    assert found.name == "exgentic"
    plain = recognise({"trace_id": "x", "spans": run("r1")["spans"]})
    assert plain is not None
    assert plain.name == "otel"


SPANS = objects_of({"start_time": NUMBERS, "attributes": VALUES, "name": WORDS})


@given(
    st.lists(
        objects_of({"harness": WORDS, "benchmark": WORDS, "session_id": WORDS, "spans": st.lists(SPANS, max_size=3)}),
        max_size=3,
    )
)
def test_anything_is_read(values: list[Any]) -> None:
    """No rows make the importer fail."""
    survives(exgentic, values)
