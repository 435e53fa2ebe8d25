"""Classes of work that run together: how they are written, and how agents are divided among them."""

import contextlib
import math
import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from loadgen.errors import ExperimentError
from loadgen.experiment.build import experiment, published
from loadgen.experiment.document import parse_experiment
from loadgen.experiment.file_model import file_schema
from loadgen.experiment.mix import Share, divided, division, division_lines, is_even, label, read_mix
from tests.experiment.json_schema import JsonSchema

VARIANTS = "variants: [{name: off, url: http://h}]"
CHAT, BATCH = Share(workload="chat", weight=1), Share(workload="batch-agents-4k", weight=3)


@pytest.mark.parametrize(
    ("weights", "level", "agents"),
    [
        ((1, 3), 4, (1, 3)),
        ((1, 3), 8, (2, 6)),
        ((1, 3), 1, (0, 1)),
        ((1, 3), 2, (1, 1)),
        ((1, 3), 3, (1, 2)),
        ((1, 1), 1, (1, 0)),
        ((1, 1, 1), 2, (1, 1, 0)),
        ((0.1, 0.2), 3, (1, 2)),
        ((0.1, 0.2), 30, (10, 20)),
        ((1, 1e-9), 4, (4, 0)),
        ((2, 2, 1), 4, (2, 1, 1)),
    ],
)
def test_agents_go_to_the_largest_remainders(weights: tuple[float, ...], level: int, agents: tuple[int, ...]) -> None:
    """Whole parts of the quotas first; of equal remainders the class that was named first gets the agent."""
    assert divided(weights, level) == agents


@given(
    st.lists(st.floats(min_value=1e-6, max_value=1e6), min_size=2, max_size=6), st.integers(min_value=1, max_value=512)
)
def test_a_division_gives_every_agent_away_and_keeps_to_the_quotas(weights: list[float], level: int) -> None:
    """All agents have a class, and no class is off its quota by a whole agent."""
    counts = divided(weights, level)
    assert sum(counts) == level
    for count, weight in zip(counts, weights, strict=True):
        assert abs(count - level * weight / math.fsum(weights)) < 1 + 1e-6


def test_a_division_is_told_by_class_and_level() -> None:
    """With the classes that have no agent at a level."""
    assert division([CHAT, BATCH], 4) == {"chat": 1, "batch-agents-4k": 3}
    assert division_lines([CHAT, BATCH], (1, 4)) == [
        "at 1: batch-agents-4k 1; none for chat",
        "at 4: chat 1, batch-agents-4k 3",
    ]
    assert [is_even([CHAT, BATCH], levels) for levels in ((4, 8), (4,), (1, 4), (4, 6))] == [True, True, False, False]


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("chat:1,batch-agents-4k:3", [CHAT, BATCH]),
        (" chat , batch-agents-4k : 3 ", [CHAT, BATCH]),
        ("chat:0.5,a/b:c.yaml:2", [Share(workload="chat", weight=0.5), Share(workload="a/b:c.yaml", weight=2)]),
    ],
)
def test_a_text_names_workloads_and_weights(text: str, shares: list[Share]) -> None:
    """Without a weight it is 1; a path with a colon has its weight behind the last one."""
    assert list(read_mix(text)) == shares


@pytest.mark.parametrize(
    ("workload", "name"),
    [
        ("chat", "chat"),
        ("mine/agents.yaml", "agents"),
        ("runs/x.jsonl.gz", "x"),
        ("batch.agents", "batch.agents"),
        (".yaml", ".yaml"),
    ],
)
def test_a_class_is_called_as_its_workload(workload: str, name: str) -> None:
    """A file by its name without folder and endings."""
    assert Share(workload=workload).name == name


def test_a_mix_is_labelled_by_its_classes() -> None:
    """As the command line writes it."""
    assert label([Share(workload="x/chat.yaml", weight=1), BATCH]) == "chat:1,batch-agents-4k:3"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a class of work has no name; write WORKLOAD:WEIGHT, such as chat:1,batch-agents-4k:3"),
        ("chat:1,", "a class of work has no name"),
        (":2,chat", "a class of work has no name"),
        ("chat:x,b:1", "chat: 'x' is no weight; write a number above 0"),
        ("chat:0,b:1", "chat: '0' is no weight"),
        ("chat:-1,b:1", "chat: '-1' is no weight"),
        ("chat:inf,b:1", "chat: 'inf' is no weight"),
        ("chat:nan,b:1", "chat: 'nan' is no weight"),
        ("chat:,b:1", "chat: '' is no weight"),
    ],
)
def test_what_is_no_mix_is_said(text: str, message: str) -> None:
    """With the class that it is about."""
    with pytest.raises(ValueError, match=re.escape(message)):
        read_mix(text)


@given(st.text(alphabet=st.sampled_from("abc:,.13e- /"), max_size=16) | st.text(max_size=12))
def test_any_text_is_classes_with_weights_or_a_value_error(text: str) -> None:
    """No text makes the parser fail in another way."""
    with contextlib.suppress(ValueError):
        for share in read_mix(text):
            assert share.name
            assert 0 < share.weight < math.inf


def _asked(**fields: Any) -> Any:
    variants = [{"kind": "url", "name": "off", "url": "http://h"}]
    return experiment(variants=variants, baseline="off", levels=(1, 4), **fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"mix": "chat:1,b:1", "workload": "demo"}, "a mix names its own workloads"),
        ({"mix": "chat:1"}, "a mix has two classes at least; one alone is a workload"),
        ({"mix": {}}, "a mix has two classes at least"),
        ({"mix": "x/chat.yaml:1,chat:2"}, "two classes of the mix are called chat"),
        ({"mix": "chat,b", "depths": (2048,)}, "fixed depths are measured of one workload"),
        ({"mix": "chat,b", "history": "frozen"}, "frozen history is recorded of one workload"),
        ({"mix": "chat,b", "slo": {"classes": {"c": {"ttft_s": 1}}}}, "limits for c, which is none of the classes"),
        ({"slo": {"classes": {"c": {"ttft_s": 1}}}}, "limits for the class c, and there is no mix of classes"),
        ({"mix": {"chat": True, "b": 1}}, "mix: chat: True is no weight"),
        ({"mix": {"": 1, "b": 1}}, "mix: a class of work has no name"),
    ],
)
def test_a_mix_that_cannot_be_run_is_refused(fields: dict[str, Any], message: str) -> None:
    """In a sentence that says what to leave out."""
    with pytest.raises(ExperimentError, match=re.escape(message)):
        _asked(**fields)


def test_a_mix_is_published_and_read_back() -> None:
    """As a run folder keeps it."""
    asked = _asked(mix="chat:1,batch-agents-4k:3", slo={"ttft_s": 2, "classes": {"chat": {"tpot_s": 0.06}}})
    plan = published(asked)
    assert plan["mix"] == [{"workload": "chat", "weight": 1.0}, {"workload": "batch-agents-4k", "weight": 3.0}]
    assert experiment(**plan) == asked
    assert published(_asked())["mix"] is None


@pytest.mark.parametrize("written", ["{chat: 1, batch-agents-4k: 3}", "chat:1,batch-agents-4k:3"])
def test_a_file_writes_a_mapping_or_a_text(written: str) -> None:
    """In the order in which the classes stand; the schema takes both."""
    fields, _ = parse_experiment(f"{VARIANTS}\nmix: {written}", name="f")
    assert list(fields["mix"]) == [CHAT, BATCH]
    content = {"variants": [{"name": "off", "url": "http://h"}], "mix": yaml.safe_load(written)}
    assert JsonSchema(file_schema()).fits(content)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{chat: x, b: 1}", "f, line 2: mix: chat: 'x' is no weight"),
        ("{chat: 1}", "f: a mix has two classes at least"),
        ("{chat: 1, b: 1}\nworkload: demo", "f: a mix names its own workloads"),
        ("7", "f, line 2: mix: write a list"),
    ],
)
def test_what_is_wrong_in_a_file_is_said(written: str, message: str) -> None:
    """With the line where there is one."""
    with pytest.raises(ExperimentError) as caught:
        parse_experiment(f"{VARIANTS}\nmix: {written}", name="f")
    assert str(caught.value).startswith(message)
