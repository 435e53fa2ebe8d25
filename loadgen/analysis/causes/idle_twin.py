"""The twin of a variant that has the same speculation loaded and never drafts: what loading alone costs it."""

import re
from collections.abc import Mapping, Sequence

from loadgen.analysis.diagnostic import Diagnostic

_ACCEPTANCE = re.compile(r"-L\d+(\.\d+)?\Z")
"""The ending of a variant whose acceptance was set: its server is that of the plain variant."""


def idle_twin(variant: str, names: Sequence[str], baseline: str, diagnostics: Mapping[str, Diagnostic]) -> str | None:
    """The overhead variant of the same settings; null where there is none, and for an overhead variant itself.

    It is the one that is called after the variant (`mtp-overhead` for `mtp` and `mtp-L2.5`), as experiment files name
    it; under another name, the only one of a run that has no second kind of speculation.
    """
    idle = [name for name in names if diagnostics.get(name) is Diagnostic.OVERHEAD]
    if variant in (*idle, baseline):
        return None
    plain = _plain(variant)
    if f"{plain}-overhead" in idle:
        return f"{plain}-overhead"
    others = {_plain(name) for name in names if name not in (*idle, baseline)}
    return idle[0] if len(idle) == 1 and others == {plain} else None


def _plain(variant: str) -> str:
    return _ACCEPTANCE.sub("", variant)
