"""A real Prometheus on loopback that knows a run: it scrapes one that goes on, or holds finished ones."""

import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

SCRAPE_S = 1.0
"""A run of a minute is short: five seconds between scrapes, which suit long ones, would leave little to see."""
_CONFIG = """
global: {{scrape_interval: {scrape:g}s, evaluation_interval: 5s}}
rule_files: [{rules}/recording.yml, {rules}/alerts.yml]
scrape_configs:
  - job_name: loadgen
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""
_SERVER = ("embedded", "-np", "4", "-c", "4096", "-t", "1", "--poll", "0")
_DRAFTS = ("--spec-type", "draft-mtp", "--spec-draft-n-max", "3", "--spec-synth-len", "3.5")


@contextmanager
def serving(programs: Path, folder: Path, scraped_port: int) -> Iterator[str]:
    """Prometheus over the data in a folder, scraping a port; its address. Raises `OSError` where it isn't there."""
    port = free_port()
    rules = Path("dashboards/prometheus").resolve()
    (folder / "prometheus.yml").write_text(_CONFIG.format(scrape=SCRAPE_S, rules=rules, port=scraped_port))
    command = [
        str(programs / "prometheus"),
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data",
        "--storage.tsdb.retention.time=100y",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    log = folder / "prometheus.log"
    with log.open("w") as file, subprocess.Popen(command, stderr=file) as process:
        try:
            while "Server is ready" not in log.read_text():
                if process.poll() is not None:
                    raise OSError(f"prometheus ended:\n{log.read_text()}")
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def run(folder: Path, port: int, seconds: int) -> Path:
    """Compare speculation on and off on the demo's model, with metrics at a port; the run's folder.

    Raises `CalledProcessError` where loadgen fails. A run of which no trial is valid (exit status 4) is shown as well.
    """
    from loadgen.gguf.tiny import write_tiny_model  # noqa: PLC0415 - only this way of drawing needs it

    model = write_tiny_model(folder / "demo.gguf", size="demo")
    asked = ("--workload", "demo", "--check-output", "off", "-c", "1,2,4", "--agents", "4", "--rounds", "3")
    times = ("--time-budget", f"{seconds}s", "--warmup", "1s", "--slo", "ttft=1s,tpot=100ms")
    metrics = ("--metrics", f"127.0.0.1:{port}", "--metrics-linger", "5s", "--series", "nightly")
    command = [sys.executable, "-m", "loadgen", "ab", *asked, *times, *metrics, "--out", str(folder / "run")]
    command += ["--", *_SERVER, "-m", str(model), *_DRAFTS]
    done = subprocess.run(command, check=False)
    if done.returncode not in {0, 4}:
        raise subprocess.CalledProcessError(done.returncode, command)
    return folder / "run"


def kept(programs: Path, folder: Path, runs: Sequence[Path]) -> list[tuple[float, float]]:
    """Put finished runs into Prometheus' data; when each began and ended, in seconds since the epoch."""
    times = []
    for number, one in enumerate(runs):
        file = folder / f"{number}.om"
        export = [sys.executable, "-m", "loadgen", "export", "openmetrics", str(one), "-o", str(file)]
        subprocess.run(export, check=True)
        make = ["tsdb", "create-blocks-from", "openmetrics", str(file), f"{folder}/data"]
        subprocess.run([programs / "promtool", *make], check=True, stdout=subprocess.DEVNULL)
        found = [float(at) for at in re.findall(r" (\d{9,}(?:\.\d+)?)(?: # .*)?$", file.read_text(), re.MULTILINE)]
        times.append((min(found), max(found)))
    return times


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port
