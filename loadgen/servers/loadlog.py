"""What a llama-server's load log says: the memory ledger, and how the server was set up.

Buffer sizes are printed at `-lv 4` and above, in MiB with two decimals: a figure here is right to 5 KiB. Lines are read
wherever they stand in a printed line, so that time stamps, colours, JSON and the `[port]` of a router don't matter.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from loadgen.records.model import Component
from loadgen.units import mib_to_bytes

SOURCE = "log"

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_PORT = re.compile(r"\s*\[ *(\d+)\]")

_BUFFER = re.compile(r"(\w+): +(\S+) +(model|KV|RS|compute|output) buffer size *= *(\d+(?:\.\d+)?) MiB")
_ROWS = re.compile(r"llama_memory_recurrent: size = .*\d+ cells.*?\d+ seqs(?: +(\d+) rs_seq)?\)")
_KV_END = re.compile(r"llama_kv_cache\w*: size = ")
_KV_KIND = re.compile(r"creating +(non-SWA|SWA) KV cache")
_CONTEXT = "constructing llama_context"
_MTP = re.compile(r"creating MTP draft context|implementation 'draft-mtp'")
# The fit before loading prints the same lines about a model that it never loads.
_FIT_ENDS = "common_fit_params: "
_LOADING = re.compile(r"load_model: loading model\b|main: loading model\b")
_LOADED = ": model loaded"
_OTHER_PROGRAM = ("alloc_compute_meta", "clip_ctx", "clip_model_loader")
"""The image encoder prints a compute buffer of its own."""

_SLOTS = re.compile(r"initializing, n_slots = (\d+), n_ctx_slot = (\d+), kv_unified = '(true|false)'")
_IMPLEMENTATION = re.compile(r"adding speculative implementation '([^']+)'")


@dataclass(frozen=True)
class LoadFacts:
    """How a server was set up, null where its log doesn't say.

    `speculation` names the speculative implementations in use: empty when there is none, or the log is cut.
    """

    slots: int | None
    context_per_slot: int | None
    kv_unified: bool | None
    speculation: tuple[str, ...]


@dataclass
class _Context:
    """The buffers of one model and its context, by component and device, in the order of the log."""

    buffers: dict[tuple[str, str], float] = field(default_factory=dict)
    rows: int | None = None
    constructed: bool = False
    kv: str = "kv"

    def add(self, kind: str, device: str, mib: float) -> None:
        if kind in ("compute", "output"):
            # Reserved again in the same context: the new buffer takes the place of the old one.
            self.buffers[kind, device] = mib
            return
        key = {"KV": self.kv, "RS": "recurrent_state"}.get(kind, kind), device
        self.buffers[key] = self.buffers.get(key, 0.0) + mib

    @property
    def has_model(self) -> bool:
        return any(component == "model" for component, _ in self.buffers)


def read_ledger(text: str, port: int | None = None) -> list[Component]:
    """The memory ledger of one server: what each device holds for which purpose, in the order of the log.

    Of a log that tells of several starts, or of a server that was put to sleep and woken, the last load counts. What is
    reserved again while the server works takes the place of the old buffer where there is one context; with a draft's
    beside it, the log doesn't say whose buffer it is, so the one of the load stands.

    Components are `model`, `kv`, `kv_swa`, `recurrent_state` (with its rows a slot), `compute` and `output`; the same
    with `draft_` for a draft model and its context, with `mtp_` for a draft context of MTP heads. What could not be
    read is left out.

    Args:
        text: The log.
        port: Of a router's log, only the lines of the server on this port.
    """
    contexts: list[_Context] = [_Context()]
    is_mtp = is_loaded = False
    for line in lines_of(text.splitlines(), port):
        if _LOADING.search(line):
            contexts, is_mtp, is_loaded = [_Context()], False, False
        elif _FIT_ENDS in line:
            contexts = [_Context()]
        elif _LOADED in line:
            is_loaded = True
        elif not is_loaded:
            is_mtp = is_mtp or _MTP.search(line) is not None
            _read(line, contexts)
        elif len(contexts) == 1:
            _reserve_again(line, contexts[0])
    return _components(contexts, is_mtp)


def read_facts(text: str, port: int | None = None) -> LoadFacts:
    """How the server was set up. `port` as in `read_ledger`."""
    slots = context = unified = None
    speculation: dict[str, None] = {}
    for line in lines_of(text.splitlines(), port):
        if found := _SLOTS.search(line):
            slots, context, unified = int(found.group(1)), int(found.group(2)), found.group(3) == "true"
            speculation.clear()
        if found := _IMPLEMENTATION.search(line):
            speculation[found.group(1)] = None
    return LoadFacts(slots=slots, context_per_slot=context, kv_unified=unified, speculation=tuple(speculation))


def begins_load(line: str, port: int | None = None) -> bool:
    """Whether a server begins to load with this line. `port` as in `read_ledger`."""
    return any(_LOADING.search(plain) for plain in lines_of((line,), port))


def lines_of(lines: Iterable[str], port: int | None) -> Iterable[str]:
    """The lines without colours; of a router's log, only those of the server on `port`."""
    for line in lines:
        plain = _COLOUR.sub("", line)
        if port is not None:
            found = _PORT.match(plain)
            if found is None or int(found.group(1)) != port:
                continue
        yield plain


def _read(line: str, contexts: list[_Context]) -> None:
    current = contexts[-1]
    if _CONTEXT in line:
        if current.constructed:
            contexts.append(_Context(constructed=True))
        current.constructed = True
    elif found := _BUFFER.search(line):
        function, device, kind, mib = found.groups()
        if function in _OTHER_PROGRAM:
            return
        if kind == "model" and current.constructed:
            # A second model: its context follows.
            current = _Context()
            contexts.append(current)
        current.add(kind, device, float(mib))
    elif found := _KV_KIND.search(line):
        current.kv = "kv_swa" if found.group(1) == "SWA" else "kv"
    elif _KV_END.search(line):
        # Models with sliding windows have two caches: the full one comes first.
        current.kv = "kv_swa"
    elif found := _ROWS.search(line):
        current.rows = 1 + int(found.group(1) or 0)


def _reserve_again(line: str, context: _Context) -> None:
    found = _BUFFER.search(line)
    if found is not None and found.group(3) in ("compute", "output") and found.group(1) not in _OTHER_PROGRAM:
        context.add(found.group(3), found.group(2), float(found.group(4)))


def _components(contexts: list[_Context], is_mtp: bool) -> list[Component]:
    found: dict[tuple[str, str], Component] = {}
    for number, context in enumerate(contexts):
        prefix = "" if number == 0 else "mtp_" if is_mtp or not context.has_model else "draft_"
        for (name, device), mib in context.buffers.items():
            key = prefix + name, device
            before = found[key].bytes if key in found else 0  # of a further draft
            found[key] = Component(
                component=prefix + name,
                bytes=before + mib_to_bytes(mib),
                source=SOURCE,
                device=device,
                rows=context.rows if name == "recurrent_state" else None,
            )
    return list(found.values())
