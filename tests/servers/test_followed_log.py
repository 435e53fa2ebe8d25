"""What a log file of somebody else's server tells of host memory, from the moment on that it is followed."""

import time
from pathlib import Path

import pytest

from loadgen.records.model import Sample
from loadgen.servers.followed_log import FollowedLog
from loadgen.units import mib_to_bytes, s_to_ns

BEFORE = """
0.00.080.894 I srv          init: model loaded
0.01.000.000 I srv        update:  - cache state: 5 prompts, 90.000 MiB (limits: 8192.000 MiB, 4096 tokens)
0.02.000.000 I slot create_check: id  0 | task 3 | created context checkpoint 1 of 32 (pos_min = 20, size = 9.000 MiB)
{minutes}.10.000.000 I srv  log_server_r: done request: GET /slots 127.0.0.1 200
a line without a time
"""
DURING = """
{minutes}.12.500.000 I srv        update:  - cache state: 6 prompts, 95.500 MiB (limits: 8192.000 MiB, 4096 tokens)
{minutes}.14.000.000 I slot create_check: id  0 | task 9 | created context checkpoint 1 of 32 (size = 0.500 MiB)
"""


def told(followed: FollowedLog) -> dict[str, list[Sample]]:
    """Its samples by name."""
    found: dict[str, list[Sample]] = {}
    for one in followed.samples(run="run", variant="mtp"):
        assert (one.source, one.variant, one.trial) == ("log", "mtp", None)
        found.setdefault(one.name, []).append(one)
    return found


def test_only_what_comes_after_counts_dated_by_the_logs_own_clock(tmp_path: Path) -> None:
    """The last dated line there was printed just now: a reading 2.5 s after it is 2.5 s from now."""
    log = tmp_path / "server.log"
    log.write_text(BEFORE.format(minutes=61))
    followed = FollowedLog(log)
    now_ns = time.monotonic_ns()
    with log.open("a") as file:
        file.write(DURING.format(minutes=61))
    found = told(followed)
    assert [one.value for one in found["prompt_cache_bytes"]] == [mib_to_bytes(95.5)] * 2
    assert [one.value for one in found["checkpoints_bytes"]] == [0, mib_to_bytes(0.5)]
    assert [one.value for one in found["checkpoints_taken"]] == [1]
    # The log can't be from the future: its last line was printed now at the latest.
    first, second = (one.at_ns for one in found["prompt_cache_bytes"])
    assert second - first == s_to_ns(1.5)
    assert now_ns - s_to_ns(5) < first <= now_ns


def test_a_server_that_was_silent_for_long_is_dated_by_its_earlier_line(tmp_path: Path) -> None:
    """What was printed at 61:10 when we looked was printed then; the end of the log is not now."""
    log = tmp_path / "server.log"
    log.write_text(BEFORE.format(minutes=61))
    followed = FollowedLog(log)
    seen_ns = time.monotonic_ns()
    with log.open("a") as file:
        file.write("61.10.400.000 I srv        update:  - cache state: 6 prompts, 1.000 MiB (limits)\n")
    at_ns = told(followed)["prompt_cache_bytes"][0].at_ns
    assert at_ns <= time.monotonic_ns()
    assert seen_ns - s_to_ns(5) < at_ns


def test_a_log_without_times_tells_peaks(tmp_path: Path) -> None:
    """Dated when they are read."""
    log = tmp_path / "server.log"
    log.write_text("")
    followed = FollowedLog(log)
    log.write_text("\n".join(line.partition(" I ")[2] for line in DURING.splitlines()))
    found = told(followed)
    assert [one.value for one in found["prompt_cache_peak_bytes"]] == [mib_to_bytes(95.5)]
    assert "prompt_cache_bytes" not in found


@pytest.mark.parametrize("how", ["cut", "replaced"])
def test_a_log_that_began_anew_is_read_from_its_begin(tmp_path: Path, how: str) -> None:
    """It was cut, or another file took its place."""
    log = tmp_path / "server.log"
    log.write_text(BEFORE.format(minutes=61))
    followed = FollowedLog(log)
    if how == "replaced":
        log.rename(tmp_path / "server.log.1")
    log.write_text(DURING.format(minutes=61))
    assert [one.value for one in told(followed)["checkpoints_taken"]] == [1]


def test_a_log_that_is_gone_tells_nothing(tmp_path: Path) -> None:
    """No sample, and no error; one that was never there is an `OSError`."""
    log = tmp_path / "server.log"
    with pytest.raises(FileNotFoundError):
        FollowedLog(log)
    log.write_text(BEFORE)
    followed = FollowedLog(log)
    log.unlink()
    assert told(followed) == {}


def test_of_a_routers_log_one_server_is_followed(tmp_path: Path) -> None:
    """The one on its port, which the router pads."""
    log = tmp_path / "router.log"
    log.write_text("[ 8081] 0.01.000.000 I srv  init: model loaded\n[40123] 9.00.000.000 I srv  init: model loaded\n")
    followed = FollowedLog(log, port=8081)
    line = "0.02.000.000 I srv        update:  - cache state: 1 prompts, {}.000 MiB (limits)\n"
    with log.open("a") as file:
        file.write(f"[ 8081] {line.format(3)}[40123] {line.format(7)}")
    assert [one.value for one in told(followed)["prompt_cache_bytes"]] == [mib_to_bytes(3)]
