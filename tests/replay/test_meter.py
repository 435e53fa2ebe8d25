"""Rules of those who want more of a run than progress."""

import asyncio
from collections.abc import Mapping
from typing import Any

from loadgen.records.model import Phase, Sample, Segment
from loadgen.replay.board import Board
from loadgen.replay.meter import listening, sampled


class Told:
    """A meter that keeps what servers and samples say; `first` is set with the first word of a server."""

    def __init__(self) -> None:
        self.said: list[Mapping[str, float]] = []
        self.samples: list[Sample] = []
        self.first = asyncio.Event()

    def begun(self, manifest: Any, starts: Any) -> None:
        """Not kept."""

    def load(self, load: Any) -> None:
        """Not kept."""

    def answered(self, record: Any, events: Any) -> None:
        """Not kept."""

    def server_said(self, values: Mapping[str, float]) -> None:
        """Keep it."""
        self.said.append(values)
        self.first.set()

    def sample(self, sample: Sample) -> None:
        """Keep it."""
        self.samples.append(sample)


class Slots:
    """The metrics of a server that says nothing at first, and how often it was asked."""

    def __init__(self, *answers: dict[str, float] | None) -> None:
        self.asked = 0
        self._answers = answers

    async def metrics(self) -> dict[str, float] | None:
        """The next answer; the last one for ever."""
        self.asked += 1
        return self._answers[min(self.asked, len(self._answers)) - 1]


async def test_a_server_is_asked_while_somebody_wants_to_know() -> None:
    """What it says of its slots is told; when the block ends it is asked no more."""
    told, slots = Told(), Slots({"llamacpp:requests_processing": 2.0})
    async with listening(told, slots):
        await told.first.wait()
    asked = slots.asked
    await asyncio.sleep(0)
    assert told.said[0] == {"llamacpp:requests_processing": 2.0}
    assert slots.asked == asked


async def test_without_a_meter_no_server_is_asked() -> None:
    """A run without metrics is measured as before."""
    slots = Slots(None)
    async with listening(None, slots):
        await asyncio.sleep(0)
    assert slots.asked == 0


def test_samples_go_into_the_folder_and_to_the_meter() -> None:
    """The folder first; without a meter to the folder alone."""
    told = Told()
    kept: list[Sample] = []
    one = Sample(run="r", trial=None, variant="v", at_ns=0, source="x", name="used_bytes", value=1.0)
    sampled(kept.append, told)(one)
    assert (kept, told.samples) == ([one], [one])
    sink = kept.append
    assert sampled(sink, None) is sink


def test_a_board_tells_its_phase() -> None:
    """Warm-up until every agent has begun its segment, drain when every one has ended it."""
    board = Board(2, warmup_s=0, alive=lambda: True)
    phases = [board.phase]
    board.segment_started(0, 1)
    phases.append(board.phase)
    board.segment_started(1, 2)
    phases.append(board.phase)
    board.segments = {agent: Segment(agent=agent, start_ns=1, end_ns=3, turns=1) for agent in range(2)}
    phases.append(board.phase)
    assert phases == [Phase.WARMUP, Phase.WARMUP, Phase.SEGMENT, Phase.DRAIN]
