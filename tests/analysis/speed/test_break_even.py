"""Rules of break-even: what is needed, what the workload gives, and what is said of it."""

from collections.abc import Sequence
from typing import Any

import pytest

from loadgen.analysis.diagnostic import Diagnostic
from loadgen.analysis.measured.trial import Trial
from loadgen.analysis.pairs import comparisons
from loadgen.analysis.speed.break_even import break_even
from loadgen.analysis.speed.break_even_text import break_even_sentences
from loadgen.analysis.speed.set_acceptance import Settings
from tests.analysis.timed import MAKE, rounds, with_timings

_SAME = Settings("mtp", None)
_NOISE = (1.0, 1.01, 0.99)


def _found(
    *cells: Sequence[Trial],
    diagnostics: dict[str, Diagnostic] | None = None,
    settings: dict[str, Settings] | None = None,
    called: bool = True,
) -> list[dict[str, Any]]:
    valid = {(cell[0].record.variant, cell[0].record.level): list(cell) for cell in cells}
    names = list(dict.fromkeys(name for name, _ in valid))
    entries = break_even(
        valid, names, "off", off={"off"}, diagnostics=diagnostics or {}, settings=settings or {},
        comparisons=comparisons({None: valid}, "off", 0.05) if called else (),
    )  # fmt: skip
    checked: list[dict[str, Any]] = MAKE.strict_json(entries)
    return checked


def _set(**cells: tuple[int, float]) -> dict[str, Any]:
    """Variants `L<tokens a step>` of the settings of mtp whose turns take so many times those of the baseline."""
    turn_s = 1.0 + 60 * 0.02
    out = []
    for name, (level, times) in cells.items():
        length = int(name[1:])
        step = (turn_s * times - 1.0) / (60 // length)
        out.append(rounds(f"mtp-L{length}", level, _NOISE, step=step, per_step=length))
    names = [cell[0].record.variant for cell in out]
    return {
        "cells": out,
        "diagnostics": dict.fromkeys(names, Diagnostic.SYNTHETIC),
        "settings": dict.fromkeys([*names, "mtp"], _SAME),
    }


def test_from_the_time_of_a_step_it_is_modelled() -> None:
    """A step of 50 ms for one of 20 ms needs 2.5 tokens; two are given, surely fewer: below."""
    (found,) = _found(rounds("off", 8, _NOISE, step=0.02), rounds("mtp", 8, _NOISE, step=0.05, per_step=2))
    assert found["needed_tokens_per_step"]["value"] == pytest.approx(2.5)
    assert found["measured_tokens_per_step"]["value"] == 2
    assert (found["variant"], found["baseline"], found["concurrency"]) == ("mtp", "off", 8)
    assert (found["source"], found["verdict"], found["set_variants"]) == ("modelled", "below", [])


def test_the_sentence_names_what_is_needed_and_what_is_given() -> None:
    """As people ask for it; two digits where one would make them alike; nothing of a variant that is void."""
    off = rounds("off", 8, _NOISE, step=0.02)
    entries = _found(off, rounds("mtp", 8, _NOISE, step=0.05, per_step=2))
    assert break_even_sentences(entries) == [
        (
            "mtp at 8 agents: you need 2.5 tokens a step for it to pay (95 % interval 2.5 to 2.5, modelled from the "
            "time of a step); your workload gives 2.0."
        )
    ]
    assert break_even_sentences(entries, void={"mtp"}) == []
    close = _found(off, rounds("mtp", 8, _NOISE, step=0.0404, per_step=2))
    assert "you need 2.02 tokens a step" in break_even_sentences(close)[0]
    assert "your workload gives 2.00." in break_even_sentences(close)[0]


def test_set_acceptance_is_preferred_to_a_model() -> None:
    """L2 takes 1.2 times as long and L3 0.9 times: ln 1.2 ÷ (ln 1.2 + ln 1 ÷ 0.9) of the way from 2 to 3."""
    runs = _set(L2=(8, 1.2), L3=(8, 0.9))
    off, own = rounds("off", 8, _NOISE, step=0.02), rounds("mtp", 8, _NOISE, step=0.05, per_step=2)
    (found,) = _found(off, own, *runs.pop("cells"), **runs)
    assert (found["variant"], found["source"], found["set_variants"]) == ("mtp", "measured", ["mtp-L2", "mtp-L3"])
    assert found["needed_tokens_per_step"]["value"] == pytest.approx(2 + 0.182322 / (0.182322 + 0.105361), rel=1e-4)
    assert found["needed_tokens_per_step"]["n"] == 3
    assert found["verdict"] == "below"
    assert "measured with set acceptance); your workload gives 2.0." in break_even_sentences([found])[0]


def test_without_the_models_own_acceptance_nothing_is_given() -> None:
    """Random weights: the variants stand under the name that they share, and there is no verdict."""
    runs = _set(L2=(4, 1.2), L3=(4, 0.9))
    (found,) = _found(rounds("off", 4, _NOISE, step=0.02), *runs.pop("cells"), **runs)
    assert (found["variant"], found["measured_tokens_per_step"], found["verdict"]) == ("mtp", None, None)
    text = break_even_sentences([found])
    assert text == [("mtp at 4 agents: you need 2.6 tokens a step for it to pay (95 % interval 2.6 to 2.6, measured "
                    "with set acceptance).")]  # fmt: skip


def test_beyond_the_lengths_that_were_measured_only_the_side_is_said() -> None:
    """Slower even at the longest: more than that. Faster even at the shortest: less than that."""
    off = rounds("off", 4, _NOISE, step=0.02)
    runs = _set(L2=(4, 1.5), L3=(4, 1.2))
    above = _found(off, *runs.pop("cells"), **runs)
    assert above[0]["needed_tokens_per_step"] == {"value": None, "low": 3.0, "high": None, "n": 3}
    assert (above[0]["beyond"], above[0]["beyond_tokens"]) == ("more_than", 3.0)
    runs = _set(L2=(4, 0.9), L3=(4, 0.8))
    below = _found(off, *runs.pop("cells"), **runs)
    assert break_even_sentences([*above, *below]) == [
        (
            "mtp at 4 agents: you need more than 3.0 tokens a step for it to pay (95 % interval from 3.0 on, measured "
            "with set acceptance)."
        ),
        (
            "mtp at 4 agents: you need less than 2.0 tokens a step for it to pay (95 % interval up to 2.0, measured "
            "with set acceptance)."
        ),
    ]


def test_a_draft_too_short_is_said() -> None:
    """Drafts of 1 give 2 tokens at most, and 2.5 are needed; where no length would do, that."""
    off = rounds("off", 4, _NOISE, step=0.02)
    entries = _found(off, rounds("mtp", 4, _NOISE, step=0.05, per_step=2), settings={"mtp": Settings("k", 2)})
    assert break_even_sentences(entries) == [
        (
            "mtp at 4 agents: you need more than 2.00 tokens a step for it to pay (95 % interval from 2.00 on, "
            "modelled from the time of a step), the most that its drafts can give; your workload gives 2.00."
        )
    ]
    never = _found(off, rounds("mtp", 4, _NOISE, step=0.05, rest=3.0, per_step=2))
    assert break_even_sentences(never)[0] == (
        "mtp at 4 agents: no number of tokens a step would make it pay (without an interval, modelled from the time of "
        "a step); your workload gives 2.0."
    )


def test_what_it_did_itself_goes_before_set_acceptance() -> None:
    """It pays at 2 tokens a step, though runs with set acceptance need 2.6: the model of its own steps is used."""
    runs = _set(L2=(8, 1.2), L3=(8, 0.9))
    off, own = rounds("off", 8, _NOISE, step=0.02), rounds("mtp", 8, _NOISE, step=0.03, per_step=2)
    (found,) = _found(off, own, *runs.pop("cells"), **runs)
    assert found["needed_tokens_per_step"]["value"] == pytest.approx(1.5)
    assert (found["source"], found["verdict"]) == ("modelled", "above")
    assert found["reason"] == "runs with set acceptance contradict what the variant did itself"


def test_without_a_call_intervals_that_lie_apart_tell() -> None:
    """Measured: 2.0 given and 2.6 needed are apart; modelled rests on the same rounds and can't tell more."""
    runs = _set(L2=(8, 1.2), L3=(8, 0.9))
    off, own = rounds("off", 8, _NOISE, step=0.02), rounds("mtp", 8, _NOISE, step=0.05, per_step=2)
    (measured,) = _found(off, own, *runs.pop("cells"), called=False, **runs)
    (modelled,) = _found(off, own, called=False)
    assert (measured["verdict"], modelled["verdict"]) == ("below", "unresolved")


def test_variants_that_draft_nothing_have_no_break_even() -> None:
    """The baseline, others without speculation, and speculation that is loaded but idle."""
    off, idle = rounds("off", 1), rounds("idle", 1)
    assert _found(off, idle, diagnostics={"idle": Diagnostic.OVERHEAD}) == []


def test_a_server_that_tells_nothing_has_a_reason_and_no_sentence() -> None:
    """No timings, no drafts: null with why."""
    off = rounds("off", 1)
    for own in (
        rounds("mtp", 1, drafts=False),
        [with_timings(one, predicted_ms=None) for one in rounds("mtp", 1, per_step=2)],
    ):
        (found,) = _found(off, own)
        assert (found["source"], found["verdict"], found["needed_tokens_per_step"]["value"]) == (None, None, None)
        assert found["reason"]
        assert break_even_sentences([found]) == []


def test_one_round_and_a_missing_level_are_answered_as_far_as_they_go() -> None:
    """A value without an interval; no entry where the baseline wasn't measured."""
    entries = _found(rounds("off", 1, (1.0,), step=0.02), rounds("mtp", 1, (1.0,), step=0.05, per_step=2),
                     rounds("mtp", 2, (1.0,), step=0.05, per_step=2))  # fmt: skip
    assert [(entry["concurrency"], entry["verdict"]) for entry in entries] == [(1, "unresolved")]
    assert entries[0]["needed_tokens_per_step"] == {"value": pytest.approx(2.5), "low": None, "high": None, "n": 1}


def test_variants_of_other_settings_make_no_line() -> None:
    """Two set lengths of different drafts are two variants, each modelled by itself."""
    runs = _set(L2=(4, 1.2), L3=(4, 0.9))
    other = {"mtp-L2": Settings("n3", 4), "mtp-L3": Settings("n7", 8)}
    entries = _found(
        rounds("off", 4, _NOISE, step=0.02), *runs["cells"], diagnostics=runs["diagnostics"], settings=other
    )
    assert [(entry["variant"], entry["source"]) for entry in entries] == [
        ("mtp-L2", "modelled"),
        ("mtp-L3", "modelled"),
    ]
