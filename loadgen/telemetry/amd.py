"""Memory and power of AMD's GPUs as the kernel shows them under `/sys`."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadgen.telemetry.amd_devices import taken
from loadgen.telemetry.amd_processes import addresses, used_by
from loadgen.telemetry.cuda_devices import Device
from loadgen.telemetry.source import Reading, SourceError
from loadgen.telemetry.told import identity, keys, number
from loadgen.telemetry.unified_memory import meminfo
from loadgen.units import BYTES_PER_GIB, microwatts_to_watts

_VENDOR = "0x1002"
_CARD = re.compile(r"card(\d+)")
_APU_RAIL = "vddnb"
"""Label of a voltage that the driver shows for processors with graphics only."""
_SMALL_VRAM = BYTES_PER_GIB
_WHOLE_MACHINE = 0.9
"""Where no voltage is labelled: a carve-out of up to 1 GiB, or a GTT limit raised to nearly all memory, is one of those
too. A card's GTT is half of the memory, three quarters at most, and nobody has a reason to raise it."""


@dataclass(frozen=True)
class _Card:
    key: str
    pci: str | None
    folder: Path
    identity: str | None
    shares: bool
    """Whether it shares the machine's memory (a processor with graphics)."""


class AmdMemory:
    """Used and total memory and power, device by device.

    A card has VRAM. A processor with graphics (APU) has a carve-out that is called VRAM and takes the rest from the
    machine's memory (GTT): both are read, apart and summed, and the total is never above what the machine has.

    Args:
        root: where `sys` and `proc` lie.
        variables: those of the server that choose among the GPUs (`ROCR_VISIBLE_DEVICES` and so on).
        device_argument: its `--device`; null: not given. llama.cpp takes a processor's graphics beside a card only
            where it is.
        pids: tells the server's processes; empty where they aren't known.
    """

    name = "amd-sysfs"
    period_s = 0.5

    def __init__(
        self,
        root: Path = Path("/"),
        *,
        variables: Mapping[str, str] | None = None,
        device_argument: str | None = None,
        pids: Callable[[], Collection[int]] = tuple,
    ) -> None:
        self._root = root
        self._pids = pids
        self._variables = variables or {}
        self._device_argument = device_argument
        self._left_out: list[str] = []
        self._cards: list[_Card] = []

    def open(self) -> Sequence[str]:
        """Finds the cards and tells those that share the machine's memory."""
        folders = _folders(self._root)
        if not folders:
            raise SourceError("the kernel shows no AMD GPU")
        buses = [one.resolve().name if one.is_symlink() else None for one in folders]
        own = [identity(_text(one / "unique_id")) for one in folders]
        names = keys(own, buses, [one.parent.name for one in folders])
        every = [
            _Card(name, pci, folder, unique_id, self._shares(folder))
            for name, pci, folder, unique_id in zip(names, buses, folders, own, strict=True)
        ]
        self._cards, self._left_out = self._chosen(every), []
        if self._device_argument is None and not all(card.shares for card in self._cards):
            self._left_out = [card.key for card in self._cards if card.shares]
            self._cards = [card for card in self._cards if not card.shares]
        return self._notes(len(every))

    def _chosen(self, every: Sequence[_Card]) -> list[_Card]:
        """Those that the server uses, by its variables and its `--device`."""
        order = list(addresses(self._root).values())
        places = sorted(range(len(every)), key=lambda place: _rank(order, every[place].pci))
        devices = [
            Device(place, None if (own := every[place].identity) is None else f"GPU-{own.upper()}", None, None)
            for place in places
        ]
        chosen = taken(devices, self._variables, self._device_argument)
        return list(every) if chosen is None else [every[one.index] for one in chosen]

    def _shares(self, folder: Path) -> bool:
        labels = [_text(hwmon / "in1_label") for hwmon in _hwmons(folder)]
        if any(label is not None for label in labels):
            return _APU_RAIL in labels
        vram, gtt = _bytes(folder / "mem_info_vram_total"), _bytes(folder / "mem_info_gtt_total")
        if vram is None or gtt is None:
            return False
        return vram <= _SMALL_VRAM or gtt > _WHOLE_MACHINE * meminfo(self._root).get("MemTotal", float("inf"))

    def _notes(self, there: int) -> list[str]:
        keys_ = ", ".join(card.key for card in self._cards) or "none that the server may use"
        seen = len(self._cards)
        many = f"{seen} of {there}" if seen + len(self._left_out) < there else str(seen)
        notes = [f"memory and power by sysfs: {many} AMD GPUs ({keys_})"]
        if any(card.shares for card in self._cards):
            notes.append(
                "the GPU shares the machine's memory: used is carve-out and GTT together, the total is no hard limit"
            )
        if self._left_out:
            notes.append(
                f"graphics of the processor ({', '.join(self._left_out)}) are not watched: llama.cpp leaves them alone "
                "where there is a card"
            )
        return notes

    def read(self) -> Sequence[Reading]:
        """Memory and power of every card, and the server's part of it where it computes with ROCm."""
        if not self._cards:
            raise SourceError("no GPU that the server may use is seen")
        own = used_by(self._root, self._pids())
        readings: list[Reading] = []
        for card in self._cards:
            readings += [*self._memory(card), self._part(card, own), self._power(card)]
        return readings

    def _part(self, card: _Card, own: Mapping[str, int]) -> Reading:
        part = own.get(card.pci) if card.pci is not None else None
        if part is not None:
            return Reading("process_bytes", part, card.key)
        return Reading("process_bytes", None, card.key, "the kernel lists no compute process of the server's here")

    def _memory(self, card: _Card) -> list[Reading]:
        vram, vram_total = _bytes(card.folder / "mem_info_vram_used"), _bytes(card.folder / "mem_info_vram_total")
        if vram is None:
            why = "the card is gone" if not card.folder.is_dir() else "the kernel does not tell this card's memory"
            return [Reading("used_bytes", None, card.key, why)]
        if not card.shares:
            return _used_and_total(card, vram, vram_total)
        gtt, gtt_total = _bytes(card.folder / "mem_info_gtt_used"), _bytes(card.folder / "mem_info_gtt_total")
        machine = meminfo(self._root).get("MemTotal")
        whole = vram_total + gtt_total if vram_total is not None and gtt_total is not None else None
        total = min(whole, machine) if whole is not None and machine is not None else None
        no_gtt = None if gtt is not None else "the kernel does not tell the GTT, where most of it lies"
        return [
            Reading("vram_used_bytes", vram, card.key),
            Reading("gtt_used_bytes", gtt, card.key, no_gtt),
            *(
                _used_and_total(card, vram + gtt, total)
                if gtt is not None
                else [Reading("used_bytes", None, card.key, no_gtt)]
            ),
        ]

    def _power(self, card: _Card) -> Reading:
        for hwmon in _hwmons(card.folder):
            for name in ("power1_average", "power1_input"):
                microwatts = _bytes(hwmon / name)
                if microwatts is not None:
                    return Reading("power_watts", microwatts_to_watts(microwatts), card.key)
        return Reading("power_watts", None, card.key, "the kernel does not tell this card's power")

    def close(self) -> None:
        """Nothing was opened."""


def _rank(order: Sequence[str], pci: str | None) -> int:
    """A card's place in ROCm's order; behind all others where the driver for compute doesn't list it."""
    return order.index(pci) if pci is not None and pci in order else len(order)


def is_here(root: Path) -> bool:
    """Whether the kernel shows memory of an AMD GPU."""
    return any((one / "mem_info_vram_used").exists() for one in _folders(root))


def _folders(root: Path) -> list[Path]:
    try:
        entries = sorted((root / "sys/class/drm").iterdir(), key=_number_of)
    except OSError:
        return []
    folders = [one / "device" for one in entries if _CARD.fullmatch(one.name)]
    return [one for one in folders if _text(one / "vendor") == _VENDOR]


def _used_and_total(card: _Card, used: float, total: float | None) -> list[Reading]:
    why = None if total else "the kernel does not tell how much there is"
    return [Reading("used_bytes", used, card.key), Reading("total_bytes", total or None, card.key, why)]


def _number_of(path: Path) -> tuple[int, str]:
    found = _CARD.fullmatch(path.name)
    return (int(found.group(1)) if found else -1, path.name)


def _hwmons(folder: Path) -> list[Path]:
    try:
        return sorted((folder / "hwmon").iterdir())
    except OSError:
        return []


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def _bytes(path: Path) -> float | None:
    text = _text(path)
    return number(int(text)) if text is not None and text.isascii() and text.isdecimal() else None
