"""Published tables say what to do without intervals, and every text says that there are none."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.decision.published_table import PublishedTable, Quantity, published_verdict

NOTE = "The source gives no intervals, so nothing says how far its figures would repeat."


def tokens(off: dict[int, float], on: dict[int, float]) -> dict[str, Any]:
    """What a table of tokens per second says."""
    return published_verdict(PublishedTable(quantity=Quantity.TOKENS_PER_S, off=off, on=on))


def test_the_table_of_llama_cpp_27342_is_on_only_at_1() -> None:
    """Tokens per second at 1, 2 and 4 agents: off 11.11, 20.14, 34.14; MTP 22.10, 16.52, 26.35."""
    found = tokens({1: 11.11, 2: 20.14, 4: 34.14}, {1: 22.10, 2: 16.52, 4: 26.35})
    assert found["answer"] == "on only at 1; crossover between 1 and 2"
    assert found["intervals"] is False
    assert found["crossover"]["kind"] == "at"
    assert found["crossover"]["concurrency"]["value"] == pytest.approx(1.712, abs=0.001)
    assert (found["crossover"]["concurrency"]["low"], found["crossover"]["concurrency"]["high"]) == (None, None)
    assert found["text"] == (
        "On only at 1; crossover between 1 and 2. With speculation there are 1.99 times the tokens per second at 1 "
        f"agent, 0.82 times at 2 agents, 0.77 times at 4 agents. {NOTE}"
    )


def test_the_table_of_kimi_k3_keeps_it_for_one_user_and_spends_its_memory_on_slots_for_four() -> None:
    """TPOT 77.7 → 49.2 ms at 1 agent, 134.5 → 220.6 ms at 4; state 1.77 → 14.18 GB at 4 slots with 7 drafts."""
    found = published_verdict(
        PublishedTable(
            quantity=Quantity.TPOT_S,
            off={1: 0.0777, 4: 0.1345},
            on={1: 0.0492, 4: 0.2206},
            state_off_gb=1.77,
            state_on_gb=14.18,
            slots=4,
        )
    )
    assert found["answer"] == "one interactive user: keep; four background agents: off, spend the memory on slots"
    assert found["slots_bought"] == pytest.approx(28.0, abs=0.05)
    assert found["text"] == (
        "One interactive user: keep; four background agents: off, spend the memory on slots. With speculation a "
        "token comes 1.58 times as fast at 1 agent, 0.61 times at 4 agents. State takes 1.77 GB without and "
        "14.18 GB with it at 4 slots, so what it adds would hold the state of 28 more slots; their key-value cache is "
        f"not counted. {NOTE}"
    )


@pytest.mark.parametrize(
    ("on", "answer"),
    [
        ({1: 11, 2: 11, 4: 11}, "on up to 4, the largest published; no crossover up to there"),
        ({1: 9, 2: 9, 4: 10}, "off from 1 on, the smallest published; no crossover from there on"),
        ({1: 9, 2: 9, 4: 11}, "on only at 4; crossover between 2 and 4"),
        ({1: 11, 2: 9, 4: 11}, "on only at 1 and 4; crossovers between 1 and 2, and between 2 and 4"),
        ({2: 11}, "on up to 2, the largest published; no crossover up to there"),
        ({8: 11}, "nothing can be said: no concurrency has a figure with and without speculation"),
    ],
)
def test_other_tables(on: dict[int, float], answer: str) -> None:
    """Everywhere, nowhere, more than one crossover, one concurrency, none in common."""
    found = tokens({1: 10, 2: 10, 4: 10}, on)
    assert found["answer"] == answer
    assert found["text"].endswith(NOTE)


@pytest.mark.parametrize(
    ("off", "on", "answer"),
    [
        ({1: 1.0, 4: 1.0}, {1: 2.0, 4: 0.5}, "one interactive user: off; four background agents: keep"),
        ({1: 1.0}, {1: 0.5}, "one interactive user: keep"),
        ({20: 1.0}, {20: 2.0}, "20 background agents: off"),
    ],
)
def test_other_tables_of_time_a_token(off: dict[int, float], on: dict[int, float], answer: str) -> None:
    """By use, as far as the table has it; without memory nothing is said of slots."""
    assert published_verdict(PublishedTable(quantity=Quantity.TPOT_S, off=off, on=on))["answer"] == answer


_FIGURES = st.dictionaries(st.integers(1, 64), st.floats(), max_size=5)


@given(_FIGURES, _FIGURES, st.sampled_from(Quantity), st.none() | st.floats(), st.none() | st.floats())
def test_any_table_has_an_answer(
    off: dict[int, float], on: dict[int, float], quantity: Quantity, before: float | None, after: float | None
) -> None:
    """And no text without the note; figures that are none are left out."""
    table = PublishedTable(quantity=quantity, off=off, on=on, state_off_gb=before, state_on_gb=after, slots=4)
    found = published_verdict(table)
    assert found["text"].endswith(NOTE)
    assert all(0 < one["value"] < math.inf for one in found["speedups"])
    assert found["slots_bought"] is None or math.isfinite(found["slots_bought"])
