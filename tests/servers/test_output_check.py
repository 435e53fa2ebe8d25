"""What a server's answers show, asked by many sessions at once."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from loadgen.analysis.output_check import Judgement, answers, judge
from loadgen.client.chat import ChatClient
from loadgen.client.control import Control
from loadgen.client.endpoint import Endpoint
from loadgen.client.transport import HttpTransport
from loadgen.experiment.model import Deadlines
from loadgen.experiment.variant import LaunchVariant, UrlVariant
from loadgen.records.model import Phase, RequestRecord, TokenEvent
from loadgen.records.output_check import OutputCheck
from loadgen.servers.code_words import MOST_SESSIONS, CodedSession, coded_sessions
from loadgen.servers.greedy_answers import PROMPTS, GreedyAnswers, prompts
from loadgen.servers.output_check import check_output, skip_reason

if TYPE_CHECKING:
    from tests.servers.conftest import Served

AGENTS = 4
SESSIONS = coded_sessions("run", AGENTS)


@dataclass(frozen=True)
class Asked:
    """One request as the server got it: its body, the agent whose code word it holds, and how often that one asked."""

    body: dict[str, Any]
    agent: int | None
    times: int

    @property
    def session(self) -> CodedSession:
        """The session of a request with a code word."""
        assert self.agent is not None
        return SESSIONS[self.agent]


@dataclass(frozen=True)
class Answered:
    """What the server answers: text, its timings, or an HTTP status instead."""

    text: str
    timings: dict[str, int] = field(default_factory=dict)
    status: int = 200
    as_reasoning: bool = False

    def wire(self) -> bytes:
        """The whole reply."""
        if self.status != 200:
            return f"HTTP/1.1 {self.status} X\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{{}}".encode()
        name = "reasoning_content" if self.as_reasoning else "content"
        delta = [{"choices": [{"index": 0, "finish_reason": None, "delta": {name: self.text}}]}] if self.text else []
        end = {"choices": [{"index": 0, "finish_reason": "stop", "delta": {}}], "timings": self.timings}
        body = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in [*delta, end])
        body += b"data: [DONE]\n\n"
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body


Behave = Callable[[Asked], Awaitable[Answered]]


@dataclass
class StandIn:
    """A chat server on loopback: where it is, and what it was asked."""

    endpoint: Endpoint
    asked: list[Asked]


Serve = Callable[[Behave], Awaitable[StandIn]]


@pytest.fixture
async def stand_in() -> AsyncIterator[Serve]:
    """Starts servers whose answers a test makes up."""
    servers: list[asyncio.Server] = []
    tasks: set[asyncio.Task[None]] = set()

    async def start(behave: Behave) -> StandIn:
        asked: list[Asked] = []

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            tasks.add(task)
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
                while True:
                    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                    length = next((line[15:] for line in head.split("\r\n") if line.startswith("content-length:")), "0")
                    data = await reader.readexactly(int(length))
                    if not head.startswith("post"):  # /metrics and /slots: it has none
                        writer.write(Answered("", status=404).wire())
                        break
                    asked.append(_read(data, asked))
                    writer.write((await behave(asked[-1])).wire())
            writer.close()

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        servers.append(server)
        return StandIn(Endpoint.parse(f"127.0.0.1:{server.sockets[0].getsockname()[1]}"), asked)

    yield start
    for server in servers:
        server.close()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _read(data: bytes, asked: list[Asked]) -> Asked:
    body = json.loads(data)
    prompt = body["messages"][-1]["content"]
    agent = next((session.agent for session in SESSIONS if session.word in prompt), None)
    return Asked(body, agent, sum(other.agent == agent for other in asked) + 1)


@dataclass
class Checked:
    """A check, and the records of its requests."""

    check: OutputCheck
    records: list[RequestRecord]


async def ask(endpoint: Endpoint, *, variant: str = "mtp", **fields: Any) -> Checked:
    """Check the server at `endpoint` as that of a variant, with 4 agents on 4 slots."""
    records: list[RequestRecord] = []

    def sink(record: RequestRecord, _events: list[TokenEvent]) -> None:
        records.append(record)

    plain: dict[str, Any] = {
        "command": None, "level": AGENTS, "model": None, "body": {}, "slots": AGENTS, "random_weights": False,
    }  # fmt: skip
    async with HttpTransport(endpoint) as transport:
        check = await check_output(
            ChatClient(transport, Deadlines(), sink),
            Control(transport),
            run="run",
            variant=UrlVariant(name=variant, url=endpoint.label),
            **{**plain, **fields},
        )
    return Checked(check, records)


async def copies(asked: Asked) -> Answered:
    """A server that does as it is told."""
    return Answered(asked.session.text)


async def test_a_server_that_keeps_answers_apart_passes(stand_in: Serve) -> None:
    """All agents are asked at once, twice, the second time on their neighbour's slot, greedily."""
    everyone = asyncio.Barrier(AGENTS)

    async def behave(asked: Asked) -> Answered:
        await everyone.wait()  # answers nobody before all have asked
        return Answered(asked.session.text, {"draft_n": 20, "draft_n_accepted": 15})

    server = await stand_in(behave)
    checked = await ask(server.endpoint)
    assert judge(checked.check, None).result == "passed"
    assert [(a.agent, a.slot, a.alone) for a in checked.check.answers] == [
        *((agent, agent, False) for agent in range(4)),
        *((agent, (agent + 1) % 4, False) for agent in range(4)),
    ]
    assert {(a.outcome, a.own, tuple(a.foreign), a.drafted, a.accepted) for a in checked.check.answers} == {
        ("ok", True, (), 20, 15)
    }
    assert {(a.body["temperature"], a.body["max_tokens"], a.body["stream"]) for a in server.asked} == {(0, 48, True)}
    assert {(r.trial, r.round, r.phase, r.level, r.turn_kind) for r in checked.records} == {
        ("check-mtp", 0, Phase.WARMUP, 4, "check")
    }
    assert sorted(r.in_flight for r in checked.records) == [1, 1, 2, 2, 3, 3, 4, 4]


async def test_no_text_of_an_answer_is_recorded(stand_in: Serve) -> None:
    """Neither the check nor the requests' records hold a code word."""
    checked = await ask((await stand_in(copies)).endpoint)
    written = msgspec.json.encode([checked.check, *checked.records]).decode()
    assert not [session.word for session in SESSIONS if session.word in written]


async def test_crossed_answers_fail(stand_in: Serve) -> None:
    """Agents 1 and 2 get each other's text."""
    swapped = {1: 2, 2: 1}

    async def behave(asked: Asked) -> Answered:
        return Answered(SESSIONS[swapped.get(asked.session.agent, asked.session.agent)].text)

    judged = judge((await ask((await stand_in(behave)).endpoint, slots=None)).check, None)
    assert judged.result == "failed"
    assert judged.reasons == ("agent 1 got text of agent 2's session", "agent 2 got text of agent 1's session")


async def test_a_foreign_code_word_counts_in_reasoning_too(stand_in: Serve) -> None:
    """Reasoning is part of the answer, for one's own word and for others'."""

    async def behave(asked: Asked) -> Answered:
        both = f"{asked.session.text} {SESSIONS[3].word.upper()}"
        return Answered(both if asked.agent == 0 else asked.session.text, as_reasoning=True)

    judged = judge((await ask((await stand_in(behave)).endpoint)).check, None)
    assert judged.reasons == ("agent 0 got text of agent 3's session on slot 0",)


async def test_empty_answers_fail_and_nothing_more_is_asked(stand_in: Serve) -> None:
    """The first wave has told."""

    async def behave(asked: Asked) -> Answered:
        return Answered("" if asked.agent == 2 else asked.session.text)

    server = await stand_in(behave)
    judged = judge((await ask(server.endpoint)).check, None)
    assert judged.reasons == ("agent 2 got an empty answer on slot 2",)
    assert len(server.asked) == AGENTS


async def test_failed_requests_tell_nothing_but_their_outcome(stand_in: Serve) -> None:
    """HTTP 503 is `unavailable`."""

    async def behave(asked: Asked) -> Answered:
        return Answered(asked.session.text, status=503 if asked.agent == 3 else 200)

    judged = judge((await ask((await stand_in(behave)).endpoint)).check, None)
    assert judged == Judgement("n/a", ("the request of agent 3 ended in unavailable on slot 3",))


async def test_a_dead_slot_fails_whoever_asks_it(stand_in: Serve) -> None:
    """Slot 2 drafts and accepts nothing, the others accept."""

    async def behave(asked: Asked) -> Answered:
        dead = asked.body["id_slot"] == 2
        return Answered(asked.session.text, {"draft_n": 20, "draft_n_accepted": 0 if dead else 15})

    judged = judge((await ask((await stand_in(behave)).endpoint)).check, None)
    assert judged.reasons == ("slot 2 accepted 0 of 40 drafted tokens, the other slots 75%",)


async def test_a_word_lost_among_others_is_asked_for_alone(stand_in: Serve) -> None:
    """Agent 1 gets it only then: concurrency loses it."""

    async def behave(asked: Asked) -> Answered:
        return Answered("Sorry?" if asked.agent == 1 and asked.times <= 2 else asked.session.text)

    checked = await ask((await stand_in(behave)).endpoint)
    assert [(a.agent, a.own) for a in checked.check.answers if a.alone] == [(1, True)]
    assert [(r.in_flight, r.active_agents) for r in checked.records][-1] == (1, 1)
    why = "agent 1's code word is missing among others, and there with nothing else on the server"
    assert judge(checked.check, None).reasons == (why,)


async def test_a_word_that_never_comes_is_held_against_the_baseline(stand_in: Serve) -> None:
    """Failed where the baseline has it to the very same prompt, unknown where it hasn't."""

    async def deaf(_asked: Asked) -> Answered:
        return Answered("Sorry?")

    off = await stand_in(copies)
    on = await stand_in(deaf)
    baseline = (await ask(off.endpoint, variant="off")).check
    variant = (await ask(on.endpoint)).check
    assert {str(a.body["messages"]) for a in off.asked} == {str(a.body["messages"]) for a in on.asked}
    judged = judge(variant, baseline)
    assert judged.result == "failed"
    assert judged.reasons[-2:] == (
        "agent 2's code word is missing, and there in the baseline's answer to the same prompt",
        "1 more of this kind",
    )
    assert judge(variant, variant).result == "n/a"
    assert judge(variant, None).result == "n/a"


async def test_no_more_are_asked_at_once_than_there_are_slots(stand_in: Serve) -> None:
    """3 agents on 2 slots: two sessions; without named slots three, and no slot is asked for."""
    server = await stand_in(copies)
    on_two = (await ask(server.endpoint, level=3, slots=2)).check
    assert [a.slot for a in on_two.answers] == [0, 1, 1, 0]
    other = await stand_in(copies)
    unnamed = (await ask(other.endpoint, level=3, slots=None)).check
    assert [a.slot for a in unnamed.answers] == [None] * 6
    assert not [asked for asked in other.asked if "id_slot" in asked.body]


async def test_fields_of_the_user_stay_unless_they_forbid_plain_text(stand_in: Serve) -> None:
    """Tools and grammars would keep the model from copying; temperature is 0 whatever the user's."""
    server = await stand_in(copies)
    body = {"temperature": 0.9, "top_k": 20, "tools": [{}], "stop": ["\n"], "grammar": "root ::= [0-9]"}
    await ask(server.endpoint, body=body, model="m")
    sent = server.asked[0].body
    assert (sent["temperature"], sent["top_k"], sent["model"]) == (0, 20, "m")
    assert not {"tools", "stop", "grammar"} & set(sent)


@pytest.mark.parametrize(
    ("args", "env", "random_weights", "why"),
    [
        ((), {}, False, None),
        (("--spec-type", "draft-mtp"), {}, False, None),
        ((), {}, True, "weights are random"),
        (("--spec-synth-len", "3.5"), {}, False, "acceptance is synthetic"),
        (("--spec-synth-rates=1,1",), {}, False, "acceptance is synthetic"),
        ((), {"LLAMA_ARG_SPEC_SYNTH_LEN": "2"}, False, "acceptance is synthetic"),
        ((), {"LLAMA_ARG_SPEC_SYNTH_LEN": None}, False, None),
    ],
)
def test_text_that_is_noise_is_not_checked(
    args: tuple[str, ...], env: dict[str, str | None], random_weights: bool, why: str | None
) -> None:
    """Random weights and synthetic acceptance, from the arguments or the environment."""
    variant = LaunchVariant(name="mtp", program="llama-server", args=args, env=env)
    told = skip_reason(variant, None, random_weights=random_weights)
    assert told is None if why is None else why in str(told)


async def test_a_skipped_check_asks_nothing(stand_in: Serve) -> None:
    """The command of a server that ran already tells as well."""
    server = await stand_in(copies)
    check = (await ask(server.endpoint, command=("llama-server", "--spec-synth-len", "2"))).check
    assert (server.asked, check.answers, judge(check, None).result) == ([], [], "n/a")


async def test_full_compares_noise_with_the_baselines_answers(stand_in: Serve) -> None:
    """Set acceptance makes text noise, which no code word tells from wrong; that it changes answers can be told."""

    async def says(asked: Asked) -> Answered:
        return await copies(asked) if asked.agent is not None else Answered("an answer")

    async def babbles(_asked: Asked) -> Answered:
        return Answered("noise")

    greedy = GreedyAnswers(baseline="off", seed=7)
    baseline = (await ask((await stand_in(says)).endpoint, variant="off", greedy=greedy)).check
    noise = await stand_in(babbles)
    check = (await ask(noise.endpoint, command=("llama-server", "--spec-synth-len", "2"), greedy=greedy)).check
    assert (check.answers, judge(check, baseline).result) == ([], "n/a")
    told = answers(check, baseline)
    assert told is not None
    assert (told["changed"]["value"], told["call"]) == (1.0, "yes")


async def test_full_holds_greedy_answers_against_the_baseline_alone(stand_in: Serve) -> None:
    """The baseline is asked first alone, then with the run's agents; a variant only with these."""

    def behave(changed: set[int], *, from_times: int) -> Behave:
        async def answer(asked: Asked) -> Answered:
            if asked.agent is not None:
                return await copies(asked)
            number = prompts(7).index(asked.body["messages"][0]["content"])
            different = asked.times >= from_times and number in changed
            return Answered(f"answer {number}{' or so' if different else ''}")

        return answer

    greedy = GreedyAnswers(baseline="off", seed=7)
    off = await stand_in(behave({4}, from_times=PROMPTS + 1))
    on = await stand_in(behave(set(range(30)), from_times=1))
    assert (await ask(on.endpoint, greedy=greedy)).check.comparison is None  # before the baseline
    baseline = await ask(off.endpoint, variant="off", greedy=greedy)
    variant = await ask(on.endpoint, greedy=greedy)
    assert baseline.check.comparison is not None
    assert variant.check.comparison is not None
    assert baseline.check.comparison.equal == [number != 4 for number in range(PROMPTS)]
    assert variant.check.comparison.equal == [number >= 30 for number in range(PROMPTS)]
    told = answers(variant.check, baseline.check)
    assert told is not None
    assert (told["agents"], told["call"]) == (4, "yes")
    agents = [record.active_agents for record in baseline.records[2 * AGENTS :]]
    assert agents == [1] * PROMPTS + [AGENTS] * PROMPTS
    in_flight = [record.in_flight for record in baseline.records[2 * AGENTS :]]
    assert (set(in_flight[:PROMPTS]), max(in_flight[PROMPTS:])) == ({1}, AGENTS)
    assert all(a.body["cache_prompt"] is False for a in off.asked if a.agent is None)


async def test_a_greedy_answer_that_failed_is_not_compared(stand_in: Serve) -> None:
    """It is missing, not different."""

    async def behave(asked: Asked) -> Answered:
        if asked.agent is not None:
            return await copies(asked)
        lost = asked.times > PROMPTS and asked.body["messages"][0]["content"] == prompts(7)[0]
        return Answered("same", status=500 if lost else 200)

    greedy = GreedyAnswers(baseline="off", seed=7)
    check = (await ask((await stand_in(behave)).endpoint, variant="off", greedy=greedy)).check
    assert check.comparison is not None
    assert check.comparison.equal == [None] + [True] * (PROMPTS - 1)


def test_code_words_are_the_runs_own_and_none_is_part_of_another() -> None:
    """Equal for equal runs, different for different ones, whatever the number of agents."""
    many = coded_sessions("run", 1000)
    assert len(many) == MOST_SESSIONS
    assert many[:AGENTS] == SESSIONS
    assert {session.word for session in coded_sessions("other", 8)}.isdisjoint(session.word for session in many)
    assert [s.agent for s in many for other in many if s.found_in(other.text)] == list(range(MOST_SESSIONS))


@pytest.mark.parametrize("text", ["{} said so", "**{}**", "{}\n"])
def test_a_code_word_is_found_however_it_is_set(text: str) -> None:
    """Case, blanks and marks don't matter."""
    session = SESSIONS[0]
    assert session.found_in(text.format(session.word.upper().replace("-", " ")))
    assert not session.found_in(text.format(session.word[:-1]))


def test_greedy_prompts_are_seeded_and_all_different() -> None:
    """40 of them, in the seed's order."""
    assert len(set(prompts(1))) == PROMPTS
    assert prompts(1) == prompts(1)
    assert prompts(1) != prompts(2)


@pytest.mark.live
async def test_a_real_server_with_random_weights_is_no_failure(
    serve: Callable[..., "Served"], tiny_model: Path
) -> None:
    """Nobody copies, so nobody can tell; all answers came, each from the slot that was named."""
    served = serve("-m", str(tiny_model), "-np", "2", "-c", "2048", "-tb", "1", "--poll", "0")
    async with HttpTransport(Endpoint.parse(served.url)) as transport:
        await Control(transport).wait_ready(60, lambda _: None)
    checked = await ask(Endpoint.parse(served.url), variant="off", level=2, slots=2)
    assert [(a.agent, a.slot, a.alone, a.outcome) for a in checked.check.answers] == [
        (0, 0, False, "ok"),
        (1, 1, False, "ok"),
        (0, 1, False, "ok"),
        (1, 0, False, "ok"),
        (0, 0, True, "ok"),
        (1, 1, True, "ok"),
    ]
    assert judge(checked.check, checked.check).result == "n/a"
