"""The run folder: where facts go as they happen, and where they are read back.

    manifest.json     what the run set out to do, and where (written before the first trial)
    plan.json         its trials in order (written after the pilot; replaced when a resumed run gets more rounds)
    starts.jsonl      one line a server that became ready
    trials.jsonl      one line a trial, written as it ends
    requests.jsonl    one line a request, written as it ends
    events/TRIAL.bin  token events (see `loadgen.records.events`)
    samples.jsonl     telemetry readings
    checks.jsonl      one line an output check of a variant
    journal.jsonl     how the run went as a whole
    logs/             what the servers printed
    sizes.json        what the baseline's tokenizer said of the workload's texts
    frozen.jsonl      with frozen history: the sessions as they were recorded (format `agent-session/1`)
    summary.json      what it means: recomputed from the rest by `loadgen report`

Files grow by whole lines, each handed to the operating system in one `write`, so that a crash or kill -9 of loadgen
loses no request that had ended. A torn last line (the machine died, the disk filled up) is cut when the folder is
opened again, and said so. A trial that a resumed run does again has a name of its own (`r2-mtp-c4.2`).
"""

import fcntl
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.json import Decoder

from loadgen.errors import RunFolderError
from loadgen.records.events import EventFiles, pack_events
from loadgen.records.lean import LeanReader
from loadgen.records.manifest import JournalEntry, Manifest, Plan, WorkloadFacts
from loadgen.records.model import RequestRecord, Sample, ServerStart, TokenEvent, TrialRecord
from loadgen.records.output_check import OutputCheck
from loadgen.records.run import Run
from loadgen.records.sizes import SIZES, Sizes

SCHEMA = "loadgen-run/1"
FROZEN = "frozen.jsonl"
"""The name of the file of recorded sessions."""
_BLOCK = 1 << 16
"""Bytes read at once in search of the last line's end: many lines, and no burden."""

_Record = TypeVar("_Record", RequestRecord, TrialRecord, ServerStart, Sample, OutputCheck, JournalEntry)


class _LineFile:
    """An append-only file of JSON lines."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._encoder = msgspec.json.Encoder()

    def append(self, record: msgspec.Struct) -> None:
        _write_all(self._fd, self._encoder.encode(record) + b"\n")

    def lock(self) -> None:
        """Keep other processes from writing, until this one ends. Raises `BlockingIOError` where another does."""
        fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def close(self) -> None:
        os.close(self._fd)


def _write_all(fd: int, data: bytes) -> None:
    """Write everything; `os.write` may take less on a nearly full disk or after a signal."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


class RunWriter:
    """Writes the facts of one run. One writer a folder; the folder must be new, or else `resume` goes on with it."""

    def __init__(self, path: Path, *, new: bool = True) -> None:
        self.path = path
        if new:
            self._make()
        self._open()

    @classmethod
    def resume(cls, path: Path) -> "RunWriter":
        """Go on writing a folder that `read_run` has read. Raises `RunFolderError` where another process writes it."""
        return cls(path, new=False)

    def _make(self) -> None:
        path = self.path
        try:
            path.mkdir(parents=True, exist_ok=False)
            (path / "events").mkdir()
            (path / "logs").mkdir()
        except FileExistsError:
            raise RunFolderError(f"{path} exists already; name another folder with --out, or remove it") from None
        except OSError as error:
            raise RunFolderError(f"can't write to {path}: {error.strerror}; name another folder with --out") from None

    def _open(self) -> None:
        try:
            self._journal = _LineFile(self.path / "journal.jsonl")
            self._journal.lock()
            self._requests = _LineFile(self.path / "requests.jsonl")
            self._trials = _LineFile(self.path / "trials.jsonl")
            self._starts = _LineFile(self.path / "starts.jsonl")
            self._samples = _LineFile(self.path / "samples.jsonl")
            self._checks = _LineFile(self.path / "checks.jsonl")
        except BlockingIOError:
            raise RunFolderError(f"another loadgen is writing to {self.path}; wait for it, or stop it") from None
        except OSError as error:
            raise RunFolderError(f"can't write to {self.path}: {error.strerror}") from None
        self._events: tuple[str, int, int] | None = None

    def log_path(self, name: str) -> Path:
        """Where the log called `name` goes."""
        return self.path / "logs" / f"{name}.log"

    def manifest(self, manifest: Manifest) -> None:
        """Write the manifest: before the first trial."""
        _replace(self.path / "manifest.json", _pretty(manifest))

    def frozen(self, sessions: bytes) -> None:
        """Write the sessions that the run has recorded for itself."""
        _replace(self.path / FROZEN, sessions)

    def workload(self, facts: WorkloadFacts) -> None:
        """Put what is played into the manifest, once it has been recorded."""
        path = self.path / "manifest.json"
        known = _decode(path, path.read_bytes(), Manifest)
        self.manifest(msgspec.structs.replace(known, workload=facts))

    def sizes(self, sizes: Mapping[str, Sizes]) -> None:
        """Write what the tokenizer said of each workload, by its name; nothing where it wasn't asked."""
        if sizes:
            _replace(self.path / SIZES, msgspec.json.encode(sizes))

    def plan(self, plan: Plan) -> None:
        """Write the plan: before round 1, and again where a resumed run gets more rounds."""
        _replace(self.path / "plan.json", _pretty(plan))

    def start(self, start: ServerStart) -> None:
        """A server became ready."""
        self._starts.append(start)

    def request(self, record: RequestRecord, events: Sequence[TokenEvent]) -> RequestRecord:
        """A request ended. Returns the record as written, with the place of its events filled in."""
        if events and record.send_ns is not None:
            record = msgspec.structs.replace(record, events_at=self._append_events(record, events))
        self._requests.append(record)
        return record

    def _append_events(self, record: RequestRecord, events: Sequence[TokenEvent]) -> int:
        if self._events is None or self._events[0] != record.trial:
            self._close_events()
            path = self.path / "events" / f"{record.trial}.bin"
            fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            self._events = (record.trial, fd, os.fstat(fd).st_size)
        trial, fd, at = self._events
        block = pack_events(record.send_ns or 0, events)
        _write_all(fd, block)
        self._events = (trial, fd, at + len(block))
        return at

    def trial(self, record: TrialRecord) -> None:
        """A trial ended."""
        self._trials.append(record)

    def sample(self, sample: Sample) -> None:
        """A telemetry source was read."""
        self._samples.append(sample)

    def check(self, check: OutputCheck) -> None:
        """The answers of a variant were checked."""
        self._checks.append(check)

    def journal(self, entry: JournalEntry) -> None:
        """Something happened to the run as a whole."""
        self._journal.append(entry)

    def summary(self, summary: dict[str, Any]) -> None:
        """Write (or replace) `summary.json`."""
        write_summary(self.path, summary)

    def _close_events(self) -> None:
        if self._events is not None:
            os.close(self._events[1])
            self._events = None

    def close(self) -> None:
        """Close all files."""
        self._close_events()
        for file in (self._requests, self._trials, self._starts, self._samples, self._checks, self._journal):
            file.close()


def write_summary(path: Path, summary: dict[str, Any]) -> None:
    """Replace `summary.json` in one step, so that a reader never sees half of it."""
    _replace(path / "summary.json", _pretty(summary))


def _replace(path: Path, data: bytes) -> None:
    partial = path.with_name(f"{path.name}.partial")
    partial.write_bytes(data)
    partial.replace(path)


def _pretty(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def read_run(path: Path) -> Run:
    """Read a run folder back.

    A torn last line of a `.jsonl` file is cut off the file, and the cut is added to `journal.jsonl`. Raises
    `RunFolderError` where the folder is none, or a line in the middle is damaged (file and line are named).
    """
    manifest_path = path / "manifest.json"
    if not manifest_path.is_file():
        raise RunFolderError(f"{path} is not a run folder: it has no manifest.json")
    manifest = _decode(manifest_path, manifest_path.read_bytes(), Manifest)
    if manifest.schema != SCHEMA:
        raise RunFolderError(f"{path} has the format {manifest.schema!r}; this version reads {SCHEMA!r}")
    plan_path = path / "plan.json"
    plan = _decode(plan_path, plan_path.read_bytes(), Plan) if plan_path.is_file() else None
    for name in ("requests", "trials", "starts", "samples", "checks", "journal"):
        _cut_torn_tail(path / f"{name}.jsonl", path / "journal.jsonl")
    lean = LeanReader()
    return Run(
        manifest=manifest,
        plan=plan,
        starts=_lines(path / "starts.jsonl", Decoder(ServerStart).decode),
        trials=_lines(path / "trials.jsonl", Decoder(TrialRecord).decode),
        requests=_lines(path / "requests.jsonl", lean.request),
        samples=_lines(path / "samples.jsonl", lean.sample),
        checks=_lines(path / "checks.jsonl", Decoder(OutputCheck).decode),
        journal=_lines(path / "journal.jsonl", Decoder(JournalEntry).decode),
        events=EventFiles(path / "events"),
        folder=path,
    )


def _cut_torn_tail(path: Path, journal: Path) -> None:
    if not path.is_file():
        return
    torn = _torn_bytes(path)
    if torn == 0:
        return
    os.truncate(path, path.stat().st_size - torn)
    file = _LineFile(journal)
    file.append(JournalEntry(at_ns=0, what="torn_tail_cut", detail=f"{path.name}: {torn} bytes"))
    file.close()


def _torn_bytes(path: Path) -> int:
    """How many bytes stand behind the last end of a line; read from the end, because a run may not fit into memory."""
    with path.open("rb") as file:
        size = end = file.seek(0, os.SEEK_END)
        while end > 0:
            start = max(end - _BLOCK, 0)
            file.seek(start)
            kept = file.read(end - start).rfind(b"\n") + 1
            if kept:
                return size - start - kept
            end = start
    return size


def _lines(path: Path, decode: Callable[[bytes], _Record]) -> list[_Record]:
    if not path.is_file():
        return []
    records = []
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                records.append(decode(line))
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise RunFolderError(f"{path}:{number} is damaged: {error}") from None
    return records


_Document = TypeVar("_Document", Manifest, Plan)


def _decode(path: Path, data: bytes, kind: type[_Document]) -> _Document:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RunFolderError(f"{path} is damaged: {error}") from None
