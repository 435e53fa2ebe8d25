"""How a server was set up beside speculation: KV cache, prompt caches, threads and batch sizes.

The load log is believed first, for it tells what came out; the command line says the rest. Names are those that
`loadgen.records.differences` compares.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from loadgen.experiment import llama_flags as flags
from loadgen.records.differences import NOT_GIVEN
from loadgen.servers import loadlog

_MODEL = ("-m", "--model", "-mu", "--model-url", "-hf", "-hfr", "--hf-repo", "-dr", "--docker-repo")
"""A command that names a model is a server's own: what it doesn't say was not said. Others (a container's proxy, a
tunnel) only listen in its place."""

_FIT_ENDS = "common_fit_params: "
"""Before it, a log may speak of contexts that were only planned."""

_BATCH = re.compile(r"llama_context: n_batch += *(\d+)")
_UBATCH = re.compile(r"llama_context: n_ubatch += *(\d+)")
_KV_TYPES = re.compile(r"llama_kv_cache\w*: size = .*?K \((\w+)\).*?V \((\w+)\)")
_FLASH_RESOLVED = re.compile(r"Flash Attention (?:was auto, set to )?(enabled|disabled)")
_FLASH_ASKED = re.compile(r"llama_context: flash_attn += *(\w+)")
_THREADS = re.compile(r"n_threads = (\d+) \(n_threads_batch = (\d+)\)")
_CACHE_RAM = re.compile(r"prompt cache is enabled, size limit: (?:(\d+) MiB|(no limit))")
_CHECKPOINTS = re.compile(r"context checkpoints enabled, max = (\d+)")
_NO_CACHE = "prompt cache is disabled"
_NO_CHECKPOINTS = "context checkpoints disabled"

_FLASH = {
    **dict.fromkeys(("enabled", "on", "1", "true"), "on"),
    **dict.fromkeys(("disabled", "off", "0", "false"), "off"),
    **dict.fromkeys(("auto", "-1"), "auto"),
}


def read_settings(command: Sequence[str] | None, log: str | None) -> dict[str, Any] | None:
    """The settings that the load log or the command line tells; null where there is neither.

    A setting that neither tells is absent. Of a command that is a llama-server's own, one that it doesn't name is
    `NOT_GIVEN`, for then two commands can be compared; which default that means is left open.
    """
    if command is None and log is None:
        return None
    return {**(_of_command(command) if command is not None else {}), **(_of_log(log) if log is not None else {})}


def names_model(command: Sequence[str]) -> bool:
    """Whether a command line is a llama-server's own, by its naming a model."""
    return flags.has(_own(command), *_MODEL)


def model_of(command: Sequence[str]) -> str | None:
    """The path of the model that a command names (`-m`), or null."""
    return flags.value_of(_own(command), "-m", "--model")


def _own(command: Sequence[str]) -> Sequence[str]:
    """llama-server's own arguments in a command line."""
    return command[1 + flags.first_argument(command[0], command[1:]) :] if command else ()


def _of_command(command: Sequence[str]) -> dict[str, Any]:
    own = _own(command)
    is_server = names_model(command)
    found: dict[str, Any] = {}
    for name, (names, read) in _VALUES.items():
        text = flags.value_of(own, *names)
        value = read(text) if text is not None else None
        if value is not None:
            found[name] = value
        elif is_server and not flags.has(own, *names):
            found[name] = NOT_GIVEN
    for name, (on, off) in _SWITCHES.items():
        given = [flags.has((word,), *on) for word in own if flags.has((word,), *on, *off)]
        if given:
            found[name] = given[-1]
        elif is_server:
            found[name] = NOT_GIVEN
    return found


def _whole(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def _word(text: str) -> str | None:
    return text.lower() if re.fullmatch(r"\w+", text) else None


def _text(text: str) -> str | None:
    return text if not text.startswith("--") else None


def _flash(text: str) -> str | None:
    # Older builds had a switch without a value: the next word is then another argument.
    return "on" if text.startswith("--") else _FLASH.get(text)


_VALUES: dict[str, tuple[tuple[str, ...], Callable[[str], Any]]] = {
    "cache_type_k": (("-ctk", "--cache-type-k"), _word),
    "cache_type_v": (("-ctv", "--cache-type-v"), _word),
    "flash_attn": (("-fa", "--flash-attn"), _flash),
    "cache_ram_mib": (("-cram", "--cache-ram"), _whole),
    "ctx_checkpoints": (("-ctxcp", "--ctx-checkpoints", "--swa-checkpoints"), _whole),
    "cache_reuse": (("--cache-reuse",), _whole),
    "threads": (("-t", "--threads"), _whole),
    "threads_batch": (("-tb", "--threads-batch"), _whole),
    "batch": (("-b", "--batch-size"), _whole),
    "ubatch": (("-ub", "--ubatch-size"), _whole),
    "gpu_layers": (("-ngl", "--gpu-layers", "--n-gpu-layers"), _text),
    "devices": (("-dev", "--device"), _text),
    "split_mode": (("-sm", "--split-mode"), _text),
    "tensor_split": (("-ts", "--tensor-split"), _text),
    "main_gpu": (("-mg", "--main-gpu"), _text),
    "sleep_idle_s": (("--sleep-idle-seconds",), _whole),
}

_SWITCHES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "kv_unified": (("-kvu", "--kv-unified"), ("-no-kvu", "--no-kv-unified")),
    "cache_prompt": (("--cache-prompt",), ("--no-cache-prompt",)),
    "swa_full": (("--swa-full",), ()),
    "cont_batching": (("-cb", "--cont-batching"), ("-nocb", "--no-cont-batching")),
}


def _of_log(log: str) -> dict[str, Any]:
    """What the log says of the target model: its context comes before that of a draft."""
    end = log.find(_FIT_ENDS)
    loaded = log[end:] if end >= 0 else log
    found: dict[str, Any] = {
        "kv_unified": loadlog.read_facts(log).kv_unified,
        "batch": _number(_BATCH, loaded),
        "ubatch": _number(_UBATCH, loaded),
        "cache_ram_mib": _cache_ram(log),
        "ctx_checkpoints": 0 if _NO_CHECKPOINTS in log else _number(_CHECKPOINTS, log),
        "flash_attn": _flash_of_log(loaded),
    }
    if types := _KV_TYPES.search(loaded):
        found["cache_type_k"], found["cache_type_v"] = types.groups()
    if threads := _THREADS.search(log):
        found["threads"], found["threads_batch"] = int(threads.group(1)), int(threads.group(2))
    return {name: value for name, value in found.items() if value is not None}


def _number(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return int(found.group(1)) if found else None


def _cache_ram(log: str) -> int | None:
    if _NO_CACHE in log:
        return 0
    found = _CACHE_RAM.search(log)
    if found is None:
        return None
    return -1 if found.group(2) else int(found.group(1))


def _flash_of_log(loaded: str) -> str | None:
    found = _FLASH_RESOLVED.search(loaded) or _FLASH_ASKED.search(loaded)
    return _FLASH.get(found.group(1)) if found else None
