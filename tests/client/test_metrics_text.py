"""Metrics pages, as servers really send them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.client.metrics_text import read_metrics

PAGE = b"""# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed
# TYPE llamacpp:prompt_tokens_total counter
llamacpp:prompt_tokens_total 1600
# TYPE llamacpp:requests_processing gauge
llamacpp:requests_processing 2
llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="0"} 41
llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="1"} 17.5
"""
VALUES = {
    "llamacpp:prompt_tokens_total": 1600.0,
    "llamacpp:requests_processing": 2.0,
    'llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="0"}': 41.0,
    'llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="1"}': 17.5,
}


def test_samples_are_read_by_name_and_labels() -> None:
    """Names keep their colon and suffix, labelled series are told apart."""
    assert read_metrics(PAGE) == VALUES


def test_values_that_are_not_finite_are_dropped_and_the_rest_is_read() -> None:
    """C49: `-nan` before the first decode costs its own line only."""
    page = b"llamacpp:n_busy_slots_per_decode -nan\na NaN\nb +Inf\n" + PAGE
    assert read_metrics(page) == VALUES


def test_a_line_that_cant_be_read_costs_only_itself() -> None:
    """A broken line in the middle of a page loses no other sample."""
    assert read_metrics(b"broken{ 1\nno_value\nx y z\n" + PAGE) == VALUES


def test_a_page_inside_a_json_string_is_unwrapped() -> None:
    """C57: some builds send the whole page quoted and escaped."""
    assert read_metrics(json.dumps(PAGE.decode()).encode()) == VALUES


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<!DOCTYPE html><html>up 1</html>",
        b'{"error":{"code":501,"message":"This server does not support metrics endpoint."}}',
        b'"broken',
        b"[1]",
        b"# HELP only\n",
    ],
)
def test_what_is_no_page_gives_none(body: bytes) -> None:
    """C57: HTML, JSON and pages without samples are not read as samples."""
    assert read_metrics(body) is None


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_body_is_a_page_or_none(body: bytes) -> None:
    """No body raises, and whatever is read is finite."""
    values = read_metrics(body)
    assert values is None or all(value - value == 0 for value in values.values())
