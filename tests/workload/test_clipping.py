"""What becomes of sessions that a slot doesn't hold."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loadgen.errors import WorkloadError
from loadgen.records.manifest import Clipped
from loadgen.workload import library
from loadgen.workload.clipping import reuse_share
from loadgen.workload.pool import build
from loadgen.workload.profile import ContextFull, Profile
from loadgen.workload.recorded import RecordedSession, RecordedTurn
from loadgen.workload.replayed import replay
from loadgen.workload.session import Workload, prompt

Make = Callable[..., Profile]

PROFILE = """\
version: 1
name: long
description: Eight turns of words.
min_context: 256
pool: 5
corpus: words
history: recorded
system_tokens: 4
first_user: {tokens: 6}
turns: 8
tool_result: {tokens: 7}
answer: {tokens: 3}
output: {tokens: 10, mode: exact}
tool_time_s: 0.25
sources: {}
"""
"""Turn n has 33 + 20·n prompt tokens and 10 of output."""


@pytest.fixture
def long(tmp_path: Path) -> Path:
    """The file of a profile whose sessions take 183 tokens."""
    path = tmp_path / "long.yaml"
    path.write_text(PROFILE)
    return path


def clipped(path: Path, how: ContextFull, context: int = 128) -> Workload:
    """The workload for a slot of so many tokens."""
    return library.load(path, seed=1, context=context, context_full=how)


def depths(workload: Workload) -> list[int]:
    """Of the first session."""
    return list(workload.depths[0])


def test_finished_sessions_end_before_the_turn_that_does_not_fit(long: Path) -> None:
    """Turns 0 to 4 fit 128 tokens; the share, and what it does to the reuse of prompts, is told."""
    workload = clipped(long, "finish")
    assert depths(workload) == [33, 53, 73, 93, 113]
    whole_reuse = sum(33 + 20 * n for n in range(7)) / sum(33 + 20 * n for n in range(8))
    assert workload.facts.clipped == Clipped(
        context=128,
        sessions_cut=5,
        sessions_left_out=0,
        turns_left_out=15,
        turns=40,
        how="finish",
        reuse=252 / 365,
        whole_reuse=whole_reuse,
    )
    (note,) = workload.notes
    assert note == (
        "5 of 5 sessions end early, because a slot holds 128 tokens and the workload needs 256; 0 were drawn afresh; "
        f"69.0% of prompt tokens stood in the prompt before, {whole_reuse:.1%} otherwise"
    )


def test_compacted_sessions_go_on_from_a_summary(long: Path) -> None:
    """Where the next turn doesn't fit, the prompt is the system message and 8 tokens of summary with what is new.

    128 tokens: a summary has a sixteenth. Turn 5: salt 9, system 4 + 5, summary 8 and result 7 + 5, head 4.
    """
    workload = clipped(long, "compact")
    (session, *_) = workload.sessions
    assert depths(workload) == [33, 53, 73, 93, 113, 42, 62, 82]
    assert [turn.begins_anew for turn in session.turns] == [False] * 5 + [True, False, False]
    messages = prompt(session, 5, salt="", answers={})
    assert [message["role"] for message in messages] == ["system", "user"]
    assert messages[0] == session.turns[0].messages[0]
    found = workload.facts.clipped
    assert found is not None
    assert (found.how, found.sessions_compacted, found.sessions_cut, found.turns_left_out) == ("compact", 5, 0, 0)
    assert workload.notes[0].startswith("5 of 5 sessions go on from a summary, because a slot holds 128 tokens and")
    assert workload.facts.min_context == 128


def test_a_summary_that_does_not_fit_either_ends_the_session(make_profile: Make) -> None:
    """Rather than to send what can't be answered."""
    profile = make_profile(min_context=128, turns=8, context_full="compact", compact={"share": 0, "summary_tokens": 90})
    workload = build(profile, seed=1)
    assert [len(session.turns) for session in workload.sessions] == [5] * 5
    assert workload.cut == 5


def test_failing_sessions_end_with_the_turn_whose_prompt_does_not_fit(long: Path) -> None:
    """Turn 5 has 133 tokens: it is sent, and what the server makes of it is how the session ends."""
    workload = clipped(long, "fail")
    assert depths(workload) == [33, 53, 73, 93, 113, 133]
    found = workload.facts.clipped
    assert found is not None
    assert (found.how, found.sessions_failing, found.sessions_cut, found.turns_left_out) == ("fail", 5, 0, 10)
    assert workload.notes[0].startswith("5 of 5 sessions end with a turn whose prompt, by the estimate, doesn't fit, w")
    library.check_fits(workload, 128)


@pytest.mark.parametrize("how", ["finish", "compact", "fail"])
def test_a_slot_that_is_large_enough_changes_nothing(long: Path, how: ContextFull) -> None:
    """The workload says what it needs, and that is there."""
    whole = library.load(long, seed=1)
    assert clipped(long, how, 256) == whole
    assert whole.facts.clipped is None


def test_what_does_not_fit_is_refused_with_every_way_out(long: Path) -> None:
    """Unless one of them was asked for."""
    with pytest.raises(WorkloadError, match=r"needs 256 tokens.* has 128.*--context-full finish, compact or fail"):
        library.check_fits(library.load(long, seed=1), 128)


def test_reuse_leaves_out_what_begins_anew(long: Path) -> None:
    """The share of prompt tokens that stood in the prompt of the turn before."""
    assert reuse_share(clipped(long, "compact").sessions) == pytest.approx((33 + 53 + 73 + 93 + 42 + 62) / 551)
    assert reuse_share(()) is None


def test_the_notes_of_a_profile_on_itself_stay(tmp_path: Path) -> None:
    """Its caution is told with every run, clipped or not."""
    path = tmp_path / "long.yaml"
    path.write_text(PROFILE + "caution: none of this is real\n")
    assert library.load(path, seed=1).notes == ("none of this is real",)
    assert clipped(path, "finish").notes[0] == "none of this is real"


def test_a_profile_whose_own_context_cuts_many_sessions_says_so(make_profile: Make) -> None:
    """A quarter may be cut in silence."""
    cut = build(make_profile(turns={2: 3, 8: 1}, min_context=128, pool=100), seed=1)
    assert 0 < cut.cut <= 25
    assert cut.notes == ()
    more = build(make_profile(turns={2: 1, 8: 1}, min_context=128, pool=100), seed=1)
    assert more.notes == (f"{more.cut} of 100 sessions end early, because their next turn would not fit 128 tokens",)


def turn(role: str, text: str, **how: Any) -> RecordedTurn:
    """A turn with one message of 30 words."""
    message = {"role": role, "content": text * 30} | ({"tool_call_id": "c1"} if role == "tool" else {})
    return RecordedTurn(messages=[message], assistant={"role": "assistant", "content": "ok"}, output_tokens=10, **how)


CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}],
}


def recorded() -> RecordedSession:
    """Five turns, the third of which brings the result of a tool."""
    first = RecordedTurn(
        messages=[{"role": "system", "content": "Do it."}, {"role": "user", "content": "abc " * 30}],
        assistant={"role": "assistant", "content": "ok"},
        output_tokens=10,
    )
    second = RecordedTurn(messages=[{"role": "user", "content": "def " * 30}], assistant=CALL, output_tokens=10)
    return RecordedSession(
        session_id="a", turns=[first, second, turn("tool", "ghi "), turn("user", "jkl "), turn("user", "mno ")]
    )


def played(how: ContextFull, context: int) -> Workload:
    """The recording in a slot of so many tokens, at 4 characters a token."""
    return replay([recorded()], name="mine", chars_per_token=4, context=context, context_full=how)


def test_a_recording_is_finished_compacted_or_sent_all_the_same() -> None:
    """As a profile is: the third turn's prompt has 194 tokens, and its answer may take 64 more."""
    whole = replay([recorded()], name="mine", chars_per_token=4)
    assert whole.depths == ((77, 138, 194, 240, 286),) or len(whole.depths[0]) == 5
    limit = whole.depths[0][2]
    finished, failing = played("finish", limit), played("fail", limit)
    assert len(finished.sessions[0].turns) < 3
    assert failing.depths[0] == whole.depths[0][:4]
    assert failing.facts.clipped is not None
    assert (failing.facts.clipped.sessions_failing, failing.facts.clipped.turns_left_out) == (1, 1)
    compacted = played("compact", limit)
    (session,) = compacted.sessions
    assert len(session.turns) == 5
    assert [one.begins_anew for one in session.turns][:1] == [False]
    assert compacted.facts.clipped is not None
    assert (compacted.facts.clipped.sessions_compacted, compacted.facts.clipped.turns_left_out) == (1, 0)
    assert compacted.facts.max_depth <= limit


def test_a_recorded_result_behind_a_summary_is_what_the_user_says() -> None:
    """The call that it answers is gone with what was before; the system message stays."""
    context = next(one for one in range(225, 400) if played("compact", one).sessions[0].turns[2].begins_anew)
    session = played("compact", context).sessions[0]
    messages = prompt(session, 2, salt="", answers={})
    assert [message["role"] for message in messages] == ["system", "user"]
    assert messages[0]["content"] == "Do it."
    assert messages[1]["content"].endswith("ghi " * 30)
    assert "tool_call_id" not in messages[1]
