"""A gate as JUnit XML, which CI systems show: one test case a criterion and concurrency.

The elements are those that Jenkins, GitLab and GitHub's reporters all read. What can't be told is an `error` and not
`skipped`: the exit code is not 0 then, and a report beside it must not be green.
"""

import re
from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from loadgen.analysis.at_depth import ASKED, deep
from loadgen.report.gate_lines import criterion_text

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML 1.0 document may hold, not even escaped; texts from servers may."""
_TAGS = {"fail": "failure", "unknown": "error"}


def junit(gate: dict[str, Any], *, run: str, started_at: str) -> str:
    """The document of a gate; `run` is the run's id, `started_at` its ISO 8601 time."""
    cases = [_case(one) for one in gate["criteria"]]
    return _document(cases, run=run, started_at=started_at)


def junit_of_error(message: str, *, run: str, started_at: str) -> str:
    """The document of a gate that came to no judgement: one test case, in error."""
    case = Element("testcase", classname="loadgen.gate", name="the run", time="0")
    _outcome(case, "error", message, kind="LoadgenError")
    return _document([case], run=run, started_at=started_at)


def _case(one: dict[str, Any]) -> Element:
    place = "" if one["concurrency"] is None else f" at {one['concurrency']}{deep(one.get(ASKED))}"
    name = f"{one['criterion']} of {one['variant']}{place}"
    case = Element("testcase", classname=f"loadgen.gate.{_clean(one['variant'])}", name=_clean(name), time="0")
    if one["result"] in _TAGS:
        _outcome(case, _TAGS[one["result"]], criterion_text(one), kind=str(one["kind"]))
    else:
        SubElement(case, "system-out").text = _clean(criterion_text(one))
    return case


def _outcome(case: Element, tag: str, text: str, *, kind: str) -> None:
    """The text stands in the attribute and in the element: readers show the one or the other."""
    SubElement(case, tag, message=_clean(text), type=kind).text = _clean(text)


def _document(cases: Sequence[Element], *, run: str, started_at: str) -> str:
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": str(sum(case.find("error") is not None for case in cases)),
        "skipped": "0",
        "time": "0",
    }
    root = Element("testsuites", {"name": "loadgen", **counts})
    about = {"name": f"loadgen gate {_clean(run)}", "timestamp": _clean(started_at)}
    suite = SubElement(root, "testsuite", {**about, **counts})
    suite.extend(cases)
    indent(root)
    text: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return text.decode() + "\n"


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
