"""How fast and how lean is the analysis? `python -m benchmarks.analysis [--requests N]`.

A run folder of 200,000 requests is written by the real writer (see `benchmarks.big_run`), then read and summarised in a
process of its own, which tells the time from before the folder is opened until the summary is there, and the most
memory that it held. Importing numpy and scipy is left out of the time, because it takes the same for the shortest run,
and is part of the memory. The same lines of `requests.jsonl` decoded into records, one after the other and none kept,
are the yardstick of the machine: the ratio of the two says more than seconds. Each is done three times and the best one
counts, for neighbours on a machine only ever slow things down.

Exit status 1 where the analysis takes more than 5 s or 300 MB.
"""

import argparse
import importlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

MAX_SECONDS = 5.0
MAX_BYTES = 300 * 1000**2
REQUESTS = 200_000
_REPEATS = 3
_KIB = 1024
"""Linux tells the peak in KiB."""


@dataclass(frozen=True)
class Cost:
    """What one part took in a process of its own."""

    seconds: float
    peak_bytes: int


def decode_lines(folder: Path) -> None:
    """The yardstick: every line of `requests.jsonl` into a record, and away with it."""
    from loadgen.records.model import RequestRecord  # noqa: PLC0415 - only the process that needs it pays for it

    decoder = msgspec.json.Decoder(RequestRecord)
    with (folder / "requests.jsonl").open("rb") as lines:
        for line in lines:
            decoder.decode(line)


def analyse(folder: Path) -> None:
    """What `loadgen report` does before it prints."""
    from loadgen.analysis.summary import summarise  # noqa: PLC0415 - only the process that needs it pays for it
    from loadgen.records.run_folder import read_run  # noqa: PLC0415 - only the process that needs it pays for it

    summarise(read_run(folder))


_PARTS: dict[str, tuple[Callable[[Path], None], tuple[str, ...]]] = {
    "decode": (decode_lines, ("loadgen.records.model",)),
    "analyse": (analyse, ("numpy", "scipy.special", "loadgen.analysis.summary")),
}
"""What can be measured, and what is imported before the clock starts."""


def measured(part: str, folder: Path) -> Cost:
    """One part in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.analysis", "--part", part, "--folder", str(folder)]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], check=True, stdout=subprocess.PIPE)
    return Cost(**json.loads(done.stdout))


def best(part: str, folder: Path, repeats: int) -> Cost:
    """The shortest time and the smallest peak of several."""
    costs = [measured(part, folder) for _ in range(repeats)]
    return Cost(min(cost.seconds for cost in costs), min(cost.peak_bytes for cost in costs))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what the analysis takes; 1 where that is too much."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.analysis", description="What the analysis takes.")
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--repeats", type=int, default=_REPEATS)
    parser.add_argument("--part", choices=["write", *_PARTS], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.part == "write":
        from benchmarks.big_run import write_big_run  # noqa: PLC0415 - writing has a process of its own

        write_big_run(options.folder, requests=options.requests, seed=1)
        return 0
    if options.part:
        work, modules = _PARTS[options.part]
        for module in modules:
            importlib.import_module(module)
        began = time.perf_counter()
        work(options.folder)
        seconds = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB
        print(json.dumps({"seconds": seconds, "peak_bytes": peak}))
        return 0
    with tempfile.TemporaryDirectory() as parent:
        return _compare(Path(parent) / "run", options.requests, options.repeats)


def _compare(folder: Path, requests: int, repeats: int) -> int:
    # In a process of its own: a child is told the peak of the process that it was split off from as its own.
    writing = [sys.executable, "-m", "benchmarks.analysis", "--part", "write"]
    writing += ["--folder", str(folder), "--requests", str(requests)]
    subprocess.run(writing, cwd=Path(__file__).parents[1], check=True)
    lines = (folder / "requests.jsonl").stat().st_size
    events = sum(path.stat().st_size for path in (folder / "events").iterdir())
    print(f"{requests:,} requests: {lines / 1e6:.0f} MB of lines, {events / 1e6:.1f} MB of token events")
    decoding, analysing = best("decode", folder, repeats), best("analyse", folder, repeats)
    print(f"decoded once:         {decoding.seconds:6.2f} s")
    print(
        f"read and summarised:  {analysing.seconds:6.2f} s (≤ {MAX_SECONDS:.0f} s), "
        f"{analysing.seconds / decoding.seconds:.1f} times as long"
    )
    print(f"most memory held:     {analysing.peak_bytes / 1e6:6.0f} MB (≤ {MAX_BYTES / 1e6:.0f} MB)")
    good = analysing.seconds <= MAX_SECONDS and analysing.peak_bytes <= MAX_BYTES
    print("ok" if good else "OUT")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
