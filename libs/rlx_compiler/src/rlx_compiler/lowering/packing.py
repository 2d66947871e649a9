"""Constants in the order in which a nest reads them, made once at compile time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlx_compiler.lowering.storage import Stage
from rlx_compiler.lowering.substitute import map_reads
from rlx_compiler.schedule.plan import Packing
from rlx_ir.expr import Expr, Read, Tensor, apply

__all__ = ["pack_array", "with_packings"]


def packed_tensor(packing: Packing) -> Tensor:
    """The packed constant as something to read."""
    return Tensor(packing.tensor.name, packing.shape, packing.tensor.dtype)


def with_packings(stage: Stage, packings: Sequence[Packing]) -> Stage:
    """The stage reading packed constants."""
    by_tensor = {packing.tensor: packing for packing in packings}

    def change(read: Read) -> Expr:
        packing = by_tensor.get(read.tensor)
        if packing is None:
            return read
        blocked = read.indices[packing.order[-1]]
        between = tuple(read.indices[place] for place in packing.order[:-1])
        number, inside = apply("floor_div", blocked, packing.block), apply("mod", blocked, packing.block)
        return Read(packed_tensor(packing), (number, *between, inside))

    return replace(stage, body=map_reads(stage.body, change)) if by_tensor else stage


def pack_array(elements: NDArray[Any], packing: Packing | None) -> NDArray[np.generic]:
    """The elements in packed order, flat; in their own where there is no packing."""
    if packing is None:
        return np.ascontiguousarray(elements).reshape(-1)
    shape = [size for size in packing.tensor.shape if isinstance(size, int)]
    array = elements.reshape(shape).transpose(packing.order)
    padded = np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, -array.shape[-1] % packing.block)])
    blocks = padded.reshape(*padded.shape[:-1], -1, packing.block)
    return np.ascontiguousarray(np.moveaxis(blocks, -2, 0)).reshape(-1)
