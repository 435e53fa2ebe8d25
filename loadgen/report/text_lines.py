"""What the prompts of a run are made of, and what every request asks for."""

from collections.abc import Mapping
from typing import Any

from loadgen.report.numbers import share

__all__ = ["asked_text", "made_text"]

_NOTHING = 0.0005
"""Of an error: it would show as 0.0 %."""


def made_text(workload: Mapping[str, Any]) -> str | None:
    """Of which files, and how long by whose count; null where that is unknown, or they are words without meaning."""
    sized = workload["sized"]
    if sized in (None, "words"):
        return None
    ratio = workload["chars_per_token"]
    estimated = "characters a token (assumed)" if ratio is None else f"{ratio:.2f} characters a token"
    parts = ["sized by the server's tokenizer" if sized == "tokenizer" else f"sized by {estimated}"]
    if workload["corpus"] is not None:
        parts.insert(0, f"of the files in {workload['corpus']}")
    if workload["depth_error"] is not None:
        error = workload["depth_error"]
        how = f"within {share(error)} of what was planned" if error >= _NOTHING else "as deep as planned"
        parts.append(f"the deepest prompts are {how}")
    if workload["reasoning"] is False:
        parts.append("recorded reasoning is left out, as the chat template does")
    return "; ".join(parts)


def asked_text(asked: Mapping[str, Any]) -> str | None:
    """The sampling and the reasoning that requests ask for; null where they ask for neither."""
    parts = [f"{name} {value}" for name, value in asked["sampling"].items()]
    if asked["thinking"] != "server":
        parts.append(f"thinking {asked['thinking']}")
    return f"every request asks for {', '.join(parts)}" if parts else None
