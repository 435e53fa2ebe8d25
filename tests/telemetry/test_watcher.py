"""A source read in a thread of its own: labels, gaps, slow and failing sources, and the end."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from loadgen.records.model import Sample
from loadgen.telemetry.source import Reading, SourceError
from loadgen.telemetry.watcher import Watcher


class Scripted:
    """A source whose readings a test scripts; counts what is done to it, and by which thread."""

    name = "scripted"
    period_s = 0.01

    def __init__(self, take: Callable[[], Sequence[Reading]], ready: Callable[[], Sequence[str]] = tuple) -> None:
        self.take = take
        self.ready = ready
        self.calls: list[str] = []
        self.threads: set[str] = set()

    def open(self) -> Sequence[str]:
        """As scripted."""
        self.calls.append("open")
        return self.ready()

    def read(self) -> Sequence[Reading]:
        """As scripted."""
        self.threads.add(threading.current_thread().name)
        return self.take()

    def close(self) -> None:
        """Counts."""
        self.calls.append("close")


class Kept:
    """A sink that keeps samples, and lets a test wait for the n-th."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self.more = threading.Condition()

    def __call__(self, sample: Sample) -> None:
        """One more."""
        with self.more:
            self.samples.append(sample)
            self.more.notify_all()

    async def upto(self, wanted: Callable[[list[Sample]], bool]) -> None:
        """Wait until the samples are such."""

        def wait() -> bool:
            with self.more:
                return self.more.wait_for(lambda: wanted(self.samples), timeout=30)

        assert await asyncio.to_thread(wait)


def watcher(source: Scripted, sink: Callable[[Sample], None], notes: list[str] | None = None) -> Watcher:
    """A watcher of one source."""
    say = notes.append if notes is not None else lambda _: None
    return Watcher(source, run="run", sink=sink, lock=threading.Lock(), note=say)


def ended(source: Scripted) -> None:
    """Wait for the thread to be gone."""
    for thread in threading.enumerate():
        if thread.name in source.threads:
            thread.join(30)


async def test_readings_become_samples_of_their_trial() -> None:
    """Run, trial, variant, device, source and a monotonic stamp; between trials nothing is read."""
    source = Scripted(lambda: [Reading("used_bytes", 7, "GPU-a"), Reading("used_bytes", 9, "all", source="fallback")])
    kept = Kept()
    one = watcher(source, kept)
    begin = time.monotonic_ns()
    one.begin("r1-off-c1", "off")
    await kept.upto(lambda samples: len(samples) >= 6)
    await one.pause()
    first = len(kept.samples)
    one.begin(None, "mtp")
    await kept.upto(lambda samples: len(samples) > first)
    await one.pause()
    one.close()
    ended(source)
    assert {sample.trial for sample in kept.samples[:first]} == {"r1-off-c1"}
    assert {(sample.trial, sample.variant) for sample in kept.samples[first:]} == {(None, "mtp")}
    assert [(one.source, one.device, one.value) for one in kept.samples[:2]] == [
        ("scripted", "GPU-a", 7),
        ("fallback", "all", 9),
    ]
    stamps = [sample.at_ns for sample in kept.samples]
    assert stamps == sorted(stamps)
    assert begin <= stamps[0]
    assert stamps[-1] <= time.monotonic_ns()
    assert source.calls == ["open", "close"]
    assert source.threads == {"watch-scripted"}


async def test_even_a_trial_shorter_than_a_reading_has_one() -> None:
    """The end of the trial waits for it."""
    kept = Kept()
    one = watcher(Scripted(lambda: [Reading("rss_bytes", 5)]), kept)
    one.begin("t", "off")
    await one.pause()
    await one.pause()
    one.close()
    assert [sample.value for sample in kept.samples][:1] == [5]


async def test_a_failing_source_is_null_for_all_that_it_read_before() -> None:
    """Its gap is seen, with the reason; it is read again, and then goes on."""
    turns: Iterator[Sequence[Reading] | Exception] = iter(
        [
            [Reading("used_bytes", 1, "a"), Reading("power_watts", 2, "a")],
            SourceError("it went away"),
            RuntimeError("status\n  17"),
            [Reading("used_bytes", 3, "a")],
        ]
    )

    def take() -> Sequence[Reading]:
        turn = next(turns, [Reading("used_bytes", 4, "a")])
        if isinstance(turn, Exception):
            raise turn
        return turn

    kept = Kept()
    one = watcher(Scripted(take), kept)
    one.begin("t", "off")
    await kept.upto(lambda samples: len(samples) >= 8)
    await one.pause()
    one.close()
    assert [(sample.name, sample.value, sample.reason) for sample in kept.samples[2:7]] == [
        ("used_bytes", None, "it went away"),
        ("power_watts", None, "it went away"),
        ("used_bytes", None, "RuntimeError: status 17"),
        ("power_watts", None, "RuntimeError: status 17"),
        ("used_bytes", 3, None),
    ]


async def test_a_source_that_hangs_leaves_the_loop_free_and_a_null() -> None:
    """While it hangs the loop turns; the trial's only sample says so, and what comes late is dropped."""
    release = threading.Event()

    def take() -> Sequence[Reading]:
        release.wait(30)
        return [Reading("used_bytes", 1)]

    source, kept = Scripted(take), Kept()
    one = watcher(source, kept)
    one.begin("t", "off")
    pausing = asyncio.create_task(one.pause(0.2))
    turns = 0
    while not pausing.done():
        await asyncio.sleep(0)
        turns += 1
    await pausing
    assert turns > 100
    (sample,) = kept.samples
    assert (sample.name, sample.value, sample.trial) == ("used_bytes", None, "t")
    assert sample.reason is not None
    assert sample.reason.startswith("scripted has not answered for ")
    one.close()
    release.set()
    ended(source)
    assert len(kept.samples) == 1
    assert source.calls == ["open", "close"]


async def test_a_source_that_can_not_be_opened_is_said_once_and_tried_again() -> None:
    """Each trial has a null with the reason; when it opens, it is read."""
    broken = True

    def ready() -> Sequence[str]:
        if broken:
            raise SourceError("no driver")
        return ["memory by script"]

    source, kept, notes = Scripted(lambda: [Reading("used_bytes", 1)], ready), Kept(), list[str]()
    one = watcher(source, kept, notes)
    for trial in ("a", "b"):
        one.begin(trial, "off")
        await one.pause()
    broken = False
    one.begin("c", "off")
    await one.pause()
    one.close()
    assert [(sample.trial, sample.value, sample.reason) for sample in kept.samples[:3]] == [
        ("a", None, "no driver"),
        ("b", None, "no driver"),
        ("c", 1, None),
    ]
    assert notes == ["scripted: no driver", "memory by script"]


async def test_a_full_disk_ends_the_run_where_it_is_noticed() -> None:
    """What the sink raises is raised at the end of the trial."""

    def sink(_: Sample) -> None:
        raise OSError(28, "No space left on device")

    one = watcher(Scripted(lambda: [Reading("used_bytes", 1)]), sink)
    one.begin("t", "off")
    with pytest.raises(OSError, match="No space left"):
        await one.pause()
    one.close()


async def test_nothing_reaches_the_sink_after_the_end() -> None:
    """Not even of a reading that was under way."""
    under_way, release = threading.Event(), threading.Event()

    def take() -> Sequence[Reading]:
        under_way.set()
        release.wait(30)
        return [Reading("used_bytes", 1)]

    source, kept = Scripted(take), Kept()
    one = watcher(source, kept)
    one.begin("t", "off")
    await asyncio.to_thread(under_way.wait, 30)
    one.close()
    release.set()
    ended(source)
    assert kept.samples == []
