"""Built-in workloads, and which fits."""

from itertools import pairwise
from pathlib import Path

import pytest

from loadgen.errors import WorkloadError
from loadgen.workload import library
from loadgen.workload.session import prompt

BUILTIN = ["batch-agents-16k", "batch-agents-2k", "batch-agents-4k", "batch-agents-8k", "demo", "file-edit"]
TIERS = {"batch-agents-2k": 2048, "batch-agents-4k": 4096, "batch-agents-8k": 8192, "batch-agents-16k": 16384}


def test_the_built_in_workloads_have_these_names() -> None:
    """Scripts and documentation name them."""
    assert library.builtin_names() == BUILTIN


@pytest.mark.parametrize("name", BUILTIN)
@pytest.mark.parametrize("chars_per_token", [None, 2.5, 4.5])
def test_every_built_in_loads_and_fits_its_context(name: str, chars_per_token: float | None) -> None:
    """Each has a pool of 64 sessions, is called as its file, and stays within its min_context for any tokenizer."""
    workload = library.load(name, seed=1, chars_per_token=chars_per_token)
    assert workload.name == workload.facts.name == name
    assert workload.facts.sessions == len(workload.sessions) == 64
    assert workload.facts.max_depth <= workload.facts.min_context
    assert min(len(session.turns) for session in workload.sessions) >= 2
    # More cuts than this, and the stated number of turns would be a fiction.
    assert workload.cut + workload.redrawn <= 16


@pytest.mark.parametrize("name", BUILTIN)
def test_every_built_in_says_where_its_numbers_come_from(name: str) -> None:
    """A parameter has a source or is listed as assumed; a source says what it is."""
    workload = library.load(name, seed=1, chars_per_token=3.3)
    profile = library.builtin_profile(name)
    assert set(workload.sources).isdisjoint(workload.assumed)
    assert {"turns", "output", "tool_time_s"} <= set(workload.sources) | set(workload.assumed)
    assert workload.facts.assumed == list(workload.assumed) == list(profile.assumed)
    assert all("MLPerf" in source or source == "as output" for source in workload.sources.values())


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
    workload = library.load(name, seed=1, chars_per_token=3.3)
    assert (workload.history, workload.exact_length) == ("live", False)


def test_no_two_sessions_of_a_pool_begin_alike() -> None:
    """Even without a salt, the first user messages of a pool differ."""
    for name in BUILTIN:
        sessions = library.load(name, seed=1, chars_per_token=3.3).sessions
        assert len({prompt(session, 0, salt="", answers={})[1]["content"] for session in sessions}) == len(sessions)


@pytest.mark.parametrize(
    ("context", "name"),
    [
        (2048, "batch-agents-2k"),
        (4095, "batch-agents-2k"),
        (4096, "batch-agents-4k"),
        (8192, "batch-agents-8k"),
        (16383, "batch-agents-8k"),
        (16384, "batch-agents-16k"),
        (1_000_000, "batch-agents-16k"),
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
    workload = library.load(name, seed=1)
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
