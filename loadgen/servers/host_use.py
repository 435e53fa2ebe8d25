"""What a llama-server's log says of memory while the server works: prompt cache, context checkpoints, its own balance.

All of it is printed at `-lv 4` and above. The prompt cache and the checkpoints live in host memory and grow with the
prompts seen, up to their limits: whoever watches the process and doesn't know them takes them for a leak.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from loadgen.records.model import Sample
from loadgen.servers.loadlog import SOURCE, lines_of
from loadgen.units import mib_to_bytes, ms_to_s, ns_to_s, s_to_ns, us_to_ns

_TIME = re.compile(r"(?:\[ *\d+\]\s*)?(\d+)\.(\d\d)\.(\d{3})\.(\d{3}) ")
"""Minutes, seconds, milliseconds and microseconds since the process began; old builds print none."""
_WORDS = ("context checkpoint", "cache state", "memory_breakdown", "projected to use", "load_model: ", ": model loaded")
"""Only lines with one of these are looked at closely: a log may hold a million lines."""

_LOADING = "load_model: loading model"
_LOADED = ": model loaded"
_CACHE_LIMIT = re.compile(r"prompt cache is enabled, size limit: (?:(\d+) MiB|(no limit))")
_NO_CACHE = "prompt cache is disabled"
_CACHE = re.compile(r"cache state: \d+ prompts, (\d+(?:\.\d+)?) MiB")
_CHECKPOINT = re.compile(r"id +(\d+) .*created context checkpoint (\d+) of \d+ \(.*size = (\d+(?:\.\d+)?) MiB\)")
_PROJECTED = re.compile(
    r"projected to use (\d+) MiB of (?:device|host) memory vs\. (\d+) MiB of (?:free device|total host) memory"
)
_HEAD = re.compile(r"memory_breakdown_print: \| memory breakdown")
_ROW = re.compile(r"memory_breakdown_print: \| +- (\S+)(?: \([^|]*\))? *\| (.*?)\|")
_DEVICE_ROW = re.compile(r" *(\d+) = *(\d+) \+ \( *(\d+) = *(\d+) \+ +(\d+) \+ +(\d+) *\) \+ +(\d+) *$")
_HOST_ROW = re.compile(r" *(\d+) = *(\d+) \+ +(\d+) \+ +(\d+) *$")
_UNDERFLOW_MIB = 1 << 40
"""The unaccounted rest is printed unsigned: a negative one comes out near 2⁴⁴ MiB and tells nothing."""


@dataclass(frozen=True)
class HostReading:
    """What prompt cache and checkpoints held, `log_s` seconds after the process began (null: the log has no times)."""

    log_s: float | None
    prompt_cache_bytes: int
    checkpoints_bytes: int


@dataclass(frozen=True)
class Balance:
    """One device in llama.cpp's own breakdown; `total`, `free` and `unaccounted` are null for host memory."""

    device: str
    total_bytes: int | None
    free_bytes: int | None
    self_bytes: int
    model_bytes: int
    context_bytes: int
    compute_bytes: int
    unaccounted_bytes: int | None


@dataclass(frozen=True)
class HostUse:
    """What a log says, null or empty where it doesn't.

    `readings` has one entry a second at most; without times in the log it has one, the highest. `checkpoints_taken`
    counts every checkpoint that was created, `checkpoint_bytes` is the largest of them. `projected` is (bytes needed,
    bytes there) as the fit before loading saw it. `balance` is the breakdown that a server prints at its end.
    """

    readings: tuple[HostReading, ...]
    prompt_cache_limit_bytes: int | None
    checkpoints_taken: int | None
    checkpoint_bytes: int | None
    projected: tuple[int, int] | None
    balance: tuple[Balance, ...]


@dataclass
class _State:
    limit: int | None = None
    cache: int | None = None
    slots: dict[int, list[int]] = field(default_factory=dict)
    taken: int = 0
    largest: int | None = None
    projected: tuple[int, int] | None = None
    balance: list[Balance] = field(default_factory=list)
    readings: dict[int | None, HostReading] = field(default_factory=dict)

    def note(self, log_s: float | None) -> None:
        held = sum(sum(sizes) for sizes in self.slots.values())
        reading = HostReading(log_s, self.cache or 0, held)
        key = None if log_s is None else int(log_s)
        before = self.readings.get(key)
        if log_s is not None or before is None or _sum(reading) > _sum(before):
            self.readings[key] = reading


def read_host_use(lines: Iterable[str], port: int | None = None) -> HostUse:
    """Read a log line by line, so that it need not fit into memory. `port`: of a router's log, this server's lines."""
    state = _State()
    for line in lines_of((line for line in lines if any(word in line for word in _WORDS)), port):
        _read(line, state)
    return HostUse(
        readings=tuple(state.readings.values()),
        prompt_cache_limit_bytes=state.limit,
        checkpoints_taken=state.taken if state.readings else None,
        checkpoint_bytes=state.largest,
        projected=state.projected,
        balance=tuple(state.balance),
    )


def samples_of(use: HostUse, *, run: str, variant: str, began_ns: int, now_ns: int) -> list[Sample]:
    """A log's figures as samples of the source `log`, named as in `HostUse`.

    `began_ns`: when the process began; what the log gives no time for is dated `now_ns`. Of a log without times only
    the peaks are known, under the names `prompt_cache_peak_bytes` and `checkpoints_peak_bytes`.
    """

    def sample(name: str, value: float | None, at_ns: int = now_ns, device: str | None = None) -> list[Sample]:
        if value is None:
            return []
        return [
            Sample(
                run=run, trial=None, variant=variant, at_ns=at_ns, source=SOURCE, name=name, value=value, device=device
            )
        ]

    found: list[Sample] = []
    for reading in use.readings:
        at_ns, kind = (began_ns + s_to_ns(reading.log_s), "") if reading.log_s is not None else (now_ns, "_peak")
        found += sample(f"prompt_cache{kind}_bytes", reading.prompt_cache_bytes, at_ns)
        found += sample(f"checkpoints{kind}_bytes", reading.checkpoints_bytes, at_ns)
    found += sample("checkpoints_taken", use.checkpoints_taken)
    found += sample("checkpoint_bytes", use.checkpoint_bytes)
    for row in use.balance:
        found += sample("unaccounted_bytes", row.unaccounted_bytes, device=row.device)
    return found


def _read(line: str, state: _State) -> None:
    if _LOADING in line:
        # Another process, or one that slept: what it held is gone.
        state.cache, state.slots, state.readings = None, {}, {}
    elif found := _CACHE.search(line):
        state.cache = mib_to_bytes(float(found.group(1)))
        state.note(log_seconds(line))
    elif found := _CHECKPOINT.search(line):
        _checkpoint(state, int(found.group(1)), int(found.group(2)), mib_to_bytes(float(found.group(3))))
        state.note(log_seconds(line))
    elif found := _CACHE_LIMIT.search(line):
        state.limit = None if found.group(1) is None else mib_to_bytes(int(found.group(1)))
    elif _NO_CACHE in line:
        state.limit = 0
    elif found := _PROJECTED.search(line):
        state.projected = mib_to_bytes(int(found.group(1))), mib_to_bytes(int(found.group(2)))
    elif _HEAD.search(line) or _LOADED in line:
        # What the fit prints before loading is a plan.
        state.balance = []
    elif (found := _ROW.search(line)) and (row := _balance(found.group(1), found.group(2))) is not None:
        state.balance.append(row)


def _checkpoint(state: _State, slot: int, number: int, size: int) -> None:
    """`number` counts what the slot holds with this one: what was erased before it is gone without a line of its own.

    Those that came with a prompt from the cache were never printed; they are as large as this one or a little smaller.
    """
    held = state.slots.setdefault(slot, [])
    del held[number - 1 :]
    held += [size] * (number - len(held))
    state.taken += 1
    state.largest = max(size, state.largest or 0)


def _balance(device: str, figures: str) -> Balance | None:
    if found := _DEVICE_ROW.match(figures):
        total, free, own, model, context, compute, rest = (int(figure) for figure in found.groups())
        return Balance(
            device=device,
            total_bytes=mib_to_bytes(total),
            free_bytes=mib_to_bytes(free),
            self_bytes=mib_to_bytes(own),
            model_bytes=mib_to_bytes(model),
            context_bytes=mib_to_bytes(context),
            compute_bytes=mib_to_bytes(compute),
            unaccounted_bytes=mib_to_bytes(rest) if rest < _UNDERFLOW_MIB else None,
        )
    if found := _HOST_ROW.match(figures):
        own, model, context, compute = (mib_to_bytes(int(figure)) for figure in found.groups())
        return Balance(device, None, None, own, model, context, compute, None)
    return None


def log_seconds(line: str) -> float | None:
    """Seconds since the process began that a line is dated; null where it isn't."""
    found = _TIME.match(line)
    if found is None:
        return None
    minutes, seconds, milliseconds, microseconds = (int(part) for part in found.groups())
    return minutes * 60 + seconds + ms_to_s(milliseconds) + ns_to_s(us_to_ns(microseconds))


def _sum(reading: HostReading) -> int:
    return reading.prompt_cache_bytes + reading.checkpoints_bytes
