"""Texts of llama-server arguments as the values of `xllamacpp.CommonParams`.

Every function raises `ValueError` where the text is no such value; those that get `api` look the value up in the
xllamacpp module.
"""

from pathlib import Path
from typing import Any

from loadgen.experiment.llama_flags import TYPES

_ON = frozenset({"on", "enabled", "true", "1"})
_OFF = frozenset({"off", "disabled", "false", "0"})
_AUTO = frozenset({"auto", "-1"})


class MissingFileError(ValueError):
    """A file that an argument names is not there."""


def truth(text: str) -> bool:
    """On or off in one of llama-server's spellings. Raises `ValueError` for others."""
    if text in _ON | _OFF:
        return text in _ON
    raise ValueError(f"{text!r} is neither on nor off")


def cache_type(api: Any, text: str) -> Any:
    """A KV cache type."""
    allowed = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")
    if text not in allowed:
        raise ValueError(f"unsupported cache type {text!r}: one of {', '.join(allowed)}")
    return api.ggml_type[f"GGML_TYPE_{text.upper()}"]


def flash_attention(api: Any, text: str) -> Any:
    """On, off or auto."""
    state = "AUTO" if text in _AUTO else "ENABLED" if truth(text) else "DISABLED"
    return api.llama_flash_attn_type[f"LLAMA_FLASH_ATTN_TYPE_{state}"]


def load_mode(api: Any, text: str) -> Any:
    """How the model file is read."""
    names = {"auto": "AUTO", "none": "NONE", "mmap": "MMAP", "mlock": "MLOCK", "mmap+mlock": "MMAP_MLOCK"}
    names["dio"] = "DIRECT_IO"
    if text not in names:
        raise ValueError(f"one of {', '.join(names)}")
    return api.llama_load_mode[f"LLAMA_LOAD_MODE_{names[text]}"]


def reasoning_format(api: Any, text: str) -> Any:
    """Where thoughts go in an answer."""
    names = ("none", "auto", "deepseek", "deepseek-legacy")
    if text not in names:
        raise ValueError(f"one of {', '.join(names)}")
    return api.common_reasoning_format[f"COMMON_REASONING_FORMAT_{text.upper().replace('-', '_')}"]


def spec_types(api: Any, text: str) -> list[Any]:
    """A comma list of speculation types."""
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in (*TYPES, "none"):
            raise ValueError(f"unknown speculative type: {name}")
    kinds = api.common_speculative_type
    return [kinds[f"COMMON_SPECULATIVE_TYPE_{name.upper().replace('-', '_')}"] for name in names]


def greedy_or_probabilistic(text: str) -> bool:
    """Whether drafts are sampled."""
    if text not in ("greedy", "probabilistic"):
        raise ValueError("greedy or probabilistic")
    return text == "probabilistic"


def whole(text: str) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"invalid value: {text}") from None


def real(text: str) -> float:
    """A number."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"invalid value: {text}") from None


def layers(text: str) -> int:
    """A number of layers, `auto` or `all`."""
    return {"auto": -1, "all": -2}.get(text) or whole(text)


def file(text: str) -> str:
    """A path where a file is."""
    if not Path(text).is_file():
        raise MissingFileError(f"failed to open GGUF file '{text}' (No such file or directory)")
    return text


def file_text(text: str) -> str:
    """The content of a file."""
    try:
        return Path(text).read_text()
    except OSError as error:
        raise MissingFileError(f"failed to open file '{text}' ({error.strerror})") from error


def split(text: str) -> list[str]:
    """A comma list."""
    return [part for part in text.split(",") if part]


def numbers(text: str) -> list[float]:
    """A comma list of numbers."""
    return [real(part) for part in text.split(",")]


def seed(text: str) -> int:
    """A seed; -1 is the random one."""
    return whole(text) % 2**32


def slots(text: str) -> int:
    """A number of slots, or -1."""
    count = whole(text)
    if count == 0:
        raise ValueError("at least one slot")
    return count
