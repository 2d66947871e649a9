"""Fetching the next panel of a packed constant while one is used: which lines each turn of a loop asks for.

Panels follow each other in memory. The tiles that use one panel share the lines of the next, each in its turns.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Final

from rlx_compiler.loops import build
from rlx_compiler.loops.ir import Buffer, Expr, Prefetch, Stmt
from rlx_compiler.schedule.plan import Packing

__all__ = ["NextPanel"]

_LINE: Final = 64  # bytes


@dataclass(frozen=True, slots=True)
class NextPanel:
    """The panel behind that of element `place` of the vector axis, for the tile of `pixels` rows from `first` on."""

    packing: Packing
    buffer: Buffer
    place: Expr
    first: Expr
    pixels: int
    rows: int

    def lines(self, turn: Expr, step: int, turns: int) -> list[Stmt]:
        """What the turn of a loop over 0, step, … that has `turns` turns fetches."""
        size = prod(self.packing.shape[1:])
        line = _LINE // self.packing.tensor.dtype.itemsize
        tiles = -(-self.rows // self.pixels)
        each = -(-size // (tiles * turns * line))  # lines a turn
        panel = build.add(build.floor_div(self.place, self.packing.block), 1)
        own = build.mul(build.floor_div(self.first, self.pixels), each * turns * line)
        start = build.add(build.mul(panel, size), own)
        here = build.add(start, build.mul(build.floor_div(turn, step), each * line))
        return [Prefetch(self.buffer, (build.add(here, number * line),)) for number in range(each)]
