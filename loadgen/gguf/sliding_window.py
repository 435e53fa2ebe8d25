"""Attention that sees only the last tokens in some layers: how far, and in which.

Source: `set_swa_pattern` in llama.cpp's `src/llama-hparams.cpp`, and its callers in `src/models/*.cpp`. A model whose
header has a window but whose architecture is not listed gets full caches from llama.cpp (as phi3 and mistral do).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from loadgen.gguf.model_file import ModelFile


@dataclass(frozen=True)
class SlidingWindow:
    """`tokens` that a sliding layer sees, and which layers slide."""

    tokens: int
    slides: tuple[bool, ...]


@dataclass(frozen=True)
class _Pattern:
    """Of every `period` layers one is full: the last, or the first. `tokens` where the header needn't say."""

    period: int
    full_first: bool = False
    tokens: int | None = None


_PATTERNS: Mapping[str, _Pattern] = {
    "gemma2": _Pattern(2, tokens=4096),
    "gemma3": _Pattern(6),
    "gemma3n": _Pattern(5),
    "gemma4": _Pattern(6),
    "cohere2": _Pattern(4),
    "gpt-oss": _Pattern(2),
    "exaone4": _Pattern(4),
    "exaone-moe": _Pattern(4),
    "olmo2": _Pattern(4),
    "plamo3": _Pattern(8),
    "afmoe": _Pattern(4),
    "smallthinker": _Pattern(4, full_first=True, tokens=4096),
    "llama4": _Pattern(4, tokens=8192),
    "laguna": _Pattern(4, full_first=True),
    "mimo2": _Pattern(1),
    "step35": _Pattern(1),
}


def sliding_window(model: ModelFile, name: str, blocks: int) -> SlidingWindow | None:
    """The window of a model with `blocks` layers; null where all layers keep every token."""
    said = model.number(f"{name}.attention.sliding_window")
    by_layer = model.numbers(f"{name}.attention.sliding_window_pattern")
    pattern = _PATTERNS.get(name)
    if pattern is None and by_layer is None:
        return None
    tokens = (pattern.tokens if pattern is not None else None) if said is None else said
    if not tokens:
        return None
    if by_layer:
        # Shorter ones are repeated.
        return SlidingWindow(tokens, tuple(bool(by_layer[index % len(by_layer)]) for index in range(blocks)))
    period = model.number(f"{name}.attention.sliding_window_pattern")
    if pattern is None:
        return None
    period = pattern.period if period is None else period
    return SlidingWindow(tokens, tuple(_slides(index, period, first=pattern.full_first) for index in range(blocks)))


def _slides(index: int, period: int, *, first: bool) -> bool:
    """With period 0 every layer slides, with 1 none."""
    if period == 0:
        return True
    return index % period != 0 if first else index % period < period - 1
