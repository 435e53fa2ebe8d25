"""What the report says, as gauges: the figures of `loadgen-summary/1`, which `loadgen.analysis` has worked out."""

from collections.abc import Mapping, Sequence
from typing import Any

from loadgen.metrics.scope import Scope
from loadgen.metrics.store import Store

_RATES = {
    "tasks_per_hour": "tasks_per_hour",
    "requests_per_hour": "requests_per_hour",
    "output_tokens_per_s": "output_tokens_per_second",
    "acceptance_rate": "acceptance_ratio",
    "acceptance_length": "acceptance_length",
}
"""Keys of a cell, and the metrics that show them."""
HEADLINE = "tasks_per_hour"


class Results:
    """Shows the figures of a summary. A figure that is null has no series; one that no longer holds is taken out."""

    def __init__(self, store: Store, scope: Scope) -> None:
        self._store = store
        self._scope = scope

    def show(self, summary: Mapping[str, Any]) -> None:
        """Everything that the summary says of cells, variants and the run."""
        for cell in summary["cells"]:
            self._cell(cell)
        for goodput in summary.get("goodput") or ():
            labels = self._scope.cell(goodput["variant"], goodput["concurrency"], goodput.get("depth_asked"))
            self._bounded("slo_attainment_ratio", labels, (goodput.get("requests") or {}).get("attainment"))
        for comparison in summary["comparisons"]:
            if comparison["metric"] == HEADLINE:
                self._comparison(comparison)
        for crossover in summary["crossovers"]:
            labels = self._scope.variant(crossover["variant"], crossover.get("depth_asked"))
            self._bounded("crossover_concurrency", labels, crossover["concurrency"])
            self._store.state("loadgen_crossover", labels, crossover["kind"])
        for memory in summary["memory"]:
            self._memory(memory)
        self._keep(summary["verdict"].get("keep"), [cell["variant"] for cell in summary["cells"]])

    def _cell(self, cell: Mapping[str, Any]) -> None:
        labels = self._scope.cell(cell["variant"], cell["concurrency"], cell.get("depth_asked"))
        self._store.set("loadgen_trials", labels, cell["trials"])
        self._store.set("loadgen_trials_valid", labels, cell["valid_trials"])
        for key, name in _RATES.items():
            self._bounded(name, labels, cell[key])
        if cell["client_state"] is not None:
            self._store.state("loadgen_client_state", labels, cell["client_state"])

    def _comparison(self, one: Mapping[str, Any]) -> None:
        labels = self._scope.cell(one["variant"], one["concurrency"], one.get("depth_asked"))
        void = bool(one.get("void"))
        told = not void and not one.get("not_comparable")
        self._bounded("speedup_ratio", labels, one["speedup"] if told else None)
        self._store.state("loadgen_verdict", labels, "void" if void else one["call"] or "refused")

    def _memory(self, one: Mapping[str, Any]) -> None:
        labels = self._scope.variant(one["variant"])
        growth = (one.get("growth_bytes_per_hour") or {}).get("value")
        self._maybe("memory_margin_bytes", labels, one["margin_bytes"])
        self._maybe("memory_growth_bytes_per_hour", labels, growth)
        self._maybe("memory_leak", labels, one.get("leak"))
        self._store.state("loadgen_memory_safety", labels, one["safety"])

    def _keep(self, keep: str | None, variants: Sequence[str]) -> None:
        for name in variants:
            self._maybe("verdict_keep", self._scope.variant(name), None if keep is None else name == keep)

    def _bounded(self, name: str, labels: tuple[str, ...], estimate: Mapping[str, Any] | None) -> None:
        found = estimate or {}
        for suffix, key in (("", "value"), ("_lower", "low"), ("_upper", "high")):
            self._maybe(f"{name}{suffix}", labels, found.get(key))

    def _maybe(self, name: str, labels: tuple[str, ...], value: float | None) -> None:
        if value is None:
            self._store.remove(f"loadgen_{name}", labels)
        else:
            self._store.set(f"loadgen_{name}", labels, value)
