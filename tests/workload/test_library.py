"""Built-in workloads, and which fits."""

from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from loadgen.errors import WorkloadError
from loadgen.workload import library
from loadgen.workload.profile import has_tools
from loadgen.workload.session import Workload, prompt

TIERS = {
    "batch-agents-2k": 2048,
    "batch-agents-4k": 4096,
    "batch-agents-8k": 8192,
    "batch-agents-16k": 16384,
    "batch-agents-32k": 32768,
}
OTHERS = {
    "chat": 16384,
    "chat-4k": 4096,
    "chat-8k": 8192,
    "coding-agent": 131072,
    "coding-agent-64k": 65536,
    "coding-agent-compact": 32768,
    "coding-agent-compact-8k": 8192,
    "demo": 768,
    "file-edit": 2048,
    "research-agent": 65536,
    "research-agent-8k": 8192,
    "subagent-fanout": 131072,
    "subagent-fanout-8k": 8192,
    "tool-assistant": 16384,
    "tool-assistant-8k": 8192,
}
CONTEXTS = TIERS | OTHERS
BUILTIN = sorted(CONTEXTS)
CUT_SHORT = {"coding-agent-64k", "research-agent", "subagent-fanout"}
"""Of whose sessions the context ends more than a quarter: it is told with every run."""


@cache
def loaded(name: str) -> Workload:
    """A built-in workload, made once."""
    return library.load(name, seed=1, chars_per_token=3.3)


def test_the_built_in_workloads_have_these_names() -> None:
    """Scripts and documentation name them."""
    assert library.builtin_names() == BUILTIN


@pytest.mark.parametrize("name", BUILTIN)
def test_every_built_in_fits_its_context(name: str) -> None:
    """Each has as many sessions as it says, is called as its file, and stays within its min_context."""
    workload, profile = loaded(name), library.builtin_profile(name)
    assert workload.name == workload.facts.name == profile.name == name
    assert workload.facts.sessions == len(workload.sessions) == profile.pool
    assert workload.facts.min_context == profile.min_context == CONTEXTS[name]
    assert workload.facts.max_depth <= workload.facts.min_context
    assert min(len(session.turns) for session in workload.sessions) >= 2
    # Of the others no more than a quarter is cut, or the stated number of turns would be a fiction.
    many = workload.cut + workload.redrawn > profile.pool / 4
    assert many is (name in CUT_SHORT)
    assert any("sessions end early" in note for note in workload.notes) is many


@pytest.mark.parametrize("name", TIERS)
@pytest.mark.parametrize("chars_per_token", [None, 2.5, 4.5])
def test_every_tier_fits_its_context_for_any_tokenizer(name: str, chars_per_token: float | None) -> None:
    """Lengths are in tokens, whatever a token is."""
    workload = library.load(name, seed=1, chars_per_token=chars_per_token)
    assert workload.facts.max_depth <= TIERS[name]
    assert workload.cut + workload.redrawn <= 16


@pytest.mark.parametrize("name", BUILTIN)
def test_every_built_in_says_where_its_numbers_come_from(name: str) -> None:
    """A parameter has a source or is listed as assumed; a source names a data set that others can get."""
    workload, profile = loaded(name), library.builtin_profile(name)
    assert set(workload.sources) | set(workload.assumed) >= set(profile.parameters)
    assert set(workload.sources).isdisjoint(workload.assumed)
    assert {"turns", "output"} <= set(profile.parameters)
    assert workload.facts.assumed == list(workload.assumed) == list(profile.assumed)
    known = ("MLPerf", "Weka", "TraceLab", "LMCache", "BFCL", "Mooncake", "as output")
    assert all(source.startswith(known) for source in workload.sources.values())


@pytest.mark.parametrize("name", BUILTIN)
def test_the_tiers_have_no_tools_and_agents_of_the_other_profiles_do(name: str) -> None:
    """What is sent as a definition, a call or a result of a tool depends on the profile alone."""
    with_tools = name.startswith(("coding", "research", "tool", "subagent"))
    assert has_tools(library.builtin_profile(name)) is with_tools
    assert all(bool(session.tools) is with_tools for session in loaded(name).sessions)


def test_the_demo_adds_at_most_40_prompt_tokens_a_turn() -> None:
    """Template and salt included, so that decoding takes most of the time; 96 tokens come back, exactly."""
    workload = library.load("demo", seed=1)
    for session in workload.sessions:
        depths = [turn.depth for turn in session.turns]
        new = [depths[0], *(after - before for before, after in pairwise(depths))]
        # An estimate counts the begin-of-text mark, which the tiny model's template lacks.
        assert max(new) <= 41
        assert 3 <= len(session.turns) <= 5
        assert {turn.output_tokens for turn in session.turns} == {96}
        assert all(0.02 <= turn.wait_s <= 0.15 for turn in session.turns[1:])
    assert workload.facts.max_depth <= 768
    assert (workload.history, workload.exact_length) == ("recorded", True)


@pytest.mark.parametrize("name", [name for name in BUILTIN if name != "demo"])
def test_real_workloads_use_the_models_own_answers(name: str) -> None:
    """Their text means something, so history is live and the model ends its answers."""
    assert (loaded(name).history, loaded(name).exact_length) == ("live", False)


@pytest.mark.parametrize("name", BUILTIN)
def test_no_two_sessions_of_a_pool_begin_alike(name: str) -> None:
    """Even without a salt, the first user messages of a pool differ."""
    sessions = loaded(name).sessions
    assert len({prompt(session, 0, salt="", answers={})[1]["content"] for session in sessions}) == len(sessions)


def test_the_name_of_the_tiers_stands_for_the_largest_that_fits() -> None:
    """Where the server doesn't say what a slot holds, for the one that most servers hold; other names stay."""
    assert library.resolved("batch-agents", 8192) == "batch-agents-8k"
    assert library.resolved("batch-agents", None) == "batch-agents-4k"
    assert library.resolved("chat", None) == "chat"
    assert library.profile_of("batch-agents").name == "batch-agents-4k"
    assert library.written_parameters("batch-agents") == library.written_parameters("batch-agents-4k")


@pytest.mark.parametrize(
    ("context", "name"),
    [
        (2048, "batch-agents-2k"),
        (4095, "batch-agents-2k"),
        (4096, "batch-agents-4k"),
        (8192, "batch-agents-8k"),
        (16383, "batch-agents-8k"),
        (16384, "batch-agents-16k"),
        (32767, "batch-agents-16k"),
        (1_000_000, "batch-agents-32k"),
    ],
)
def test_the_largest_tier_that_fits_is_taken(context: int, name: str) -> None:
    """A tier fits from its min_context on."""
    assert library.largest_fitting(context) == name


def test_a_slot_too_small_for_every_tier_is_told_the_numbers() -> None:
    """The message has what there is, what is needed, and what to do."""
    with pytest.raises(WorkloadError, match=r"holds 2047 tokens.*batch-agents-2k, needs 2048.*larger context"):
        library.largest_fitting(2047)


@pytest.mark.parametrize(("name", "context"), TIERS.items())
def test_a_workload_fits_from_its_min_context_on(name: str, context: int) -> None:
    """One token less is refused with both numbers."""
    workload = loaded(name)
    library.check_fits(workload, context)
    with pytest.raises(WorkloadError, match=f"Workload {name} needs {context} tokens.*has {context - 1}"):
        library.check_fits(workload, context - 1)


def test_an_unknown_name_is_told_the_names() -> None:
    """The message lists what there is."""
    with pytest.raises(WorkloadError, match=f"No workload is called 'demon'. Built in: {', '.join(BUILTIN)};"):
        library.load("demon", seed=1)


@pytest.mark.parametrize("ending", [".yaml", ".yml", ""])
def test_a_path_is_a_file_of_ones_own(tmp_path: Path, ending: str) -> None:
    """A copy of a built-in under another path gives the same sessions."""
    path = tmp_path / f"copy{ending}"
    source = Path(__file__).parents[2] / "workloads" / "demo.yaml"
    path.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    assert library.load(str(path), seed=1) == library.load(path, seed=1) == library.load("demo", seed=1)


def test_a_yaml_name_without_a_folder_is_a_file() -> None:
    """`mine.yaml` is looked for in the current folder and not among the built-in names."""
    with pytest.raises(WorkloadError, match=r"no-such-file\.yaml: No such file"):
        library.load("no-such-file.yaml", seed=1)
