"""How the servers of the variants differ from the baseline's beside speculation, and which differences may be."""

from typing import Any

import msgspec

from loadgen.records.differences import differences
from loadgen.records.model import ServerFacts
from loadgen.records.run import Run


def server_differences(run: Run, baseline: str) -> list[dict[str, Any]]:
    """One entry for every other variant whose server is known: `{"variant", "baseline", "differences": [...]}`.

    Compared are the facts of each variant's first start. A difference has `field`, the values of `baseline` and
    `variant`, `voids` (it makes it a comparison of two different things) and `allowed` (it is under test, or was
    allowed). Empty where the baseline's server is unknown.
    """
    first: dict[str, ServerFacts] = {}
    for start in run.starts:
        first.setdefault(start.variant, start.facts)
    if baseline not in first:
        return []
    experiment = run.manifest.experiment
    allowed = {*experiment.get("under_test", ()), *experiment.get("allow_different", ())}
    named = [str(variant["name"]) for variant in experiment.get("variants", [])]
    return [
        {
            "variant": variant,
            "baseline": baseline,
            "differences": [
                {**msgspec.to_builtins(one), "allowed": one.field in allowed}
                for one in differences(first[baseline], first[variant])
            ],
        }
        for variant in dict.fromkeys([*named, *first])
        if variant in first and variant != baseline
    ]
