"""Writes the dashboards anew: `python -m loadgen.dashboards`, at the top of the source tree."""

from loadgen.dashboards.boards import BOARDS, file_of
from loadgen.dashboards.grafana import written

for board in BOARDS:
    file_of(board).write_text(written(board), encoding="utf-8")
