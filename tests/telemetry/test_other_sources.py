"""The user's own command, Apple machines, and numbers as drivers tell them."""

import math
import os
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.telemetry.apple import AppleMemory
from loadgen.telemetry.command import CommandMemory
from loadgen.telemetry.source import Reading, SourceError
from loadgen.telemetry.told import identity, keys, number

MIB = 1 << 20


def command(*words: str, timeout_s: float = 20.0, environment: dict[str, str] | None = None) -> CommandMemory:
    """A command with little around it."""
    return CommandMemory(words, environment={"PATH": os.environ["PATH"], **(environment or {})}, timeout_s=timeout_s)


def python(text: str, **options: Any) -> CommandMemory:
    """A command that is a piece of Python."""
    return command(sys.executable, "-c", text, **options)


@pytest.mark.parametrize(
    ("printed", "used"), [("7680819200", 7680819200), ("7325 MiB\\n", 7325 * MIB), (" 2G", 2 << 30)]
)
def test_a_command_prints_bytes_or_a_size(printed: str, used: int) -> None:
    """A number is bytes, a unit is heeded."""
    assert command("printf", printed).read() == [Reading("used_bytes", used)]


def test_no_shell_reads_the_command() -> None:
    """Its words are arguments, whatever is in them."""
    assert command("printf", "%s", "12").read() == [Reading("used_bytes", 12)]
    with pytest.raises(SourceError, match="printed no number"):
        command("echo", "$((1+1))").read()


@pytest.mark.parametrize("printed", ["[N/A]", "", "-1", "nan", "inf", "12 34", "9" * 400])
def test_what_is_no_number_is_no_reading(printed: str) -> None:
    """C66: `[N/A]` as nvidia-smi prints it is not 0; the text itself is not repeated."""
    with pytest.raises(SourceError, match="the command printed no number of bytes, nor a size such as 7325 MiB"):
        command("printf", "%s", printed).read()


def test_a_command_that_fails_is_one_sentence() -> None:
    """Not there, an exit code, too late with a child that holds the pipe, or an endless output."""
    with pytest.raises(SourceError, match="can't be run: No such file or directory"):
        command("/no/such/program").read()
    with pytest.raises(SourceError, match="ended with exit code 3"):
        python("raise SystemExit(3)").read()
    with pytest.raises(SourceError, match=r"did not end within 0\.2 s"):
        command("sh", "-c", "sleep 60 & sleep 60", timeout_s=0.2).read()
    with pytest.raises(SourceError, match="printed far more than a number"):
        command("yes").read()


def test_a_command_sees_the_variables_that_it_is_given() -> None:
    """And no others."""
    source = python("import os; print(int(os.environ['A']) + ('LOADGEN_KEY' in os.environ))", environment={"A": "41"})
    assert source.read() == [Reading("used_bytes", 41)]


def apple(limit: str | None, memory: str | None = str(32 << 30)) -> AppleMemory:
    """An Apple machine with this limit on wired memory."""
    return AppleMemory({"iogpu.wired_limit_mb": limit, "hw.memsize": memory}.get)


def test_the_gpus_budget_is_its_limit_on_wired_memory() -> None:
    """C75: 26000 MiB, not 32 GiB; where the default holds (0) or nothing is told: null, not 32 GiB."""
    assert apple("26000").read() == [Reading("total_bytes", 26000 * MIB, "unified system memory")]
    for limit in ("0", None, "", "N/A"):
        (reading,) = apple(limit).read()
        assert (reading.value, reading.device) == (None, "unified system memory")
        assert reading.reason is not None
    assert "shares the machine's memory" in apple("0").open()[0]
    with pytest.raises(SourceError, match="no Apple machine"):
        apple(None, None).open()


@pytest.mark.parametrize(
    "told", ["N/A", None, True, (1 << 32) - 1, (1 << 64) - 1, -1, math.nan, math.inf, {"value": "N/A"}, {}, [1], "12"]
)
def test_markers_of_absence_are_no_numbers(told: Any) -> None:
    """C74: texts, all-ones and objects without a number."""
    assert number(told) is None


@pytest.mark.parametrize(("told", "value"), [(0, 0), (5.5, 5.5), ({"value": 0, "unit": "%"}, 0), ({"value": 7}, 7)])
def test_numbers_are_numbers(told: Any, value: float) -> None:
    """C74: also within an object, and zero."""
    assert number(told) == value


@pytest.mark.parametrize("told", ["00000000-0000-0000-0000-000000000000", "GPU-00000000", "N/A", "", None, 7, b"0x0"])
def test_zero_is_no_identity(told: Any) -> None:
    """C74: virtual cards all have it."""
    assert identity(told) is None


@given(st.lists(st.tuples(st.sampled_from([None, "a", "b"]), st.sampled_from([None, "c", "d"])), max_size=6))
def test_devices_have_keys_of_their_own(told: list[tuple[str | None, str | None]]) -> None:
    """Whatever is missing or double, no two share one."""
    first, second = [one for one, _ in told], [one for _, one in told]
    found = keys(first, second, [f"gpu{index}" for index in range(len(told))])
    assert len(set(found)) == len(told)
