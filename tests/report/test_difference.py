"""Differences between servers in a few words."""

from typing import Any

from loadgen.report.difference import difference_text


def text_of(*differences: tuple[str, Any, Any, bool]) -> str | None:
    """The text for differences given as field, baseline, variant, allowed."""
    entries = [
        {"field": field, "baseline": ours, "variant": theirs, "voids": True, "allowed": allowed}
        for field, ours, theirs, allowed in differences
    ]
    return difference_text({"variant": "mtp", "baseline": "off", "differences": entries})


def test_values_are_shown_and_what_was_allowed_is_marked() -> None:
    """Groups of settings by their own names, numbers with their thousands, switches as on and off."""
    assert text_of(
        ("threads", {"threads": 8, "threads_batch": 8}, {"threads": 4, "threads_batch": 16}, False),
        ("slots", 4, 6, True),
        ("context_per_slot", 16384, 8192, False),
        ("kv", {"kv_unified": True}, {"kv_unified": False}, False),
        ("sampling", {"temperature": 0.800000011920929}, {"temperature": 0.2}, False),
        ("cache", {"cache_ram_mib": "not given"}, {"cache_ram_mib": 0}, False),
    ) == (
        "differs from off in: threads 8 → 4, threads batch 8 → 16, slots 4 → 6 (allowed), context per slot 16,384 → "
        "8,192, kv unified on → off, temperature 0.8 → 0.2, cache ram mib not given → 0"
    )


def test_models_are_shown_by_file_unless_only_their_folders_differ() -> None:
    """A template is known by its digest alone; equal servers differ in nothing."""
    assert text_of(("model", "/models/a.gguf", "/models/b.gguf", False), ("chat_template", "0f", "1e", True)) == (
        "differs from off in: model a.gguf → b.gguf, chat template (allowed)"
    )
    assert text_of(("model", "/old/a.gguf", "/new/a.gguf", False)) == (
        "differs from off in: model /old/a.gguf → /new/a.gguf"
    )
    assert text_of() is None
