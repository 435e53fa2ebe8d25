"""Which log is whose, and what is no log."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.errors import ExperimentError
from loadgen.experiment.model import Experiment
from loadgen.experiment.server_log import ServerLog, parse_server_log, with_server_logs
from loadgen.experiment.variant import LaunchVariant, UrlVariant

URL = "http://127.0.0.1:8080"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/var/log/llama.log", ServerLog("file", "/var/log/llama.log")),
        ("  a=b.log ", ServerLog("file", "a=b.log")),
        ("journal:llama@8080.service", ServerLog("journal", "llama@8080.service")),
        ("docker:llama_server-1", ServerLog("docker", "llama_server-1")),
        ("./docker:x", ServerLog("file", "./docker:x")),
    ],
)
def test_a_log_is_a_file_a_unit_or_a_container(text: str, expected: ServerLog) -> None:
    """What is written back reads the same again."""
    assert parse_server_log(text) == expected
    assert parse_server_log(str(expected)) == expected


@pytest.mark.parametrize("text", ["", "  ", "journal:", "journal:-f", "docker:", "docker:--all", "docker:a b", "a\0b"])
def test_what_names_no_log_is_refused(text: str) -> None:
    """Nor what a program would take for an option."""
    with pytest.raises(ValueError, match=r"is no name of|is FILE, journal:UNIT or docker:NAME"):
        parse_server_log(text)


@given(st.text(max_size=40))
def test_any_text_is_a_log_or_refused(text: str) -> None:
    """No other error comes out of it."""
    try:
        found = parse_server_log(text)
    except ValueError:
        return
    assert found.name.strip()


def running(*names: str) -> list[dict[str, Any]]:
    """Servers that run already."""
    return [{"kind": "url", "name": name, "url": URL, "model": name} for name in names]


def test_a_log_alone_is_that_of_the_only_server_that_runs_already() -> None:
    """Beside one that loadgen starts; fields and objects are both taken."""
    started = LaunchVariant(name="mtp", program="llama-server")
    assert with_server_logs([*running("off"), started], ["a=b.log"]) == [
        {**running("off")[0], "server_log": "a=b.log"},
        started,
    ]
    (found,) = with_server_logs([UrlVariant(name="off", url=URL)], ["docker:x"])
    assert found.server_log == "docker:x"


def test_logs_are_given_by_name() -> None:
    """Each to its own; one without is left as it is."""
    found = with_server_logs(running("off", "mtp", "ngram"), ["mtp=journal:mtp", "off=/l=1"])
    assert [one.get("server_log") for one in found] == ["/l=1", "journal:mtp", None]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["x.log"], "say whose log it is, such as off=x.log"),
        (["on=x.log"], "say whose log it is, such as off=on=x.log"),
        (["own=x.log"], "loadgen starts the server of own itself"),
        (["off=docker:"], "is no name of a container"),
    ],
)
def test_what_can_not_be_told_is_one_sentence(texts: list[str], message: str) -> None:
    """With the option's name."""
    variants = [*running("off", "mtp"), LaunchVariant(name="own", program="llama-server")]
    with pytest.raises(ExperimentError, match=message) as caught:
        with_server_logs(variants, texts)
    assert str(caught.value).startswith("--server-log")


def test_loadgens_own_servers_need_no_log_named() -> None:
    """Their logs are in the run folder."""
    with pytest.raises(ExperimentError, match="loadgen starts every server itself"):
        with_server_logs([LaunchVariant(name="own", program="llama-server")], ["x.log"])


def test_equal_servers_with_other_logs_are_still_equal() -> None:
    """A log says nothing of what is measured."""
    variants = [{**one, "model": None, "server_log": f"{one['name']}.log"} for one in running("off", "mtp")]
    with pytest.raises(ValueError, match="the same as the baseline"):
        Experiment.model_validate({"variants": variants, "baseline": "off", "levels": (1,)})
