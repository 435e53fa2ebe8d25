"""Memory and power as they are sampled."""

from loadgen.metrics.labels import shortened
from loadgen.metrics.scope import Scope
from loadgen.metrics.store import Store
from loadgen.records.model import Sample, ServerStart

PROCESS = "process"
"""The device of what processes use: they have none of their own."""
ALL = "all"
"""The device of a budget that was asked for: it is for all of them."""
_USED = "loadgen_memory_used_bytes"


class Memory:
    """Keeps the last sample of every device, and the largest. Samples come one at a time, from any thread."""

    def __init__(self, store: Store, scope: Scope, budget_bytes: int | None) -> None:
        self._store = store
        self._scope = scope
        self._budget_bytes = budget_bytes
        self._proportional: set[str] = set()
        """Variants whose processes tell the proportional size, which counts shared pages once."""

    def server(self, start: ServerStart) -> None:
        """What a server that is ready takes, by component."""
        labels = self._scope.variant(start.variant)
        if self._budget_bytes is not None:
            self._store.set("loadgen_memory_budget_bytes", (*labels, ALL), self._budget_bytes)
        sizes: dict[tuple[str, str], int] = {}
        for line in start.ledger:
            place = (shortened(line.component), shortened(line.device or ALL))
            sizes[place] = sizes.get(place, 0) + line.bytes
        for place, size in sizes.items():
            self._store.set("loadgen_memory_component_bytes", (*labels, *place), size)

    def sample(self, sample: Sample) -> None:
        """One reading. Where a device can't be read any more, its last value is taken out: it isn't that of now."""
        labels = (*self._scope.variant(sample.variant), shortened(sample.device or PROCESS))
        if sample.name == "power_watts":
            self._now("loadgen_power_watts", labels, sample.value)
        elif sample.name == "total_bytes" and sample.value is not None:
            self._store.set("loadgen_memory_budget_bytes", labels, sample.value)
        elif self._is_use(sample):
            self._now(_USED, labels, sample.value)
            if sample.value is not None and sample.trial is not None:
                before = self._store.value("loadgen_memory_used_peak_bytes", labels)
                peak = max(sample.value, before) if isinstance(before, float) else sample.value
                self._store.set("loadgen_memory_used_peak_bytes", labels, peak)

    def forget(self, variant: str) -> None:
        """A server is not watched any more: what it used last is not what it uses now."""
        for name in (_USED, "loadgen_power_watts"):
            self._store.remove(name, self._scope.variant(variant))

    def _is_use(self, sample: Sample) -> bool:
        if sample.name == "pss_bytes":
            if sample.value is not None:
                self._proportional.add(sample.variant)
            return sample.value is not None
        if sample.name == "rss_bytes":
            return sample.variant not in self._proportional
        return sample.name == "used_bytes"

    def _now(self, name: str, labels: tuple[str, ...], value: float | None) -> None:
        if value is None:
            self._store.remove(name, labels)
        else:
            self._store.set(name, labels, value)
