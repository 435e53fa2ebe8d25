"""A run folder keeps every finished record, whatever happens to its writer."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.errors import RunFolderError
from loadgen.records.model import EventKind, TokenEvent
from loadgen.records.run_folder import RunWriter, read_run, write_summary
from tests.records.make import journal, manifest, request


def events(*offsets_us: int) -> list[TokenEvent]:
    """Token events so many µs after the send time of `request()`."""
    return [TokenEvent(at_ns=1_000 + us * 1_000, kind=EventKind.CONTENT, new_read=True) for us in offsets_us]


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    """Requests, their events and the journal come back as written, in order."""
    writer = RunWriter(tmp_path / "run")
    writer.manifest(manifest())
    first = writer.request(request(token_events=2), events(5, 9))
    other = writer.request(request(trial="r1-mtp-c1", token_events=1), events(7))
    silent = writer.request(request(token_events=0), [])
    again = writer.request(request(token_events=1), events(11))
    writer.journal(journal("complete"))
    writer.close()
    run = read_run(tmp_path / "run")
    assert run.requests == [first, other, silent, again]
    assert [list(run.events(one)) for one in run.requests] == [events(5, 9), events(7), [], events(11)]
    assert [entry.what for entry in run.journal] == ["complete"]


def test_missing_is_null_on_disk(tmp_path: Path) -> None:
    """What was not measured is JSON null, not 0 and not absent."""
    writer = RunWriter(tmp_path / "run")
    writer.request(request(first_token_ns=None, cached_tokens=None, token_events=0), [])
    writer.close()
    line = (tmp_path / "run" / "requests.jsonl").read_text()
    assert '"first_token_ns":null' in line
    assert '"cached_tokens":null' in line


def test_an_existing_folder_is_never_written_into(tmp_path: Path) -> None:
    """A second run with the same --out is refused with a sentence that says what to do."""
    RunWriter(tmp_path / "run").close()
    with pytest.raises(RunFolderError, match="exists already; name another folder with --out"):
        RunWriter(tmp_path / "run")


def test_an_unwritable_place_is_refused(tmp_path: Path) -> None:
    """A folder below a file can't be made, and the message names it."""
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match=r"can.t write to .*file/run"):
        RunWriter(tmp_path / "file" / "run")


@given(cut=st.integers(1, 400))
def test_a_torn_tail_is_cut_and_said_so(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    """Half a last line is dropped, the lines before it stay, and the journal names the cut."""
    folder = tmp_path_factory.mktemp("torn") / "run"
    writer = RunWriter(folder)
    writer.manifest(manifest())
    kept = writer.request(request(token_events=0), [])
    writer.request(request(token_events=0, turn=1), [])
    writer.close()
    path = folder / "requests.jsonl"
    os.truncate(path, path.stat().st_size - cut)
    run = read_run(folder)
    assert run.requests == [kept]
    assert [entry.what for entry in run.journal] == ["torn_tail_cut"]
    assert read_run(folder).journal == run.journal


def test_damage_in_the_middle_is_located(tmp_path: Path) -> None:
    """A damaged line that is not the last one is an error with file and line."""
    writer = RunWriter(tmp_path / "run")
    writer.manifest(manifest())
    writer.request(request(token_events=0), [])
    writer.close()
    path = tmp_path / "run" / "requests.jsonl"
    path.write_bytes(b"{broken\n" + path.read_bytes())
    with pytest.raises(RunFolderError, match=r"requests\.jsonl:1 is damaged"):
        read_run(tmp_path / "run")


def test_a_folder_without_manifest_is_none(tmp_path: Path) -> None:
    """Pointing `report` at some folder says what is missing."""
    with pytest.raises(RunFolderError, match="is not a run folder"):
        read_run(tmp_path)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    """A run of another format version is not read as if it were ours."""
    writer = RunWriter(tmp_path / "run")
    writer.manifest(manifest(schema="loadgen-run/2"))
    writer.close()
    with pytest.raises(RunFolderError, match="this version reads 'loadgen-run/1'"):
        read_run(tmp_path / "run")


def test_events_that_are_missing_are_damage(tmp_path: Path) -> None:
    """An event file shorter than its requests claim is an error, not fewer events."""
    writer = RunWriter(tmp_path / "run")
    writer.manifest(manifest())
    writer.request(request(token_events=2), events(5, 9))
    writer.close()
    os.truncate(tmp_path / "run" / "events" / "r1-off-c1.bin", 5)
    run = read_run(tmp_path / "run")
    with pytest.raises(RunFolderError, match="shorter than"):
        list(run.events(run.requests[0]))


def test_the_summary_is_replaced_in_one_step(tmp_path: Path) -> None:
    """No half-written summary is ever visible under its name."""
    write_summary(tmp_path, {"a": 1})
    write_summary(tmp_path, {"a": 2})
    assert (tmp_path / "summary.json").read_text() == '{\n "a": 2\n}\n'
    assert [path.name for path in tmp_path.iterdir()] == ["summary.json"]


WRITE_AND_DIE = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.records.make import manifest, request
from loadgen.records.run_folder import RunWriter
writer = RunWriter(Path(sys.argv[1]))
writer.manifest(manifest())
for turn in range(100):
    writer.request(request(turn=turn, token_events=0), [])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_kill_9_loses_no_finished_request(tmp_path: Path) -> None:
    """Every request that had ended when the process was killed is in the folder."""
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", WRITE_AND_DIE, str(tmp_path / "run"), str(root)], check=False)
    assert [one.turn for one in read_run(tmp_path / "run").requests] == list(range(100))


def test_a_resumed_folder_is_written_on(tmp_path: Path) -> None:
    """Records of the second writer stand behind those of the first, events of one trial included."""
    writer = RunWriter(tmp_path / "run")
    writer.manifest(manifest())
    first = writer.request(request(token_events=2), events(5, 9))
    writer.close()
    writer = RunWriter.resume(tmp_path / "run")
    second = writer.request(request(token_events=1), events(7))
    writer.close()
    run = read_run(tmp_path / "run")
    assert run.requests == [first, second]
    assert [list(run.events(one)) for one in run.requests] == [events(5, 9), events(7)]


def test_two_writers_never_share_a_folder(tmp_path: Path) -> None:
    """Resuming a run that is still going on is refused, and possible as soon as it has ended."""
    writer = RunWriter(tmp_path / "run")
    with pytest.raises(RunFolderError, match="another loadgen is writing to"):
        RunWriter.resume(tmp_path / "run")
    writer.close()
    RunWriter.resume(tmp_path / "run").close()
