"""The plan of a kernel on a GPU: how the result is spread over blocks and threads, and what a block shares.

Like a `Plan` it never says what is computed: any grid plan of a stage gives the same result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

__all__ = ["GridPlan", "Spread"]


@dataclass(frozen=True, slots=True)
class Spread:
    """How an axis of the result is spread: over blocks of `tile` elements, whose `threads` threads take every
    `threads`-th one each, so that neighbouring threads have neighbouring elements."""

    axis: str
    tile: int
    threads: int

    @property
    def each(self) -> int:
        """How many elements one thread has."""
        return -(-self.tile // self.threads)

    @property
    def covered(self) -> int:
        """How many places of the axis a block's threads stand on: `tile`, rounded up."""
        return self.each * self.threads


@dataclass(frozen=True, slots=True)
class GridPlan:
    """`spreads` are in the order of blocks, the slowest axis first; `order` numbers the threads of a block, the
    slowest axis first. Elements along `pixel` and `row` are in registers, those along others one after the other.

    `chunks` says how much of each summed axis is brought near at a time; where `staged`, operands that several threads
    read come through shared memory. `shared_axis` is a summed axis whose terms `shared_threads` threads (a power of
    two) share; their partial sums meet in shared memory.
    """

    spreads: tuple[Spread, ...]
    order: tuple[str, ...] = ()
    pixel: str | None = None
    row: str | None = None
    chunks: Mapping[str, int] = field(default_factory=dict)
    staged: bool = False
    shared_axis: str | None = None
    shared_threads: int = 1

    @property
    def threads(self) -> int:
        """Of a block."""
        return prod(spread.threads for spread in self.spreads) * self.shared_threads
