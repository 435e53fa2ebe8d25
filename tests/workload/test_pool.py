"""From a profile to sessions."""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.errors import WorkloadError
from loadgen.gguf.tiny import WORDS
from loadgen.workload import library
from loadgen.workload.pool import build
from loadgen.workload.profile import Profile
from loadgen.workload.profile_file import parse_profile
from loadgen.workload.session import Turn, prompt

Make = Callable[..., Profile]

PRINT_DIGESTS = """
from loadgen.workload import library
for name in ("demo", "batch-agents-2k", "subagent-fanout-8k"):
    print(library.load(name, seed=3, chars_per_token=3.3).facts.digest)
"""


def words(message: dict[str, str]) -> int:
    """Words of a message."""
    return len(message["content"].split())


def test_a_session_of_fixed_values_is_exactly_as_stated(make_profile: Make) -> None:
    """Lengths, waits, kinds and depths follow the profile to the token.

    Depth of turn 0: salt 9, system 4 + 5, user 6 + 5, head of the answer 4. Turn 1 adds the answer 3 + 5 and the tool
    result 7 + 5.
    """
    (session,) = build(make_profile(pool=1), seed=1).sessions
    first, second = session.turns
    assert session.id == "small-000"
    assert [message["role"] for message in first.messages] == ["system", "user"]
    assert [message["role"] for message in second.messages] == ["user"]
    assert [words(message) for message in (*first.messages, *second.messages)] == [4, 6, 7]
    assert [len(turn.answer.split()) for turn in session.turns] == [3, 3]
    assert (first.wait_s, first.wait_kind) == (0.0, None)
    assert (second.wait_s, second.wait_kind) == (0.25, "tool")
    assert [turn.depth for turn in session.turns] == [33, 53]
    assert [turn.output_tokens for turn in session.turns] == [10, 10]
    assert {turn.kind for turn in session.turns} == {"prose"}


def test_facts_count_the_pool(make_profile: Make) -> None:
    """The facts are those of the sessions: 5 sessions of 2 turns, the deepest 53 tokens of prompt and 10 of output."""
    workload = build(make_profile(), seed=1)
    facts = workload.facts
    assert (facts.name, facts.sessions, facts.turns, facts.min_context) == ("small", 5, 10, 256)
    assert (facts.max_depth, facts.history, facts.exact_length) == (63, "recorded", True)
    assert (workload.cut, workload.redrawn) == (0, 0)


def test_the_same_seed_gives_the_same_sessions_in_two_processes() -> None:
    """Work is the same wherever and whenever it is drawn, tools and sub-agents too; another seed gives other work."""
    outputs = {
        subprocess.run([sys.executable, "-c", PRINT_DIGESTS], capture_output=True, check=True, text=True).stdout
        for _ in range(2)
    }
    names = ("demo", "batch-agents-2k", "subagent-fanout-8k")
    here = [library.load(name, seed=3, chars_per_token=3.3).facts.digest for name in names]
    assert outputs == {"\n".join(here) + "\n"}
    assert library.load("demo", seed=4).facts.digest != here[0]


def test_the_words_of_a_seed_are_the_same_in_every_version(make_profile: Make) -> None:
    """Nothing but the seed, the profile and the tiny model's words decides about a session of words."""
    (session,) = build(make_profile(pool=1), seed=1).sessions
    texts = [message["content"] for turn in session.turns for message in turn.messages]
    indices = [[WORDS.index(word) for word in text.split()] for text in texts]
    assert indices == [[230, 121, 122, 80], [5, 199, 298, 297, 60, 33], [238, 140, 45, 11, 10, 100, 255]]


def test_a_larger_pool_begins_with_the_smaller_one(make_profile: Make) -> None:
    """Each session has random numbers of its own."""
    small, large = (build(make_profile(pool=size), seed=1).sessions for size in (3, 6))
    assert large[:3] == small
    assert len({session.turns[0].messages[1]["content"] for session in large}) == 6


def test_max_tokens_caps_the_output_and_changes_nothing_else() -> None:
    """Capped sessions have the same turns, texts, waits and depths."""
    free = library.load("batch-agents-2k", seed=1, chars_per_token=3.3)
    capped = library.load("batch-agents-2k", seed=1, chars_per_token=3.3, max_tokens=40)
    assert max(turn.output_tokens for session in free.sessions for turn in session.turns) > 40
    for before, after in zip(free.sessions, capped.sessions, strict=True):
        wanted = [replace(turn, output_tokens=min(turn.output_tokens, 40)) for turn in before.turns]
        assert list(after.turns) == wanted
    assert capped.facts.max_depth < free.facts.max_depth


def test_a_max_tokens_above_the_profile_raises_nothing(make_profile: Make) -> None:
    """It is a cap, not a length."""
    assert build(make_profile(), seed=1, max_tokens=5000) == build(make_profile(), seed=1)


def test_sessions_are_cut_at_a_turn_boundary_and_counted(make_profile: Make) -> None:
    """Turn n has depth 33 + 20·n: with 10 tokens of output, turns 0 to 4 fit into 128 tokens and turn 5 doesn't."""
    workload = build(make_profile(turns=8, min_context=128), seed=1)
    assert [len(session.turns) for session in workload.sessions] == [5] * 5
    assert workload.cut == 5
    assert workload.facts.max_depth == 123


def test_live_history_leaves_room_for_answers_at_their_cap(make_profile: Make) -> None:
    """With live history an answer of 3 recorded tokens may come back with 10: turns 0 to 3 fit into 128 tokens."""
    workload = build(make_profile(turns=8, min_context=128, history="live"), seed=1)
    assert [len(session.turns) for session in workload.sessions] == [4] * 5
    assert workload.facts.max_depth == 33 + 3 * 20 + 3 * 7 + 10
    assert workload.depths[0] == (33, 53, 73, 93)


def test_a_session_whose_first_turns_do_not_fit_is_redrawn(make_profile: Make) -> None:
    """Only sizes that leave room for two turns are kept: 200 tokens of tool result never fit into 128."""
    workload = build(make_profile(min_context=128, pool=40, tool_result={"tokens": {20: 1, 200: 1}}), seed=1)
    assert {words(session.turns[1].messages[0]) for session in workload.sessions} == {20}
    assert workload.redrawn > 0
    assert workload.cut == 0


def test_a_profile_that_can_not_fit_is_refused(make_profile: Make) -> None:
    """The message has the number and what to change."""
    with pytest.raises(WorkloadError, match="Workload small: even two turns do not fit its min_context of 128 tokens"):
        build(make_profile(min_context=128, first_user={"tokens": 200}), seed=1)


def test_a_single_turn_is_a_session_where_the_profile_wants_one(make_profile: Make) -> None:
    """One wanted turn that fits is neither cut nor redrawn."""
    workload = build(make_profile(turns=1), seed=1)
    assert [len(session.turns) for session in workload.sessions] == [1] * 5
    assert (workload.cut, workload.redrawn) == (0, 0)


@pytest.mark.parametrize(("users", "at"), [(1, []), (2, [3]), (3, [2, 4]), (6, [1, 2, 3, 4, 5]), (99, [1, 2, 3, 4, 5])])
def test_user_turns_stand_at_equal_distances(make_profile: Make, users: int, at: list[int]) -> None:
    """Of 6 turns the first is a user's; others wait the think time and are marked, the rest wait for the tool."""
    (session,) = build(make_profile(pool=1, turns=6, user_turns=users, think_time_s=9), seed=1).sessions
    waits = [(turn.wait_kind, turn.wait_s) for turn in session.turns]
    assert waits == [(None, 0.0)] + [("user", 9.0) if index in at else ("tool", 0.25) for index in range(1, 6)]


def test_kinds_have_their_shares(make_profile: Make) -> None:
    """A quarter of edits, a half of lists, the rest explanations: within 4 standard errors of 800 seeded turns."""
    profile = make_profile(pool=200, turns=4, corpus="code", min_context=4096, edit_turns=0.25, extract_turns=0.5)
    kinds = Counter(turn.kind for session in build(profile, seed=1).sessions for turn in session.turns)
    assert sum(kinds.values()) == 800
    assert kinds["edit"] == pytest.approx(200, abs=49)
    assert kinds["extract"] == pytest.approx(400, abs=57)


def test_an_edit_shows_a_text_and_its_answer_is_that_text_renamed() -> None:
    """The recorded answer obeys the request to the letter, is no longer than the cap, and copies from the prompt."""
    workload = library.load("file-edit", seed=2, chars_per_token=3.5)
    turns = [turn for session in workload.sessions for turn in session.turns]
    assert {turn.kind for turn in turns} == {"edit"}
    for turn in turns:
        assert obeys(turn)
        assert len(turn.answer) / 3.5 <= turn.output_tokens
    assert max(turn.output_tokens for turn in turns) <= 175


def obeys(turn: Turn) -> bool:
    """Whether the answer is the end of the shown text with the name changed."""
    match = re.search(r"\n\nReturn the last file above in full with every `(\w+)` renamed to `(\w+)`", shown(turn))
    assert match is not None
    old, new = match.groups()
    file = re.sub(rf"\b{new}\b", old, turn.answer)
    return shown(turn)[: match.start()].endswith("\n" + file) and new in turn.answer


def shown(turn: Turn) -> str:
    """The text of the turn's last message."""
    return str(turn.messages[-1]["content"])


def test_an_extract_is_answered_with_names_of_its_output(make_profile: Make) -> None:
    """Each recorded line is a name in front of a bracket in what was shown, each once (the last may be cut)."""
    profile = make_profile(corpus="code", min_context=8192, extract_turns=1.0, tool_result={"tokens": 400})
    for session in build(profile, seed=1).sessions:
        for turn in session.turns:
            names = turn.answer.split("\n")
            assert len(set(names)) == len(names)
            assert names == ["none"] or all(f"{name}(" in shown(turn) for name in names[:-1])


@pytest.mark.parametrize("corpus", ["words", "code", "prose"])
def test_no_message_or_answer_is_blank(make_profile: Make, corpus: str) -> None:
    """Even at one token each, nothing is empty that a chat template would refuse."""
    shares = {} if corpus == "words" else {"edit_turns": 0.4, "extract_turns": 0.3}
    profile = make_profile(
        corpus=corpus,
        min_context=4096,
        turns=6,
        pool=20,
        system_tokens=1,
        first_user={"tokens": 1},
        tool_result={"tokens": 1},
        answer={"tokens": 1},
        **shares,
    )
    for session in build(profile, seed=1).sessions:
        last = len(session.turns) - 1
        messages = prompt(session, last, salt="", answers={})
        assert all(message["content"].strip() for message in messages)
        assert [message["role"] for message in messages] == ["system", *["user", "assistant"] * last, "user"]


def test_more_characters_a_token_make_longer_text_of_the_same_shape(make_profile: Make) -> None:
    """The tokenizer decides how long texts are in characters, not how many turns there are or how long they wait."""
    profile = make_profile(corpus="code", min_context=8192, tool_time_s={"p50": 1, "p90": 2}, turns=[3, 6])
    dense, wide = (build(profile, seed=1, chars_per_token=ratio) for ratio in (2.0, 4.0))
    for one, other in zip(dense.sessions, wide.sessions, strict=True):
        assert [turn.wait_s for turn in one.turns] == [turn.wait_s for turn in other.turns]
        assert len(one.turns[0].messages[0]["content"]) * 2 == len(other.turns[0].messages[0]["content"])


def test_characters_a_token_are_assumed_only_where_they_matter(make_profile: Make) -> None:
    """Without the server's tokenizer the guess is listed; words need none."""
    code = make_profile(corpus="code", min_context=4096)
    assert "chars_per_token" in build(code, seed=1).facts.assumed
    assert "chars_per_token" not in build(code, seed=1, chars_per_token=3.2).facts.assumed
    assert "chars_per_token" not in build(make_profile(), seed=1).facts.assumed


@pytest.mark.parametrize("ratio", [0.0, -1.0, float("nan"), float("inf")])
def test_characters_a_token_must_be_a_positive_number(make_profile: Make, ratio: float) -> None:
    """A broken measurement is refused rather than played."""
    with pytest.raises(ValueError, match="characters a token must be above 0"):
        build(make_profile(), seed=1, chars_per_token=ratio)


@settings(deadline=None, max_examples=30)
@given(
    st.integers(0, 1000),
    st.sampled_from(["words", "code", "prose"]),
    st.sampled_from(["recorded", "live"]),
    st.integers(256, 3000),
)
def test_every_session_fits_its_tier(seed: int, corpus: str, history: str, context: int) -> None:
    """Whatever is drawn, prompt plus output of every turn stays within min_context, waits are whole microseconds."""
    text = f"""
version: 1
name: any
description: any
min_context: {context}
pool: 4
corpus: {corpus}
history: {history}
system_tokens: 5
first_user: {{tokens: {{p50: 20, p90: 200}}}}
turns: {{p50: 5, p90: 30}}
tool_result: {{tokens: {{p50: 20, p90: 300}}}}
answer: {{tokens: {{p50: 20, p90: 100}}}}
output: {{tokens: {{p50: 20, p90: 100, max: 200}}, mode: natural}}
tool_time_s: {{p50: 0.1, p90: 10}}
sources: {{}}
"""
    try:
        workload = build(parse_profile(text, name="any"), seed=seed)
    except WorkloadError:
        return
    assert workload.facts.max_depth <= context
    for session in workload.sessions:
        assert all(turn.depth + turn.output_tokens <= context for turn in session.turns)
        assert all(round(turn.wait_s, 6) == turn.wait_s >= 0 for turn in session.turns)
