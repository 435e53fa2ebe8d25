"""Lists of CPUs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.errors import ExperimentError
from loadgen.experiment.build import experiment
from loadgen.experiment.candidates import on_cpus, variants_from_commands
from loadgen.experiment.cpus import cpu_set


@pytest.mark.parametrize(
    ("text", "cpus"), [("0", {0}), ("0-3", {0, 1, 2, 3}), ("0,2,4-6", {0, 2, 4, 5, 6}), (" 1 , 3 ", {1, 3})]
)
def test_lists_and_ranges_are_read(text: str, cpus: set[int]) -> None:
    """As taskset writes them."""
    assert cpu_set(text) == cpus


@pytest.mark.parametrize("text", ["", "a", "3-1", "1,,2", "-1", "0-99999999", "1.5"])
def test_anything_else_is_refused(text: str) -> None:
    """A typing error is no set of CPUs."""
    with pytest.raises(ValueError, match="no list of CPUs"):
        cpu_set(text)


@given(st.sets(st.integers(0, 500), min_size=1))
def test_a_list_of_numbers_is_those_numbers(cpus: set[int]) -> None:
    """Whatever the order."""
    assert cpu_set(",".join(map(str, cpus))) == cpus


def test_the_option_goes_to_every_launched_server() -> None:
    """Both sides of a comparison run on the same CPUs, and a bad list is refused by its option's name."""
    variants = variants_from_commands([["llama-server", "-m", "m.gguf", "--spec-type", "ngram-simple"]])
    assert [variant.cpus for variant in on_cpus(variants, "0-2")] == ["0-2", "0-2"]
    with pytest.raises(ExperimentError, match="--server-cpus: 'all' is no list"):
        on_cpus(variants, "all")
    with pytest.raises(ExperimentError, match="cpus"):
        experiment(
            variants=[{"kind": "embedded", "name": "off", "cpus": "x"}],
            baseline="off",
            levels=(1,),
        )
