"""What a cell is called: one variant at one concurrency and, where a run has fixed depths, at one of them."""

import msgspec


class CellKey(msgspec.Struct, frozen=True, order=True):
    """The name of a cell. `depth` is the one that was asked for, in tokens; null in a run without fixed depths.

    Either all cells of a run have a depth or none has, so that they can be sorted.
    """

    variant: str
    level: int
    depth: int | None = None
