"""All boards, and the files in which they are committed."""

from pathlib import Path

from loadgen.dashboards.decision import DECISION
from loadgen.dashboards.live import LIVE
from loadgen.dashboards.llama_server import LLAMA_SERVER
from loadgen.dashboards.panel import Board

BOARDS = (LIVE, DECISION, LLAMA_SERVER)
FOLDER = Path("dashboards/grafana")
"""Below the top of the source tree."""


def file_of(board: Board) -> Path:
    """Where a board's JSON is."""
    return FOLDER / f"{board.uid}.json"
