"""Profiles in YAML."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loadgen.errors import WorkloadError
from loadgen.workload.distribution import Fixed, Lognormal, Uniform
from loadgen.workload.profile import PARAMETERS, Profile, SubAgents
from loadgen.workload.profile_file import parse_profile, read_profile
from loadgen.workload.profile_parts import Broken, Compaction, Corpora, SharedPrefix

GOOD = """\
version: 1
name: mine
description: A profile.
min_context: 2048
corpus: code
history: live
system_tokens: 24
first_user: {tokens: [10, 20]}
turns: 3
tool_result:
  tokens: {p50: 100, sigma: 1, max: 300}
answer: {tokens: 20}
output: {tokens: 64, mode: natural}
tool_time_s: 0.5
sources:
  turns: a paper
"""


def test_a_profile_is_read_as_written() -> None:
    """Fields, distributions and defaults arrive as the file states them."""
    profile = parse_profile(GOOD, name="mine.yaml")
    assert (profile.name, profile.min_context, profile.pool, profile.history) == ("mine", 2048, 64, "live")
    assert profile.first_user.tokens == Uniform(10, 20)
    assert profile.tool_result.tokens == Lognormal(100, 1, 0, 300)
    assert (profile.output.tokens, profile.output.mode) == (Fixed(64), "natural")
    assert (profile.think_time_s, profile.user_turns, profile.edit_turns) == (Fixed(0), Fixed(1), 0.0)
    assert profile.sources == {"turns": "a paper"}


def test_parameters_without_a_source_are_assumed() -> None:
    """All but the sourced ones are listed; a think time counts only where a user speaks again."""
    expected = [name for name in PARAMETERS if name != "turns"]
    assert list(parse_profile(GOOD + "user_turns: 2\n", name="f").assumed) == expected
    expected.remove("think_time_s")
    assert list(parse_profile(GOOD, name="f").assumed) == expected


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version: 1", "version: 2", "f.yaml, line 1: version: Input should be 1."),
        ("version: 1", "", "f.yaml, line 2: version: this field is missing."),
        ("turns: 3", "turns: -3", "f.yaml, line 9: turns: value must be a number from 0 to 1,000,000,000, not -3."),
        ("turns: 3", "turns: .nan", "f.yaml, line 9: turns: value must be a number from 0 to 1,000,000,000, not nan."),
        ("turns: 3", "turns: .inf", "f.yaml, line 9: turns: value must be a number from 0 to 1,000,000,000, not inf."),
        ("turns: 3", "turns: many", "f.yaml, line 9: turns: value must be a number, not str."),
        ("turns: 3", "turns: 3\nturn: 4", "f.yaml, line 10: turn: a profile has no such field."),
        ("turns: 3", "turns: 3\nturns: 4", "f.yaml, line 10: the field turns is given twice."),
        (
            "sigma: 1,",
            "p99: 1,",
            "f.yaml, line 11: tool_result.tokens: unknown p99: a lognormal has p50, p90 or sigma, ",
        ),
        ("[10, 20]", "[20, 10]", "f.yaml, line 8: first_user.tokens: the range [20, 10] ends before it begins."),
        ("{tokens: 20}", "20", "f.yaml, line 12: answer: Input should be a valid dictionary or instance of Tokens."),
        ("natural", "long", "f.yaml, line 13: output.mode: Input should be 'natural' or 'exact'."),
        ("corpus: code", "corpus: noise", "f.yaml, line 5: corpus: Input should be 'words', 'code' or 'prose'."),
        ("history: live", "history: frozen", "f.yaml, line 6: history: Input should be 'recorded' or 'live'."),
        ("name: mine", "name: My Own", "f.yaml, line 2: name: String should match pattern"),
        ("2048", "2048.5", "f.yaml, line 4: min_context: Input should be a valid integer."),
        ("2048", "12", "f.yaml, line 4: min_context: Input should be greater than or equal to 128."),
        ("turns: a paper", "turn: a paper", "f.yaml, line 15: sources names turn, which is no parameter of a profile."),
        ("turns: a paper", "turns: ''", "f.yaml, line 16: sources.turns: String should have at least 1 character."),
        ("sources:\n  turns: a paper\n", "", "f.yaml, line 1: sources: this field is missing."),
        ("tool_time_s: 0.5", "tool_time_s: 0.5\nedit_turns: 1.5", "f.yaml, line 15: edit_turns: Input should be less"),
        ("tool_time_s: 0.5", "tool_time_s: 0.5\nedit_turns: yes", "f.yaml, line 15: edit_turns: Input should be a va"),
        (
            "tool_time_s: 0.5",
            "edit_turns: 0.6\nextract_turns: 0.6\ntool_time_s: 0.5",
            "f.yaml, line 14: edit_turns and extract_turns are more than all turns.",
        ),
        ("corpus: code", "corpus: words\nedit_turns: 0.1", "line 5: corpus: words without meaning can't be edited or"),
        ("turns: 3", "turns: &a 3\nuser_turns: *a", "f.yaml, line 9: anchors and aliases have no use"),
        ("turns: 3", "turns: [3", "f.yaml, line 10: not YAML: expected ',' or ']'"),
        ("turns: 3", "turns: {[1]: 2}", "f.yaml, line 9: not YAML: found unhashable key"),
        ("turns: 3", "turns: 2020-99-99", "f.yaml: not YAML that a profile is made of."),
        ("turns: 3", "turns: \x07", "f.yaml: not YAML that a profile is made of."),
        ("turns: 3", "turns: " + "[" * 5000, "f.yaml: not YAML that a profile is made of."),
    ],
)
def test_what_is_wrong_is_told_with_file_line_and_field(old: str, new: str, message: str) -> None:
    """One slip in a good profile gives one message that says where it is and what to write."""
    assert GOOD.count(old) == 1
    with pytest.raises(WorkloadError) as error:
        parse_profile(GOOD.replace(old, new), name="f.yaml")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "- a", "just text", "1", "a: 1\n---\nb: 2"])
def test_a_file_that_is_no_mapping_is_refused(text: str) -> None:
    """An empty file, a list, a scalar and two documents are no profile."""
    with pytest.raises(WorkloadError, match=r"^f\.yaml"):
        parse_profile(text, name="f.yaml")


@given(st.text() | st.text(alphabet="ab:-[]{}&*!|>#'\"\n ,?%@`", max_size=40))
@example("&a [*a]")
@example("? &a {b: *a}")
@example("!!python/object:os.system {}")
def test_any_text_is_a_profile_or_a_workload_error(text: str) -> None:
    """Nothing that stands in a file raises anything else."""
    with pytest.raises(WorkloadError):
        parse_profile(text, name="f.yaml")


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    """The message has the path and the reason."""
    with pytest.raises(WorkloadError, match=r"none\.yaml: No such file or directory\."):
        read_profile(tmp_path / "none.yaml")
    with pytest.raises(WorkloadError, match="Is a directory"):
        read_profile(tmp_path)


def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    """A model file given for a profile is no crash."""
    path = tmp_path / "model.yaml"
    path.write_bytes(b"GGUF\xff\xfe\x00")
    with pytest.raises(WorkloadError, match="a profile is UTF-8 text; this file is not"):
        read_profile(path)


def test_profiles_can_not_be_changed(make_profile: Callable[..., Profile]) -> None:
    """A profile is pure data."""
    with pytest.raises(ValueError, match="frozen"):
        make_profile().pool = 3


FULL = (
    GOOD.replace("system_tokens: 24\n", "")
    .replace(
        "tool_result:\n  tokens: {p50: 100, sigma: 1, max: 300}", "tool_result: {tokens: 50, corpus: {view: 3, log: 1}}"
    )
    .replace("answer: {tokens: 20}\n", "")
    + """\
caution: none of this is real
context_full: compact
shared_prefix: {system_tokens: 50, tools: 3, tool_tokens: [300, 400], kind: coding, scope: "group:4"}
final_output: {tokens: 200}
parallel_tools: {1: 0.9, 2: 0.1}
user_every: 4
cancel: {share: 0.05, after_tokens: [5, 20], then: drop}
compact: 0.1
subagents:
  at_turn: 0.4
  count: 2
  profile: %s
"""
)
"""All that a profile can have, the sub-agents' profile left open."""
CHILD = GOOD.replace("name: mine", "name: child")


def test_everything_that_a_profile_can_have_is_read() -> None:
    """A number alone is a share, with defaults for the rest; a name of sub-agents stays a name."""
    profile = parse_profile(FULL % "explorer", name="f.yaml")
    assert profile.system_tokens is None
    assert profile.answer is None
    prefix = {"system_tokens": 50, "tools": 3, "tool_tokens": [300, 400], "kind": "coding", "scope": "group:4"}
    assert profile.shared_prefix == SharedPrefix.model_validate(prefix)
    assert profile.tool_result.corpus == Corpora(("view", "log"), (3.0, 1.0))
    assert profile.cancel == Broken.model_validate({"share": 0.05, "after_tokens": [5, 20], "then": "drop"})
    assert profile.compact == Compaction(share=0.1)
    below = {"at_turn": 0.4, "count": 2, "profile": "explorer", "join": "all"}
    assert profile.subagents == SubAgents.model_validate(below)
    assert (profile.tools, profile.context_full, profile.user_every) == (3, "compact", Fixed(4))
    assert profile.caution == "none of this is real"


def test_each_number_that_comes_into_play_is_a_parameter() -> None:
    """Those that only some profiles have stand beside the others; idle ones are out; sub-agents have their own."""
    text = FULL % ("\n    " + CHILD.replace("\n", "\n    "))
    profile = parse_profile(text, name="f.yaml")
    assert profile.parameters == (
        *("shared_prefix.system_tokens", "shared_prefix.tools", "shared_prefix.tool_tokens"),
        *("first_user", "turns", "tool_result", "tool_result.corpus", "output", "tool_time_s", "think_time_s"),
        *("user_every", "edit_turns", "extract_turns", "final_output", "parallel_tools", "cancel", "compact"),
        *("subagents.at_turn", "subagents.count", "subagents.system_tokens", "subagents.first_user"),
        *("subagents.turns", "subagents.tool_result", "subagents.answer", "subagents.output"),
        *("subagents.tool_time_s", "subagents.user_turns", "subagents.edit_turns", "subagents.extract_turns"),
    )
    assert profile.all_sources == {"turns": "a paper", "subagents.turns": "a paper"}
    assert set(profile.parameters) - set(profile.assumed) == {"turns", "subagents.turns"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "tools: 3,",
            "tools: -3,",
            "f.yaml, line 16: shared_prefix.tools: Input should be greater than or equal to 0.",
        ),
        ("tools: 3, ", "", "f.yaml, line 16: shared_prefix: tools, tool_tokens and kind belong together."),
        ('"group:4"', "all", "f.yaml, line 16: shared_prefix.scope: String should match pattern"),
        (
            "{view: 3, log: 1}",
            "{view: 3, cats: 1}",
            "f.yaml, line 9: tool_result.corpus: there is no corpus cats; there are ",
        ),
        (
            "{view: 3, log: 1}",
            "{view: -3}",
            "f.yaml, line 9: tool_result.corpus: the weight of view must be a number f",
        ),
        (
            "{view: 3, log: 1}",
            "{view: 0}",
            "f.yaml, line 9: tool_result.corpus: the weights of corpora must not all be",
        ),
        (
            "{view: 3, log: 1}",
            "[view]",
            "f.yaml, line 9: tool_result.corpus: a corpus is a name, or names with their w",
        ),
        ("{1: 0.9, 2: 0.1}", "{0: 1}", "f.yaml, line 18: parallel_tools is not between 1 and 32."),
        (
            "{1: 0.9, 2: 0.1}",
            "[1, .inf]",
            "f.yaml, line 18: parallel_tools: hi must be a number from 0 to 1,000,000,000",
        ),
        ("user_every: 4", "user_every: 0.5", "f.yaml, line 19: user_every is below 1: no turn has more than one user"),
        ("user_every: 4", "user_every: 4\nuser_turns: 2", "f.yaml, line 19: user_every and user_turns say the same"),
        ("share: 0.05", "share: 1.5", "f.yaml, line 20: cancel.share: Input should be less than or equal to 1."),
        ("then: drop", "then: cry", "f.yaml, line 20: cancel.then: Input should be 'resume' or 'drop'."),
        (
            "[5, 20]",
            "[-5, 20]",
            "f.yaml, line 20: cancel.after_tokens: lo must be a number from 0 to 1,000,000,000, not",
        ),
        (
            "compact: 0.1",
            "compact: -0.1",
            "f.yaml, line 21: compact.share: Input should be greater than or equal to 0.",
        ),
        ("compact: 0.1", "compact: {shar: 1}", "f.yaml, line 21: compact.share: this field is missing."),
        (
            "at_turn: 0.4",
            "at_turn: 4",
            "f.yaml, line 23: subagents: at_turn is a share of the session's turns, from 0 t",
        ),
        ("count: 2", "count: 1000", "f.yaml, line 24: subagents: count is above 64."),
        ("count: 2", "counts: 2", "f.yaml, line 22: subagents.count: this field is missing."),
        ("profile: x", "profile: {name: x}", "f.yaml, line 25: subagents.profile.version: this field is missing."),
        ("profile: x", "profile: [x]", "f.yaml, line 25: subagents.profile: Input should be a valid dictionary"),
        (
            "context_full: compact",
            "context_full: refuse",
            "f.yaml, line 15: context_full: Input should be 'finish', 'co",
        ),
        ("corpus: code", "corpus: words", "f.yaml, line 5: corpus: definitions of tools aren't words"),
        (
            "caution: none of this is real",
            "system_tokens: 3",
            "f.yaml, line 14: system_tokens or shared_prefix is need",
        ),
    ],
)
def test_what_is_wrong_in_the_rest_of_a_profile_is_told_with_file_line_and_field(
    old: str, new: str, message: str
) -> None:
    """Negative, infinite, unknown or contrary: one sentence each."""
    text = FULL % "x"
    assert text.count(old) == 1
    with pytest.raises(WorkloadError) as error:
        parse_profile(text.replace(old, new), name="f.yaml")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def family(folder: Path, **children: str) -> Path:
    """Profiles in files of their own, each with sub-agents of the named profile; the path of the first."""
    for name, child in children.items():
        text = GOOD.replace("name: mine", f"name: {name}")
        subagents = f"subagents: {{at_turn: 0.5, count: 1, profile: {child}}}\n" if child else ""
        (folder / f"{name}.yaml").write_text(text + subagents, encoding="utf-8")
    return folder / f"{next(iter(children))}.yaml"


def test_named_sub_agents_are_read_from_their_files(tmp_path: Path) -> None:
    """A file is looked for beside the one that names it, a name among the built-in ones."""
    path = family(tmp_path, a="b.yaml", b="c", c="")
    profile = read_profile(path, builtin=lambda name: tmp_path / f"{name}.yaml")
    assert profile.subagents is not None
    below = profile.subagents.profile
    assert isinstance(below, Profile)
    assert below.subagents is not None
    assert below.subagents.profile == read_profile(tmp_path / "c.yaml")


def test_sub_agents_that_spawn_each_other_in_a_circle_are_refused(tmp_path: Path) -> None:
    """The message has the file and line at which the circle closes, and the way round."""
    path = family(tmp_path, a="b.yaml", b="c.yaml", c="a.yaml")
    with pytest.raises(WorkloadError) as error:
        read_profile(path)
    where = f"{tmp_path}/c.yaml, line 17: subagents.profile"
    assert str(error.value) == f"{where}: sub-agents spawn each other in a circle: a > b > c > a."


def test_sub_agents_that_are_not_there_are_told_where_they_are_named(tmp_path: Path) -> None:
    """Both a file and a built-in name."""
    for child in ("none.yaml", "none"):
        with pytest.raises(WorkloadError) as error:
            read_profile(family(tmp_path, a=child), builtin=lambda name: tmp_path / f"{name}.yaml")
        where = f"{tmp_path}/a.yaml, line 17: subagents.profile"
        assert str(error.value) == f"{where}: there is no profile {child!r}: name a built-in one, or a YAML file."


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("min_context: 2048", "min_context: 4096", "need 4096 tokens of context, more than a with 2048"),
        ("history: live", "history: recorded", "have the history recorded, and a has live"),
        ("mode: natural", "mode: exact", "have output of mode exact, and a of mode natural"),
        ("corpus: code", "corpus: words", "have the corpus words, and a has code"),
    ],
)
def test_sub_agents_that_can_not_share_a_run_with_their_parent_are_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    """One run has one kind of history, of answers and of slots."""
    path = family(tmp_path, a="b.yaml", b="")
    child = tmp_path / "b.yaml"
    child.write_text(child.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(WorkloadError) as error:
        read_profile(path)
    assert str(error.value).startswith(f"{path}, line 17: subagents.profile: sub-agents (b) {message}")
