"""Whether answers end by themselves is the workload's own matter, unless the run says otherwise."""

from pathlib import Path

import pytest

from loadgen.workload.formats.session import write
from loadgen.workload.library import load
from loadgen.workload.recorded import RecordedSession, RecordedTurn


@pytest.mark.parametrize(("name", "own"), [("demo", True), ("batch-agents-4k", False)])
def test_a_profile_can_be_made_exact_or_natural(name: str, own: bool) -> None:
    """Its own mode without a word; every turn keeps its number of tokens, as a cap or exactly."""
    as_it_is, natural, exact = (load(name, seed=1, output_length=how) for how in (None, "natural", "exact"))
    assert [(one.exact_length, one.facts.exact_length) for one in (as_it_is, natural, exact)] == [
        (own, own),
        (False, False),
        (True, True),
    ]
    same = natural if not own else exact
    assert same.facts.digest == as_it_is.facts.digest


def test_a_recording_can_have_exactly_its_own_lengths(tmp_path: Path) -> None:
    """100 recorded tokens are a cap of 150 tokens, or exactly 100; a cap of the run's own goes over both."""
    turns = [
        RecordedTurn(
            messages=[{"role": "user", "content": text}],
            assistant={"role": "assistant", "content": "done"},
            output_tokens=tokens,
        )
        for text, tokens in (("Fix it", 100), ("More?", 20))
    ]
    path = tmp_path / "mine.jsonl"
    with path.open("wb") as file:
        write([RecordedSession(session_id="t1", turns=turns)], file)
    natural, exact = (load(path, seed=1, output_length=how) for how in ("natural", "exact"))
    capped = load(path, seed=1, output_length="exact", max_tokens=50)
    assert [turn.output_tokens for turn in natural.sessions[0].turns] == [150, 64]
    assert [turn.output_tokens for turn in exact.sessions[0].turns] == [100, 20]
    assert [turn.output_tokens for turn in capped.sessions[0].turns] == [50, 20]
    assert [one.facts.exact_length for one in (load(path, seed=1), natural, exact)] == [False, False, True]
