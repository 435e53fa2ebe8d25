"""What `--memory-source` takes, and what of it is written down."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.experiment.memory_source import NAMED, MemorySource, parse_memory_source, without_secrets


@pytest.mark.parametrize("name", NAMED)
def test_names_are_sources(name: str) -> None:
    """Each is its own kind."""
    assert parse_memory_source(f" {name} ") == MemorySource(name)


@pytest.mark.parametrize(
    ("text", "url", "metric", "unit"),
    [
        ("http://h:9400/metrics", "http://h:9400/metrics", None, "B"),
        ("https://h", "https://h/metrics", None, "B"),
        ("http://[::1]:9400/gpu#my_used", "http://[::1]:9400/gpu", "my_used", "B"),
        ("http://h:1/#my:used=MiB", "http://h:1/metrics", "my:used", "MiB"),
    ],
)
def test_addresses_are_exporters(text: str, url: str, metric: str | None, unit: str) -> None:
    """Without a path it is /metrics; behind # stands a metric and its unit."""
    assert parse_memory_source(text) == MemorySource("exporter", url=url, metric=metric, unit=unit)


def test_commands_are_words() -> None:
    """As a shell splits them, but none reads them."""
    assert parse_memory_source("command:ssh gpu 'cat /x y' $HOME").command == ("ssh", "gpu", "cat /x y", "$HOME")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nvml", "a memory source is auto, none, process, nvidia, amd, apple"),
        ("", "a memory source is"),
        ("command:", "name a command"),
        ("command:'", "No closing quotation"),
        ("http://", "is http://HOST:PORT/metrics"),
        ("http://user:pass@h/metrics", "holds no user, password or query"),
        ("http://h/metrics?key=secret", "holds no user, password or query"),
        ("http://h/metrics#my-used", "'my-used' is no metric name"),
        ("http://h/metrics#used=kg", "'used=kg' is no metric name"),
    ],
)
def test_anything_else_is_refused_without_repeating_secrets(text: str, message: str) -> None:
    """One sentence that says what may be written."""
    with pytest.raises(ValueError, match=message) as caught:
        parse_memory_source(text)
    assert "pass@" not in str(caught.value)
    assert "secret" not in str(caught.value)


@given(st.text(max_size=30), st.sampled_from(["", "command:", "http://", "http://h#", "https://["]))
def test_any_text_is_a_source_or_refused(text: str, begin: str) -> None:
    """No other error comes out of it, and what is a source can be written down and read again."""
    try:
        parse_memory_source(begin + text)
    except ValueError:
        return
    parse_memory_source(without_secrets(begin + text))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("nvidia", "nvidia"),
        ("http://h/metrics#used", "http://h/metrics#used"),
        ("command:nvidia-smi --query-gpu=memory.used", "command:nvidia-smi --query-gpu=memory.used"),
        ("command:curl -H 'Authorization: Bearer abc' http://h", "command:curl -H '***' http://h"),
        ("command:get --token abc --other x", "command:get --token '***' --other x"),
        ("command:get --api-key=abc", "command:get '***'"),
        ("command:env MY_TOKEN=abc get", "command:env '***' get"),
    ],
)
def test_keys_in_commands_are_not_written_down(text: str, written: str) -> None:
    """Words that may hold one are masked; the rest stays readable."""
    assert without_secrets(text) == written
    assert "abc" not in written
