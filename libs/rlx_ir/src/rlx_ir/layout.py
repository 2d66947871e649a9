"""Layouts: the physical order in which a tensor's logical axes are stored.

`"NHWC"` stores an activation whose logical order is NCHW with its channels innermost; `"NCHW16c"` splits channels
into blocks of 16 and stores the position inside the block innermost. A layout never changes a value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rlx_base.errors import VerifyError
from rlx_base.span import Span
from rlx_ir.dims import Dim, add, floor_div

__all__ = ["LOGICAL_ORDERS", "Layout", "PhysicalDim"]

# The logical orders of each role; a layout's letters select one of them.
LOGICAL_ORDERS: Final = ("NC", "NCW", "NCHW", "NCDHW", "OI", "OIW", "OIHW", "OIDHW", "R", "RC")

_TOKEN: Final = re.compile(r"([A-Z])|([1-9][0-9]{0,3})([a-z])")


@dataclass(frozen=True, slots=True)
class PhysicalDim:
    """One stored dimension: logical axis `axis`, whole (`block` None, or the block number) or inside a block."""

    axis: int
    inside: int | None = None  # the block size, where this is the position inside a block


@dataclass(frozen=True, slots=True)
class Layout:
    """`text` as written, the logical order its letters belong to, and the stored dimensions from outer to inner."""

    text: str
    logical: str
    physical: tuple[PhysicalDim, ...]

    @staticmethod
    def parse(text: str, rank: int, at: Span | None = None) -> Layout:
        """The layout that `text` names for a tensor of this rank. Raises E120 where its letters fit none."""
        tokens = _TOKEN.findall(text)
        letters = [upper for upper, _, _ in tokens if upper]
        joined = "".join(upper or number + lower for upper, number, lower in tokens)
        logical = next((o for o in LOGICAL_ORDERS if len(o) == rank and sorted(o) == sorted(letters)), None)
        blocks = [(lower.upper(), int(number)) for upper, number, lower in tokens if not upper]
        repeated = len({letter for letter, _ in blocks}) != len(blocks)
        if joined != text or logical is None or repeated or any(letter not in letters for letter, _ in blocks):
            raise VerifyError("E120", at=at, layout=text, rank=rank)
        physical = tuple(
            PhysicalDim(logical.index(upper)) if upper else PhysicalDim(logical.index(lower.upper()), int(number))
            for upper, number, lower in tokens
        )
        return Layout(text, logical, physical)

    @property
    def blocks(self) -> dict[int, int]:
        """Block size of each blocked logical axis."""
        return {dim.axis: dim.inside for dim in self.physical if dim.inside is not None}

    @property
    def is_plain(self) -> bool:
        """Whether storage is the logical order itself."""
        return self.text == self.logical

    def letter(self, axis: int) -> str:
        return self.logical[axis]

    def stored_shape(self, shape: Sequence[Dim]) -> tuple[Dim, ...]:
        """The stored shape of a logical shape; a blocked axis is rounded up to whole blocks."""
        blocks = self.blocks
        stored: list[Dim] = []
        for dim in self.physical:
            if dim.inside is not None:
                stored.append(dim.inside)
            elif (block := blocks.get(dim.axis)) is not None:
                stored.append(floor_div(add(shape[dim.axis], block - 1), block))
            else:
                stored.append(shape[dim.axis])
        return tuple(stored)

    def pack(self, array: NDArray[np.generic]) -> NDArray[np.generic]:
        """A logical array in stored order, C-contiguous; the rest of a last block is zero."""
        blocks = self.blocks
        padded = np.pad(array, [(0, -size % blocks.get(axis, 1)) for axis, size in enumerate(array.shape)])
        split: list[int] = []
        position: dict[tuple[int, bool], int] = {}
        for axis, size in enumerate(padded.shape):
            position[axis, False] = len(split)
            if block := blocks.get(axis):
                split += [size // block, block]
                position[axis, True] = len(split) - 1
            else:
                split.append(size)
        order = [position[dim.axis, dim.inside is not None] for dim in self.physical]
        return np.ascontiguousarray(padded.reshape(split).transpose(order))

    def unpack(self, stored: NDArray[np.generic], shape: Sequence[int]) -> NDArray[np.generic]:
        """The logical array of this shape from its stored form; the inverse of `pack`."""
        order = sorted(
            range(len(self.physical)), key=lambda i: (self.physical[i].axis, self.physical[i].inside is not None)
        )
        blocks = self.blocks
        merged = [-(-size // blocks.get(axis, 1)) * blocks.get(axis, 1) for axis, size in enumerate(shape)]
        logical = stored.transpose(order).reshape(merged)
        return np.ascontiguousarray(logical[tuple(slice(0, size) for size in shape)])

    def __str__(self) -> str:
        return self.text
