"""Limits for single classes of a mix, as the command line and a file write them."""

import re
from typing import Any

import pytest
import yaml

from loadgen.errors import ExperimentError
from loadgen.experiment.build import experiment, published
from loadgen.experiment.document import parse_experiment
from loadgen.experiment.file_model import file_schema
from loadgen.experiment.slo import ClassLimits, Slo, parse_slo
from tests.experiment.json_schema import JsonSchema

FILE = "variants: [{name: off, url: http://h}]\nmix: {chat: 1, batch: 3}\n"


def test_a_limit_before_which_a_class_stands_is_for_that_class() -> None:
    """What stands alone is for all; a class may have an attainment of its own."""
    slo = parse_slo("ttft=2s, chat:tpot=60ms,chat:attainment=99%,batch: task<=10m")
    chat, batch = ClassLimits(tpot_s=0.06, attainment=0.99), ClassLimits(task_s=600)
    assert slo == Slo(ttft_s=2, classes={"chat": chat, "batch": batch})
    assert parse_slo("a:b:ttft=1s").classes == {"a:b": ClassLimits(ttft_s=1)}


def test_a_class_keeps_its_own_limits_over_those_of_all() -> None:
    """Null where no limit applies to it."""
    slo = parse_slo("ttft=2s,attainment=90%,chat:ttft=1s,chat:tpot=60ms,chat:attainment=99%")
    assert slo.of("chat") == Slo(ttft_s=1, tpot_s=0.06, attainment=0.99)
    assert slo.of("batch") == Slo(ttft_s=2, attainment=0.9)
    assert parse_slo("chat:ttft=1s").of("batch") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (":ttft=2s", "':ttft=2s' names no class before the colon; write CLASS:ttft=TIME"),
        ("chat:ttft=2s,chat:ttft=3s", "chat:ttft is given twice"),
        ("chat:ttfb=2s", "'chat:ttfb=2s' is no limit"),
        ("chat:ttft", "'chat:ttft' is no limit"),
        ("chat:ttft=0s", "classes.chat.ttft: Input should be greater than 0"),
        ("chat:attainment=95%", "an objective has one limit at least"),
    ],
)
def test_what_is_no_limit_of_a_class_is_said(text: str, message: str) -> None:
    """In the words of the option."""
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_slo(text)


def _file(slo: str) -> dict[str, Any]:
    return parse_experiment(f"{FILE}slo: {slo}", name="f")[0]


def test_a_file_has_classes_under_the_objective() -> None:
    """With and without units; the schema takes what the reader takes, and the run folder keeps it."""
    written = "{ttft: 2s, classes: {chat: {tpot: 60ms, attainment: 99%}, batch: {task_s: 600}}}"
    fields = _file(written)
    assert fields["slo"] == {
        "ttft_s": 2,
        "classes": {"chat": {"tpot_s": 0.06, "attainment": 0.99}, "batch": {"task_s": 600}},
    }
    content = {"variants": [{"name": "off", "url": "http://h"}], "slo": yaml.safe_load(written)}
    assert JsonSchema(file_schema()).fits(content)
    asked = experiment(levels=(1,), **fields)
    assert experiment(**published(asked)) == asked
    assert Slo(**published(asked)["slo"]) == parse_slo("ttft=2s,chat:tpot=60ms,chat:attainment=99%,batch:task=10m")


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            "{ttft: 2s, classes: {chat: {tpt: 60ms}}}",
            "f, line 3: slo.classes.chat: there is no field tpt",
        ),
        ("{ttft: 2s, classes: {chat: {tpot: soon}}}", "f, line 3: slo.classes.chat.tpot: 'soon' is not a duration"),
        ("{ttft: 2s, classes: {chat: {tpot: 1, tpot_s: 1}}}", "f, line 3: tpot and tpot_s are the same"),
        ("{ttft: 2s, classes: {chat: {}}}", "f: slo.classes.chat: a class of an objective has one limit at least"),
        (
            "{ttft: 2s, classes: {talk: {tpot: 1}}}",
            "f: the objective has limits for talk, which is none",
        ),
    ],
)
def test_what_is_wrong_in_a_file_is_said(written: str, message: str) -> None:
    """With the class, the field, and the line where there is one."""
    with pytest.raises(ExperimentError) as caught:
        _file(written)
    assert str(caught.value).startswith(message)
