"""What one more slot takes, and how many slots the memory of a variant would buy."""

from collections.abc import Mapping, Sequence
from typing import Any

HOST_SIDE = ("prompt_cache", "checkpoints")
_PER_SLOT = ("kv", "kv_swa", "recurrent_state")
_HOST_BUFFERS = ("CPU", "AMX", "Host", "BLAS")


def on_host(device: str | None) -> bool:
    """Whether a buffer of this name lies in host memory: `CPU`, `CPU_Mapped`, `CUDA_Host`, and what isn't named."""
    return device is None or device.startswith(_HOST_BUFFERS) or device.endswith("_Host")


def scarce(ledger: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The lines that compete for the memory which runs out first: those on devices where there are any, else all.

    Prompt cache and checkpoints have limits of their own and are left out.
    """
    loaded = [line for line in ledger if line["component"] not in HOST_SIDE]
    devices = [line for line in loaded if not on_host(line["device"])]
    return devices or loaded


def slot_bytes(ledger: Sequence[Mapping[str, Any]], slots: int | None) -> int | None:
    """What one more slot of the same room takes: its part of the caches and its rows of recurrent state.

    A unified cache is shared; its part of a slot is what keeps as much room for everyone. The compute buffer grows by a
    few outputs a slot, which a ledger can't tell from the rest: it is left out. Null where the ledger doesn't say.
    """
    if not slots:
        return None
    caches = [line["bytes"] for line in scarce(ledger) if _plain(line["component"]) in _PER_SLOT]
    return round(sum(caches) / slots) or None


def slots_worth(
    ledger: Sequence[Mapping[str, Any]], base: Sequence[Mapping[str, Any]], slot: int | None
) -> float | None:
    """How many slots of the baseline the memory that a variant takes beyond it would buy. Null without both ledgers."""
    if not ledger or not base or not slot:
        return None
    return (_total(ledger) - _total(base)) / slot


def _plain(component: str) -> str:
    return component.removeprefix("draft_").removeprefix("mtp_")


def _total(ledger: Sequence[Mapping[str, Any]]) -> int:
    return sum(line["bytes"] for line in scarce(ledger))
