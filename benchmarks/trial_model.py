"""The trial procedure of the real tool on the timing model, written as the same records that a real run leaves.

A trial is played as loadgen plays it: warm-up on the turn before the start turn until every agent has done one whole
turn and 3 s have passed, then a segment of k turns, and further work until the last segment has ended. Two things are
simpler: no warm-up turn fails, and the text of an answer is only a number of tokens.
"""

from collections.abc import Sequence

import msgspec

from benchmarks.agents import Setting, trial_agent
from benchmarks.timing_model import Call, Server, play
from benchmarks.work import Work
from loadgen.analysis.measured.trial import Trial
from loadgen.records.manifest import Manifest, WorkloadFacts
from loadgen.records.model import Outcome, Phase, RequestRecord, Segment, TrialRecord
from loadgen.records.run import Run
from loadgen.units import s_to_ns


def play_trial(setting: Setting) -> Trial:
    """Play one trial and write it down as the real tool does."""
    calls: list[Call] = []
    agents = [trial_agent(setting, index) for index in range(setting.level)]
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
    ok = not call.failed
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
