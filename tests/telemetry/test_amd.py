"""AMD's devices, from recorded trees of `/sys` and through a stand-in for the library amdsmi."""

from pathlib import Path
from typing import Any

import pytest

from loadgen.telemetry.amd import AmdMemory, is_here
from loadgen.telemetry.amdsmi import AmdSmiMemory
from loadgen.telemetry.source import Reading, SourceError

MIB = 1 << 20
GIB = 1 << 30
MACHINE = {"proc/meminfo": f"MemTotal: {128 * GIB // 1024} kB\nMemAvailable: 1 kB\n"}
APU = {
    "vendor": "0x1002\n",
    "mem_info_vram_total": "8589934592\n",
    "mem_info_vram_used": "1073741824\n",
    "mem_info_gtt_total": "133143986176\n",
    "mem_info_gtt_used": "21474836480\n",
    "hwmon/hwmon4/power1_average": "55012000\n",
    "hwmon/hwmon4/in1_label": "vddnb\n",
}
DISCRETE = {
    "vendor": "0x1002\n",
    "unique_id": "9f1a2b3c4d5e6f70\n",
    "mem_info_vram_total": str(24 * GIB),
    "mem_info_vram_used": str(7 * GIB),
    "mem_info_gtt_total": str(64 * GIB),
    "mem_info_gtt_used": str(3 * GIB),
    "hwmon/hwmon1/power1_average": "N/A",
    "hwmon/hwmon1/power1_input": "210500000",
    "hwmon/hwmon1/in0_label": "vddgfx",
}


def tree(root: Path, cards: dict[str, dict[str, str]], machine: dict[str, str] | None = None) -> Path:
    """A tree with these cards, and what else the machine tells."""
    files = {f"sys/class/drm/{card}/device/{name}": text for card, own in cards.items() for name, text in own.items()}
    for name, text in {**files, **(MACHINE if machine is None else machine)}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def read(root: Path) -> list[Reading]:
    """One reading of an opened source."""
    source = AmdMemory(root)
    source.open()
    return list(source.read())


def values(readings: list[Reading], device: str) -> dict[str, float | None]:
    """All readings of one device."""
    return {one.name: one.value for one in readings if one.device == device}


def test_a_processor_with_graphics_has_two_pools(tmp_path: Path) -> None:
    """C73: 1 GiB of VRAM and 20 GiB of GTT, apart and summed; the total is never above the machine's 128 GiB."""
    root = tree(tmp_path, {"card0": APU})
    assert values(read(root), "card0") == {
        "vram_used_bytes": GIB,
        "gtt_used_bytes": 20 * GIB,
        "used_bytes": 21 * GIB,
        "total_bytes": 128 * GIB,
        "process_bytes": None,
        "power_watts": 55.012,
    }
    assert "the total is no hard limit" in AmdMemory(root).open()[1]


@pytest.mark.parametrize("vram", [536870912, 8589934592])
def test_a_processor_with_graphics_is_known_without_its_voltages(tmp_path: Path, vram: int) -> None:
    """C73: the second box's 512 MiB are not all, nor are 8 GiB where the GTT is nearly the whole memory."""
    plain = {name: text for name, text in APU.items() if not name.startswith("hwmon")}
    found = values(read(tree(tmp_path, {"card0": {**plain, "mem_info_vram_total": str(vram)}})), "card0")
    assert (found["used_bytes"], found["total_bytes"]) == (21 * GIB, min(128 * GIB, vram + 133143986176))


def test_a_card_has_its_own_memory_alone(tmp_path: Path) -> None:
    """C73: VRAM and nothing else; of two power readings the one that can be read."""
    assert values(read(tree(tmp_path, {"card0": DISCRETE})), "9f1a2b3c4d5e6f70") == {
        "used_bytes": 7 * GIB,
        "total_bytes": 24 * GIB,
        "process_bytes": None,
        "power_watts": 210.5,
    }


def test_a_processor_without_a_gtt_reading_is_null(tmp_path: Path) -> None:
    """The carve-out alone is not what is used."""
    part = {name: text for name, text in APU.items() if name != "mem_info_gtt_used"}
    found = values(read(tree(tmp_path, {"card0": part})), "card0")
    assert (found["used_bytes"], found["gtt_used_bytes"], found["vram_used_bytes"]) == (None, None, GIB)


def test_what_the_kernel_does_not_tell_is_null(tmp_path: Path) -> None:
    """C74: `N/A`, an empty file and none at all are null with a reason; another card is read."""
    broken = {"vendor": "0x1002", "mem_info_vram_used": "N/A", "mem_info_vram_total": ""}
    readings = read(
        tree(tmp_path, {"card0": broken, "card1": DISCRETE, "card1-DP-1": {}, "card2": {"vendor": "0x10de"}})
    )
    assert values(readings, "card0") == {"used_bytes": None, "process_bytes": None, "power_watts": None}
    assert all(one.reason for one in readings if one.value is None)
    assert values(readings, "9f1a2b3c4d5e6f70")["used_bytes"] == 7 * GIB


@pytest.mark.parametrize(("every", "watched"), [(False, ["9f1a2b3c4d5e6f70"]), (True, ["card0", "9f1a2b3c4d5e6f70"])])
def test_graphics_of_the_processor_beside_a_card_are_left_out(tmp_path: Path, every: bool, watched: list[str]) -> None:
    """As llama.cpp leaves them, unless its devices were named; that is said."""
    argument = "Vulkan0,Vulkan1" if every else None
    source = AmdMemory(tree(tmp_path, {"card0": APU, "card1": DISCRETE}), device_argument=argument)
    notes = source.open()
    assert [one.device for one in source.read() if one.name == "used_bytes"] == watched
    assert any("graphics of the processor (card0) are not watched" in note for note in notes) is not every


def test_equal_identities_are_not_one_card(tmp_path: Path) -> None:
    """C74: zero or equal ids fall back to the PCI address, and to the card's name where there is none."""
    zero = {**DISCRETE, "unique_id": "0x0000000000000000"}
    root = tree(tmp_path, {"card0": zero, "card1": zero, "card10": DISCRETE, "card2": DISCRETE})
    bus = root / "sys/devices/0000:03:00.0"
    bus.parent.mkdir()
    (root / "sys/class/drm/card1/device").rename(bus)
    (root / "sys/class/drm/card1/device").symlink_to(bus)
    used = [one.device for one in read(root) if one.name == "used_bytes"]
    assert used == ["card0", "0000:03:00.0", "card2", "card10"]


def test_a_card_that_vanishes_is_null(tmp_path: Path) -> None:
    """With a reason, and without a number from before."""
    root = tree(tmp_path, {"card0": DISCRETE})
    source = AmdMemory(root)
    source.open()
    (root / "sys/class/drm/card0").rename(root / "gone")
    assert [(one.value, one.reason) for one in source.read()] == [
        (None, "the card is gone"),
        (None, "the kernel lists no compute process of the server's here"),
        (None, "the kernel does not tell this card's power"),
    ]


def test_the_servers_part_is_that_of_its_compute_processes(tmp_path: Path) -> None:
    """C68 and C69: by PCI address, of all its processes; null on a card where none of them is listed, never 0."""
    root = tree(tmp_path, {"card0": DISCRETE, "card1": {**DISCRETE, "unique_id": "a1"}})
    for card, bus in (("card0", "0000:03:00.0"), ("card1", "0000:c4:00.0")):
        device = root / "sys/devices" / bus
        device.parent.mkdir(exist_ok=True)
        (root / "sys/class/drm" / card / "device").rename(device)
        (root / "sys/class/drm" / card / "device").symlink_to(device)
    kfd = "sys/class/kfd/kfd"
    tree(
        root,
        {},
        {
            f"{kfd}/topology/nodes/0/gpu_id": "0",
            f"{kfd}/topology/nodes/0/properties": "cpu_cores_count 16\nlocation_id 0\ndomain 0\n",
            f"{kfd}/topology/nodes/1/gpu_id": "51140",
            f"{kfd}/topology/nodes/1/properties": "simd_count 192\nlocation_id 768\ndomain 0\n",
            f"{kfd}/topology/nodes/2/gpu_id": "7",
            f"{kfd}/topology/nodes/2/properties": f"location_id {0xC4 << 8}\ndomain 0\n",
            f"{kfd}/proc/12/vram_51140": f"{5 * GIB}\n",
            f"{kfd}/proc/12/pasid": "32770",
            f"{kfd}/proc/13/vram_51140": f"{GIB}\n",
            f"{kfd}/proc/99/vram_7": "1",
        },
    )
    source = AmdMemory(root, pids=lambda: [12, 13, 14])
    source.open()
    parts = {one.device: one.value for one in source.read() if one.name == "process_bytes"}
    assert parts == {"9f1a2b3c4d5e6f70": 6 * GIB, "a1": None}


def with_nodes(root: Path, buses: dict[str, str]) -> Path:
    """Puts cards at PCI addresses, and lists them in the driver for compute in this order, beginning with node 9."""
    nodes = {}
    for node, (card, bus) in enumerate(buses.items(), start=9):
        device = root / "sys/devices" / bus
        device.parent.mkdir(exist_ok=True)
        (root / "sys/class/drm" / card / "device").rename(device)
        (root / "sys/class/drm" / card / "device").symlink_to(device)
        place = int(bus[5:7], 16) << 8
        nodes[f"sys/class/kfd/kfd/topology/nodes/{node}/gpu_id"] = str(node)
        nodes[f"sys/class/kfd/kfd/topology/nodes/{node}/properties"] = f"location_id {place}\ndomain 0\n"
    return tree(root, {}, nodes)


@pytest.mark.parametrize(
    ("variables", "argument", "used"),
    [
        ({}, None, ["a", "b", "c"]),
        ({"ROCR_VISIBLE_DEVICES": "0"}, None, ["c"]),
        ({"ROCR_VISIBLE_DEVICES": "2,0"}, None, ["b", "c"]),
        ({"ROCR_VISIBLE_DEVICES": "GPU-A"}, None, ["a"]),
        ({"ROCR_VISIBLE_DEVICES": "1,2", "HIP_VISIBLE_DEVICES": "1"}, None, ["b"]),
        ({"HIP_VISIBLE_DEVICES": "0,1"}, "ROCm1", ["a"]),
    ],
)
def test_the_servers_cards_are_chosen_in_rocms_order(
    tmp_path: Path, variables: dict[str, str], argument: str | None, used: list[str]
) -> None:
    """C71 for AMD: ROCm counts by the nodes of its driver (9, 10, 11), here c, a, b; how many of all is said."""
    cards = {f"card{number}": {**DISCRETE, "unique_id": name} for number, name in enumerate("abc")}
    buses = {"card2": "0000:c4:00.0", "card0": "0000:03:00.0", "card1": "0000:43:00.0"}
    source = AmdMemory(with_nodes(tree(tmp_path, cards), buses), variables=variables, device_argument=argument)
    (note,) = source.open()
    assert [one.device for one in source.read() if one.name == "used_bytes"] == used
    many = "3" if len(used) == 3 else f"{len(used)} of 3"
    assert note == f"memory and power by sysfs: {many} AMD GPUs ({', '.join(used)})"


def test_a_server_that_sees_no_card_has_none(tmp_path: Path) -> None:
    """No reading, and a reason."""
    source = AmdMemory(tree(tmp_path, {"card0": DISCRETE}), variables={"ROCR_VISIBLE_DEVICES": ""})
    assert source.open() == ["memory and power by sysfs: 0 of 1 AMD GPUs (none that the server may use)"]
    with pytest.raises(SourceError, match="no GPU that the server may use is seen"):
        source.read()


@pytest.mark.parametrize(("chosen", "used"), [("1", ["9f1a2b3c4d5e6f70"]), ("0", ["card0"])])
def test_graphics_of_the_processor_that_were_chosen_are_watched(tmp_path: Path, chosen: str, used: list[str]) -> None:
    """Where they are all that the server sees."""
    source = AmdMemory(tree(tmp_path, {"card0": APU, "card1": DISCRETE}), variables={"HIP_VISIBLE_DEVICES": chosen})
    source.open()
    assert [one.device for one in source.read() if one.name == "used_bytes"] == used


def test_a_machine_without_cards_says_so(tmp_path: Path) -> None:
    """One sentence instead of an empty reading."""
    assert not is_here(tmp_path)
    with pytest.raises(SourceError, match="the kernel shows no AMD GPU"):
        AmdMemory(tmp_path).open()


class AmdSmi:
    """As `amdsmi` answers on two virtual cards: a number, an object or `N/A` for the same field."""

    def __init__(self, partition: int = (1 << 32) - 1) -> None:
        self.partition = partition
        self.opened = 0

    def amdsmi_init(self) -> None:
        """Counts."""
        self.opened += 1

    def amdsmi_shut_down(self) -> None:
        """Counts back."""
        self.opened -= 1

    def amdsmi_get_processor_handles(self) -> list[int]:
        """Two."""
        return [0, 1]

    def amdsmi_get_gpu_device_uuid(self, _: int) -> str:
        """Virtual cards have none."""
        return "00000000-0000-0000-0000-000000000000"

    def amdsmi_get_gpu_device_bdf(self, handle: int) -> str:
        """Tells them apart."""
        return f"0000:0{handle + 3}:00.0"

    def amdsmi_get_gpu_kfd_info(self, handle: int) -> dict[str, Any]:
        """All-ones: not partitioned. The second device comes first in the order of nodes."""
        return {"current_partition_id": self.partition, "node_id": 2 - handle}

    def amdsmi_get_gpu_asic_info(self, handle: int) -> Any:
        """A serial number, or none."""
        return {"asic_serial": "0x9F1A2B3C4D5E6F70"} if handle == 0 else "N/A"

    def amdsmi_get_gpu_vram_usage(self, handle: int) -> dict[str, Any]:
        """In MiB."""
        if handle == 0:
            return {"vram_total": 196592, "vram_used": "N/A"}
        return {"vram_total": {"value": 196592, "unit": "MB"}, "vram_used": {"value": 285, "unit": "MB"}}

    def amdsmi_get_power_info(self, handle: int) -> dict[str, Any]:
        """Under one of two names."""
        if handle == 0:
            raise RuntimeError("AMDSMI_STATUS_NOT_SUPPORTED")
        return {"current_socket_power": 65535, "average_socket_power": 143}


def test_na_and_numbers_side_by_side() -> None:
    """C74: `N/A` is null for the one, the other's object is its number; zero UUIDs don't merge; the count is said."""
    library = AmdSmi()
    source = AmdSmiMemory(library, expected=8)
    assert source.open() == ["memory and power by amdsmi: 2 of 8 GPUs or partitions seen (0000:03:00.0, 0000:04:00.0)"]
    assert [(one.name, one.device, one.value, one.reason) for one in source.read()] == [
        ("used_bytes", "0000:03:00.0", None, "amdsmi tells N/A"),
        ("total_bytes", "0000:03:00.0", 196592 * MIB, None),
        ("power_watts", "0000:03:00.0", None, "amdsmi tells N/A"),
        ("used_bytes", "0000:04:00.0", 285 * MIB, None),
        ("total_bytes", "0000:04:00.0", 196592 * MIB, None),
        ("power_watts", "0000:04:00.0", 143, None),
    ]
    source.close()
    source.close()
    assert library.opened == 0


@pytest.mark.parametrize(
    ("setting", "used"), [("0", ["0000:04:00.0"]), ("1", ["0000:03:00.0"]), ("GPU-9f1a", ["0000:03:00.0"]), ("", [])]
)
def test_the_servers_devices_are_chosen_through_the_library(setting: str, used: list[str]) -> None:
    """C71 for AMD: in the order of nodes, or by the serial number that ROCm calls a UUID."""
    source = AmdSmiMemory(AmdSmi(), variables={"ROCR_VISIBLE_DEVICES": setting})
    assert source.open()[1] == f"watched of them: {', '.join(used) or 'none that the server may use'}"
    if not used:
        with pytest.raises(SourceError, match="no GPU that the server may use is seen"):
            source.read()
        return
    assert [one.device for one in source.read() if one.name == "used_bytes"] == used


def test_partitions_are_devices_of_their_own() -> None:
    """C74: 2³² − 1 is no partition, any other number is a part of the key."""
    source = AmdSmiMemory(AmdSmi(partition=1))
    source.open()
    assert {one.device for one in source.read()} == {"0000:03:00.0/1", "0000:04:00.0/1"}


def test_a_library_that_fails_is_one_sentence() -> None:
    """Whatever it raises."""

    class Broken(AmdSmi):
        """Without a driver."""

        def amdsmi_init(self) -> None:
            """Fails."""
            raise RuntimeError("AMDSMI_STATUS_DRIVER_NOT_LOADED")

    with pytest.raises(SourceError, match=r"AMD's library does not answer \(RuntimeError\)"):
        AmdSmiMemory(Broken()).open()
