"""Rules of diagnostics: which variants are no candidates."""

from typing import Any

import msgspec

from loadgen.analysis.diagnostic import Diagnostic, diagnostics


def _found(make: Any, *variants: dict[str, Any], starts: Any = ()) -> dict[str, Diagnostic]:
    return diagnostics(make.run({("off", 1): [10.0]}, variants=list(variants), starts=starts))


def test_overhead_and_set_acceptance_are_diagnostics(make: Any) -> None:
    """By the experiment: its flag, the arguments or the environment. A plain drafter is a candidate."""
    found = _found(
        make,
        {"name": "off", "args": ["-m", "m.gguf"]},
        {"name": "mtp", "args": ["--spec-type", "draft-mtp"]},
        {"name": "mtp-overhead", "args": ["--spec-type", "draft-mtp"], "overhead": True},
        {"name": "mtp-L2.5", "args": ["--spec-type", "draft-mtp", "--spec-synth-len", "2.5"]},
        {"name": "rates", "args": ["--spec-synth-rates", "0.9,0.8,0.7"]},
        {"name": "env", "env": {"LLAMA_ARG_SPEC_SYNTH_LEN": "2"}},
        {"name": "removed", "env": {"LLAMA_ARG_SPEC_SYNTH_LEN": None}},
    )
    assert found == {
        "mtp-overhead": Diagnostic.OVERHEAD,
        "mtp-L2.5": Diagnostic.SYNTHETIC,
        "rates": Diagnostic.SYNTHETIC,
        "env": Diagnostic.SYNTHETIC,
    }


def test_a_running_server_shows_its_set_acceptance_by_its_command(make: Any) -> None:
    """A server that we didn't start may have been told as well."""
    start = msgspec.structs.replace(make.start("mtp"), command=["llama-server", "--spec-synth-len", "3"])
    assert _found(make, {"name": "off"}, {"name": "mtp"}, starts=[start]) == {"mtp": Diagnostic.SYNTHETIC}
