"""Agents on the timing model: the trial procedure of the real tool, and endless work as the truth.

A trial is played as loadgen plays it: warm-up on the turn before the start turn until every agent has done one whole
turn and 3 s have passed, then a segment of k turns, and further work until the last segment has ended. It is written
as the same records that a real run leaves. Two things are simpler: no warm-up turn fails, and the text of an answer is
only a number of tokens (natural lengths: each variant draws its own, around the same middle).
"""

import math
import random
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

import msgspec

from benchmarks.timing_model import Agent, Call, Server, Speed, play
from loadgen.analysis.trial import Trial
from loadgen.records.manifest import Manifest, WorkloadFacts
from loadgen.records.model import Outcome, Phase, RequestRecord, Segment, TrialRecord
from loadgen.records.run import Run
from loadgen.units import S_PER_HOUR, s_to_ns
from loadgen.workload.draws import rng, session_index

_WARMUP_S = 3.0
_LENGTH_SPREAD = 0.15
"""Spread (of the logarithm) of an answer's length between variants."""
_REPEAT_TOKENS = 4
"""What a server evaluates again of a prompt that it has whole in its cache."""


@dataclass(frozen=True)
class Work:
    """The pool of sessions: `[session][turn]` prompt depth and output (tokens), and the wait before the turn (s)."""

    depths: list[list[int]]
    outputs: list[list[int]]
    waits: list[list[float]]


def make_work(seed: int, *, sessions: int = 60, shortest: int = 20, longest: int = 60) -> Work:
    """Sessions of varied length whose later turns are longer, so that it matters where an agent starts."""
    chance = random.Random(seed)  # noqa: S311 - a model, no secret
    work = Work([], [], [])
    for _ in range(sessions):
        turns = chance.randint(shortest, longest)
        outputs = [max(4, round(chance.lognormvariate(math.log(50), 0.7) * (1 + t / turns))) for t in range(turns)]
        depth, depths = round(chance.lognormvariate(math.log(1000), 0.3)), []
        for output in outputs:
            depths.append(depth)
            depth += output + round(chance.lognormvariate(math.log(100), 0.8))
        work.depths.append(depths)
        work.outputs.append(outputs)
        work.waits.append([0.0] + [min(chance.expovariate(1 / 0.3), 5.0) for _ in range(turns - 1)])
    return work


@dataclass
class Setting:
    """One trial to be played."""

    work: Work
    speed: Speed
    seed: int
    variant: str
    round: int
    level: int
    slots: int
    turns: int
    starts: Sequence[tuple[int, int]]
    failing: float = 0.0
    """Share of turns that fail."""
    factor: float = 1.0
    """Scales every time on the server: the noise of this trial."""
    warmed: int = 0
    segments: dict[int, tuple[float, float]] = field(default_factory=dict)


def play_trial(setting: Setting) -> Trial:
    """Play one trial and write it down as the real tool does."""
    calls: list[Call] = []
    agents = [_agent(setting, index) for index in range(setting.level)]
    server = Server(setting.speed, setting.slots, setting.factor)
    end = play(agents, server, stop=lambda: len(setting.segments) == setting.level, observe=calls.append)
    requests = [_request(setting, call) for call in sorted(calls, key=lambda call: (call.due, call.agent))]
    return Trial(record=_record(setting, end), requests=requests, events=lambda _: (), headers_tell_slot=True)


def as_run(work: Work, trials: Sequence[Trial]) -> Run:
    """Played trials as the run that a run folder would hold; the variant of the first is the baseline."""
    variants = list(dict.fromkeys(trial.record.variant for trial in trials))
    depths = [depth for session in work.depths for depth in session]
    facts = WorkloadFacts(
        name="model",
        digest="model",
        sessions=len(work.depths),
        turns=len(depths),
        min_context=max(depths),
        max_depth=max(depths),
        history="recorded",
        exact_length=False,
        chars_per_token=None,
        assumed=[],
    )
    manifest = Manifest(
        schema="loadgen-run/1",
        run="model",
        tool_version="0",
        started_at="1970-01-01T00:00:00Z",
        started_ns=0,
        experiment={"variants": [{"name": name} for name in variants], "baseline": variants[0]},
        workload=facts,
        host={},
        random_weights=False,
    )
    return Run(
        manifest=manifest,
        trials=[msgspec.structs.replace(trial.record, order=order) for order, trial in enumerate(trials)],
        requests=[request for trial in trials for request in trial.requests],
    )


def tasks_per_hour(
    work: Work, speed: Speed, *, seed: int, level: int, slots: int, turns: int, failing: float = 0.0
) -> float:
    """The truth: whole sessions completed per hour by agents that work for `turns` turns in all, counted one by one.

    No credits, no segments, no start turns: sessions are drawn as agents need them, from their first turn to their
    last or to a failure. The first tenth is left out.
    """
    chance = random.Random(seed)  # noqa: S311 - a model, no secret
    ended = 0
    completed = 0
    began = 0.0

    def observe(call: Call) -> None:
        nonlocal ended, completed, began
        ended += 1
        if ended <= turns // 10:
            began = call.end
        elif call.fails_after is None and call.turn == len(work.depths[call.session]) - 1:
            completed += 1

    agents = [_endless(work, chance, index, failing) for index in range(level)]
    end = play(agents, Server(speed, slots, 1.0), stop=lambda: ended >= turns, observe=observe)
    return completed / (end - began) * S_PER_HOUR


def _agent(setting: Setting, index: int) -> Agent:
    work = setting.work
    seeds = (setting.seed, "agent", setting.round, setting.level, index, setting.variant)
    chance = random.Random(int(rng(*seeds).integers(1 << 62)))  # noqa: S311 - a model, no secret
    session, turn = setting.starts[index]
    now = yield from _warm_up(setting, index, chance)
    begun, done, plays = now, 0, 0
    cached = work.depths[session][turn - 1] if turn else 0
    backoff = _Backoff()
    while True:
        while turn < len(work.depths[session]):
            phase = Phase.SEGMENT if done < setting.turns else Phase.DRAIN
            call = _call(work, chance, index, (session, plays, turn), phase, now, cached, backoff, setting.failing)
            call = yield call
            now = call.end
            done += 1
            if done == setting.turns:
                setting.segments[index] = (begun, now)
            cached, turn = work.depths[session][turn], turn + 1
            if backoff.after(failed=call.fails_after is not None):
                break
        plays += 1
        session = session_index(setting.seed, setting.round, setting.level, index, plays, len(work.depths))
        turn = cached = 0


def _warm_up(setting: Setting, index: int, chance: random.Random) -> Generator[Call, Call, float]:
    """Repeat one turn until everyone has done one and 3 s have passed; the time of its end."""
    work = setting.work
    session, turn = setting.starts[index]
    if turn == 0:
        session = (session + 1) % len(work.depths)
        turn = chance.randrange(len(work.depths[session]))
    else:
        turn -= 1
    now, cached, first = 0.0, 0, True
    while first or setting.warmed < setting.level or now < _WARMUP_S:
        place = (session, -1, turn)
        call = yield _call(work, chance, index, place, Phase.WARMUP, now, cached, _Backoff(), 0.0)
        now = call.end
        setting.warmed += first
        first, cached = False, work.depths[session][turn] - _REPEAT_TOKENS
    return now


def _endless(work: Work, chance: random.Random, index: int, failing: float) -> Agent:
    now, plays = 0.0, 0
    backoff = _Backoff()
    while True:
        session = chance.randrange(len(work.depths))
        cached = 0
        for turn in range(len(work.depths[session])):
            place = (session, plays, turn)
            call = yield _call(work, chance, index, place, Phase.SEGMENT, now, cached, backoff, failing)
            now, cached = call.end, work.depths[session][turn]
            if backoff.after(failed=call.fails_after is not None):
                break
        plays += 1


class _Backoff:
    """0.5·2ⁱ s after the i-th failure in a row (from 0), at most 10 s."""

    def __init__(self) -> None:
        self._failures = 0

    def after(self, *, failed: bool) -> bool:
        self._failures = self._failures + 1 if failed else 0
        return failed

    @property
    def wait_s(self) -> float:
        return min(0.5 * 2 ** (self._failures - 1), 10.0) if self._failures else 0.0


def _call(  # noqa: PLR0917 - one place that draws a request from all that it depends on
    work: Work,
    chance: random.Random,
    agent: int,
    place: tuple[int, int, int],
    phase: Phase,
    now: float,
    cached: int,
    backoff: _Backoff,
    failing: float,
) -> Call:
    session, plays, turn = place
    wait = backoff.wait_s or work.waits[session][turn]
    tokens = max(1, round(work.outputs[session][turn] * math.exp(chance.gauss(0, _LENGTH_SPREAD))))
    return Call(
        agent=agent,
        session=session,
        play=plays,
        turn=turn,
        phase=phase,
        ready=now,
        due=now + wait,
        wait_kind="backoff" if backoff.wait_s else ("tool" if wait else None),
        uncached=work.depths[session][turn] - cached,
        tokens=tokens,
        fails_after=chance.random() if failing and chance.random() < failing else None,
    )


def _record(setting: Setting, end: float) -> TrialRecord:
    return TrialRecord(
        run="model",
        trial=_name(setting),
        round=setting.round,
        variant=setting.variant,
        level=setting.level,
        order=0,
        turns_per_agent=setting.turns,
        short=False,
        start_ns=0,
        measured_ns=s_to_ns(max(begin for begin, _ in setting.segments.values())),
        end_ns=s_to_ns(end),
        complete=True,
        aborted=None,
        server_alive=True,
        segments=[
            Segment(agent=index, start_ns=s_to_ns(begin), end_ns=s_to_ns(done), turns=setting.turns)
            for index, (begin, done) in sorted(setting.segments.items())
        ],
        counters_before=None,
        counters_after=None,
        client=None,
    )


def _name(setting: Setting) -> str:
    return f"r{setting.round}-n{setting.level}-{setting.variant}"


def _request(setting: Setting, call: Call) -> RequestRecord:
    ok = call.fails_after is None
    depth = setting.work.depths[call.session][call.turn]
    start, taken, first, end = (s_to_ns(at) for at in (call.due, call.taken, call.first, call.end))
    name = f"{call.session}.{call.agent}.{call.play}"
    return RequestRecord(
        run="model",
        trial=_name(setting),
        round=setting.round,
        variant=setting.variant,
        level=setting.level,
        agent=call.agent,
        session=name,
        root=name,
        turn=call.turn,
        turns=len(setting.work.depths[call.session]),
        turn_kind="model",
        attempt=1,
        phase=Phase(call.phase),
        ready_ns=s_to_ns(call.ready),
        scheduled_ns=start,
        wait_kind=call.wait_kind,
        in_flight=1,
        active_agents=setting.level,
        target="http://model",
        start_ns=start,
        connect_ns=None,
        send_ns=start,
        send_done_ns=start,
        headers_ns=taken,
        first_event_ns=first,
        first_token_ns=first,
        first_answer_ns=first,
        last_token_ns=end,
        end_ns=end,
        outcome=Outcome.OK if ok else Outcome.CONNECTION_LOST,
        status=200,
        error=None if ok else "the connection was lost",
        finish_reason="stop" if ok else None,
        done_seen=ok,
        decode_warnings=0,
        token_events=call.tokens if ok else 1,
        events_at=None,
        max_tokens=100_000,
        exact_length=False,
        prompt_tokens=depth if ok else None,
        completion_tokens=call.tokens if ok else None,
        cached_tokens=depth - call.uncached if ok else None,
        timings=None,
    )
