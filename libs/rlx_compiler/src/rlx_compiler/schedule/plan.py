"""The plan of a nest: its loops from outer to inner, and what one turn of the innermost keeps in registers.

A plan never says what is computed, so any plan of a stage gives the same result. It is changed by the primitives of
`rlx_compiler.schedule.primitives` only, and turned into loops by `rlx_compiler.lowering.nest`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as Choice

from rlx_ir.expr import Tensor

__all__ = ["Loop", "Packing", "Plan"]


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop over an axis in steps of `size` elements: what one turn leaves for the loops inside it.

    Several loops over one axis nest as its blocks; sizes need not divide, a smaller rest is done after the whole ones.
    """

    axis: str
    size: int
    kind: Choice["serial", "parallel", "unrolled"] = "serial"


@dataclass(frozen=True, slots=True)
class Packing:
    """A constant in the order its kernel reads it: dimensions in `order`, the last one of them cut into blocks.

    `shape` is the stored shape before. The block number comes first, the place in the block last: with order
    (1, 2, 0) and block 48 an array [o, i, k] becomes [o/48, i, k, 48], zeros after the last.
    """

    tensor: Tensor
    order: tuple[int, ...]
    block: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The packed shape."""
        sizes = [size for size in self.tensor.shape if isinstance(size, int)]
        blocked = sizes[self.order[-1]]
        return (-(-blocked // self.block), *(sizes[i] for i in self.order[:-1]), self.block)


@dataclass(frozen=True, slots=True)
class Plan:
    """`loops` run over the result's axes, `reduce_loops` over the summed ones, inside all of those.

    What remains of the result's axes after `loops` is a tile in registers: `lanes`-wide vectors along `vector`, times
    `pixel` (an axis that is unrolled). Where `vector` is a summed axis, partial sums stand in the lanes.
    `packings` are the constants that are reordered for this nest, `ahead` those of them that are fetched before use.
    """

    loops: tuple[Loop, ...]
    reduce_loops: tuple[Loop, ...] = ()
    vector: str | None = None
    lanes: int = 1
    pixel: str | None = None
    packings: tuple[Packing, ...] = ()
    ahead: tuple[str, ...] = ()

    def loop_sizes(self, axis: str) -> list[int]:
        """The sizes of the loops over an axis, outermost first."""
        return [loop.size for loop in (*self.loops, *self.reduce_loops) if loop.axis == axis]
