"""Rules of label values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.metrics.labels import MOST, alias, model_of, series_of, shortened
from loadgen.metrics.scope import Scope
from tests.analysis.conftest import Maker

MAKE = Maker()


@given(st.text(max_size=300))
def test_any_value_becomes_short_printable_and_stable(text: str) -> None:
    """At most 64 characters on one line, the same each time; what fits and prints stays as it is."""
    found = shortened(text)
    assert found == shortened(text)
    assert len(found) <= MOST
    assert found.isprintable()
    if len(text) <= MOST and text.isprintable():
        assert found == text


def test_long_values_are_told_apart_by_a_digest() -> None:
    """Two paths of 10,000 characters that differ in the last one have different labels."""
    one, other = shortened("/models/" + "x" * 10_000 + "a"), shortened("/models/" + "x" * 10_000 + "b")
    assert one != other
    assert one[:50] == other[:50]
    assert one.startswith("/models/xxx")


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("qwen3-mtp", "qwen3-mtp"),
        ("/models/qwen3.5-9b-q4.gguf", "qwen3.5-9b-q4"),
        ("C:\\models\\m.gguf", "m"),
        ("unsloth/gemma-3-270m", "gemma-3-270m"),
        (None, None),
        ("", None),
    ],
)
def test_a_model_is_called_by_its_alias_or_file(model: str | None, name: str | None) -> None:
    """No folder gets into a label: they differ between machines, and the series is to go on."""
    assert alias(model) == name


def test_the_series_is_the_users_or_the_baselines_model() -> None:
    """`--series` goes before the alias of the baseline's model, whichever server came up first."""
    starts = [MAKE.start("mtp", model="/m/other.gguf"), MAKE.start("off", model="/m/base.gguf")]
    assert series_of(MAKE.manifest(["off", "mtp"]), starts) == "base"
    assert series_of(MAKE.manifest(["off", "mtp"], series="nightly 4090"), starts) == "nightly 4090"
    assert model_of(MAKE.manifest(["off", "mtp"], series="nightly 4090"), starts) == "base"
    assert series_of(MAKE.manifest(["off"]), []) == "unnamed"


def test_fixed_depths_are_workloads_of_their_own() -> None:
    """Cells at another prompt depth have other labels; without fixed depths the workload's name stands alone."""
    scope = Scope("s", "chat")
    assert scope.cell("mtp", 4) == ("s", "chat", "mtp", "4")
    assert scope.cell("mtp", 4, 2048) == ("s", "chat@2048", "mtp", "4")
