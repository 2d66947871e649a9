"""One workspace for all intermediate values: each has a place for as long as something still reads it.

Places are multiples of 64 bytes. Values are placed in the order in which they are written, at the lowest offset that is
free during their whole life, largest first among those born together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rlx_wire.abi import ALIGNMENT

__all__ = ["Life", "aligned", "place_values"]


@dataclass(frozen=True, slots=True)
class Life:
    """A value of `bytes`, written by launch `first`, last read by launch `last`."""

    name: str
    bytes: int
    first: int
    last: int


def aligned(size: int) -> int:
    """The size rounded up to the alignment of buffers."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def place_values(lives: Sequence[Life]) -> tuple[Mapping[str, int], int]:
    """The offset of each value, and the size of the workspace. Two values overlap only where their lives do not."""
    placed: list[tuple[Life, int]] = []
    for life in sorted(lives, key=lambda life: (life.first, -life.bytes, life.name)):
        taken = sorted(
            (offset, offset + aligned(other.bytes))
            for other, offset in placed
            if other.first <= life.last and life.first <= other.last
        )
        offset = 0
        for start, end in taken:
            if offset + aligned(life.bytes) <= start:
                break
            offset = max(offset, end)
        placed.append((life, offset))
    size = max((offset + aligned(life.bytes) for life, offset in placed), default=0)
    return {life.name: offset for life, offset in placed}, size
