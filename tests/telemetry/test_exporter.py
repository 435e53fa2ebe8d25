"""Pages of Prometheus exporters, over real HTTP on loopback."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server

from loadgen.telemetry.exporter import ExporterMemory
from loadgen.telemetry.source import Reading, SourceError

MIB = 1 << 20
GIB = 1 << 30


class _Web(ThreadingHTTPServer):
    daemon_threads = True
    page: Callable[[], bytes]
    status = 200
    seen: list[tuple[str, dict[str, str]]]
    hold: threading.Event


class _Page(BaseHTTPRequestHandler):
    server: _Web

    def do_GET(self) -> None:
        """One page."""
        self.server.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        self.server.hold.wait(30)
        body = self.server.page()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keeps quiet."""


@contextmanager
def serving(text: str, status: int = 200) -> Iterator[tuple[str, _Web]]:
    """A server of one page, and its address."""
    server = _Web(("127.0.0.1", 0), _Page)
    server.page, server.status, server.seen, server.hold = text.encode, status, [], threading.Event()
    server.hold.set()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", server
    finally:
        server.hold.set()
        server.shutdown()
        server.server_close()
        thread.join()


def read(text: str, **options: Any) -> list[Reading]:
    """What one fetched page tells."""
    with serving(text) as (url, _):
        source = ExporterMemory(f"{url}/metrics", **options)
        try:
            source.open()
            return list(source.read())
        finally:
            source.close()


def values(readings: list[Reading], name: str) -> dict[str | None, float | None]:
    """One kind of reading by device."""
    return {one.device: one.value for one in readings if one.name == name}


DCGM = """# HELP DCGM_FI_DEV_FB_USED Framebuffer memory used (in MiB).
# TYPE DCGM_FI_DEV_FB_USED gauge
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-8f1",pci_bus_id="00000000:01:00.0",modelName="NVIDIA H200",Hostname="n1"} 28887
DCGM_FI_DEV_FB_FREE{gpu="0",UUID="GPU-8f1",pci_bus_id="00000000:01:00.0",modelName="NVIDIA H200",Hostname="n1"} 114198
DCGM_FI_DEV_FB_RESERVED{gpu="0",UUID="GPU-8f1",pci_bus_id="00000000:01:00.0",modelName="NVIDIA H200"} 686
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-8f1",pci_bus_id="00000000:01:00.0",modelName="NVIDIA H200"} 331.402
DCGM_FI_DEV_FB_USED{gpu="1",UUID="GPU-9c2",pci_bus_id="00000000:02:00.0",modelName="NVIDIA H200",Hostname="n1"} 4
"""


def test_dcgm_names_become_bytes_once() -> None:
    """MiB to bytes, watts as they are; a total is used, free and reserved together, and none without free."""
    readings = read(DCGM)
    assert values(readings, "used_bytes") == {"GPU-8f1": 28887 * MIB, "GPU-9c2": 4 * MIB}
    assert values(readings, "total_bytes") == {"GPU-8f1": 143771 * MIB}
    assert values(readings, "reserved_bytes") == {"GPU-8f1": 686 * MIB}
    assert values(readings, "power_watts") == {"GPU-8f1": 331.402}


def test_instances_are_kept_apart_from_their_parent() -> None:
    """C72: an instance without memory series is null, the parent's 40320 MiB are called otherwise and never its own."""
    page = """DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="0",UUID="GPU-8f1",GPU_I_PROFILE="1g.10gb",GPU_I_ID="3"} 0.98
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-8f1"} 40320
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-8f1"} 0
"""
    readings = read(page)
    assert [(one.name, one.device, one.value) for one in readings] == [
        ("used_bytes", "GPU-8f1/3", None),
        ("parent_used_bytes", "GPU-8f1", 40320 * MIB),
    ]
    assert readings[0].reason == "the exporter has no memory series of this device"


def test_instances_with_memory_have_their_own() -> None:
    """C72: each under its own key, whatever its parent has."""
    page = """DCGM_FI_DEV_FB_USED{UUID="GPU-8f1",GPU_I_PROFILE="1g.10gb",GPU_I_ID="3"} 3000
DCGM_FI_DEV_FB_USED{UUID="GPU-8f1",GPU_I_PROFILE="1g.10gb",GPU_I_ID="4"} 11
DCGM_FI_DEV_FB_USED{UUID="GPU-8f1"} 40320
"""
    assert values(read(page), "used_bytes") == {"GPU-8f1/3": 3000 * MIB, "GPU-8f1/4": 11 * MIB}


def test_nvidia_gpu_exporter_tells_bytes() -> None:
    """By UUID as it writes them."""
    page = """nvidia_smi_memory_used_bytes{uuid="df6e7a7c-7314"} 7.680819e+09
nvidia_smi_memory_total_bytes{uuid="df6e7a7c-7314"} 2.5757220864e+10
nvidia_smi_power_draw_watts{uuid="df6e7a7c-7314"} NaN
"""
    readings = read(page)
    assert values(readings, "used_bytes") == {"df6e7a7c-7314": 7680819000}
    assert values(readings, "total_bytes") == {"df6e7a7c-7314": 25757220864}
    assert values(readings, "power_watts") == {}


def test_amd_exporter_with_zero_uuids_and_no_partitions() -> None:
    """C74: equal zero UUIDs don't merge, 2³² − 1 is no partition, and what is seen of what there is is said."""
    labels = 'gpu_uuid="00000000-0000-0000-0000-000000000000",gpu_partition_id="4294967295"'
    page = f"""gpu_nodes_total 8
gpu_used_vram{{gpu_id="0",{labels}}} 283
gpu_used_vram{{gpu_id="1",{labels}}} 90000
gpu_total_vram{{gpu_id="1",{labels}}} 196592
gpu_package_power{{gpu_id="1",{labels}}} 412
"""
    with serving(page) as (url, _):
        source = ExporterMemory(url)
        notes = source.open()
        readings = list(source.read())
        source.close()
    assert notes == [f"memory and power by AMD device-metrics-exporter at {url}/metrics: 2 of 8 device(s) seen"]
    assert values(readings, "used_bytes") == {"gpu_id 0": 283 * MIB, "gpu_id 1": 90000 * MIB}
    assert values(readings, "total_bytes") == {"gpu_id 1": 196592 * MIB}
    assert values(readings, "power_watts") == {"gpu_id 1": 412}


def test_partitions_of_amds_exporter_are_devices() -> None:
    """C74: a card that is split is listed partition by partition."""
    labels = 'gpu_id="0",gpu_compute_partition_type="cpx"'
    page = f"""gpu_used_vram{{{labels},gpu_partition_id="0"}} 5
gpu_used_vram{{{labels},gpu_partition_id="1"}} 6
"""
    assert values(read(page), "used_bytes") == {"gpu_id 0/0": 5 * MIB, "gpu_id 0/1": 6 * MIB}


def test_a_metric_of_ones_own_is_read_in_its_unit() -> None:
    """Its series are summed per device; other metrics are not looked at."""
    page = 'my_used{gpu="0",kind="model"} 10\nmy_used{gpu="0",kind="kv"} 2.5\nmy_used{gpu="1"} 1\n' + DCGM
    assert read(page, metric="my_used", unit="GiB") == [
        Reading("used_bytes", 12.5 * GIB, "gpu 0"),
        Reading("used_bytes", 1 * GIB, "gpu 1"),
    ]


def test_node_and_process_exporters_tell_of_the_machine_and_of_groups() -> None:
    """A server on the CPU: its group of processes where it is told, else the machine without what is available."""
    machine = (
        "node_memory_MemTotal_bytes 6.7e10\nnode_memory_MemAvailable_bytes 4e10\nprocess_resident_memory_bytes 9e6\n"
    )
    assert read(machine) == [
        Reading("used_bytes", 27e9, "host memory"),
        Reading("total_bytes", 67e9, "host memory"),
    ]
    group = 'namedprocess_namegroup_memory_bytes{groupname="%s",memtype="%s"} %s\n'
    others = group % ("firefox", "resident", "8e9")
    assert len(read(machine + others)) == 2
    ours = group % ("llama-server", "resident", "3e9") + group % ("llama-server", "virtual", "9e10")
    assert read(machine + others + ours) == [Reading("used_bytes", 3e9, "llama-server")]
    parts = group % ("llama-server", "proportionalResident", "2.5e9")
    assert read(machine + ours + parts) == [Reading("used_bytes", 2.5e9, "llama-server")]


@pytest.mark.parametrize("page", ["", "process_resident_memory_bytes 9e6\n", "<html>no</html>", '{"error": 1}'])
def test_a_page_without_known_metrics_says_what_to_do(page: str) -> None:
    """The exporter's own memory is not the server's."""
    with pytest.raises(SourceError, match="no metric of memory that is known; name one with #METRIC=UNIT"):
        read(page)


def test_a_metric_that_is_not_there_is_named() -> None:
    """So that a slip of the pen is seen."""
    with pytest.raises(SourceError, match="no metric my_usd;"):
        read("my_used 1\n", metric="my_usd")


def test_trouble_is_a_reason_and_recovery_is_seen() -> None:
    """Another status, a page that is late and a server that is gone are one sentence each; then it is read again."""
    with serving(DCGM) as (url, server):
        source = ExporterMemory(f"{url}/gpu/metrics", timeout_s=0.3)
        source.open()
        server.status = 503
        with pytest.raises(SourceError, match="answers with status 503 on /gpu/metrics"):
            source.read()
        server.status = 200
        server.hold.clear()
        with pytest.raises(SourceError, match=r"can't be read: .* did not answer within 0.3 s"):
            source.read()
        server.hold.set()
        assert values(list(source.read()), "used_bytes")["GPU-9c2"] == 4 * MIB
    with pytest.raises(SourceError, match="can't be read"):
        source.read()
    source.close()
    with pytest.raises(SourceError, match="was not opened"):
        source.read()


def test_the_page_is_asked_for_without_a_key() -> None:
    """Nothing but the path goes to the exporter, and the default path is /metrics."""
    with serving(DCGM) as (url, server):
        source = ExporterMemory(url)
        source.open()
        source.close()
        assert [path for path, _ in server.seen] == ["/metrics"]
        assert "authorization" not in server.seen[0][1]


async def test_reading_needs_no_loop_of_the_caller() -> None:
    """It is done in a thread beside a running loop."""
    readings = await asyncio.to_thread(read, DCGM)
    assert values(readings, "used_bytes")["GPU-9c2"] == 4 * MIB


def test_the_reference_librarys_text_page_is_read() -> None:
    """dcgm-exporter's names, served by prometheus-client itself: two devices, a name with quotes and a line end."""
    registry = CollectorRegistry()
    labels = ("gpu", "UUID", "pci_bus_id", "device", "modelName", "Hostname")
    metrics = {
        name: Gauge(name, "Of the device.", labels, registry=registry)
        for name in ("DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_FB_RESERVED", "DCGM_FI_DEV_POWER_USAGE")
    }
    Counter("DCGM_FI_DEV_XID_ERRORS", "Not of memory.", labels, registry=registry)
    for index, (used, free) in enumerate(((7325, 73000), (512, 79813))):
        own = (str(index), f"GPU-{index}a", f"00000000:0{index}:00.0", f"nvidia{index}", 'NVIDIA "H100"\n80GB', "host")
        for name, value in zip(metrics, (used, free, 675, 75.25 + index), strict=True):
            metrics[name].labels(*own).set(value)
    server, thread = start_http_server(0, addr="127.0.0.1", registry=registry)
    source = ExporterMemory(f"http://127.0.0.1:{server.server_port}/metrics")
    try:
        (note,) = source.open()
        readings = source.read()
    finally:
        source.close()
        server.shutdown()
        server.server_close()
        thread.join()
    assert note.endswith(": 2 device(s) seen")
    found = list(readings)
    assert values(found, "used_bytes") == {"GPU-0a": 7325 * MIB, "GPU-1a": 512 * MIB}
    assert values(found, "total_bytes") == {"GPU-0a": 81000 * MIB, "GPU-1a": 81000 * MIB}
    assert values(found, "reserved_bytes") == {"GPU-0a": 675 * MIB, "GPU-1a": 675 * MIB}
    assert values(found, "power_watts") == {"GPU-0a": 75.25, "GPU-1a": 76.25}
