"""What fits a budget, over slots, draft lengths and contexts."""

from pathlib import Path

import pytest

from loadgen.analysis.memory.grid import Room, axes, grid
from loadgen.experiment.command import Command
from loadgen.experiment.serving import Serving, serving_of
from loadgen.footprint.prediction import predict
from loadgen.footprint.served_models import Models
from loadgen.gguf.architecture import read_architecture
from loadgen.gguf.model_file import read_model
from tests.gguf.make import gemma3, qwen35_27b

MIB = 1 << 20
GIB = 1 << 30


def _serving(text: str) -> Serving:
    return serving_of(Command("llama-server", ("-m", "m.gguf", *text.split())))


@pytest.fixture
def qwen(tmp_path: Path) -> Models:
    """Qwen3.5 27B."""
    return Models(read_architecture(read_model(qwen35_27b(tmp_path / "q.gguf"))))


@pytest.mark.parametrize(
    ("room", "held", "left", "safety"),
    [
        (Room(24 * GIB), 22 * GIB, 2 * GIB, "safe"),
        (Room(24 * GIB), 23 * GIB, GIB, "unsafe"),
        (Room(24 * GIB), 25 * GIB, -GIB, "too_large"),
        (Room(8 * GIB), 7 * GIB, GIB, "safe"),
        (Room(24 * GIB, 512 * MIB), 23 * GIB, GIB, "safe"),
        (Room(), 23 * GIB, None, "unknown"),
        (Room(24 * GIB), None, None, "unknown"),
    ],
)
def test_margin(room: Room, held: int | None, left: int | None, safety: str) -> None:
    """The larger of 1 GiB and 5 % must stay free unless another margin is asked for; unknown is never safe."""
    assert (room.left(held), room.safety(held)) == (left, safety)


def test_axes_default_to_the_commands_surroundings(qwen: Models) -> None:
    """Its own slots, drafts and context are among them; without speculation there is one draft length, none."""
    found = axes(qwen, _serving("-np 6 -c 12288 --spec-type draft-mtp --spec-draft-n-max 5"))
    assert (found.slots, found.n_max, found.contexts) == ((1, 2, 4, 6, 8), (0, 1, 3, 5, 7), (2048,))
    assert axes(qwen, _serving("-np 4 -c 8192")).n_max == (0,)
    asked = axes(qwen, _serving("-np 4"), (3,), (2, 0), (1024, 512))
    assert (asked.slots, asked.n_max, asked.contexts) == ((3,), (0, 2), (512, 1024))


def test_every_cell_is_the_prediction_of_its_own_command(qwen: Models) -> None:
    """A cell of the grid and the command written out hold the same."""
    serving = _serving("-np 4 -c 8192 --spec-type draft-mtp")
    cells = grid(qwen, serving, axes(qwen, serving, (1, 8), (0, 7), (4096,)), Room(24 * GIB))
    written = {
        (1, 0): "-np 1 -c 4096",
        (1, 7): "-np 1 -c 4096 --spec-type draft-mtp --spec-draft-n-max 7",
        (8, 0): "-np 8 -c 32768",
        (8, 7): "-np 8 -c 32768 --spec-type draft-mtp --spec-draft-n-max 7",
    }
    held = {key: predict(qwen, _serving(text)).held_bytes for key, text in written.items()}
    assert {(cell.slots, cell.n_max): cell.held_bytes for cell in cells} == held
    assert all(cell.slot_context == 4096 for cell in cells)


def test_a_draft_model_is_gone_where_nothing_is_drafted(tmp_path: Path, qwen: Models) -> None:
    """Column 0 is the server without speculation."""
    both = Models(qwen.target, read_architecture(read_model(gemma3(tmp_path / "g.gguf"))))
    serving = _serving("-np 4 -c 8192 --spec-type draft-simple -md d.gguf")
    (cell,) = grid(both, serving, axes(both, serving, (4,), (0,)), Room())
    assert cell.held_bytes == predict(qwen, _serving("-np 4 -c 8192")).held_bytes
