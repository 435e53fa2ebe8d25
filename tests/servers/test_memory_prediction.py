"""What is predicted from headers is what a real server allocates, to the digit that its load log prints."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from loadgen.analysis.memory.check import check
from loadgen.experiment.command import Command
from loadgen.experiment.serving import serving_of
from loadgen.footprint.prediction import predict
from loadgen.footprint.served_models import Models
from loadgen.gguf.architecture import read_architecture
from loadgen.gguf.model_file import read_model
from loadgen.servers.loadlog import read_ledger

if TYPE_CHECKING:
    from tests.servers.conftest import Served


@pytest.mark.live
@pytest.mark.parametrize("slots", [1, 2, 4])
@pytest.mark.parametrize("n_max", [0, 1, 3, 7])
def test_everything_but_compute_buffers_equals_the_log(
    demo_model: Path, serve: "Callable[..., Served]", slots: int, n_max: int
) -> None:
    """Model, outputs, caches and recurrent state, with and without MTP; the compute buffers are named as estimates."""
    mtp = ("--spec-type", "draft-mtp", "--spec-draft-n-max", str(n_max)) if n_max else ()
    args = ("-m", str(demo_model), "-np", str(slots), "-c", str(1024 * slots), *mtp)
    ledger = read_ledger("".join(serve("-lv", "4", *args).lines))
    serving = serving_of(Command("llama-server", args))
    found = check(predict(Models(read_architecture(read_model(demo_model))), serving), ledger)
    drafting = {"mtp_output": True, "mtp_kv": True, "mtp_compute": None} if n_max else {}
    assert {one.component: one.equal for one in found} == {
        "model": True,
        "output": True,
        "kv": True,
        "recurrent_state": True,
        "compute": None,
        **drafting,
    }
