"""How two servers differ beside speculation."""

from typing import Any

import msgspec
import pytest

from loadgen.records.differences import NOT_GIVEN, SERVERS_OWN, as_asked, differences, explain, voiding
from loadgen.records.model import ServerFacts

BASE = ServerFacts(
    kind="llama-server",
    model="m",
    model_path="/models/m.gguf",
    build="b1",
    slots=4,
    context_per_slot=4096,
    metrics=True,
    speculative=False,
    drafted=0,
    sampling={"temperature": 0.8, "top_k": 40},
    model_bytes=1000,
    model_digest="a" * 64,
    chat_template="b" * 64,
    tokenizer=True,
    settings={
        "cache_ram_mib": 8192,
        "cache_prompt": NOT_GIVEN,
        "kv_unified": False,
        "threads": 8,
        "batch": NOT_GIVEN,
        "flash_attn": NOT_GIVEN,
        "gpu_layers": "99",
    },
)


def changed(**changes: Any) -> ServerFacts:
    """The base's facts with changes."""
    return msgspec.structs.replace(BASE, **changes)


def settings(**changes: Any) -> ServerFacts:
    """The base's facts with changed settings."""
    return changed(settings={**(BASE.settings or {}), **changes})


def found(variant: ServerFacts) -> list[tuple[str, Any, Any, bool]]:
    """The differences from the base, as tuples."""
    return [(one.field, one.baseline, one.variant, one.voids) for one in differences(BASE, variant)]


def test_speculation_is_no_difference() -> None:
    """What the variants are about, and what a server is called, is not compared."""
    assert found(changed(speculative=True, drafted=30, model="alias", metrics=False, tokenizer=False)) == []


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        (changed(slots=6), ("slots", 4, 6, True)),
        (changed(context_per_slot=2048), ("context_per_slot", 4096, 2048, True)),
        (
            changed(sampling={"temperature": 0.1, "top_k": 40}),
            ("sampling", {"temperature": 0.8}, {"temperature": 0.1}, True),
        ),
        (changed(chat_template="c" * 64), ("chat_template", "b" * 64, "c" * 64, True)),
        (changed(build="b2"), ("build", "b1", "b2", False)),
        (settings(cache_ram_mib=0), ("cache", {"cache_ram_mib": 8192}, {"cache_ram_mib": 0}, True)),
        (settings(cache_prompt=False), ("cache", {"cache_prompt": NOT_GIVEN}, {"cache_prompt": False}, True)),
        (settings(kv_unified=True), ("kv", {"kv_unified": False}, {"kv_unified": True}, False)),
        (settings(threads=4), ("threads", {"threads": 8}, {"threads": 4}, False)),
        (settings(gpu_layers="20"), ("device", {"gpu_layers": "99"}, {"gpu_layers": "20"}, False)),
        (settings(batch=512), ("batch", {"batch": NOT_GIVEN}, {"batch": 512}, False)),
    ],
)
def test_each_difference_has_its_field_and_weight(variant: ServerFacts, expected: tuple[str, Any, Any, bool]) -> None:
    """Model, slots, context, caches, sampling and template void a comparison; the rest is told."""
    assert found(variant) == [expected]


@pytest.mark.parametrize(
    "variant",
    [
        changed(slots=None, context_per_slot=None, sampling=None, chat_template=None, build=None, settings=None),
        changed(model_path=None, model_bytes=None, model_digest=None),
        changed(sampling={"temperature": 0.800000011920929}),
        settings(cache_prompt=True),
        settings(batch=2048),
        settings(flash_attn="on"),
    ],
)
def test_what_one_side_leaves_open_differs_from_nothing(variant: ServerFacts) -> None:
    """Unknown is no difference, nor is a default written out, nor a number in single precision."""
    assert found(variant) == []


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"model_digest": "d" * 64}, ("a" * 64, "d" * 64)),
        ({"model_digest": "d" * 64, "model_path": "/models/n.gguf"}, ("/models/m.gguf", "/models/n.gguf")),
        ({"model_path": "/elsewhere/other.gguf"}, None),
        ({"model_digest": None, "model_bytes": 1001}, (1000, 1001)),
        ({"model_digest": None, "model_bytes": None, "model_path": "D:\\llm\\m.gguf"}, None),
        (
            {"model_digest": None, "model_bytes": None, "model_path": "/models/n.gguf"},
            ("/models/m.gguf", "/models/n.gguf"),
        ),
    ],
)
def test_models_are_compared_by_the_strongest_evidence(changes: dict[str, Any], shown: tuple[Any, Any] | None) -> None:
    """Content goes before size, size before the file's name; the folder proves nothing."""
    assert found(changed(**changes)) == ([] if shown is None else [("model", *shown, True)])


def test_meant_and_allowed_differences_stop_nothing() -> None:
    """What the variants mean to have is not listed; what the user allows is listed, and doesn't stop the run."""
    variant = changed(slots=6, context_per_slot=2048, build="b2")
    assert [one.field for one in differences(BASE, variant, meant=["slots"])] == ["context_per_slot", "build"]
    assert [one.field for one in voiding(differences(BASE, variant), ["slots"])] == ["context_per_slot"]
    assert voiding(differences(BASE, variant), ["slots", "context_per_slot"]) == []


def test_differences_are_explained() -> None:
    """Both values, and for those that void what to do; digests are cut."""
    variant = settings(cache_ram_mib=0, cache_prompt=False)
    variant = msgspec.structs.replace(variant, slots=6, chat_template="c" * 64, build="b2")
    assert explain("off", "mtp", differences(BASE, variant)) == [
        "off and mtp differ in slots (4 and 6): give both the same -np, or allow it with --allow-different slots.",
        (
            "off and mtp differ in chat template (bbbbbbbbbbbb and cccccccccccc): give both the same --chat-template "
            "or --chat-template-file, or allow it with --allow-different chat_template."
        ),
        "off and mtp differ in build (b1 and b2).",
        (
            "off and mtp differ in cache (cache_ram_mib 8192, cache_prompt not given and cache_ram_mib 0, cache_prompt "
            "off): give both the same cache arguments (--cache-prompt, --cache-ram, --ctx-checkpoints, --cache-reuse), "
            "or allow it with --allow-different cache."
        ),
    ]


@pytest.mark.parametrize(
    ("ours", "theirs", "different"),
    [
        ({}, {}, None),
        ({}, {"temperature": 0.8}, None),
        ({"top_p": 0.9}, {"top_p": 0.9}, None),
        ({"temperature": 0.1}, {}, ({"temperature": 0.1}, {"temperature": 0.8})),
        ({}, {"top_p": 0.9}, ({"top_p": SERVERS_OWN}, {"top_p": 0.9})),
    ],
)
def test_fields_of_requests_go_over_the_servers_sampling(
    ours: dict[str, Any], theirs: dict[str, Any], different: tuple[dict[str, Any], dict[str, Any]] | None
) -> None:
    """What one side asks for and the other leaves to a server that doesn't tell is a difference."""
    found = differences(*as_asked(BASE, BASE, ours, theirs))
    assert [(one.field, one.baseline, one.variant, one.voids) for one in found] == (
        [] if different is None else [("sampling", *different, True)]
    )
