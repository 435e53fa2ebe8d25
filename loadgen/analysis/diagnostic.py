"""Variants that show how speculation behaves and are no candidates: nothing advises to keep one."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from loadgen.experiment.llama_flags import has
from loadgen.experiment.traps import SYNTHETIC
from loadgen.records.run import Run

_SYNTHETIC_VARIABLES = ("LLAMA_ARG_SPEC_SYNTH_LEN", "LLAMA_ARG_SPEC_SYNTH_RATES")


class Diagnostic(StrEnum):
    """What a diagnostic variant shows."""

    OVERHEAD = "overhead"
    """Speculation is loaded, but nothing is drafted: what loading it costs."""
    SYNTHETIC = "synthetic_acceptance"
    """The server was told how much of a draft to accept: what speculation would do at that acceptance."""


def diagnostics(run: Run) -> dict[str, Diagnostic]:
    """The diagnostic variants of a run by name: by the experiment, or by the command that their server shows."""
    found = {}
    for variant in run.manifest.experiment.get("variants", []):
        if variant.get("overhead"):
            found[str(variant["name"])] = Diagnostic.OVERHEAD
        elif _synthetic(variant.get("args") or (), variant.get("env") or {}):
            found[str(variant["name"])] = Diagnostic.SYNTHETIC
    for start in run.starts:
        if start.command is not None and _synthetic(start.command, {}):
            found.setdefault(start.variant, Diagnostic.SYNTHETIC)
    return found


def _synthetic(args: Sequence[str], env: Mapping[str, Any]) -> bool:
    return has(args, *SYNTHETIC) or any(env.get(name) is not None for name in _SYNTHETIC_VARIABLES)
