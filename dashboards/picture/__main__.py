"""Draws the dashboards of a run: `python -m dashboards.picture [RUN ...] [--out DIR]`, at the top of the source tree.

Without a run it makes one of a few minutes on the embedded server, which a real Prometheus scrapes. With run folders it
exports them, makes blocks of them and asks about those. With `--url` it asks a Prometheus that is there. Written are
`live.png` and `decision.png`, and the pages that they are of.

Prometheus' programs: `.ci/prometheus build/prometheus`. A browser: `apt-get install chromium`, or any Chrome; $CHROMIUM
names one that isn't on the path.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from dashboards.picture import stage
from dashboards.picture.browser import chromium, screenshot
from dashboards.picture.page import page
from dashboards.picture.source import Span, prometheus

_BOARDS = ("live", "decision")
_MARGIN_S = 5.0


def main() -> int:
    """Draw. Exit status 2 where a program is missing."""
    options = _options()
    browser = chromium()
    missing = [] if browser else ["no Chromium: apt-get install chromium, or name one in $CHROMIUM"]
    if options.url is None and not (options.programs / "prometheus").exists():
        missing.append(f"no Prometheus in {options.programs}: .ci/prometheus build/prometheus")
    if missing or browser is None:
        sys.stderr.write("".join(f"{one}\n" for one in missing))
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    if options.url is not None:
        now = time.time()
        _draw(browser, options, options.url, dict.fromkeys(_BOARDS, Span(now - options.last, now, options.scrape)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        _staged(browser, options, Path(folder))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m dashboards.picture", description="Draws Live and Decision.")
    programs = Path(os.environ.get("PROMETHEUS_PROGRAMS", "build/prometheus/usr/bin"))
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN", help="finished runs, in the order of their times")
    parser.add_argument("--out", type=Path, default=Path("build/pictures"), help="folder of the pictures")
    parser.add_argument("--programs", type=Path, default=programs, help="folder of prometheus and promtool")
    parser.add_argument("--seconds", type=int, default=240, help="time budget of the run that is made")
    parser.add_argument("--url", help="a Prometheus that is there")
    parser.add_argument("--last", type=float, default=1800, metavar="SECONDS", help="with --url: how far back")
    parser.add_argument("--scrape", type=float, default=5, metavar="SECONDS", help="with --url: between two scrapes")
    return parser.parse_args()


def _staged(browser: str, options: argparse.Namespace, folder: Path) -> None:
    """Draw from a Prometheus of our own. Live shows the last run, Decision all of them."""
    port = stage.free_port()
    scrape = stage.SCRAPE_S
    if options.runs:
        times = stage.kept(options.programs, folder, options.runs)
        scrape = max((end - begin) / 500 for begin, end in times)  # an export has some 500 points
    with stage.serving(options.programs, folder, port) as url:
        if not options.runs:
            begin = time.time()
            stage.run(folder, port, options.seconds)
            times = [(begin, time.time())]
        first, (begin, end) = min(times)[0], times[-1]
        margin = max((end - first) / 50, _MARGIN_S)
        spans = {
            "live": Span(begin - _MARGIN_S, end + _MARGIN_S, max(scrape, stage.SCRAPE_S)),
            "decision": Span(first - margin, end + margin, max(scrape, stage.SCRAPE_S)),
        }
        _draw(browser, options, url, spans)


def _draw(browser: str, options: argparse.Namespace, url: str, spans: dict[str, Span]) -> None:
    for name, span in spans.items():
        board = json.loads(Path(f"dashboards/grafana/loadgen-{name}.json").read_text(encoding="utf-8"))
        drawn, height = page(board, span, prometheus(url))
        (options.out / f"{name}.html").write_text(drawn, encoding="utf-8")
        screenshot(browser, drawn, height, options.out / f"{name}.png")
        sys.stdout.write(f"{options.out / name}.png\n")


if __name__ == "__main__":
    sys.exit(main())
