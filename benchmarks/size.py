"""How much the table of truth plays."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """Counts for one table."""

    sessions: int
    """Of the pool: the long run behind a truth plays each of them with every agent."""
    sweeps: int
    """Whole sweeps a row."""
    library: int
    """Fully played runs that the sweeps of one number of rounds rest on."""
    truth_turns: int
    """Turns of the long run behind each true rate; a cell of 8 rounds has 512."""
    bias_runs: int
    """Fully played runs of a bias row."""
    bias_truth_turns: int
    slack: float
    """Standard errors by which the bounds are widened."""


FULL = Size(
    sessions=60,
    sweeps=2000,
    library=120,
    truth_turns=100_000,
    bias_runs=2000,
    bias_truth_turns=1_000_000,
    slack=0,
)
QUICK = Size(
    sessions=2,
    sweeps=20,
    library=1,
    truth_turns=1000,
    bias_runs=4,
    bias_truth_turns=8000,
    slack=5,
)
