"""Published tables replayed: does the verdict say what they show? `python -m benchmarks.published`.

* llama.cpp PR #27342 (comment of 2026-08-20; Strix Halo): tokens/s of 1, 2 and 4 agents together, without speculation
  and with MTP. On pays alone only.
* Kimi K3: time a token for 1 agent and for each of 4, and recurrent state at 4 slots, without speculation and with MTP
  of 7 drafted tokens. One interactive user gains; four agents in the background lose, and the state would hold 28 more
  slots.

The sources give one figure a cell, so every verdict is marked as without intervals. Exit status 1 where an answer is
another than what the tables show.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loadgen.analysis.decision.published_table import PublishedTable, Quantity, published_verdict


@dataclass(frozen=True)
class Case:
    """A published table, and what is to be read from it."""

    name: str
    table: PublishedTable
    answer: str
    crossover_between: tuple[int, int]

    def good(self, found: dict[str, Any]) -> bool:
        """Whether a verdict says that."""
        low, high = self.crossover_between
        crossing = found["crossover"]
        return (
            found["answer"] == self.answer
            and found["intervals"] is False
            and crossing["kind"] == "at"
            and low < crossing["concurrency"]["value"] < high
        )


CASES = (
    Case(
        name="llama.cpp PR #27342, MTP",
        table=PublishedTable(
            quantity=Quantity.TOKENS_PER_S,
            off={1: 11.11, 2: 20.14, 4: 34.14},
            on={1: 22.10, 2: 16.52, 4: 26.35},
        ),
        answer="on only at 1; crossover between 1 and 2",
        crossover_between=(1, 2),
    ),
    Case(
        name="Kimi K3, MTP",
        table=PublishedTable(
            quantity=Quantity.TPOT_S,
            off={1: 0.0777, 4: 0.1345},
            on={1: 0.0492, 4: 0.2206},
            state_off_gb=1.77,
            state_on_gb=14.18,
            slots=4,
        ),
        answer="one interactive user: keep; four background agents: off, spend the memory on slots",
        crossover_between=(1, 4),
    ),
)


def main(cases: Sequence[Case] = CASES) -> int:
    """Print the verdict of every table; 1 where one is not what the table shows."""
    good = True
    for case in cases:
        found = published_verdict(case.table)
        good = good and case.good(found)
        print(f"{case.name}: {'ok' if case.good(found) else 'OUT'}")
        print(f"  {found['text']}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
