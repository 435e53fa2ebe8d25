"""What is asked of a server, as the command line and a file write it."""

import contextlib
import json  # JSON is YAML
import math
import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from loadgen.errors import ExperimentError
from loadgen.experiment.build import experiment, published
from loadgen.experiment.document import parse_experiment
from loadgen.experiment.file_model import file_schema
from loadgen.experiment.slo import LIMITS, Slo, parse_share, parse_slo
from tests.experiment.json_schema import JsonSchema

VARIANTS = "variants: [{name: off, url: http://h}]"


@pytest.mark.parametrize(
    ("text", "slo"),
    [
        ("ttft=2s", Slo(ttft_s=2)),
        ("ttft=2s,tpot=80ms,task=10m,attainment=95%", Slo(ttft_s=2, tpot_s=0.08, task_s=600, attainment=0.95)),
        (" ttft <= 2 , step-gap<1.5s ", Slo(ttft_s=2, step_gap_s=1.5)),
        ("TTFT=2s,step_gap=1s,request_s=30", Slo(ttft_s=2, step_gap_s=1, request_s=30)),
        ("tpot=80ms,attainment=0.9", Slo(tpot_s=0.08, attainment=0.9)),
        ("tpot=80ms,attainment= 100 %", Slo(tpot_s=0.08, attainment=1)),
    ],
)
def test_limits_are_read(text: str, slo: Slo) -> None:
    """Times with and without unit, `<` for `=`, shares with and without percent; 95 % where none is named."""
    assert parse_slo(text) == slo


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is no limit; write ttft=TIME, tpot=TIME, step-gap=TIME, request=TIME, task=TIME"),
        ("ttft", "'ttft' is no limit"),
        ("ttft=2s,", "'' is no limit"),
        ("ttfb=2s", "'ttfb=2s' is no limit"),
        ("ttft=soon", "'soon' is not a duration"),
        ("ttft=", "'' is not a duration"),
        ("ttft=0s", "ttft: Input should be greater than 0"),
        ("ttft=2s,ttft_s=3", "ttft is given twice"),
        ("step-gap=1s,step_gap=1s", "step-gap is given twice"),
        ("attainment=95%", "an objective has one limit at least: ttft, tpot, step_gap, request, task"),
        ("ttft=2s,attainment=95", "'95' is no share; write 95% or 0.95"),
        ("ttft=2s,attainment=0%", "'0%' is no share; write 95% or 0.95"),
        ("ttft=2s,attainment=nan", "'nan' is no share; write 95% or 0.95"),
        ("ttft=2s,attainment=most", "'most' is no share; write 95% or 0.95"),
        (
            "ttft_p95<2s",
            "a limit holds for each request, and attainment says for how many of them: ttft=TIME,attainment=95%",
        ),
        (f"ttft={'9' * 400}s", "ttft: Input should be a finite number"),
    ],
)
def test_what_is_no_objective_is_said(text: str, message: str) -> None:
    """In the words of the option."""
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_slo(text)


@given(st.text(alphabet=st.sampled_from("tpfskrqueaingm_-=<,%.0159 \u0660"), max_size=24) | st.text(max_size=12))
def test_any_text_is_an_objective_or_a_value_error(text: str) -> None:
    """No text makes the parser fail in another way, and what it reads is finite and limits something."""
    with contextlib.suppress(ValueError):
        slo = parse_slo(text)
        assert slo.limits
        assert all(0 < limit < math.inf for limit in slo.limits.values())
        assert 0 < slo.attainment <= 1


@given(
    st.dictionaries(st.sampled_from(LIMITS), st.integers(min_value=1, max_value=10**7), min_size=1),
    st.integers(min_value=1, max_value=100),
)
def test_what_is_written_is_read(limits: dict[str, int], percent: int) -> None:
    """Any limits in milliseconds, under either spelling."""
    for dash in ("-", "_"):
        written = ",".join(f"{name.replace('_', dash)}={value}ms" for name, value in limits.items())
        slo = parse_slo(f"{written},attainment={percent}%")
        assert {name: round(value * 1000) for name, value in slo.limits.items()} == {
            f"{name}_s": value for name, value in limits.items()
        }
        assert slo.attainment == percent / 100


def test_a_share_is_above_0_and_up_to_1() -> None:
    """In percent or not; the least and the most."""
    assert [parse_share(text) for text in ("95%", "0.95", "1", "100%", "0.1%")] == [0.95, 0.95, 1, 1, 0.001]


def test_an_objective_is_finite() -> None:
    """Neither infinity nor NaN is a limit."""
    for value in (math.inf, math.nan):
        with pytest.raises(ValidationError):
            Slo(ttft_s=value)


def _file(slo: str) -> dict[str, Any]:
    return parse_experiment(f"{VARIANTS}\nslo: {slo}", name="f")[0]


@pytest.mark.parametrize(
    ("written", "fields"),
    [
        (
            "{ttft: 2s, tpot: 80ms, task: 10m, attainment: 0.95}",
            {"ttft_s": 2, "tpot_s": 0.08, "task_s": 600, "attainment": 0.95},
        ),
        (
            "{ttft_s: 2, step_gap: 1.5, request: 1m, attainment: 90%}",
            {"ttft_s": 2, "step_gap_s": 1.5, "request_s": 60, "attainment": 0.9},
        ),
        ("{tpot: 0.08}", {"tpot_s": 0.08}),
    ],
)  # fmt: skip
def test_a_file_may_write_it_with_and_without_the_unit(written: str, fields: dict[str, Any]) -> None:
    """As its deadlines; the schema takes what the reader takes, and the experiment publishes it whole."""
    found = _file(written)
    assert found["slo"] == fields
    assert JsonSchema(file_schema()).fits({"variants": [{"name": "off", "url": "http://h"}], "slo": _yaml(written)})
    plan = published(experiment(levels=(1,), **found))["slo"]
    assert plan == {**dict.fromkeys(Slo.model_fields), "attainment": 0.95, **fields}
    assert Slo(**plan) == Slo(**fields)


def _yaml(written: str) -> Any:

    return yaml.safe_load(written)


def test_a_file_without_an_objective_has_none() -> None:
    """Nor has one that says null."""
    assert "slo" not in parse_experiment(VARIANTS, name="f")[0]
    assert "slo" not in _file("null")


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{ttft: 2s, ttft_s: 2}", "f, line 2: ttft and ttft_s are the same: write one of them"),
        ("{}", "f: slo: an objective has one limit at least: ttft, tpot, step_gap, request, task"),
        ("{attainment: 0.9}", "f: slo: an objective has one limit at least"),
        ("{ttft: soon}", "f, line 2: slo.ttft: 'soon' is not a duration"),
        ("{ttft: 0}", "f: slo.ttft_s: Input should be greater than 0"),
        ("{ttft: 2s, attainment: 95}", "f, line 2: slo.attainment: Input should be less than or equal to 1"),
        ("{ttft: 2s, attainment: most}", "f, line 2: slo.attainment: 'most' is no share; write 95% or 0.95"),
        ("ttft=2s", "f, line 2: slo: write a mapping of fields to values"),
    ],
)
def test_what_is_wrong_in_a_file_is_said(written: str, message: str) -> None:
    """With the field, and the line where there is one."""
    with pytest.raises(ExperimentError) as caught:
        _file(written)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("written", ["{tpt: 2s}", "{ttft: soon}", "{ttft: -1}", "{ttft: 2s, attainment: 2}", "[]"])
def test_the_schema_refuses_what_the_reader_refuses(written: str) -> None:
    """Slips are seen in an editor."""
    content = {"variants": [{"name": "off", "url": "http://h"}], "slo": _yaml(written)}
    assert not JsonSchema(file_schema()).fits(content)
    with pytest.raises(ExperimentError):
        parse_experiment(json.dumps(content), name="f")
