"""How the servers of two variants differ beside speculation, from what they said of themselves."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from loadgen.records.model import ServerFacts

VOIDS = ("model", "slots", "context_per_slot", "cache", "sampling", "chat_template")
"""A difference in one of these makes it a comparison of two different things: it stops the run unless allowed."""

SERVERS_OWN = "the server's own"
"""A sampling field that no request sends, and of which the server doesn't tell its default."""

NOT_GIVEN = "not given"
"""A setting that a server's command could name and doesn't: the server's default holds, whichever it is."""

_SETTINGS = {
    "cache": ("cache_prompt", "cache_ram_mib", "ctx_checkpoints", "cache_reuse", "swa_full"),
    "kv": ("kv_unified", "cache_type_k", "cache_type_v", "flash_attn"),
    "device": ("gpu_layers", "devices", "split_mode", "tensor_split", "main_gpu"),
    "threads": ("threads", "threads_batch"),
    "batch": ("batch", "ubatch", "cont_batching"),
}

_DEFAULTS = {
    "cache_prompt": True,
    "cache_ram_mib": 8192,
    "ctx_checkpoints": 32,
    "cache_reuse": 0,
    "swa_full": False,
    "cache_type_k": "f16",
    "cache_type_v": "f16",
    "batch": 2048,
    "ubatch": 512,
    "cont_batching": True,
}
"""llama-server's documented defaults (b11549), used for one thing: a setting given with its default value is no
difference from one not given. Defaults that depend on the machine or on other arguments are left out: there, not given
differs from nothing."""

_ADVICE = {
    "model": "both servers must load the same file",
    "slots": "give both the same -np",
    "context_per_slot": "give both the same -c and -np",
    "cache": "give both the same cache arguments (--cache-prompt, --cache-ram, --ctx-checkpoints, --cache-reuse)",
    "sampling": "start both with the same sampling arguments, and send both the same fields",
    "chat_template": "give both the same --chat-template or --chat-template-file",
    "kv": "give both the same -kvu, -ctk, -ctv and -fa",
    "device": "give both the same -ngl, -dev, -sm, -ts and -mg",
    "threads": "give both the same -t and -tb",
    "batch": "give both the same -b and -ub",
    "build": "run both with the same llama-server",
}

_SHOWN = 12
"""Characters of a digest: enough to tell two apart."""


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


def as_asked(
    baseline: ServerFacts, variant: ServerFacts, ours: Mapping[str, Any], theirs: Mapping[str, Any]
) -> tuple[ServerFacts, ServerFacts]:
    """Both with the sampling that their requests get: the fields that each of them sends go over the server's defaults.

    A field that one side sends and of which the other tells nothing is `SERVERS_OWN` there: a difference.
    """
    if not ours and not theirs:
        return baseline, variant
    unsaid = dict.fromkeys((*ours, *theirs), SERVERS_OWN)
    return (
        msgspec.structs.replace(baseline, sampling={**unsaid, **(baseline.sampling or {}), **ours}),
        msgspec.structs.replace(variant, sampling={**unsaid, **(variant.sampling or {}), **theirs}),
    )


def voiding(found: Sequence[ServerDifference], allowed: Collection[str]) -> list[ServerDifference]:
    """The differences that stop a run: they void a comparison, and nobody allowed them."""
    return [one for one in found if one.voids and one.field not in allowed]


def explain(baseline: str, variant: str, found: Sequence[ServerDifference]) -> list[str]:
    """A sentence for each difference between the servers of the variants so named; those that void say what to do."""
    return [_sentence(baseline, variant, one) for one in found]


def _sentence(baseline: str, variant: str, one: ServerDifference) -> str:
    name = one.field.replace("_", " ")
    text = f"{baseline} and {variant} differ in {name} ({_shown(one.baseline)} and {_shown(one.variant)})"
    if not one.voids:
        return f"{text}."
    return f"{text}: {_ADVICE[one.field]}, or allow it with --allow-different {one.field}."


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(one)}" for name, one in value.items())
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value):
        return value[:_SHOWN]
    return str(value)


def _pairs(baseline: ServerFacts, variant: ServerFacts) -> list[tuple[str, Any, Any]]:
    out = [
        ("model", *_model(baseline, variant)),
        ("slots", *_known(baseline.slots, variant.slots)),
        ("context_per_slot", *_known(baseline.context_per_slot, variant.context_per_slot)),
        ("sampling", *_common(baseline.sampling, variant.sampling)),
        ("chat_template", *_known(baseline.chat_template, variant.chat_template)),
        ("build", *_known(baseline.build, variant.build)),
    ]
    ours, theirs = _common(baseline.settings, variant.settings)
    out += [(name, _only(ours, settings), _only(theirs, settings)) for name, settings in _SETTINGS.items()]
    return out


def _model(baseline: ServerFacts, variant: ServerFacts) -> tuple[Any, Any]:
    """The strongest evidence that both sides have: content, then size, then the file's name.

    A folder proves nothing, for two machines keep the same file in two places, and the name that a server answers to is
    an alias. What is shown is what tells the two apart.
    """
    for name, of in (("model_digest", str), ("model_bytes", int), ("model_path", _file_name)):
        ours, theirs = getattr(baseline, name), getattr(variant, name)
        if ours is None or theirs is None:
            continue
        if of(ours) == of(theirs):
            return None, None
        paths = baseline.model_path, variant.model_path
        return paths if None not in paths and paths[0] != paths[1] else (ours, theirs)
    return None, None


def _file_name(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]


def _known(ours: Any, theirs: Any) -> tuple[Any, Any]:
    return (None, None) if ours is None or theirs is None else (ours, theirs)


def _common(ours: dict[str, Any] | None, theirs: dict[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Where two objects differ, among the names that both have."""
    mine, other = ours or {}, theirs or {}
    names = [name for name in mine if name in other and not _alike(name, mine[name], other[name])]
    return {name: mine[name] for name in names}, {name: other[name] for name in names}


def _alike(name: str, ours: Any, theirs: Any) -> bool:
    if isinstance(ours, float) and isinstance(theirs, int | float):
        # One build prints 0.8, another 0.800000011920929: the same single-precision number.
        return math.isclose(ours, theirs, rel_tol=1e-6)
    if NOT_GIVEN in (ours, theirs) and ours != theirs:
        given = theirs if ours == NOT_GIVEN else ours
        return name not in _DEFAULTS or bool(_DEFAULTS[name] == given)
    return bool(ours == theirs)


def _only(values: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in names}
