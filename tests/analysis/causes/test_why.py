"""Rules of the reasons behind a speed-up, as the summary holds them."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.causes.why import wasted_drafts, why
from loadgen.analysis.diagnostic import Diagnostic
from loadgen.analysis.measured.cell import cell
from loadgen.analysis.measured.trial import Trial
from loadgen.analysis.pairs import comparisons

OFF = {"predicted_n": 100, "predicted_ms": 1000.0}
MTP = {"predicted_n": 100, "predicted_ms": 800.0, "draft_n": 120, "draft_n_accepted": 60}


def trials(
    make: Any, variant: str, timings: Any, *, level: int = 1, took: float = 10.0, rounds: int = 3
) -> list[Trial]:
    """One trial a round, in which every agent gets one answer with these timings in so many seconds."""
    return [
        make.trial(
            [
                make.request(
                    first=0.5, last=took, agent=agent, session=f"{number}.{agent}", round=number, variant=variant,
                    completion_tokens=100, timings=timings,
                )
                for agent in range(level)
            ],
            segments=[(0.0, took)] * level, round=number, variant=variant,
        )
        for number in range(1, rounds + 1)
    ]  # fmt: skip


def entries(make: Any, valid: Mapping[tuple[str, int], list[Trial]], **more: Any) -> dict[tuple[str, int], Any]:
    """The entries by variant and level, through strict JSON."""
    cells = [
        {"variant": name, "concurrency": level, **cell(found, off=name == "off" or name.endswith("-overhead"))}
        for (name, level), found in valid.items()
    ]
    found = why(valid, baseline="off", cells=cells, comparisons=comparisons({None: valid}, "off", 0.05), **more)
    assert [(one["variant"], one["concurrency"]) for one in found] == list(valid)
    return {(one["variant"], one["concurrency"]): make.strict_json(one) for one in found}


def test_the_chain_from_promise_to_tasks_per_hour_closes(make: Any) -> None:
    """2.5 promised ÷ 2.0 step time = 1.25 in decoding; 10 ÷ 9 in tasks, so 0.889 is lost beyond decoding."""
    valid = {("off", 1): trials(make, "off", OFF), ("mtp", 1): trials(make, "mtp", MTP, took=9.0)}
    found = entries(make, valid)["mtp", 1]
    assert found["tokens_per_step"]["value"] == pytest.approx(2.5)
    assert found["promised"]["value"] == pytest.approx(2.5)
    assert found["step_time"]["ratio"]["value"] == pytest.approx(2.0)
    assert found["decode_speedup"]["value"] == pytest.approx(1.25)
    assert found["realised"]["tasks_per_hour"]["value"] == pytest.approx(10 / 9)
    assert found["realised"]["output_tokens_per_s"]["value"] == pytest.approx(10 / 9)
    assert found["realised"]["tpot"]["value"] == pytest.approx(9.5 / 8.5)
    assert found["beyond_decode"]["value"] == pytest.approx(10 / 9 / 1.25)


def test_the_baseline_is_compared_with_nothing(make: Any) -> None:
    """Its ratios are null, its own figures are there."""
    found = entries(make, {("off", 1): trials(make, "off", OFF)})["off", 1]
    assert found["tokens_per_step"]["value"] == 1
    assert found["step_time"]["s"] == pytest.approx(0.01)
    ratios = (found["promised"], found["decode_speedup"], found["step_time"]["ratio"], *found["realised"].values())
    assert [one["value"] for one in ratios] == [None] * 6
    assert found["acceptance"] is None
    assert found["wasted_drafts_per_hour"]["value"] is None


def test_wasted_drafts_are_those_not_accepted_an_hour(make: Any) -> None:
    """2 agents waste 60 tokens each in 10 s: 2 · 120 ÷ 20 s = 12 a second, 43,200 an hour."""
    assert wasted_drafts(trials(make, "mtp", MTP, level=2)).value == pytest.approx(43_200)
    assert wasted_drafts(trials(make, "off", OFF)).value is None
    assert wasted_drafts([]).value is None


def test_the_overhead_variant_tells_what_loading_costs(make: Any) -> None:
    """12 ms a step loaded but idle: 1.2 of the 2.0; the variant itself has no twin."""
    valid = {
        ("off", 1): trials(make, "off", OFF),
        ("mtp", 1): trials(make, "mtp", MTP),
        ("mtp-overhead", 1): trials(make, "mtp-overhead", {"predicted_n": 100, "predicted_ms": 1200.0}),
    }
    found = entries(make, valid, diagnostics={"mtp-overhead": Diagnostic.OVERHEAD})
    step = found["mtp", 1]["step_time"]
    assert step["overhead_variant"] == "mtp-overhead"
    assert step["overhead"]["value"] == pytest.approx(1.2)
    assert step["drafting_and_verifying"]["value"] == pytest.approx(2 / 1.2)
    idle = found["mtp-overhead", 1]
    assert (idle["diagnostic"], idle["step_time"]["overhead_variant"]) == ("overhead", None)
    assert idle["step_time"]["ratio"]["value"] == pytest.approx(1.2)


def test_drafting_is_told_where_the_baseline_ran_as_wide(make: Any) -> None:
    """3 drafted tokens a step make it 4 wide; off takes 16 ms at 4 agents, so drafting is at least 20 ÷ 16."""
    wide = {"predicted_n": 100, "predicted_ms": 1600.0}
    valid = {
        ("off", 1): trials(make, "off", OFF),
        ("mtp", 1): trials(make, "mtp", MTP),
        ("off", 4): trials(make, "off", wide, level=4),
    }
    starts = [make.start("off", slots=4), make.start("mtp", slots=4)]
    step = entries(make, valid, starts=starts)["mtp", 1]["step_time"]
    assert (step["verify_width"], step["wide_level"]) == (4, 4)
    assert step["drafting_at_least"]["value"] == pytest.approx(1.25)
    assert entries(make, valid)["mtp", 1]["step_time"]["drafting_at_least"] is None


def test_a_collapse_is_found_over_the_levels_of_a_variant(make: Any) -> None:
    """Half of it is accepted alone, a tenth at 4 agents."""
    broken = {**MTP, "draft_n_accepted": 12}
    valid = {
        ("off", 1): trials(make, "off", OFF),
        ("mtp", 1): trials(make, "mtp", MTP),
        ("mtp", 4): trials(make, "mtp", broken, level=4),
    }
    found = entries(make, valid)
    assert found["mtp", 4]["acceptance_by_slots"]["alarm"] is True
    assert found["mtp", 1]["acceptance_by_slots"] is None
    assert found["mtp", 4]["promised"]["value"] is None


def test_what_to_try_against_stalls_comes_from_the_servers_settings(make: Any) -> None:
    """Only where there are some, and only for a llama-server."""
    events = {1: make.events([0.5, 4.0])}
    reader = make.request(first=0.5, last=4.0, token_events=2, events_at=1)
    other = make.request(start=1.0, first=3.0, last=4.0, agent=1, session="b")
    valid = {("off", 2): [make.trial([reader, other], events=events, segments=[(0, 4)] * 2)]}
    start = make.start("off", settings={"batch": 2048, "ubatch": 512})
    assert entries(make, valid, starts=[start])["off", 2]["stalls"]["try"] == "-b 512 (now 2048)"
    assert entries(make, valid)["off", 2]["stalls"]["try"] is None
    calm = {("off", 2): [make.trial([reader], events=events, segments=[(0, 4)] * 2)]}
    assert entries(make, calm, starts=[start])["off", 2]["stalls"]["try"] is None


def test_without_timings_everything_that_rests_on_them_is_null(make: Any) -> None:
    """A server that tells nothing, and a variant without one valid trial."""
    valid = {
        ("off", 1): trials(make, "off", None),
        ("mtp", 1): trials(make, "mtp", None),
        ("gone", 1): [],
    }
    found = entries(make, valid)
    for variant in ("mtp", "gone"):
        one = found[variant, 1]
        told = (one["tokens_per_step"], one["promised"], one["step_time"]["ratio"], one["decode_speedup"])
        assert [estimate["value"] for estimate in told] == [None] * 4
        assert (one["acceptance"], one["redone_prefill"], one["step_time"]["s"]) == (None, None, None)
    assert found["mtp", 1]["realised"]["tasks_per_hour"]["value"] == pytest.approx(1)
    assert found["gone", 1]["realised"]["tasks_per_hour"]["value"] is None


def test_a_server_that_hides_its_drafts_promises_nothing(make: Any) -> None:
    """Timings without draft figures of a variant that may draft: a step can't be counted."""
    valid = {("off", 1): trials(make, "off", OFF), ("mtp", 1): trials(make, "mtp", OFF)}
    assert entries(make, valid)["mtp", 1]["promised"]["value"] is None


number = st.none() | st.integers(-3, 10**12) | st.floats(-1e12, 1e12) | st.sampled_from(["", "nan", True])
timings = st.none() | st.dictionaries(
    st.sampled_from(["predicted_n", "predicted_ms", "draft_n", "draft_n_accepted", "prompt_n", "prompt_ms", "cache_n"]),
    number,
)


@given(st.lists(st.tuples(timings, timings), min_size=1, max_size=4))
def test_whatever_timings_say_the_entries_are_strict_json(make: Any, told: list[tuple[Any, Any]]) -> None:
    """Absent, negative and absurd values are null, never NaN, never a crash."""
    valid = {
        (variant, 1): [
            trials(make, variant, pair[index], rounds=number)[-1] for number, pair in enumerate(told, start=1)
        ]
        for index, variant in enumerate(("off", "mtp"))
    }
    for one in entries(make, valid).values():
        promised, ratio, decoding = (
            estimate["value"] for estimate in (one["promised"], one["step_time"]["ratio"], one["decode_speedup"])
        )
        assert (promised is None) == (ratio is None) == (decoding is None)
        if promised is not None:
            assert promised / ratio == pytest.approx(decoding, rel=1e-6)
