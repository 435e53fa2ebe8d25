"""Profiles in YAML."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loadgen.errors import WorkloadError
from loadgen.workload.distribution import Fixed, Lognormal, Uniform
from loadgen.workload.profile import PARAMETERS, Profile, parse_profile, read_profile

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
        ("turns: a paper", "turn: a paper", "f.yaml, line 1: sources names turn, which is no parameter of a profile."),
        ("turns: a paper", "turns: ''", "f.yaml, line 16: sources.turns: String should have at least 1 character."),
        ("sources:\n  turns: a paper\n", "", "f.yaml, line 1: sources: this field is missing."),
        ("tool_time_s: 0.5", "tool_time_s: 0.5\nedit_turns: 1.5", "f.yaml, line 15: edit_turns: Input should be less"),
        ("tool_time_s: 0.5", "tool_time_s: 0.5\nedit_turns: yes", "f.yaml, line 15: edit_turns: Input should be a va"),
        (
            "tool_time_s: 0.5",
            "edit_turns: 0.6\nextract_turns: 0.6\ntool_time_s: 0.5",
            "edit_turns and extract_turns are",
        ),
        ("corpus: code", "corpus: words\nedit_turns: 0.1", "words without meaning can't be edited or listed"),
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
