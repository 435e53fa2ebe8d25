"""Rules of the modelled trial: it is played and written as the real one."""

from itertools import pairwise

import pytest

from benchmarks.agents import Setting
from benchmarks.long_run import tasks_per_hour, true_speedup
from benchmarks.timing_model import OFF, ON, Speed
from benchmarks.trial_model import as_run, play_trial
from benchmarks.work import Work, make_even_work, make_work
from loadgen.analysis.measured.trial import Trial
from loadgen.analysis.measured.validity import reasons
from loadgen.analysis.summary import summarise
from loadgen.records.model import Outcome, Phase
from loadgen.workload.draws import start_turns

_WORK = make_work(3, sessions=6)


def _trial(*, variant: str = "off", level: int = 3, turns: int = 8, failing: float = 0.0, factor: float = 1.0) -> Trial:
    starts = start_turns(_WORK.depths, seed=5, level=level, rounds=2)[0]
    return play_trial(
        Setting(
            work=_WORK,
            speed=OFF,
            seed=5,
            variant=variant,
            round=1,
            level=level,
            slots=4,
            turns=turns,
            starts=starts,
            failing=failing,
            factor=factor,
        )
    )


def test_every_agent_is_measured_for_exactly_k_turns_in_a_row() -> None:
    """The segment begins at the drawn turn, holds k turns and ends with the k-th."""
    trial = _trial()
    starts = start_turns(_WORK.depths, seed=5, level=3, rounds=2)[0]
    for segment in trial.record.segments:
        turns = [request for request in trial.measured if request.agent == segment.agent]
        assert len(turns) == segment.turns == 8
        assert turns[0].turn == starts[segment.agent][1]
        assert (turns[0].ready_ns, turns[-1].end_ns) == (segment.start_ns, segment.end_ns)


def test_warm_up_lasts_until_everyone_has_done_a_turn_and_three_seconds() -> None:
    """No segment begins earlier, and each agent warms up with the turn before its start."""
    trial = _trial()
    warmups = [request for request in trial.requests if request.phase is Phase.WARMUP]
    first_ends = [min(r.end_ns for r in warmups if r.agent == agent) for agent in range(3)]
    for segment in trial.record.segments:
        assert segment.start_ns >= max(3_000_000_000, *first_ends)
        mine = [request for request in warmups if request.agent == segment.agent]
        start = next(request for request in trial.measured if request.agent == segment.agent)
        if start.turn:
            assert {request.turn for request in mine} == {start.turn - 1}


def test_load_stays_until_the_last_segment_has_ended() -> None:
    """Agents that are done keep working: requests of the drain lie before the end of the last segment."""
    trial = _trial(turns=30)
    last = max(segment.end_ns for segment in trial.record.segments)
    drained = [request for request in trial.requests if request.phase is Phase.DRAIN]
    assert drained
    assert all(request.start_ns < last for request in drained)
    assert trial.record.end_ns == last


def test_a_modelled_trial_is_valid_and_all_its_time_is_accounted_for() -> None:
    """The real rules find nothing wrong with it."""
    trial = _trial()
    assert reasons(trial) == []
    assert trial.accounted_share == pytest.approx(1, abs=1e-6)


def test_a_failed_turn_ends_its_session_and_is_followed_by_a_declared_wait() -> None:
    """The next turn is a first turn, half a second later."""
    trial = _trial(failing=0.3, turns=20)
    for agent in range(3):
        turns = [request for request in trial.measured if request.agent == agent]
        failures = 0
        for before, after in pairwise(turns):
            failures = failures + 1 if before.outcome is Outcome.CONNECTION_LOST else 0
            if failures:
                assert (after.turn, after.wait_kind) == (0, "backoff")
                wait = min(0.5 * 2 ** (failures - 1), 10)
                assert (after.scheduled_ns - after.ready_ns) / 1e9 == pytest.approx(wait, abs=1e-6)
    assert any(request.outcome is Outcome.CONNECTION_LOST for request in trial.measured)


def test_equal_settings_play_equal_trials_and_variants_share_their_work() -> None:
    """The model is deterministic; another variant gets the same turns and its own answers."""
    first, again, other = _trial(), _trial(), _trial(variant="other")
    assert list(first.requests) == list(again.requests)
    work = [
        [(r.agent, r.session, r.turn) for r in sorted(t.measured, key=lambda r: (r.agent, r.start_ns))]
        for t in (first, other)
    ]
    assert work[0] == work[1]
    assert [r.completion_tokens for r in first.measured] != [r.completion_tokens for r in other.measured]


def test_a_modelled_run_goes_through_the_real_summary() -> None:
    """Speculation against none over 4 rounds: it pays alone, costs for eight, and crosses once between."""
    trials = []
    for level, turns in ((1, 40), (8, 8)):
        starts = start_turns(_WORK.depths, seed=5, level=level, rounds=4)
        trials += [
            play_trial(
                Setting(
                    work=_WORK,
                    speed=speed,
                    seed=5,
                    variant=variant,
                    round=number,
                    level=level,
                    slots=8,
                    turns=turns,
                    starts=starts[number - 1],
                )
            )
            for number in (1, 2, 3, 4)
            for variant, speed in (("off", OFF), ("on", ON))
        ]
    found = summarise(as_run(_WORK, trials))
    assert [(c["concurrency"], c["call"]) for c in found["comparisons"]] == [(1, "pays"), (8, "costs")]
    assert found["crossovers"][0]["kind"] == "at"
    assert found["invalid"] == []
    assert [c["started"] for c in found["cells"]] == [160, 160, 256, 256]


def test_twice_the_noise_takes_twice_the_time_on_the_server() -> None:
    """A factor of 2 lengthens segments, waits stay as they are."""
    slow, plain = _trial(factor=2.0, level=1), _trial(level=1)
    assert plain.segment_s < slow.segment_s < 2.1 * plain.segment_s


def test_agents_with_even_work_end_their_turns_at_the_same_instant() -> None:
    """No waits, no prefill and answers all alike: three agents are in lockstep from the first to the last turn."""
    work, speed = make_even_work(), Speed(prefill_s_per_token=0.0)
    starts = start_turns(work.depths, seed=5, level=3, rounds=2)[0]
    trial = play_trial(
        Setting(work=work, speed=speed, seed=5, variant="off", round=1, level=3, slots=4, turns=8, starts=starts)
    )
    first, second, third = ([r.end_ns for r in trial.measured if r.agent == agent] for agent in range(3))
    assert first == second == third


def test_the_truth_counts_completed_sessions() -> None:
    """Sessions of 2 turns of 1 s each: 1800 an hour for one agent, 3600 for two that don't hinder each other."""
    work = Work(depths=[[100, 200]], outputs=[[10, 10]], waits=[[0.0, 0.0]], length_spread=0.0)
    speed = Speed(base_s=0.1, per_token_s=0.0, prefill_s_per_token=0.0, prefill_slowdown=1.0)
    assert tasks_per_hour(work, speed, seed=1, level=1, slots=2, turns=2000) == pytest.approx(1800, rel=0.002)
    assert tasks_per_hour(work, speed, seed=1, level=2, slots=2, turns=2000) == pytest.approx(3600, rel=0.002)


def test_a_session_with_a_failed_turn_is_no_completed_one() -> None:
    """Of sessions of 2 turns, 4 in 5 turns ending well, 16 in 25 get to their end."""
    work = Work(depths=[[100, 200]], outputs=[[10, 10]], waits=[[0.0, 0.0]], length_spread=0.0)
    speed = Speed(base_s=0.0001, per_token_s=0.0, prefill_s_per_token=0.0)
    turns = 20_000
    rate = tasks_per_hour(work, speed, seed=1, level=1, slots=1, turns=turns, failing=0.2)
    # Nearly all of the time is back-off: 0.5 s after a failure, doubled after each further one in a row, 10 s at most.
    backoff = sum(0.8 * 0.2 ** (i + 1) * min(0.5 * 2**i, 10.0) for i in range(20))
    tasks_a_turn = 0.64 / 1.8
    assert rate == pytest.approx(3600 * tasks_a_turn / (backoff + 0.001), rel=0.05)


def test_speculation_of_the_model_pays_alone_and_costs_in_company() -> None:
    """The two speeds cross between 1 and 8 agents, so that both signs are covered."""
    ratio = {level: true_speedup(_WORK, (ON, OFF), seed=1, level=level, slots=8, turns=4000)[0] for level in (1, 8)}
    assert ratio[1] > 1.2
    assert ratio[8] < 0.95
