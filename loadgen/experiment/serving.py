"""What a llama-server command says of memory: models, slots, context, cache types, batches and speculation.

Defaults are those of build b11549 (`common/common.h`, `tools/server/server.cpp`). Of an argument and its variable the
argument wins.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from loadgen.errors import ExperimentError
from loadgen.experiment import llama_flags as flags
from loadgen.experiment.command import Command

_AUTO_SLOTS = 4
"""Slots where `-np` is not given, on one cache for all."""
_BATCH = 2048
_UBATCH = 512
_CACHE_RAM_MIB = 8192
_CHECKPOINTS = 32
_CELL_PADDING = 256
"""llama.cpp rounds the cells of a cache up to it (`llama_context`, `llama_kv_cache_iswa`)."""

_ROLLS_BACK = ("draft-mtp", "draft-eagle3", "draft-dflash", "draft-dspark")
"""Types for which rows to roll back to are kept (`need_n_rs_seq` in `common/common.h`)."""

CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")
"""Values of `--cache-type-k` and `--cache-type-v` (`kv_cache_types` in `common/arg.cpp`)."""

_UNCOUNTED = (
    "--mmproj",
    "-mm",
    "--mmproj-url",
    "-mmu",
    "--lora",
    "--lora-scaled",
    "--control-vector",
    "-mv",
    "--model-vocoder",
)
"""Further models that a server loads."""
_SPLITTING = (
    *("-ngl", "--gpu-layers", "--n-gpu-layers", "-cmoe", "--cpu-moe", "-ncmoe", "--n-cpu-moe"),
    *("-ot", "--override-tensor", "-nkvo", "--no-kv-offload"),
)
"""What decides how much lies on a device and how much on the host."""

_OFF = ("off", "false", "disabled", "0")


@dataclass(frozen=True)
class Serving:
    """How a server would be set up. `context` is the `-c` given, null for the model's own.

    `drafts` are the types of speculation with the most tokens that each drafts at once; `cache_ram_mib` below 0 is no
    limit. `uncounted` are arguments that load further models, `splitting` those that move memory between device and
    host.
    """

    model: str
    draft_model: str | None
    slots: int
    unified: bool
    context: int | None
    draft_context: int | None
    swa_full: bool
    flash_attention: bool
    batch: int
    ubatch: int
    cache_type_k: str
    cache_type_v: str
    draft_type_k: str
    draft_type_v: str
    drafts: Mapping[str, int]
    cache_ram_mib: int
    checkpoints: int
    uncounted: tuple[str, ...] = ()
    splitting: tuple[str, ...] = ()

    @property
    def longest_draft(self) -> int:
        """The most tokens that one draft may hold: 0 without speculation."""
        return max(self.drafts.values(), default=0)

    @property
    def rollback_rows(self) -> int:
        """Further rows of recurrent state that the types of speculation ask for."""
        return max((length for kind, length in self.drafts.items() if kind in _ROLLS_BACK), default=0)

    @property
    def outputs(self) -> int:
        """Positions whose logits one batch may hold: min(batch, slots × (1 + longest draft)), as in `n_outputs_max`."""
        return min(self.batch, self.slots * (1 + self.longest_draft))

    @property
    def streams(self) -> int:
        """Caches side by side: one a slot, or one for all."""
        return 1 if self.unified else self.slots

    def cells(self, trained_context: int) -> int:
        """Cells of one stream's cache: the context, or a slot's share, rounded up to 256."""
        whole = _padded(self.context or trained_context)
        return whole if self.unified else _padded(whole // self.slots)

    def window_cells(self, trained_context: int, window: int) -> int:
        """The same of the sliding layers: the window of every sequence in the stream and one micro-batch, at most."""
        whole = self.cells(trained_context)
        if self.swa_full:
            return whole
        return _padded(min(whole, window * (self.slots if self.unified else 1) + self.ubatch))

    @property
    def drafting(self) -> "Serving":
        """The context that drafts: one output a slot, no rows to roll back to, and cache types of its own."""
        return replace(
            self,
            drafts={},
            context=self.draft_context or self.context,
            cache_type_k=self.draft_type_k,
            cache_type_v=self.draft_type_v,
        )

    def with_slots(self, slots: int) -> "Serving":
        """The same with another number of slots, each with the context that it has now."""
        if self.unified or self.context is None:
            return replace(self, slots=slots)
        return replace(self, slots=slots, context=self.context // self.slots * slots)

    def with_slot_context(self, tokens: int) -> "Serving":
        """The same with so many tokens of context for a slot."""
        return replace(self, context=tokens if self.unified else tokens * self.slots)

    def with_drafts(self, length: int) -> "Serving":
        """The same with drafts of this length; with 0 without speculation and its draft model."""
        if length == 0:
            return replace(self, drafts={}, draft_model=None)
        return replace(self, drafts=dict.fromkeys(self.drafts, length))


def serving_of(command: Command) -> Serving:
    """What a command says. Raises `ExperimentError` where a number is none, or no model file is named."""
    said = _Arguments(command)
    parallel = said.number(-1, "-np", "--parallel", variable="N_PARALLEL")
    slots = parallel if parallel > 0 else _AUTO_SLOTS
    unified = said.switch(("-kvu", "--kv-unified"), ("-no-kvu", "--no-kv-unified"), "KV_UNIFIED")
    batch = said.number(_BATCH, "-b", "--batch-size", variable="BATCH")
    context = said.number(0, "-c", "--ctx-size", variable="CTX_SIZE")
    per_slot = said.number(0, "--kv-unified-per-slot", variable="KV_UNIFIED_PER_SLOT")
    if per_slot > 0 and not context:
        unified, context = True, per_slot * slots
    draft_context = said.number(0, "-cd", "--ctx-size-draft", "--spec-draft-ctx-size", variable=None)
    return Serving(
        model=_model(said),
        draft_model=_draft(said, command),
        slots=slots,
        unified=parallel <= 0 if unified is None else unified,
        context=context or None,
        draft_context=draft_context or None,
        swa_full=said.switch(("--swa-full",), (), "SWA_FULL") or False,
        flash_attention=(said.value("-fa", "--flash-attn", variable="FLASH_ATTN") or "auto") not in _OFF,
        batch=batch,
        ubatch=min(batch, said.number(_UBATCH, "-ub", "--ubatch-size", variable="UBATCH") or batch),
        cache_type_k=said.cache_type("-ctk", "--cache-type-k", variable="CACHE_TYPE_K"),
        cache_type_v=said.cache_type("-ctv", "--cache-type-v", variable="CACHE_TYPE_V"),
        draft_type_k=said.cache_type(
            "-ctkd", "--cache-type-k-draft", "--spec-draft-type-k", variable="SPEC_DRAFT_CACHE_TYPE_K"
        ),
        draft_type_v=said.cache_type(
            "-ctvd", "--cache-type-v-draft", "--spec-draft-type-v", variable="SPEC_DRAFT_CACHE_TYPE_V"
        ),
        drafts=_drafts(command),
        cache_ram_mib=said.number(_CACHE_RAM_MIB, "-cram", "--cache-ram", variable="CACHE_RAM"),
        checkpoints=said.number(
            _CHECKPOINTS, "-ctxcp", "--ctx-checkpoints", "--swa-checkpoints", variable="CTX_CHECKPOINTS"
        ),
        uncounted=said.given(_UNCOUNTED),
        splitting=said.given(_SPLITTING),
    )


class _Arguments:
    """llama-server's own arguments and the variables that stand for them."""

    def __init__(self, command: Command) -> None:
        self._own = command.own
        self._env = command.env

    def value(self, *names: str, variable: str | None) -> str | None:
        given = flags.value_of(self._own, *names)
        return given if given is not None else self._env.get(f"LLAMA_ARG_{variable}") if variable else None

    def number(self, default: int, *names: str, variable: str | None) -> int:
        text = self.value(*names, variable=variable)
        if text is None:
            return default
        try:
            return int(text)
        except ValueError:
            raise ExperimentError(f"{names[0]} {text} in the command is no whole number.") from None

    def switch(self, on: tuple[str, ...], off: tuple[str, ...], variable: str) -> bool | None:
        """The last one given; null where none is."""
        last = next((name for word in reversed(self._own) if (name := flags.name_of(word)) in on + off), None)
        if last is not None:
            return last in on
        text = self._env.get(f"LLAMA_ARG_{variable}")
        return None if text is None else text.lower() not in _OFF

    def given(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Those of `names` that are there."""
        return tuple(name for name in names if flags.has(self._own, name))

    def cache_type(self, *names: str, variable: str) -> str:
        text = self.value(*names, variable=variable) or "f16"
        if text not in CACHE_TYPES:
            known = ", ".join(CACHE_TYPES)
            raise ExperimentError(f"{names[0]} {text} in the command is no type of cache that is known here: {known}.")
        return text


def _model(said: _Arguments) -> str:
    path = said.value("-m", "--model", variable="MODEL")
    if path is None:
        raise ExperimentError(
            "memory is predicted from the header of a model file: name the file with -m (where -hf put it, or the part "
            "that ends in -00001-of-0000N.gguf)."
        )
    return path


def _draft(said: _Arguments, command: Command) -> str | None:
    if not command.speculation.types or command.speculation.draft is None:
        return None
    path = said.value(*flags.DRAFT_MODEL, variable="SPEC_DRAFT_MODEL")
    if path is None:
        raise ExperimentError("memory is predicted from headers of model files: name the draft model's with -md.")
    return path


def _drafts(command: Command) -> dict[str, int]:
    lengths = {kind: command.longest_of(kind) for kind in command.speculation.types}
    unknown = [kind for kind, length in lengths.items() if length is None]
    if unknown:
        raise ExperimentError(f"how much --spec-type {unknown[0]} drafts at once is unknown: its memory can't be told.")
    return {kind: length for kind, length in lengths.items() if length is not None}


def _padded(cells: int) -> int:
    return -(-cells // _CELL_PADDING) * _CELL_PADDING
