"""Option texts become values, or one clear sentence."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.cli.option_values import parse_body, parse_levels, run_folder, seconds, size
from loadgen.cli.sweep import url_variants
from loadgen.errors import ExperimentError


@pytest.mark.parametrize(
    ("text", "levels"),
    [("1", (1,)), ("1,2,4", (1, 2, 4)), ("8,1,8", (1, 8)), ("1..4", (1, 2, 3, 4)), ("1..2, 8", (1, 2, 8))],
)
def test_levels_are_lists_and_ranges(text: str, levels: tuple[int, ...]) -> None:
    """Levels come out ascending, each once."""
    assert parse_levels(text) == levels


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0", "starts at 1"),
        ("abc", "'abc' is no number"),
        ("", "is no number"),
        ("1,,2", "is no number"),
        ("4..1", "runs backwards"),
        ("-1", "is no number"),
        ("1.5", "is no number"),
        ("1..100000", "can't be run"),
        ("99999", "can't be run"),
    ],
)
def test_other_levels_are_refused(text: str, message: str) -> None:
    """A wrong -c is a usage error that names what is wrong."""
    with pytest.raises(ExperimentError, match=message) as caught:
        parse_levels(text)
    assert caught.value.exit_code == 2


@given(st.text(max_size=20))
def test_any_level_text_gives_levels_or_a_usage_error(text: str) -> None:
    """No text makes the parser fail in another way."""
    try:
        levels = parse_levels(text)
    except ExperimentError:
        return
    assert levels == tuple(sorted(set(levels)))
    assert min(levels) >= 1


def test_body_values_are_json_or_text() -> None:
    """Numbers, booleans and objects keep their type; everything else is text, also with an equals sign in it."""
    body = parse_body(["temperature=0.6", "cache_prompt=false", "grammar=a=b", 'x={"y": 1}'])
    assert body == {"temperature": 0.6, "cache_prompt": False, "grammar": "a=b", "x": {"y": 1}}


@pytest.mark.parametrize("field", ["temperature", "=1", "stream=false", "max_tokens=5"])
def test_body_fields_that_break_the_measurement_are_refused(field: str) -> None:
    """What loadgen sets itself can't be overwritten, and a field needs a value."""
    with pytest.raises(ExperimentError):
        parse_body([field])


def test_a_wrong_duration_names_its_option() -> None:
    """The message says which option is wrong."""
    with pytest.raises(ExperimentError, match="--time-budget: 'soon' is not a duration"):
        seconds("--time-budget", "soon")


def test_a_wrong_size_names_its_option() -> None:
    """The message says which option is wrong."""
    assert size("--memory-budget", "24GiB") == 24 << 30
    with pytest.raises(ExperimentError, match="--memory-margin: 'much' is not a size such as 24GiB"):
        size("--memory-margin", "much")


def test_the_run_folder_is_the_users_or_dated() -> None:
    """--out wins; else runs are told apart by their time."""
    assert run_folder(Path("x"), "ab") == Path("x")
    assert run_folder(None, "ab").parent == Path("runs")
    assert run_folder(None, "ab").name.endswith("-ab")


def test_a_url_alone_is_one_variant() -> None:
    """One server is one variant called `server`."""
    assert url_variants("http://h:1", [], None) == [
        {"kind": "url", "name": "server", "url": "http://h:1", "model": None}
    ]


def test_named_urls_are_variants_in_their_order() -> None:
    """The first named server is the baseline; an address may hold equals signs."""
    variants = url_variants(None, ["off=http://h:1", "mtp=http://h:2/a=b"], "m")
    assert [(v["name"], v["url"]) for v in variants] == [("off", "http://h:1"), ("mtp", "http://h:2/a=b")]


@pytest.mark.parametrize(("url", "named"), [(None, []), ("http://h", ["a=http://h"]), (None, ["http://h:1"])])
def test_servers_must_be_named_one_way(url: str | None, named: list[str]) -> None:
    """Neither, both, or a variant without a name: a sentence says how to name servers."""
    with pytest.raises(ExperimentError):
        url_variants(url, named, None)
