"""Arguments of llama-server that files set and matrices vary: their other names, and what differs where they do.

Names are those of `tools/server/README.md` in llama.cpp. An argument that is not listed here is known by its one name.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from loadgen.experiment import llama_flags as flags
from loadgen.experiment.model import Difference


@dataclass(frozen=True)
class KnownArgument:
    """One argument under all its names, the opposite of a switch included.

    `slug` is what it is called in the name of a variant; `changes` says what differs between two servers that have it
    different; `variable` stands for it in the environment.
    """

    names: tuple[str, ...]
    slug: str
    changes: tuple[Difference, ...] = ()
    variable: str | None = None


def _known(names: str, slug: str | None = None, *changes: Difference, variable: str | None = None) -> KnownArgument:
    parts = tuple(names.split())
    return KnownArgument(parts, slug or parts[0].lstrip("-"), changes, f"LLAMA_ARG_{variable}" if variable else None)


P_MIN = ("--spec-draft-p-min", "--draft-p-min")

KNOWN: tuple[KnownArgument, ...] = (
    _known("-np --parallel", None, "slots", "context_per_slot", variable="N_PARALLEL"),
    _known("-c --ctx-size", None, "context_per_slot", variable="CTX_SIZE"),
    _known("-kvu --kv-unified -no-kvu --no-kv-unified", None, "kv", "context_per_slot", variable="KV_UNIFIED"),
    _known("--kv-unified-per-slot", "kvups", "kv", "context_per_slot", variable="KV_UNIFIED_PER_SLOT"),
    _known("-ctk --cache-type-k", None, "kv", variable="CACHE_TYPE_K"),
    _known("-ctv --cache-type-v", None, "kv", variable="CACHE_TYPE_V"),
    _known("-fa --flash-attn", None, "kv", variable="FLASH_ATTN"),
    _known("--cache-prompt --no-cache-prompt", None, "cache", variable="CACHE_PROMPT"),
    _known("--cache-reuse", None, "cache", variable="CACHE_REUSE"),
    _known("-cram --cache-ram", None, "cache", variable="CACHE_RAM"),
    _known("-ctxcp --ctx-checkpoints --swa-checkpoints", None, "cache", variable="CTX_CHECKPOINTS"),
    _known("-t --threads", None, "threads", variable="THREADS"),
    _known("-tb --threads-batch", None, "threads"),
    _known("-b --batch-size", None, "batch", variable="BATCH"),
    _known("-ub --ubatch-size", None, "batch", variable="UBATCH"),
    _known("-m --model"),
    _known("-hf -hfr --hf-repo"),
    _known("-a --alias"),
    _known("-n --predict --n-predict"),
    _known("-s --seed"),
    _known("--temp --temperature"),
    _known("-to --timeout"),
    _known("-lm --load-mode"),
    _known("-cms --checkpoint-min-step"),
    _known("-sps --slot-prompt-similarity"),
    _known("-ngl --gpu-layers --n-gpu-layers", None, "device", variable="N_GPU_LAYERS"),
    _known("-mg --main-gpu", None, "device", variable="MAIN_GPU"),
    _known("-sm --split-mode", None, "device", variable="SPLIT_MODE"),
    _known("-ts --tensor-split", None, "device", variable="TENSOR_SPLIT"),
    _known("-dev --device", None, "device", variable="DEVICE"),
    _known("-ot --override-tensor"),
    _known("-cmoe --cpu-moe"),
    _known("-ncmoe --n-cpu-moe"),
    _known("-fit --fit"),
    _known("-cb --cont-batching -nocb --no-cont-batching", "cb"),
    _known("-lv --verbosity --log-verbosity"),
    _known("-v --verbose --log-verbose"),
    _known("--jinja --no-jinja"),
    _known("--warmup --no-warmup"),
    _known("--context-shift --no-context-shift"),
    _known("--mmap --no-mmap"),
    _known("--slots --no-slots"),
    _known("--ui --webui --no-ui --no-webui"),
    _known("--cache-idle-slots --no-cache-idle-slots"),
    _known(" ".join(flags.TYPE), "type"),
    _known(" ".join(flags.N_MAX), "n"),
    _known("--spec-draft-n-min", "nmin"),
    _known(" ".join(P_MIN), "pmin"),
    _known("--spec-draft-p-split --draft-p-split", "psplit"),
    _known(" ".join(flags.DRAFT_MODEL), "md"),
    _known(" ".join(flags.DRAFT_REPO), "hfd"),
    _known("--spec-draft-backend-sampling --no-spec-draft-backend-sampling"),
    _known("-cd --ctx-size-draft"),
    _known("-td --threads-draft --spec-draft-threads"),
    _known("-tbd --threads-batch-draft --spec-draft-threads-batch"),
    _known("--poll-draft --spec-draft-poll"),
    _known("-ngld --gpu-layers-draft --n-gpu-layers-draft --spec-draft-ngl"),
    _known("-devd --device-draft --spec-draft-device"),
    _known("-ctkd --cache-type-k-draft --spec-draft-type-k"),
    _known("-ctvd --cache-type-v-draft --spec-draft-type-v"),
    _known("-lcs --lookup-cache-static"),
    _known("-lcd --lookup-cache-dynamic"),
)

_BY_NAME: Mapping[str, KnownArgument] = {name: known for known in KNOWN for name in known.names}
_BY_VARIABLE: Mapping[str, KnownArgument] = {known.variable: known for known in KNOWN if known.variable}


def known_argument(name: str) -> KnownArgument:
    """The argument of this name."""
    return _BY_NAME.get(name) or KnownArgument((name,), name.lstrip("-").removeprefix("spec-"))


def changed_by_variable(name: str) -> tuple[Difference, ...]:
    """What differs between two servers that have this environment variable different."""
    known = _BY_VARIABLE.get(name)
    return known.changes if known is not None else ()
