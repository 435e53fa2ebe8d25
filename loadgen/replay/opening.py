"""What a run sets out to do and where, as it is written before the first trial."""

import time
from datetime import UTC, datetime

from loadgen import __version__
from loadgen.experiment.build import published
from loadgen.experiment.model import Experiment
from loadgen.records.manifest import Manifest, WorkloadFacts
from loadgen.records.run import Run
from loadgen.records.run_folder import SCHEMA
from loadgen.telemetry.host import describe

__all__ = ["opening"]


def opening(
    experiment: Experiment, workload: WorkloadFacts, *, run: str, random_weights: bool, repeats: Run | None
) -> Manifest:
    """The manifest of a run that begins now, on this machine.

    Args:
        experiment: what is run.
        workload: what is played.
        run: the run's id.
        random_weights: the model's text is noise.
        repeats: the run whose plan is carried out again.
    """
    return Manifest(
        schema=SCHEMA,
        run=run,
        tool_version=__version__,
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        started_ns=time.monotonic_ns(),
        experiment=published(experiment),
        workload=workload,
        host=describe(),
        random_weights=random_weights,
        rerun_of=repeats.manifest.run if repeats is not None else None,
    )
