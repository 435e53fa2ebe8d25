"""Memory and power in a whole run, over imitations of a server and of an exporter."""

import asyncio
import os
from pathlib import Path
from typing import Any

from loadgen.client.endpoint import Endpoint
from loadgen.experiment.model import Experiment
from loadgen.records.run import Run
from loadgen.records.run_folder import RunWriter, read_run
from loadgen.replay.sweep import Sweep
from loadgen.replay.watched import watched
from loadgen.servers.discovery import local_pid
from tests.replay.notes import Notes
from tests.servers.standins.llama import FakeLlama
from tests.servers.standins.web import Exchange, Web

MIB = 1 << 20


class Exporter(Web):
    """dcgm-exporter, of a device whose use grows by 1 MiB a page."""

    def __init__(self) -> None:
        super().__init__(None)
        self.pages = 0

    def get(self, exchange: Exchange) -> None:
        """One page."""
        self.pages += 1
        labels = '{gpu="0",UUID="GPU-8f1"}'
        exchange.say(
            f"DCGM_FI_DEV_FB_USED{labels} {1000 + self.pages}\n"
            f"DCGM_FI_DEV_FB_TOTAL{labels} 143771\nDCGM_FI_DEV_POWER_USAGE{labels} 75.5\n"
        )


async def play(folder: Path, server: FakeLlama, **fields: Any) -> tuple[Run, list[str]]:
    """The shortest run over one server."""
    asked = Experiment.model_validate(
        {
            "variants": [{"kind": "url", "name": "off", "url": server.address}],
            "baseline": "off",
            "levels": (1,),
            "workload": "demo",
            "rounds": 1,
            "time_budget_s": 1,
            "warmup_s": 0.2,
            "check_output": "off",
            "drift_check": False,
            **fields,
        }
    )
    writer, observer = RunWriter(folder), Notes()
    try:
        await Sweep(asked, writer, observer, asyncio.Event()).run()
    finally:
        writer.close()
    return read_run(folder), observer.notes


async def test_devices_and_process_are_read_in_every_trial(tmp_path: Path) -> None:
    """Samples name trial, variant, device and source; the device's first is of no trial.

    The process is the one that listens at the server's port: here our own, which imitates it.
    """
    with FakeLlama() as server, Exporter() as exporter:
        run, notes = await play(tmp_path / "run", server, memory_source=f"{exporter.address}/metrics")
    ours = [one for one in run.samples if one.source == "process" and one.name == "rss_bytes"]
    assert {one.trial for one in ours} == {trial.trial for trial in run.trials}
    assert all(one.value is not None and one.value > MIB for one in ours)
    told = [one for one in run.samples if one.source == "exporter"]
    assert {one.device for one in told} == {"GPU-8f1"}
    assert {one.variant for one in told} == {"off"}
    assert told[0].trial is None
    assert told[0].at_ns < min(start.at_ns for start in run.starts)
    for trial in run.trials:
        own = [one for one in told if one.trial == trial.trial]
        assert {one.name for one in own} == {"used_bytes", "total_bytes", "power_watts"}
        assert all(trial.start_ns - 10**9 < one.at_ns < trial.end_ns + 2 * 10**9 for one in own)
    used = [one.value for one in told if one.name == "used_bytes"]
    assert used[0] == 1002 * MIB  # the first page was looked at when it was opened
    assert all(value is not None for value in used)
    assert f"memory and power by dcgm-exporter at {exporter.address}/metrics: 1 device(s) seen" in notes
    assert run.manifest.experiment["memory_source"] == f"{exporter.address}/metrics"


def test_a_launched_server_has_the_devices_of_its_own_environment() -> None:
    """Ours with the variant's changes; a server elsewhere is not on this machine's devices."""
    ours = {"CUDA_VISIBLE_DEVICES": "0,1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    asked = Experiment.model_validate(
        {
            "variants": [
                {"kind": "launch", "name": "a", "program": "p", "env": {"CUDA_VISIBLE_DEVICES": "3"}},
                {
                    "kind": "launch",
                    "name": "d",
                    "program": "p",
                    "args": ["-dev", "CUDA1"],
                    "env": {"LLAMA_ARG_DEVICE": "x"},
                },
                {"kind": "launch", "name": "b", "program": "p", "env": {"CUDA_VISIBLE_DEVICES": None, "X": "1"}},
                {"kind": "url", "name": "c", "url": "http://192.0.2.1:80"},
            ],
            "baseline": "a",
            "levels": (1,),
        }
    )
    a, d, b, c = (watched(variant, ours) for variant in asked.variants)
    assert a.variables == {"CUDA_VISIBLE_DEVICES": "3", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert d.variables == {**ours, "LLAMA_ARG_DEVICE": "CUDA1"}
    assert b.variables == {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert (a.local, c.local, c.variables) == (True, False, {})


def test_a_listening_process_is_found_by_its_port() -> None:
    """Ours; nobody at a closed port or on another machine."""
    with FakeLlama() as server:
        assert local_pid(Endpoint.parse(server.address)) == os.getpid()
    assert local_pid(Endpoint.parse("http://192.0.2.1:80")) is None
