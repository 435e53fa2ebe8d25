"""The arguments of llama-server that the embedded server takes, each with what it sets in `xllamacpp.CommonParams`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from loadgen.servers import embedded_values as values

_MAX_VERBOSITY = 2**31 - 1
"""What `-v` means: every message."""


@dataclass(frozen=True)
class Flag:
    """One argument: its names, the variable that stands for it, whether a value follows, and what it does.

    `apply(api, params, text)` gets the xllamacpp module and raises `ValueError` where the value is none; switches get
    an empty text.
    """

    names: tuple[str, ...]
    variable: str | None
    takes_value: bool
    apply: Callable[[Any, Any, str], None]


def _assign(params: Any, path: str, value: Any) -> None:
    *owners, name = path.split(".")
    for owner in owners:
        params = getattr(params, owner)
    setattr(params, name, value)


def _value(names: str, path: str, read: Callable[[str], Any], variable: str | None = None) -> Flag:
    def apply(_api: Any, params: Any, text: str) -> None:
        _assign(params, path, read(text))

    return Flag(tuple(names.split()), variable, takes_value=True, apply=apply)


def _switch(names: str, path: str, value: bool, variable: str | None = None) -> Flag:
    """A switch; its variable says on or off, where on means that the switch is given."""

    def apply(_api: Any, params: Any, text: str) -> None:
        _assign(params, path, value if not text or values.truth(text) else not value)

    return Flag(tuple(names.split()), variable, takes_value=False, apply=apply)


def _member(names: str, path: str, find: Callable[[Any, str], Any], variable: str | None = None) -> Flag:
    def apply(api: Any, params: Any, text: str) -> None:
        _assign(params, path, find(api, text))

    return Flag(tuple(names.split()), variable, takes_value=True, apply=apply)


def _sampling(names: str, field: str, read: Callable[[str], Any], mark: str, variable: str | None = None) -> Flag:
    """A sampling default. `mark` notes that the user set it, so that the model's own default does not replace it."""

    def apply(api: Any, params: Any, text: str) -> None:
        setattr(params.sampling, field, read(text))
        marks = api.common_params_sampling_config
        params.sampling.user_sampling_config |= int(marks[f"COMMON_PARAMS_SAMPLING_CONFIG_{mark}"].value)

    return Flag(tuple(names.split()), variable, takes_value=True, apply=apply)


def _spec_default(api: Any, params: Any, _text: str) -> None:
    params.speculative.types = [api.common_speculative_type.COMMON_SPECULATIVE_TYPE_NGRAM_MOD]


def _timeout(_api: Any, params: Any, text: str) -> None:
    params.timeout_read = params.timeout_write = values.whole(text)


def _verbosity(names: str) -> Flag:
    def apply(_api: Any, params: Any, _text: str) -> None:
        params.verbosity = _MAX_VERBOSITY

    return Flag(tuple(names.split()), None, takes_value=False, apply=apply)


_SERVER = (
    _value("-m --model", "model.path", values.file, "LLAMA_ARG_MODEL"),
    _value("-np --parallel", "n_parallel", values.slots, "LLAMA_ARG_N_PARALLEL"),
    _switch("-kvu --kv-unified", "kv_unified", True, "LLAMA_ARG_KV_UNIFIED"),
    _switch("-no-kvu --no-kv-unified", "kv_unified", False),
    _value("--kv-unified-per-slot", "kv_unified_per_slot", values.whole, "LLAMA_ARG_KV_UNIFIED_PER_SLOT"),
    _value("--host", "hostnames", values.split, "LLAMA_ARG_HOST"),
    _value("--port", "port", values.whole, "LLAMA_ARG_PORT"),
    _value("--api-key", "api_keys", values.split, "LLAMA_API_KEY"),
    _value("--api-prefix", "api_prefix", str, "LLAMA_ARG_API_PREFIX"),
    _value("-a --alias", "model_alias", lambda text: set(values.split(text)), "LLAMA_ARG_ALIAS"),
    _switch("--metrics", "endpoint_metrics", True, "LLAMA_ARG_ENDPOINT_METRICS"),
    _switch("--props", "endpoint_props", True, "LLAMA_ARG_ENDPOINT_PROPS"),
    _switch("--slots", "endpoint_slots", True, "LLAMA_ARG_ENDPOINT_SLOTS"),
    _switch("--no-slots", "endpoint_slots", False),
    _switch("--ui --webui", "ui", True, "LLAMA_ARG_UI"),
    _switch("--no-ui --no-webui", "ui", False),
    Flag(("-to", "--timeout"), "LLAMA_ARG_TIMEOUT", takes_value=True, apply=_timeout),
    _value("--threads-http", "n_threads_http", values.whole, "LLAMA_ARG_THREADS_HTTP"),
    _value("--sse-ping-interval", "sse_ping_interval", values.whole, "LLAMA_ARG_SSE_PING_INTERVAL"),
    _value("-sps --slot-prompt-similarity", "slot_prompt_similarity", values.real),
    _switch("--jinja", "use_jinja", True, "LLAMA_ARG_JINJA"),
    _switch("--no-jinja", "use_jinja", False),
    _value("--chat-template", "chat_template", str, "LLAMA_ARG_CHAT_TEMPLATE"),
    _value("--chat-template-file", "chat_template", values.file_text, "LLAMA_ARG_CHAT_TEMPLATE_FILE"),
    _member("--reasoning-format", "reasoning_format", values.reasoning_format, "LLAMA_ARG_THINK"),
    _value("-lv --verbosity --log-verbosity", "verbosity", values.whole, "LLAMA_ARG_LOG_VERBOSITY"),
    _verbosity("-v --verbose --log-verbose"),
    _switch("--warmup", "warmup", True),
    _switch("--no-warmup", "warmup", False),
    _switch("--offline", "offline", True, "LLAMA_ARG_OFFLINE"),
)
_COMPUTE = (
    _value("-c --ctx-size", "n_ctx", values.whole, "LLAMA_ARG_CTX_SIZE"),
    _value("-n --predict --n-predict", "n_predict", values.whole, "LLAMA_ARG_N_PREDICT"),
    _value("-b --batch-size", "n_batch", values.whole, "LLAMA_ARG_BATCH"),
    _value("-ub --ubatch-size", "n_ubatch", values.whole, "LLAMA_ARG_UBATCH"),
    _value("-t --threads", "cpuparams.n_threads", values.whole, "LLAMA_ARG_THREADS"),
    _value("-tb --threads-batch", "cpuparams_batch.n_threads", values.whole),
    _value("--poll", "cpuparams.poll", values.whole),
    _value("--poll-batch", "cpuparams_batch.poll", values.whole),
    _member("-fa --flash-attn", "flash_attn_type", values.flash_attention, "LLAMA_ARG_FLASH_ATTN"),
    _member("-ctk --cache-type-k", "cache_type_k", values.cache_type, "LLAMA_ARG_CACHE_TYPE_K"),
    _member("-ctv --cache-type-v", "cache_type_v", values.cache_type, "LLAMA_ARG_CACHE_TYPE_V"),
    _value("-ngl --gpu-layers --n-gpu-layers", "n_gpu_layers", values.layers, "LLAMA_ARG_N_GPU_LAYERS"),
    _value("-mg --main-gpu", "main_gpu", values.whole, "LLAMA_ARG_MAIN_GPU"),
    _member("-lm --load-mode", "load_mode", values.load_mode, "LLAMA_ARG_LOAD_MODE"),
    _value("-fit --fit", "fit_params", values.truth, "LLAMA_ARG_FIT"),
    _switch("-cb --cont-batching", "cont_batching", True, "LLAMA_ARG_CONT_BATCHING"),
    _switch("-nocb --no-cont-batching", "cont_batching", False),
    _value("-cram --cache-ram", "cache_ram_mib", values.whole, "LLAMA_ARG_CACHE_RAM"),
    _value(
        "-ctxcp --ctx-checkpoints --swa-checkpoints", "n_ctx_checkpoints", values.whole, "LLAMA_ARG_CTX_CHECKPOINTS"
    ),
    _value("-cms --checkpoint-min-step", "checkpoint_min_step", values.whole, "LLAMA_ARG_CHECKPOINT_MIN_SPACING_NT"),
    _value("--cache-reuse", "n_cache_reuse", values.whole, "LLAMA_ARG_CACHE_REUSE"),
    _switch("--cache-prompt", "cache_prompt", True, "LLAMA_ARG_CACHE_PROMPT"),
    _switch("--no-cache-prompt", "cache_prompt", False),
    _switch("--cache-idle-slots", "cache_idle_slots", True, "LLAMA_ARG_CACHE_IDLE_SLOTS"),
    _switch("--no-cache-idle-slots", "cache_idle_slots", False),
    _switch("--swa-full", "swa_full", True, "LLAMA_ARG_SWA_FULL"),
    _switch("--context-shift", "ctx_shift", True, "LLAMA_ARG_CONTEXT_SHIFT"),
    _switch("--no-context-shift", "ctx_shift", False),
)
_SAMPLING = (
    _value("-s --seed", "sampling.seed", values.seed),
    _switch("--ignore-eos", "sampling.ignore_eos", True),
    _sampling("--temp --temperature", "temp", values.real, "TEMP", "LLAMA_ARG_TEMPERATURE"),
    _sampling("--top-k", "top_k", values.whole, "TOP_K", "LLAMA_ARG_TOP_K"),
    _sampling("--top-p", "top_p", values.real, "TOP_P", "LLAMA_ARG_TOP_P"),
    _sampling("--min-p", "min_p", values.real, "MIN_P", "LLAMA_ARG_MIN_P"),
    _sampling("--repeat-penalty", "penalty_repeat", values.real, "PENALTY_REPEAT", "LLAMA_ARG_REPEAT_PENALTY"),
    _sampling("--repeat-last-n", "penalty_last_n", values.whole, "PENALTY_LAST_N"),
    _value("--presence-penalty", "sampling.penalty_present", values.real, "LLAMA_ARG_PRESENCE_PENALTY"),
    _value("--frequency-penalty", "sampling.penalty_freq", values.real, "LLAMA_ARG_FREQUENCY_PENALTY"),
)
_NGRAM_MAPS = tuple(
    _value(
        f"--spec-ngram-{kind}-{part}",
        f"speculative.ngram_{kind.replace('-', '_')}.{part.replace('-', '_')}",
        values.whole,
    )
    for kind in ("simple", "map-k", "map-k4v")
    for part in ("size-n", "size-m", "min-hits")
)
_DRAFT = "speculative.draft"
_SPECULATION = (
    _member("--spec-type", "speculative.types", values.spec_types, "LLAMA_ARG_SPEC_TYPE"),
    Flag(("--spec-default",), None, takes_value=False, apply=_spec_default),
    _value("--spec-draft-n-max", f"{_DRAFT}.n_max", values.whole, "LLAMA_ARG_SPEC_DRAFT_N_MAX"),
    _value("--spec-draft-n-min", f"{_DRAFT}.n_min", values.whole, "LLAMA_ARG_SPEC_DRAFT_N_MIN"),
    _value("--spec-draft-p-min --draft-p-min", f"{_DRAFT}.p_min", values.real, "LLAMA_ARG_SPEC_DRAFT_P_MIN"),
    _value("--spec-draft-p-split --draft-p-split", f"{_DRAFT}.p_split", values.real, "LLAMA_ARG_SPEC_DRAFT_P_SPLIT"),
    _value(
        "--spec-draft-sampling",
        f"{_DRAFT}.probabilistic",
        values.greedy_or_probabilistic,
        "LLAMA_ARG_SPEC_DRAFT_SAMPLING",
    ),
    _switch(
        "--spec-draft-backend-sampling", f"{_DRAFT}.backend_sampling", True, "LLAMA_ARG_SPEC_DRAFT_BACKEND_SAMPLING"
    ),
    _switch("--no-spec-draft-backend-sampling", f"{_DRAFT}.backend_sampling", False),
    _value("-md --model-draft --spec-draft-model", f"{_DRAFT}.mparams.path", values.file, "LLAMA_ARG_SPEC_DRAFT_MODEL"),
    _value("-td --threads-draft --spec-draft-threads", f"{_DRAFT}.cpuparams.n_threads", values.whole),
    _value(
        "-tbd --threads-batch-draft --spec-draft-threads-batch", f"{_DRAFT}.cpuparams_batch.n_threads", values.whole
    ),
    _value("--poll-draft --spec-draft-poll", f"{_DRAFT}.cpuparams.poll", values.whole),
    _value(
        "-ngld --gpu-layers-draft --n-gpu-layers-draft --spec-draft-ngl",
        f"{_DRAFT}.n_gpu_layers",
        values.layers,
        "LLAMA_ARG_N_GPU_LAYERS_DRAFT",
    ),
    _member(
        "-ctkd --cache-type-k-draft --spec-draft-type-k",
        f"{_DRAFT}.cache_type_k",
        values.cache_type,
        "LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_K",
    ),
    _member(
        "-ctvd --cache-type-v-draft --spec-draft-type-v",
        f"{_DRAFT}.cache_type_v",
        values.cache_type,
        "LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_V",
    ),
    _value("--spec-synth-len", "speculative.synth_len", values.real, "LLAMA_ARG_SPEC_SYNTH_LEN"),
    _value("--spec-synth-rates", "speculative.synth_rates", values.numbers, "LLAMA_ARG_SPEC_SYNTH_RATES"),
    *_NGRAM_MAPS,
    _value("--spec-ngram-mod-n-match", "speculative.ngram_mod.n_match", values.whole),
    _value("--spec-ngram-mod-n-min", "speculative.ngram_mod.n_min", values.whole),
    _value("--spec-ngram-mod-n-max", "speculative.ngram_mod.n_max", values.whole),
    _value("-lcs --lookup-cache-static", "speculative.ngram_cache.lookup_cache_static", values.file),
    _value("-lcd --lookup-cache-dynamic", "speculative.ngram_cache.lookup_cache_dynamic", str),
)

FLAGS: tuple[Flag, ...] = (*_SERVER, *_COMPUTE, *_SAMPLING, *_SPECULATION)


def by_name() -> Iterator[tuple[str, Flag]]:
    """Every name with its argument."""
    for flag in FLAGS:
        for name in flag.names:
            yield name, flag
