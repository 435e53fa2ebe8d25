"""How the servers of two variants differ beside speculation, from what they said of themselves."""

from collections.abc import Collection
from typing import Any

import msgspec

from loadgen.records.model import ServerFacts

VOIDS = ("model", "slots", "context_per_slot", "cache", "sampling", "chat_template")
"""A difference in one of these makes it a comparison of two different things: it stops the run unless allowed."""

_SETTINGS = {
    "cache": ("cache_prompt", "cache_ram_mib", "ctx_checkpoints", "cache_reuse"),
    "kv": ("kv_unified", "cache_type_k", "cache_type_v", "flash_attn"),
    "threads": ("threads", "threads_batch"),
    "batch": ("batch", "ubatch"),
}


class ServerDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One field that differs: what the baseline has, what the variant has, and whether that voids a comparison."""

    field: str
    baseline: Any
    variant: Any
    voids: bool


def differences(baseline: ServerFacts, variant: ServerFacts, *, meant: Collection[str] = ()) -> list[ServerDifference]:
    """What differs, without the fields in `meant`. A value that one side doesn't tell differs from nothing."""
    return [
        ServerDifference(field=name, baseline=ours, variant=theirs, voids=name in VOIDS)
        for name, ours, theirs in _pairs(baseline, variant)
        if name not in meant and ours != theirs
    ]


def _pairs(baseline: ServerFacts, variant: ServerFacts) -> list[tuple[str, Any, Any]]:
    out = [
        ("model", *_model(baseline, variant)),
        ("slots", *_known(baseline.slots, variant.slots)),
        ("context_per_slot", *_known(baseline.context_per_slot, variant.context_per_slot)),
        ("sampling", *_common(baseline.sampling, variant.sampling)),
        ("chat_template", *_known(baseline.chat_template, variant.chat_template)),
        ("build", *_known(baseline.build, variant.build)),
    ]
    for name, settings in _SETTINGS.items():
        ours, theirs = _common(baseline.settings, variant.settings)
        out.append((name, _only(ours, settings), _only(theirs, settings)))
    return out


def _model(baseline: ServerFacts, variant: ServerFacts) -> tuple[Any, Any]:
    """The strongest evidence that both sides have: content, then size. A name alone is an alias and proves nothing."""
    for name in ("model_digest", "model_bytes", "model_path"):
        ours, theirs = getattr(baseline, name), getattr(variant, name)
        if ours is not None and theirs is not None:
            return (None, None) if ours == theirs else (baseline.model_path or ours, variant.model_path or theirs)
    return None, None


def _known(ours: Any, theirs: Any) -> tuple[Any, Any]:
    return (None, None) if ours is None or theirs is None else (ours, theirs)


def _common(ours: dict[str, Any] | None, theirs: dict[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Where two objects differ, among the names that both have."""
    names = [name for name in ours or {} if name in (theirs or {}) and (ours or {})[name] != (theirs or {})[name]]
    return {name: (ours or {})[name] for name in names}, {name: (theirs or {})[name] for name in names}


def _only(values: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in names}
