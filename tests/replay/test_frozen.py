"""Whole runs with frozen history: what is recorded, what is replayed, and what the records say of it."""

import asyncio
import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from loadgen.analysis.causes.cache_expectation import cache_expectation
from loadgen.analysis.measured.cell import cell
from loadgen.analysis.measured.trial import trials_of
from loadgen.errors import RunFolderError, WorkloadError
from loadgen.experiment.model import Experiment
from loadgen.gguf.tiny import write_tiny_model
from loadgen.records.model import Outcome, Phase
from loadgen.records.run import Run
from loadgen.records.run_folder import RunWriter, read_run
from loadgen.replay.ending import Ending
from loadgen.replay.frozen import taken_up
from loadgen.replay.sweep import Sweep
from loadgen.workload.recorded import Cancel, RecordedSession
from loadgen.workload.session_file import read_sessions
from tests.replay.test_recorded_sessions import TOOLS, family, saved, turn, with_tool
from tests.servers.standins.llama import EmbeddedBackend, FakeLlama
from tests.servers.standins.remembering import ANSWER, Remembering
from tests.servers.standins.web import Exchange

LONG = "some words that an agent reads before it goes on with what it has been asked to do"
"""A template's tail is less than a tenth of it."""


class Notes:
    """An observer that keeps notes, and does something when history has had so many answers."""

    def __init__(self, turns: int = 0, act: Callable[[], None] = lambda: None) -> None:
        self.notes: list[str] = []
        self._turns = turns
        self._act = act

    def note(self, text: str) -> None:
        """Keep it."""
        self.notes.append(text)

    def waiting(self, text: str) -> None:
        """Act when it is time."""
        if text == f"recording history: {self._turns} turns answered":
            self._act()

    def __getattr__(self, name: str) -> Any:
        return lambda *_args: None


def talk(name: str, turns: int = 3) -> RecordedSession:
    """A session of its own."""
    return RecordedSession(
        session_id=name, turns=[turn("user", f"{name} {number} {LONG}", delay_s=0.004) for number in range(turns)]
    )


TALKS = tuple(talk(name) for name in "abc")


def experiment(path: Path, *servers: str, **fields: Any) -> Experiment:
    """A short run over running servers, the first being the baseline."""
    names = ("off", "other")
    plain: dict[str, Any] = {
        "variants": [{"kind": "url", "name": name, "url": url} for name, url in zip(names, servers, strict=False)],
        "baseline": "off", "levels": (1,), "workload": str(path), "history": "frozen", "rounds": 1, "time_budget_s": 2,
        "warmup_s": 0.05, "check_output": "off", "drift_check": False, "time_scale": 0.5,
    }  # fmt: skip
    return Experiment.model_validate(plain | fields)


async def play(
    folder: Path,
    asked: Experiment,
    observer: Notes | None = None,
    interrupted: asyncio.Event | None = None,
    **known: Any,
) -> tuple[Ending, Run]:
    """Run it, or go on with it."""
    writer = RunWriter.resume(folder) if known.get("earlier") is not None else RunWriter(folder)
    try:
        ending = await Sweep(asked, writer, observer or Notes(), interrupted or asyncio.Event(), **known).run()
    finally:
        writer.close()
    return ending, read_run(folder)


def prompts(server: FakeLlama) -> list[str]:
    """What was asked of a server, without salts."""
    found = []
    for body in server.bodies:
        if body.get("stream"):
            first, *others = body["messages"]
            found.append(json.dumps([first | {"content": first["content"].partition("\n")[2]}, *others]))
    return found


def heard(run: Run) -> list[Any]:
    """The requests of the recording."""
    return [one for one in run.requests if one.trial.startswith("frozen-")]


@dataclass(frozen=True)
class Played:
    """A run of two variants, of which the second answers otherwise and forgets everything, and what was asked."""

    asked: Experiment
    run: Run
    folder: Path
    notes: list[str]
    off: list[str]
    other: list[str]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """At one agent and at two."""
    folder, observer = tmp_path_factory.mktemp("frozen"), Notes()
    with Remembering() as off, Remembering(voice="b", forgets=True) as other:
        asked = experiment(saved(folder, *TALKS), off.address, other.address, levels=(1, 2), max_tokens=40)
        _, run = asyncio.run(play(folder / "run", asked, observer))
    return Played(asked, run, folder / "run", observer.notes, prompts(off), prompts(other))


def test_every_variant_and_level_gets_the_prompts_of_the_recording(played: Played) -> None:
    """Of the baseline's own answers, whatever a variant itself answers; none of the workload's own is left."""
    count = len(heard(played.run))
    recorded = set(played.off[:count])
    assert len(recorded) == count == 9
    assert set(played.off[count:]) <= recorded
    assert set(played.other) <= recorded
    assert not any('"ok"' in prompt for prompt in recorded)
    assert all(trial.complete and trial.aborted is None for trial in played.run.trials)
    assert {(trial.variant, trial.level) for trial in played.run.trials if trial.round} == {
        ("off", 1), ("off", 2), ("other", 1), ("other", 2),
    }  # fmt: skip


def test_the_records_tell_which_answers_equal_the_recording(played: Played) -> None:
    """All of the baseline's, and none of a server that says other things."""
    measured = [one for one in played.run.requests if one.phase is Phase.SEGMENT and one.round]
    told = {(one.variant, one.answer_equal, one.answer_kept) for one in measured}
    assert told == {("off", True, True), ("other", False, False)}
    shares = {trial.record.variant: cell([trial])["answers_equal_share"]["value"] for trial in trials_of(played.run)}
    assert shares == {"off": 1, "other": 0}


def test_a_server_that_forgets_is_flagged_at_every_turn(played: Played) -> None:
    """Every follower finds nothing of what was left for it; one that remembers finds all."""
    for trial in trials_of(played.run):
        found = cache_expectation([trial])
        assert found is not None
        assert found["turns"] > 0
        lost = trial.record.variant == "other"
        assert found["flagged"]["turns"] == (found["turns"] if lost else 0)
        assert found["cached_tokens"] == (0 if lost else found["expected_tokens"])


def test_what_was_recorded_is_kept_with_its_digest(played: Played) -> None:
    """In a file of sessions; waits and caps are the workload's, counts the server's; the manifest names the file."""
    path, facts = played.folder / "frozen.jsonl", played.run.manifest.workload
    assert facts.frozen == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (facts.history, facts.sessions, facts.turns, facts.name) == ("frozen", 3, 9, "mine")
    sessions = read_sessions(path).sessions
    assert [one.session_id for one in sessions] == ["a", "b", "c"]
    for session in sessions:
        assert session.source == {"name": "mine", "digest": session.source["digest"], "model": "tiny.gguf"}
        assert [one.max_tokens for one in session.turns] == [40, 40, 40]
        assert [one.delay_s for one in session.turns[1:]] == [0.004, 0.004]
        first, second = session.turns[:2]
        assert (first.output_tokens, first.finish_reason, first.cached_tokens) == (ANSWER, "stop", 0)
        assert second.cached_tokens == (first.input_tokens or 0) + ANSWER
        assert first.assistant is not None
        assert len(first.assistant["content"].split()) == ANSWER
    begun, ended = (note for note in played.notes if note.startswith("history: "))
    assert begun.startswith("history: recording the answers of off to 3 sessions with 2 at once, for ")
    assert ended.startswith("history: recorded 3 of 3 sessions (0 of them cut short), 9 turns in ")


def test_history_is_recorded_without_waits_and_measured_with_them(played: Played) -> None:
    """At the pace that was asked for: half of the 4 ms of the file."""
    assert {(one.phase, one.round, one.trial) for one in heard(played.run)} == {(Phase.WARMUP, 0, "frozen-off")}
    assert all(one.ready_ns == one.scheduled_ns for one in heard(played.run))
    assert waits(played.run) == {2_000_000}


def waits(run: Run) -> set[int]:
    """Before the turns of the one round behind its warm-up, in nanoseconds."""
    later = [one for one in run.requests if one.round == 1 and one.turn > 0 and one.phase is not Phase.WARMUP]
    return {one.scheduled_ns - one.ready_ns for one in later}


async def test_a_rerun_plays_what_was_recorded_and_keeps_a_copy(played: Played, tmp_path: Path) -> None:
    """Nobody is listened to again."""
    with Remembering(voice="c") as off, Remembering(voice="b") as other:
        asked = experiment(Path(played.asked.workload or ""), off.address, other.address, levels=(1, 2), max_tokens=40)
        _, run = await play(tmp_path / "again", asked, repeats=played.run)
    assert heard(run) == []
    assert run.manifest.workload == played.run.manifest.workload
    assert (tmp_path / "again" / "frozen.jsonl").read_bytes() == (played.folder / "frozen.jsonl").read_bytes()
    assert set(prompts(off)) | set(prompts(other)) <= set(played.off)


async def test_the_file_is_the_same_work_elsewhere(played: Played, tmp_path: Path) -> None:
    """Played as recorded sessions it gives the same prompts with the same caps and waits, without recording."""
    with Remembering(voice="b") as elsewhere:
        file = played.folder / "frozen.jsonl"
        asked = experiment(file, elsewhere.address, history="recorded", time_budget_s=0.5)
        _, run = await play(tmp_path / "there", asked)
    assert set(prompts(elsewhere)) <= set(played.off)
    assert {body["max_tokens"] for body in elsewhere.bodies if body["stream"]} == {40}
    assert heard(run) == []
    assert run.manifest.workload.frozen is None
    assert waits(run) == {2_000_000}


def test_a_recording_that_was_changed_or_is_gone_is_refused(played: Played, tmp_path: Path) -> None:
    """What is left would be another run."""
    path = tmp_path / "frozen.jsonl"
    path.write_bytes((played.folder / "frozen.jsonl").read_bytes())
    run = replace(played.run, folder=tmp_path)
    assert taken_up(run, played.asked).facts == run.manifest.workload
    path.write_bytes(path.read_bytes().replace(b"what it has", b"what he has"))
    with pytest.raises(RunFolderError, match=r"frozen\.jsonl is not what the run recorded"):
        taken_up(run, played.asked)
    path.write_bytes(b'{"format":"agent-session/1","session_id":"a","turns":[]}\n' + path.read_bytes())
    with pytest.raises(RunFolderError, match=r"is damaged: frozen\.jsonl:1: session 'a' skipped: it has no turn"):
        taken_up(run, played.asked)
    path.unlink()
    with pytest.raises(RunFolderError, match=r"frozen\.jsonl is missing"):
        taken_up(run, played.asked)


class Stops(Notes):
    """Interrupts behind the first trial that counts."""

    def __init__(self) -> None:
        super().__init__()
        self.stop = asyncio.Event()

    def trial_ended(self, record: Any) -> None:
        """Pilots don't."""
        if record.round:
            self.stop.set()


async def test_a_run_goes_on_with_what_it_has_recorded(tmp_path: Path) -> None:
    """A recording that was interrupted is made anew, under a name of its own; one that is whole is read back."""
    stop, stops = asyncio.Event(), Stops()
    with Remembering() as off:
        asked = experiment(saved(tmp_path, *TALKS), off.address, rounds=2)
        ending, first = await play(tmp_path / "run", asked, Notes(2, stop.set), stop)
        assert ending.what == "interrupted"
        assert (first.manifest.workload.frozen, first.plan) == (None, None)
        ending, second = await play(tmp_path / "run", asked, stops, stops.stop, earlier=first)
        assert (ending.what, [one.round for one in second.trials]) == ("interrupted", [0, 1])
        assert second.manifest.workload.frozen is not None
        ending, whole = await play(tmp_path / "run", asked, earlier=second)
    assert (ending, [one.round for one in whole.trials]) == (Ending("complete", None), [0, 1, 2])
    assert whole.manifest == second.manifest
    assert {one.trial for one in heard(whole)} == {"frozen-off", "frozen-off.2"}
    assert sum(one.trial == "frozen-off.2" for one in whole.requests) == 9
    assert len(set(prompts(off))) == 9


class Hangs(Remembering):
    """Holds one request back for as long as the test lasts."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number
        self.done = threading.Event()

    def _chat(self, exchange: Exchange) -> None:
        if sum(bool(body.get("stream")) for body in self.bodies) == self._number:
            self.done.wait(20)
        else:
            super()._chat(exchange)


async def test_sessions_that_do_not_end_in_time_are_cut_or_left_out(tmp_path: Path) -> None:
    """A quarter of the time budget: by then two of the second session's three turns have been answered."""
    observer = Notes()
    with Hangs(6) as off:
        _, run = await play(tmp_path / "run", experiment(saved(tmp_path, *TALKS), off.address), observer)
        off.done.set()
    assert [len(one.turns) for one in read_sessions(tmp_path / "run" / "frozen.jsonl").sessions] == [3, 2]
    assert (run.manifest.workload.sessions, run.manifest.workload.turns) == (2, 5)
    assert any("recorded 2 of 3 sessions (1 of them cut short), 5 turns in " in note for note in observer.notes)
    assert [one.outcome for one in heard(run)] == [Outcome.OK] * 5 + [Outcome.CANCELLED]
    assert {one.turns for one in run.requests if one.round == 1} <= {2, 3}


async def test_too_few_sessions_are_an_error_with_what_to_do(tmp_path: Path) -> None:
    """Two agents need two; the first one's second turn never ends."""
    words = (
        r"needs 2 recorded sessions of at least two turns, one for each agent at the largest level, and got 1 in "
        r"\d s \(at most a quarter of the time budget\)\. Give a larger --time-budget"
    )
    with Hangs(3) as off:
        with pytest.raises(WorkloadError, match=words):
            await play(tmp_path / "run", experiment(saved(tmp_path, *TALKS[:2]), off.address, levels=(2,)))
        off.done.set()


class Broken(FakeLlama):
    """Answers no chat."""

    def _chat(self, exchange: Exchange) -> None:
        exchange.fail(500, "out of order", "server_error")


async def test_turns_that_fail_are_told_with_the_error(tmp_path: Path) -> None:
    """Each ends its session."""
    words = r"needs 1 recorded .*, and got 0 in \d s .*; [12] turns? failed\. Give"
    with Broken() as off, pytest.raises(WorkloadError, match=words):
        await play(tmp_path / "run", experiment(saved(tmp_path, *TALKS), off.address))


async def test_calls_and_reasoning_are_recorded_as_they_came(tmp_path: Path) -> None:
    """A call goes back under the id that the result answers; one that nothing answers is left out of what goes back."""
    with Remembering(calls=True) as off:
        _, run = await play(tmp_path / "run", experiment(saved(tmp_path, with_tool()), off.address))
    (session,) = read_sessions(tmp_path / "run" / "frozen.jsonl").sessions
    assert session.tools == TOOLS
    first, second = (one.assistant or {} for one in session.turns)
    assert len(first["reasoning_content"].split()) == len(second["reasoning_content"].split()) == ANSWER // 2
    (call,) = first["tool_calls"]
    assert (call["id"], len(call["function"]["arguments"].split())) == ("c1", ANSWER // 2)
    assert (first["content"], second["content"], "tool_calls" in second) == (None, "", False)
    assert {one.finish_reason for one in session.turns} == {"tool_calls"}
    measured = [one for one in run.requests if one.phase is Phase.SEGMENT and one.round]
    assert {(one.turn, one.answer_equal, one.answer_kept) for one in measured} == {(0, True, True), (1, True, False)}
    assert [cell([trial])["expected_cached_share"]["value"] for trial in trials_of(run)] == [1]


async def test_sub_agents_and_answers_that_are_broken_off_are_recorded_too(tmp_path: Path) -> None:
    """Each sub-agent with its parent; a broken answer that is asked for again is the whole one."""
    again, drop = Cancel(after_tokens=1, then="resume"), Cancel(after_tokens=1, then="drop")
    broken = RecordedSession(
        session_id="x",
        turns=[turn("user", "go", cancel=again), turn("user", "more", cancel=drop), turn("user", "last")],
    )
    with Remembering() as off:
        _, run = await play(tmp_path / "run", experiment(saved(tmp_path, *family(), broken), off.address))
    sessions = {one.session_id: one for one in read_sessions(tmp_path / "run" / "frozen.jsonl").sessions}
    assert {name: (one.parent_session_id, len(one.turns)) for name, one in sessions.items()} == {
        "p": (None, 2), "c1": ("p", 2), "g": ("c1", 1), "c2": ("p", 3), "x": (None, 3),
    }  # fmt: skip
    assert all(len((one.assistant or {})["content"].split()) == ANSWER for one in sessions["c2"].turns)
    assert len((sessions["x"].turns[0].assistant or {})["content"].split()) == ANSWER
    assert run.manifest.workload.turns == 11
    assert all(trial.complete and trial.aborted is None for trial in run.trials)


@pytest.mark.live
async def test_a_real_server_finds_the_recording_in_its_cache(tmp_path: Path) -> None:
    """Greedy answers of llama.cpp come again to the letter, and prompts that have them find them in the cache."""
    model = str(write_tiny_model(tmp_path / "small.gguf"))
    server = EmbeddedBackend("-m", model, "-np", "1", "-c", "2048", "-t", "1", "--poll", "0", "--metrics")
    try:
        while not server.ready():
            await asyncio.sleep(0.02)
            assert server.exit_code() is None
        asked = experiment(
            saved(tmp_path, *TALKS), server.address, max_tokens=12, body={"temperature": 0, "seed": 1}, time_budget_s=4
        )
        ending, run = await play(tmp_path / "run", asked)
    finally:
        server.stop()
    assert ending == Ending("complete", None)
    found = cell(trials_of(run))
    assert found["first_turn_cached_share"]["value"] == 0
    assert found["answers_equal_share"]["value"] == 1
    assert found["expected_cached_share"]["value"] >= 0.95
    measured = [one for one in run.requests if one.round == 1 and one.outcome is Outcome.OK]
    for before, after in pairwise(measured):
        if after.turn == before.turn + 1 and after.session == before.session:
            assert (after.cached_tokens or 0) > (before.prompt_tokens or 0)
