"""The file's own description: complete, explained, and in agreement with what the file may hold."""

import re
from importlib.resources import files
from typing import Any, get_args

import pytest
import yaml

from loadgen.experiment.document import parse_experiment
from loadgen.experiment.file_model import Kind, VariantEntry, file_schema
from loadgen.experiment.model import Experiment
from loadgen.experiment.variant import (
    LaunchVariant,
    ModelVariant,
    RequestVariant,
    RouterVariant,
    SwitchVariant,
    UrlVariant,
)
from tests.experiment.json_schema import JsonSchema

SCHEMA = file_schema()
VARIANTS = (UrlVariant, LaunchVariant, RouterVariant, ModelVariant, SwitchVariant, RequestVariant)


def template() -> str:
    """What `loadgen init` writes."""
    return files("loadgen.experiment").joinpath("template.yaml").read_text(encoding="utf-8")


def uncommented() -> str:
    """The same with every commented line in it put in."""
    lines = template().splitlines()
    begin = lines.index(
        "levels: 1,2,4                 # agents at work at once: a list [1, 2, 4], or a text such as 1..8"
    )
    field = re.compile(r"^( *)# ((?:- |  )?(?:[a-z_]+|-np):(?: |$).*)$")
    put_in = [field.sub(r"\1\2", line) for line in lines[begin:]]
    return "\n".join(line for line in put_in if not line.strip().startswith("#"))


def plain(text: str) -> Any:
    """YAML as a checker of version 1.2 reads it."""
    return yaml.safe_load(re.sub(r": (on|off)\b", r": '\1'", text))


@pytest.mark.parametrize("text", [template(), uncommented()], ids=["as written", "with everything put in"])
def test_what_init_writes_is_valid(text: str) -> None:
    """It loads, and it fits the schema."""
    fields, _ = parse_experiment(text, name="template")
    assert fields["baseline"] == "off"
    assert JsonSchema(SCHEMA).fits(plain(text))


def test_what_init_writes_shows_everything() -> None:
    """All seven kinds, a matrix, set acceptance and overhead are in it."""
    fields, _ = parse_experiment(uncommented(), name="template")
    names = {variant["name"] for variant in fields["variants"]}
    assert {variant["kind"] for variant in fields["variants"]} == set(get_args(Kind))
    assert {"off", "mtp-n1-np4-L1.5", "mtp-n3-np6-L3.5", "mtp-n3-np6-overhead", "ngram", "draft-n3-np4"} <= names


@pytest.mark.parametrize(
    "text",
    [
        "variants: [{name: 7, url: http://h}]\nlevels: 4\ntime_budget: 900\nwait: 1m30s\nbaseline: 7",
        "base: {args: [-np, 4]}\nvariants: [{name: a, program: p, args: {-kvu: true, -c: null, --lora: [x, y]}}]",
        "variants: [{name: a, kind: switch, url: http://h, command: [a, 1], env: {A: null, B: 1, C: true}}]",
        """
matrix: {--spec-draft-n-max: [0, 3], -kvu: [true, null]}
variants: [{name: a, program: p, args: --spec-type draft-mtp, synthetic_acceptance: [1, 2.5], overhead: true}]
""",
    ],
)
def test_files_that_load_fit_the_schema(text: str) -> None:
    """Every form in which a value may be written."""
    parse_experiment(text, name="f")
    assert JsonSchema(SCHEMA).fits(plain(text))


@pytest.mark.parametrize(
    "text",
    [
        "levels: 1",
        "variants: []",
        "variants: [{name: a, url: http://h, prest: x}]",
        "variants: [{name: a, kind: lunch}]",
        "variants: [{name: a, program: p, args: [[x]]}]",
        "variants: [{name: a, url: http://h}]\nmatrix: {np: [1]}",
        "variants: [{name: a, url: http://h}]\ntime_budget: soon",
        "variants: [{name: a, url: http://h}]\nmin_effect: 2",
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(text: str) -> None:
    """Slips are seen in an editor."""
    assert not JsonSchema(SCHEMA).fits(plain(text))


def test_the_schema_says_what_it_is_and_explains_every_field() -> None:
    """Draft 2020-12; no field is without a sentence."""
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert set(SCHEMA["$defs"]) == {"BaseEntry", "VariantEntry", "DeadlinesEntry", "LimitsEntry", "SloEntry"}
    for model in (SCHEMA, *SCHEMA["$defs"].values()):
        assert [name for name, field in model["properties"].items() if not field.get("description")] == []
        assert model["additionalProperties"] is False


def test_the_file_has_every_field_of_the_experiment_and_its_variants() -> None:
    """What the command line can ask for, a file can; but a race and a gate are made by their commands."""
    assert set(Experiment.model_fields) - {"tune", "at_least", "fail_on"} <= set(SCHEMA["properties"])
    for variant in VARIANTS:
        assert set(variant.model_fields) <= set(VariantEntry.model_fields)
