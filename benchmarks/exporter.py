"""What do metrics cost the client? `python -m benchmarks.exporter [--seconds N]`.

Our chat client follows 64 streams of 20 tokens a second each (`benchmarks.streams`, in a process of its own), in turn
without metrics and with them: counted request by request, and scraped every second over HTTP from another process. Both
are done several times, alternating. Told are

* the CPU time of the metrics (their own calls, and scrapes, timed one by one afterwards) over that of the client in
  the same time: at most 1 % where Prometheus scrapes every 15 s, as it does by default;
* how late our event loop ran (p99 of a timer), without and with metrics.

Exit status 1 where the share is above 1 %.
"""

import argparse
import asyncio
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

import msgspec

from loadgen.client.chat import ChatClient
from loadgen.client.chat_call import ChatCall
from loadgen.client.endpoint import Endpoint as Target
from loadgen.client.request_body import build_body
from loadgen.client.transport import HttpTransport
from loadgen.experiment.model import Deadlines
from loadgen.metrics.address import Address
from loadgen.metrics.endpoint import Endpoint
from loadgen.metrics.recorder import Recorder
from loadgen.metrics.store import Store
from loadgen.records.manifest import Manifest, PlannedTrial, WorkloadFacts
from loadgen.records.model import Outcome, Phase, Place, RequestRecord, TokenEvent
from loadgen.telemetry.client_lag import LagProbe
from loadgen.units import ns_to_s

STREAMS = 64
RATE = 20
MOST = 0.01
SCRAPE_S = 15.0
"""Prometheus' default is a minute, most set 15 s. Here it is scraped every second: the event loop is to feel it."""
_FOREVER, _TIMED = 10**6, 100
_SCRAPER = """
import sys, time, urllib.request
for _ in range(int(sys.argv[2])):
    urllib.request.urlopen(sys.argv[1]).read()
    time.sleep(float(sys.argv[3]))
"""


@dataclass
class Cost:
    """What one pass took, in seconds of CPU time but for the lag."""

    client_s: float = 0.0
    counting_s: float = 0.0
    scrape_s: float = 0.0
    wall_s: float = 0.0
    lag_p99_s: float = 0.0
    events: int = 0

    @property
    def share(self) -> float:
        """The part of the metrics at the usual scrape interval, over the client's own."""
        own = self.client_s - self.counting_s - self.scrape_s * self.wall_s  # scraped every second
        return (self.counting_s + self.scrape_s * self.wall_s / SCRAPE_S) / own


@dataclass
class Pass:
    """One measurement: the streams, with or without metrics."""

    url: str
    seconds: float
    recorder: Recorder | None
    cost: Cost = field(default_factory=Cost)

    async def run(self) -> Cost:
        """Follow all streams for so many seconds."""
        probe = LagProbe()
        async with HttpTransport(Target.parse(self.url)) as transport:
            chat = ChatClient(transport, Deadlines(), self._ended)
            begin, cpu = time.monotonic(), time.process_time()
            probe.start()
            agents = [asyncio.create_task(self._agent(chat, number)) for number in range(STREAMS)]
            await asyncio.sleep(self.seconds)
            reading = probe.stop(stamps=transport.stamps, receive_lags_ns=transport.take_lags_ns())
            self.cost.client_s, self.cost.wall_s = time.process_time() - cpu, time.monotonic() - begin
            for agent in agents:
                agent.cancel()
            await asyncio.gather(*agents, return_exceptions=True)
        self.cost.lag_p99_s = ns_to_s(reading.lag_p99_ns or 0)
        return self.cost

    async def _agent(self, chat: ChatClient, number: int) -> None:
        body = build_body(
            [{"role": "user", "content": "go on"}], model="m", max_tokens=100, exact_length=False, extra={}
        )
        await asyncio.sleep(number / STREAMS)  # not all in step
        while True:
            await chat.send(ChatCall(body=body, max_tokens=100, exact_length=False, keep_text=False), _place(number))

    def _ended(self, record: RequestRecord, events: list[TokenEvent]) -> None:
        self.cost.events += len(events)
        if self.recorder is not None:
            begin = time.thread_time()
            self.recorder.answered(record, events)
            self.cost.counting_s += time.thread_time() - begin


def measured(url: str, seconds: float, *, metrics: bool) -> Cost:
    """One pass."""
    if not metrics:
        return asyncio.run(Pass(url, seconds, None).run())
    cost = Cost()
    store = Store()
    recorder = Recorder(store)
    recorder.begun(_manifest(), ())
    for variant in ("off", "mtp", "ngram"):
        for level in (1, 2, 4, 8, 16, 32, STREAMS):  # as many series as a large run has
            recorder.trial_started(_planned(variant, level))
            recorder.answered(_record(variant, level), ())
    endpoint = Endpoint.open(Address("127.0.0.1", 0), store)
    scraper = subprocess.Popen(_scrapes(endpoint.url, _FOREVER, 1.0))
    try:
        cost.counting_s = 0.0
        asyncio.run(Pass(url, seconds, recorder, cost).run())
        scraper.kill()
        before = time.process_time()
        subprocess.run(_scrapes(endpoint.url, _TIMED, 0.0), check=True)
        cost.scrape_s = (time.process_time() - before) / _TIMED
    finally:
        scraper.kill()
        scraper.wait()
        endpoint.close()
    return cost


def _scrapes(url: str, count: int, pause_s: float) -> list[str]:
    """A process that scrapes so often."""
    return [sys.executable, "-c", _SCRAPER, url, str(count), str(pause_s)]


def _place(number: int, variant: str = "mtp", level: int = STREAMS) -> Place:
    now = time.monotonic_ns()
    return Place(
        run="run", trial=f"r1-{variant}-c{level}", round=1, variant=variant, level=level, agent=number,
        session=f"s{number}", root=f"s{number}", turn=0, turns=1, turn_kind="user", attempt=1, phase=Phase.SEGMENT,
        ready_ns=now, scheduled_ns=now, wait_kind=None, in_flight=level, active_agents=level,
    )  # fmt: skip


def _record(variant: str, level: int) -> RequestRecord:
    place = msgspec.structs.asdict(_place(0, variant, level))
    return RequestRecord(
        **place, target="http://127.0.0.1:1", start_ns=0, connect_ns=None, send_ns=0, send_done_ns=0, headers_ns=0,
        first_event_ns=10**8, first_token_ns=10**8, first_answer_ns=10**8, last_token_ns=10**9, end_ns=10**9,
        outcome=Outcome.OK, status=200, error=None, finish_reason="stop", done_seen=True, decode_warnings=0,
        token_events=10, events_at=None, max_tokens=100, exact_length=False, prompt_tokens=100, completion_tokens=10,
        cached_tokens=50, timings={"predicted_n": 10, "draft_n": 8, "draft_n_accepted": 6},
    )  # fmt: skip


def _planned(variant: str, level: int) -> PlannedTrial:
    return PlannedTrial(
        trial=f"r1-{variant}-c{level}", round=1, variant=variant, level=level, order=0, turns_per_agent=8, short=False
    )


def _manifest() -> Manifest:
    facts = WorkloadFacts(
        name="streams", digest="0", sessions=1, turns=1, min_context=1, max_depth=1, history="recorded",
        exact_length=False, chars_per_token=None, assumed=[],
    )  # fmt: skip
    return Manifest(
        schema="loadgen-run/1", run="run", tool_version="0", started_at="2026-01-01T00:00:00+00:00", started_ns=0,
        experiment={"baseline": "off"}, workload=facts, host={}, random_weights=False,
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each pass")
    parser.add_argument("--passes", type=int, default=3, help="with metrics, and as many without")
    asked = parser.parse_args(arguments)
    command = [sys.executable, "-m", "benchmarks.streams", "--rate", str(RATE)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None  # noqa: S101 - it is a pipe
        url = f"http://127.0.0.1:{int(server.stdout.readline())}"
        try:
            passes = [measured(url, asked.seconds, metrics=bool(one % 2)) for one in range(2 * asked.passes)]
        finally:
            server.kill()
    without, with_ = passes[::2], passes[1::2]
    share = median(one.share for one in with_)
    rate = median(one.events / one.wall_s for one in with_)
    each = median(one.scrape_s for one in with_)
    print(
        f"{STREAMS} streams, {rate:.0f} events/s; client {median(o.client_s / o.wall_s for o in without):.1%} of a core"
    )
    print(
        f"a scrape takes {each * 1000:.1f} ms; counting {median(o.counting_s / o.wall_s for o in with_):.3%} of a core"
    )
    print(f"metrics over client, a scrape every {SCRAPE_S:g} s: {share:.2%} (at most {MOST:.0%})")
    lags = [median(one.lag_p99_s for one in group) * 1000 for group in (without, with_)]
    print(f"event loop lag p99: {lags[0]:.2f} ms without, {lags[1]:.2f} ms with a scrape every second")
    return int(share > MOST)


if __name__ == "__main__":
    sys.exit(main())
