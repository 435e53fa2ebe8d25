"""NVIDIA's devices through NVML, with a stand-in for the binding that answers as it does."""

# ruff: noqa: N801, N802, N815, N818 - the binding has such names

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from loadgen.telemetry.nvidia import NvidiaMemory
from loadgen.telemetry.source import Reading, SourceError

MIB = 1 << 20
ALL_ONES = (1 << 64) - 1


@dataclass
class Card:
    """One device of the stand-in. Memory is in MiB; null: not supported."""

    uuid: str
    used: int | None = 0
    total: int = 80_000
    reserved: int = 0
    name: str = "NVIDIA A100"
    pci: bytes | None = b"00000000:01:00.0"
    power: int | None = 71_500
    processes: list[tuple[int, int | None]] = field(default_factory=list)
    instances: list["Card"] = field(default_factory=list)
    lost: bool = False


class Nvml:
    """As `pynvml` of nvidia-ml-py: `version=2` marks that the newer memory call is there."""

    class NVMLError(Exception):
        """Any error."""

    class NVMLError_NotSupported(NVMLError):
        """The device doesn't have it."""

    class NVMLError_GpuIsLost(NVMLError):
        """It fell off the bus."""

    class NVMLError_FunctionNotFound(NVMLError):
        """The driver is older than the call."""

    nvmlMemory_v2 = 33554472

    def __init__(self, *cards: Card, old_driver: bool = False) -> None:
        self.cards = cards
        self.old_driver = old_driver
        self.opened = 0

    def nvmlInit(self) -> None:
        """Counts."""
        self.opened += 1

    def nvmlShutdown(self) -> None:
        """Counts back."""
        self.opened -= 1

    def nvmlDeviceGetCount(self) -> int:
        """Without instances."""
        return len(self.cards)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Card:
        """Cards are their own handles."""
        return self.cards[index]

    def nvmlDeviceGetUUID(self, card: Card) -> str:
        """As newer bindings answer."""
        return card.uuid

    def nvmlDeviceGetName(self, card: Card) -> bytes:
        """As older bindings answer."""
        return card.name.encode()

    def nvmlDeviceGetPciInfo(self, card: Card) -> Any:
        """Instances have none."""
        if card.pci is None:
            raise self.NVMLError_NotSupported
        return SimpleNamespace(busId=card.pci)

    def nvmlDeviceGetMemoryInfo(self, card: Card, version: int | None = None) -> Any:
        """Version 1 counts what the driver reserves as used."""
        if version is not None and self.old_driver:
            raise self.NVMLError_FunctionNotFound
        if card.lost:
            raise self.NVMLError_GpuIsLost("GPU is lost")
        if card.used is None:
            raise self.NVMLError_NotSupported("Not Supported")
        if version is None:
            return SimpleNamespace(used=(card.used + card.reserved) * MIB, total=card.total * MIB)
        return SimpleNamespace(used=card.used * MIB, total=card.total * MIB, reserved=card.reserved * MIB)

    def nvmlDeviceGetMigMode(self, card: Card) -> list[int]:
        """Current and pending."""
        if not card.instances:
            raise self.NVMLError_NotSupported
        return [1, 1]

    def nvmlDeviceGetMaxMigDeviceCount(self, _: Card) -> int:
        """More than there are."""
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, card: Card, index: int) -> Card:
        """Those behind the last are not found."""
        if index >= len(card.instances):
            raise self.NVMLError("Not Found")
        return card.instances[index]

    def nvmlDeviceGetPowerUsage(self, card: Card) -> int:
        """In milliwatts."""
        if card.power is None:
            raise self.NVMLError_NotSupported
        return card.power

    def nvmlDeviceGetComputeRunningProcesses(self, card: Card) -> list[Any]:
        """With null where the driver doesn't tell the memory."""
        return [
            SimpleNamespace(pid=pid, usedGpuMemory=None if used is None else used * MIB) for pid, used in card.processes
        ]


def read(nvml: Any, **options: Any) -> list[Reading]:
    """One reading of an opened source."""
    source = NvidiaMemory(nvml, binding="stand-in 1", **options)
    source.open()
    try:
        return list(source.read())
    finally:
        source.close()


def values(readings: list[Reading], name: str) -> dict[str | None, float | None]:
    """One kind of reading by device."""
    return {one.device: one.value for one in readings if one.name == name}


def meminfo(root: Path, total: int, available: int) -> Path:
    """A `/proc/meminfo`, in kB."""
    (root / "proc").mkdir()
    (root / "proc/meminfo").write_text(f"MemTotal:       {total} kB\nMemFree: 5 kB\nMemAvailable:   {available} kB\n")
    return root


def test_a_device_without_memory_of_its_own_is_null_and_the_machine_is_read(tmp_path: Path) -> None:
    """C66: null for the device with a reason, used and total of the machine under its own name; power is still read."""
    nvml = Nvml(Card("GPU-a", None, name="NVIDIA GB10"))
    readings = read(nvml, root=meminfo(tmp_path, 127600748, 118566368))
    assert readings == [
        Reading("used_bytes", None, "GPU-a", "NVML does not tell this device's memory: Not Supported"),
        Reading("used_bytes", 9034380 * 1024, "unified system memory", source="unified system memory"),
        Reading("total_bytes", 127600748 * 1024, "unified system memory", source="unified system memory"),
        Reading("process_bytes", None, "GPU-a", "none of the 0 processes that NVML lists is known to be the server's"),
        Reading("power_watts", 71.5, "GPU-a"),
    ]


def test_a_small_but_readable_number_of_a_sharing_device_is_no_memory(tmp_path: Path) -> None:
    """C66, the other part: what NVML tells of a device that shares memory is not what it may use."""
    nvml = Nvml(Card("GPU-a", 400, total=512, name="NVIDIA Thor"))
    readings = read(nvml, root=meminfo(tmp_path, 1000, 400))
    assert values(readings, "used_bytes") == {"GPU-a": None, "unified system memory": 600 * 1024}
    assert values(readings, "total_bytes") == {"unified system memory": 1000 * 1024}


def test_an_unreadable_machine_is_null_as_well(tmp_path: Path) -> None:
    """Without `/proc/meminfo` there is no number at all."""
    readings = read(Nvml(Card("GPU-a", None)), root=tmp_path)
    assert values(readings, "used_bytes") == {"GPU-a": None, "unified system memory": None}


@pytest.mark.parametrize("listed", [[], [(4242, 7000), (77, 325)]])
def test_foreign_or_missing_pids_leave_the_device_and_no_part(listed: list[tuple[int, int | None]]) -> None:
    """C68: the device's 7325 MiB are told, the server's part is null with a reason, never 0."""
    readings = read(Nvml(Card("GPU-a", 7325, processes=listed)), pids=lambda: [12])
    assert values(readings, "used_bytes") == {"GPU-a": 7325 * MIB}
    part = next(one for one in readings if one.name == "process_bytes")
    assert part.value is None
    assert part.reason == f"none of the {len(listed)} processes that NVML lists is known to be the server's"
    assert values(readings, "foreign_bytes") == {}


def test_growth_of_others_is_told_apart_from_the_server() -> None:
    """C69: another process that grows by 2000 MiB changes its own part, not the server's."""
    card = Card("GPU-a", 1585 + 25302, processes=[(12, 25302), (99, 1585)])
    source = NvidiaMemory(Nvml(card), pids=lambda: [12], binding="stand-in 1")
    source.open()
    first = list(source.read())
    card.used, card.processes = 28887, [(12, 25302), (99, 3585)]
    second = list(source.read())
    assert [values(one, "process_bytes")["GPU-a"] for one in (first, second)] == [25302 * MIB] * 2
    assert [values(one, "foreign_bytes")["GPU-a"] for one in (first, second)] == [1585 * MIB, 3585 * MIB]
    assert [values(one, "used_bytes")["GPU-a"] for one in (first, second)] == [26887 * MIB, 28887 * MIB]


@pytest.mark.parametrize("untold", [None, ALL_ONES // MIB + 1])
def test_a_process_without_a_number_is_no_zero(untold: int | None) -> None:
    """Null or all-ones for the server: null; for another: the others' part is null."""
    huge = ALL_ONES if untold is not None else None

    class Untold(Nvml):
        """Tells all-ones or null for process 7."""

        def nvmlDeviceGetComputeRunningProcesses(self, card: Card) -> list[Any]:
            """As the binding before it mapped all-ones to null."""
            del card
            return [SimpleNamespace(pid=7, usedGpuMemory=huge), SimpleNamespace(pid=8, usedGpuMemory=5 * MIB)]

    nvml = Untold(Card("GPU-a", 10))
    assert values(read(nvml, pids=lambda: [7]), "process_bytes") == {"GPU-a": None}
    theirs = read(nvml, pids=lambda: [8])
    assert values(theirs, "process_bytes") == {"GPU-a": 5 * MIB}
    assert values(theirs, "foreign_bytes") == {"GPU-a": None}


def test_version_two_keeps_the_drivers_reserve_apart() -> None:
    """C70: used 11448, reserved 513 MiB; the binding is named when opened."""
    nvml = Nvml(Card("GPU-a", 11448, reserved=513))
    readings = read(nvml)
    assert (values(readings, "used_bytes"), values(readings, "reserved_bytes")) == (
        {"GPU-a": 11448 * MIB},
        {"GPU-a": 513 * MIB},
    )
    assert {one.source for one in readings} == {None}
    assert "stand-in 1" in NvidiaMemory(nvml, binding="stand-in 1").open()[0]


@pytest.mark.parametrize("old", ["driver", "binding"])
def test_version_one_is_labelled(old: str) -> None:
    """C70: with an older driver or binding 11961 MiB are told, under a source that says what is in it."""

    class OldBinding(Nvml):
        """Has no second version at all."""

        def __getattribute__(self, name: str) -> Any:
            """Nor the number of its structure."""
            if name == "nvmlMemory_v2":
                raise AttributeError(name)
            return super().__getattribute__(name)

    card = Card("GPU-a", 11448, reserved=513)
    readings = read(Nvml(card, old_driver=True) if old == "driver" else OldBinding(card))
    used = next(one for one in readings if one.name == "used_bytes")
    assert (used.value, used.source) == (11961 * MIB, "nvml (used includes reserved)")
    assert values(readings, "reserved_bytes") == {}


FOUR = [
    Card(f"GPU-{letter}bcd", used, pci=f"00000000:0{index}:00.0".encode())
    for index, (letter, used) in enumerate(zip("abcd", (10, 20000, 21000, 30), strict=True))
]


@pytest.mark.parametrize(
    "setting", ["1,2", "GPU-bbcd,GPU-cbcd", "GPU-b,GPU-c", "1, GPU-c", "2,1,-1,0", "1,2,9,0", "1,1,2"]
)
def test_the_servers_devices_are_chosen(setting: str) -> None:
    """C71: by index, UUID or its beginning, up to the first entry that names none: {1, 2} sum to 41000 MiB."""
    used = values(read(Nvml(*FOUR), setting=setting), "used_bytes")
    assert used == {"GPU-bbcd": 20000 * MIB, "GPU-cbcd": 21000 * MIB}
    assert sum(value or 0 for value in used.values()) == 41000 * MIB


@pytest.mark.parametrize(
    ("setting", "taken", "used"),
    [
        (None, "CUDA1,CUDA2", ["b", "c"]),
        ("1,2", "CUDA1", ["c"]),
        ("GPU-d", "cuda0", ["d"]),
        ("1,2", "Vulkan0", ["b", "c"]),
        ("1,2", "CUDA7", ["b", "c"]),
    ],
)
def test_the_servers_device_argument_takes_some_of_what_it_sees(
    setting: str | None, taken: str, used: list[str]
) -> None:
    """C71: `--device` counts the visible ones; names that don't tell leave all of these."""
    readings = read(Nvml(*FOUR), setting=setting, taken=taken)
    assert list(values(readings, "used_bytes")) == [f"GPU-{letter}bcd" for letter in used]


def test_without_a_choice_all_devices_are_listed() -> None:
    """C71: all four, by UUID, and a note that not all may be used; PCI ids are said."""
    source = NvidiaMemory(Nvml(*FOUR), binding="stand-in 1")
    first, second = source.open()
    assert second == "4 GPUs, not all used perhaps: each is listed, and their sum is all of them"
    assert "GPU-cbcd (NVIDIA A100, 00000000:02:00.0)" in first
    assert list(values(list(source.read()), "used_bytes")) == ["GPU-abcd", "GPU-bbcd", "GPU-cbcd", "GPU-dbcd"]


@pytest.mark.parametrize("setting", ["", "-1", "GPU-", "NoDevFiles"])
def test_a_server_that_sees_no_device_has_none(setting: str) -> None:
    """Nothing chosen, or a beginning that several UUIDs have: no reading, and a reason."""
    with pytest.raises(SourceError, match="no GPU that the server may use is seen"):
        read(Nvml(*FOUR), setting=setting)


@pytest.mark.parametrize(("in_bus_order", "notes"), [(False, 2), (True, 1)])
def test_indices_of_unlike_cards_are_warned_about(in_bus_order: bool, notes: int) -> None:
    """CUDA counts by speed unless told otherwise, NVML by bus."""
    cards = [Card("GPU-a", name="NVIDIA T4"), Card("GPU-b", name="NVIDIA H200")]
    ways: tuple[dict[str, Any], ...] = ({"setting": "0"}, {"taken": "CUDA0"})
    for chosen in ways:
        source = NvidiaMemory(Nvml(*cards), in_bus_order=in_bus_order, binding="b", **chosen)
        assert len(source.open()) == notes


def split() -> Nvml:
    """A GPU with two instances, beside a whole one."""
    parts = [Card("MIG-1a", 3000, total=9_856, pci=None), Card("MIG-2b", 40, total=9_856, pci=None)]
    return Nvml(Card("GPU-a", 40320, instances=parts), Card("GPU-b", 7))


def test_instances_are_read_and_their_parent_is_not() -> None:
    """C72: each MIG instance has its own memory; the parent's is not a reading, its power is."""
    readings = read(split())
    assert values(readings, "used_bytes") == {"MIG-1a": 3000 * MIB, "MIG-2b": 40 * MIB, "GPU-b": 7 * MIB}
    assert list(values(readings, "power_watts")) == ["GPU-b", "GPU-a"]


@pytest.mark.parametrize(("setting", "chosen"), [("MIG-2b", "MIG-2b"), ("MIG-2", "MIG-2b"), ("0", "MIG-1a")])
def test_an_instance_is_chosen(setting: str, chosen: str) -> None:
    """C71 and C72: by its UUID or the beginning of it; an index means the first instance."""
    assert list(values(read(split(), setting=setting), "used_bytes")) == [chosen]


def test_a_device_that_vanishes_is_null_and_the_others_are_read() -> None:
    """A lost GPU has a reason, and no other memory stands in for it."""
    readings = read(Nvml(Card("GPU-a", 5, lost=True, power=None), Card("GPU-b", 6)))
    assert values(readings, "used_bytes") == {"GPU-a": None, "GPU-b": 6 * MIB}
    assert values(readings, "power_watts") == {"GPU-a": None, "GPU-b": 71.5}
    assert readings[0].reason == "NVML does not tell this device's memory: GPU is lost"


@pytest.mark.parametrize(("used", "total"), [(ALL_ONES // MIB, 100), (200, 100), (0, 0)])
def test_absurd_numbers_are_null(used: int, total: int) -> None:
    """More used than there is, or nothing at all there, is no reading."""
    assert values(read(Nvml(Card("GPU-a", used, total=total))), "used_bytes") == {"GPU-a": None}


def test_equal_zero_uuids_are_not_one_device() -> None:
    """PCI ids tell them apart."""
    zero = "GPU-00000000-0000-0000-0000-000000000000"
    used = values(
        read(Nvml(Card(zero, 1, pci=b"00000000:01:00.0"), Card(zero, 2, pci=b"00000000:02:00.0"))), "used_bytes"
    )
    assert used == {"00000000:01:00.0": MIB, "00000000:02:00.0": 2 * MIB}


@pytest.mark.parametrize("cards", [0, None])
def test_no_driver_or_no_device_is_said(cards: int | None) -> None:
    """One sentence, and the driver is let go."""

    class NoDriver(Nvml):
        """Without a driver where `cards` is null."""

        def nvmlInit(self) -> None:
            """There is none."""
            if cards is None:
                raise self.NVMLError("Driver Not Loaded")
            super().nvmlInit()

    nvml = NoDriver()
    source = NvidiaMemory(nvml)
    with pytest.raises(SourceError, match=r"shows no GPU|does not answer"):
        source.open()
    source.close()
    assert nvml.opened == 0


def test_everything_that_was_opened_is_closed() -> None:
    """As often as it was opened, also when closed twice."""
    nvml = Nvml(Card("GPU-a"))
    source = NvidiaMemory(nvml)
    source.open()
    close: Callable[[], None] = source.close
    close()
    close()
    assert nvml.opened == 0
