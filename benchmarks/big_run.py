"""A run folder as a long sweep leaves it, of any number of requests: what the analysis benchmark reads.

Four variants of a llama-server at 1, 2, 4, 8 and 16 agents in 8 rounds, with everything that a real folder holds:
server starts with their facts, counters, client readings, telemetry samples, and the token events of every request. One
request in five is an answer of about 100 tokens, the others are tool calls of about a dozen. It is written by the real
writer.
"""

import random
from collections.abc import Iterator
from pathlib import Path

from benchmarks.big_agent import TURNS, BigAgent
from loadgen.records.manifest import JournalEntry, Manifest, Plan, PlannedTrial, WorkloadFacts
from loadgen.records.model import (
    ClientReading,
    Component,
    CounterReading,
    Phase,
    Sample,
    Segment,
    ServerFacts,
    ServerStart,
    TrialRecord,
)
from loadgen.records.run_folder import SCHEMA, RunWriter
from loadgen.units import NS_PER_MS, NS_PER_S, NS_PER_US

VARIANTS = {"off": 0, "mtp-1": 1, "mtp-3": 3, "mtp-5": 5}
"""Names, and how many tokens each drafts."""
LEVELS = (1, 2, 4, 8, 16)
ROUNDS = 8
_SAMPLES = 100
"""Telemetry readings a trial."""
_COUNTERS = (
    "prompt_tokens_total",
    "tokens_predicted_total",
    "n_decode_total",
    "spec_decode_num_draft_tokens_total",
    "spec_decode_num_accepted_tokens_total",
    "spec_decode_num_drafts_total",
    "requests_processing",
)
_LEDGER = (("model", 16 << 30), ("kv", 2 << 30), ("recurrent_state", 1 << 29))


def write_big_run(path: Path, *, requests: int, seed: int) -> None:
    """Write a finished run of so many requests; the folder must not exist. Equal arguments write equal folders."""
    chance = random.Random(seed)  # noqa: S311 - a model, no secret
    planned = _planned()
    writer = RunWriter(path)
    writer.manifest(_manifest())
    writer.plan(Plan(rounds=ROUNDS, trials=planned, dropped_levels=[], estimated_s=1.0, turn_s={}))
    writer.journal(JournalEntry(at_ns=0, what="started"))
    now_ns = NS_PER_S
    for place, trial in enumerate(planned):
        share = requests * (place + 1) // len(planned) - requests * place // len(planned)
        if trial.level == LEVELS[0]:
            writer.start(_start(trial, now_ns))
        now_ns = _write_trial(writer, trial, share, now_ns, chance)
    writer.journal(JournalEntry(at_ns=now_ns, what="complete"))
    writer.close()


def _planned() -> list[PlannedTrial]:
    places = [(number, variant, level) for number in range(1, ROUNDS + 1) for variant in VARIANTS for level in LEVELS]
    return [
        PlannedTrial(
            trial=f"r{number}-{variant}-c{level}",
            round=number,
            variant=variant,
            level=level,
            order=order,
            turns_per_agent=8,
            short=False,
        )
        for order, (number, variant, level) in enumerate(places)
    ]


def _write_trial(writer: RunWriter, planned: PlannedTrial, requests: int, now_ns: int, chance: random.Random) -> int:
    """One trial of so many requests, a tenth each before and behind the segments; when the next can begin."""
    agents = [BigAgent(planned, index, VARIANTS[planned.variant], now_ns, play=index) for index in range(planned.level)]
    begun: dict[int, int] = {}
    ended: dict[int, int] = {}
    for number in range(requests):
        agent = min(agents, key=lambda one: one.now_ns)
        phase = _phase(number, requests)
        ready_ns = agent.now_ns
        record, events = agent.next_turn(phase, chance)
        writer.request(record, events)
        if phase is Phase.SEGMENT:
            begun.setdefault(agent.agent, ready_ns)
            ended[agent.agent] = record.end_ns
    end_ns = max(agent.now_ns for agent in agents)
    for sample in _samples(planned, now_ns, end_ns, chance):
        writer.sample(sample)
    segments = [Segment(agent=index, start_ns=begun[index], end_ns=ended[index], turns=8) for index in sorted(ended)]
    writer.trial(_trial(planned, segments, now_ns, end_ns))
    return end_ns + NS_PER_S


def _phase(number: int, requests: int) -> Phase:
    if number * 10 < requests:
        return Phase.WARMUP
    return Phase.SEGMENT if number * 10 < requests * 9 else Phase.DRAIN


def _trial(planned: PlannedTrial, segments: list[Segment], start_ns: int, end_ns: int) -> TrialRecord:
    return TrialRecord(
        run="big",
        trial=planned.trial,
        round=planned.round,
        variant=planned.variant,
        level=planned.level,
        order=planned.order,
        turns_per_agent=planned.turns_per_agent,
        short=planned.short,
        start_ns=start_ns,
        measured_ns=max((segment.start_ns for segment in segments), default=None),
        end_ns=end_ns,
        complete=True,
        aborted=None,
        server_alive=True,
        segments=segments,
        counters_before=_counters(start_ns, planned.order),
        counters_after=_counters(end_ns, planned.order + 1),
        client=_client(end_ns - start_ns),
    )


def _samples(planned: PlannedTrial, start_ns: int, end_ns: int, chance: random.Random) -> Iterator[Sample]:
    for number in range(_SAMPLES):
        yield Sample(
            run="big",
            trial=planned.trial,
            variant=planned.variant,
            at_ns=start_ns + (end_ns - start_ns) * number // _SAMPLES,
            source="nvml",
            name=("used_bytes", "power_watts")[number % 2],
            value=chance.uniform(2e10, 2.1e10) if number % 2 == 0 else chance.uniform(200, 300),
            device="GPU-0",
        )


def _counters(at_ns: int, trials: int) -> CounterReading:
    """Counters that have grown over so many trials."""
    return CounterReading(at_ns=at_ns, values={f"llamacpp:{name}": trials * 1000.0 for name in _COUNTERS})


def _client(wall_ns: int) -> ClientReading:
    return ClientReading(
        stamps="kernel",
        wall_ns=wall_ns,
        cpu_ns=wall_ns // 20,
        receive_lag_samples=1000,
        receive_lag_p50_ns=200 * NS_PER_US,
        receive_lag_p99_ns=600 * NS_PER_US,
        receive_lag_max_ns=3 * NS_PER_MS,
        lag_samples=1000,
        lag_p50_ns=500 * NS_PER_US,
        lag_p99_ns=3 * NS_PER_MS,
        lag_max_ns=5 * NS_PER_MS,
    )


def _start(planned: PlannedTrial, at_ns: int) -> ServerStart:
    return ServerStart(
        run="big",
        round=planned.round,
        variant=planned.variant,
        at_ns=at_ns,
        ready_s=0.5,
        command=["llama-server", "-m", "model.gguf", "-np", "16"],
        target="http://127.0.0.1:8080",
        log=None,
        facts=ServerFacts(
            kind="llama-server",
            model="model.gguf",
            model_path="model.gguf",
            build="b1",
            slots=16,
            context_per_slot=8192,
            metrics=True,
            speculative=VARIANTS[planned.variant] > 0,
            drafted=VARIANTS[planned.variant],
            sampling={"temperature": 0.0},
        ),
        ledger=[Component(component=name, bytes=size, source="log", device="GPU-0") for name, size in _LEDGER],
    )


def _manifest() -> Manifest:
    variants = [{"kind": "command", "name": name, "speculative": drafted > 0} for name, drafted in VARIANTS.items()]
    return Manifest(
        schema=SCHEMA,
        run="big",
        tool_version="0",
        started_at="1970-01-01T00:00:00Z",
        started_ns=0,
        experiment={"variants": variants, "baseline": "off", "levels": list(LEVELS), "min_effect": 0.05},
        workload=WorkloadFacts(
            name="agent",
            digest="big",
            sessions=10_000,
            turns=10_000 * TURNS,
            min_context=8192,
            max_depth=8192,
            history="recorded",
            exact_length=False,
            chars_per_token=4.0,
            assumed=[],
        ),
        host={},
        random_weights=False,
    )
