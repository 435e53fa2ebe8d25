"""The labels that all metrics of a run share."""

from dataclasses import dataclass, field

from loadgen.metrics.labels import shortened

_Key = tuple[str, int | None, int | None]


@dataclass(frozen=True)
class Scope:
    """The series and the workload of a run, as labels.

    Where a run has fixed prompt depths, the workload of a cell is called `NAME@TOKENS`: each depth is work of its own.
    """

    series: str
    workload: str
    _known: dict[_Key, tuple[str, ...]] = field(default_factory=dict, compare=False, repr=False)
    """Labels that were made: every request asks for its cell's."""

    @property
    def run(self) -> tuple[str, ...]:
        """Labels of the run as a whole."""
        return (self.series,)

    def variant(self, name: str, depth: int | None = None) -> tuple[str, ...]:
        """Labels of a variant, at a fixed depth where there is one."""
        return self._labels(name, None, depth)

    def cell(self, variant: str, level: int, depth: int | None = None) -> tuple[str, ...]:
        """Labels of a variant at a concurrency."""
        return self._labels(variant, level, depth)

    def _labels(self, variant: str, level: int | None, depth: int | None) -> tuple[str, ...]:
        key = (variant, level, depth)
        found = self._known.get(key)
        if found is None:
            workload = self.workload if depth is None else f"{self.workload}@{depth}"
            found = (self.series, workload, shortened(variant), *(() if level is None else (str(level),)))
            self._known[key] = found
        return found
