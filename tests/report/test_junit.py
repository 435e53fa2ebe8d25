"""A gate as JUnit XML."""

from typing import Any
from xml.etree.ElementTree import Element, fromstring

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.report.junit import junit, junit_of_error
from tests.report.test_gate_lines import PLAIN


def read(text: str) -> Element:
    """The document as an XML parser reads it."""
    return fromstring(text.encode())  # noqa: S314 - our own text


def document(*criteria: dict[str, Any]) -> Element:
    """The document of some criteria."""
    return read(junit({"criteria": list(criteria)}, run="r", started_at="2026-01-01T00:00:00Z"))


def test_every_criterion_is_a_test_case_and_what_can_not_be_told_an_error() -> None:
    """Passed has neither, failed a failure, unknown an error: the counts of suite and root are theirs."""
    root = document(
        {**PLAIN, "result": "pass", "concurrency": 1},
        PLAIN,
        {**PLAIN, "result": "unknown", "concurrency": 8, "more_rounds": 3},
        {**PLAIN, "criterion": "memory_peak<=1GiB", "concurrency": None},
    )
    (suite,) = root
    for element in (root, suite):
        assert [element.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["4", "2", "1", "0"]
    assert suite.get("timestamp") == "2026-01-01T00:00:00Z"
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases] == [
        "speedup>=0.97 of new at 1",
        "speedup>=0.97 of new at 4",
        "speedup>=0.97 of new at 8",
        "memory_peak<=1GiB of new",
    ]
    assert [[child.tag for child in case] for case in cases] == [["system-out"], ["failure"], ["error"], ["failure"]]
    failure = cases[1].find("failure")
    assert failure is not None
    assert (
        failure.get("message")
        == failure.text
        == ("new at 4 agents: speedup 0.912 [0.880, 0.944], at least 0.970: failed.")
    )


@pytest.mark.parametrize("text", ["a\x00b\x1b[31m<&>\"'\ud800", "\ufffe\uffff"])
def test_no_text_breaks_the_document(text: str) -> None:
    """Characters that XML forbids are replaced, the others escaped."""
    (suite,) = document({**PLAIN, "result": "unknown", "reason": text})
    assert suite[0][0].tag == "error"


@given(st.text())
def test_any_message_of_an_error_is_one_test_case_in_error(text: str) -> None:
    """A gate that came to no judgement is no green report."""
    root = read(junit_of_error(text, run=text, started_at="2026-01-01T00:00:00Z"))
    assert (root.get("tests"), root.get("errors")) == ("1", "1")
