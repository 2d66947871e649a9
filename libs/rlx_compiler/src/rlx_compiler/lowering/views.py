"""Values that need no code: a stage that only reads another value, each element from where it would be written to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rlx_compiler.lowering.collapse import collapse
from rlx_compiler.lowering.storage import physical
from rlx_ir.expr import Apply, Axis, Expr, Literal, Read, Tensor
from rlx_ir.layout import Layout
from rlx_ir.scalar import SCALARS

__all__ = ["offsets", "viewed"]

_MOST_TRIED: Final = 1 << 22  # elements; a larger reshape is a copy


def viewed(defined: Tensor, layouts: Mapping[str, Layout | None]) -> str | None:
    """The value whose memory the tensor can share: it holds the same elements in the same order; or None."""
    if not isinstance(defined.body, Read):
        return None
    stage = collapse(physical(defined, layouts))
    read = stage.body
    if not isinstance(read, Read) or read.tensor.dtype != stage.output.dtype:
        return None
    sizes = [axis.extent for axis in stage.axes]
    source = [size for size in read.tensor.shape if isinstance(size, int)]
    counts = [size for size in sizes if isinstance(size, int)]
    if len(counts) != len(sizes) or np.prod(counts) != np.prod(source):
        return None
    if read.tensor.shape == stage.output.shape and read.indices == stage.indices:
        return read.tensor.name
    places = offsets(read, stage.axes)
    expected = np.arange(int(np.prod(counts)), dtype=np.int64)
    return read.tensor.name if places is not None and np.array_equal(places.reshape(-1), expected) else None


def offsets(read: Read, axes: Sequence[Axis]) -> NDArray[np.int64] | None:
    """Where in the tensor's memory, in elements, each place of the axes reads; None where that depends on data, or
    there are too many."""
    counts = [axis.extent for axis in axes if isinstance(axis.extent, int)]
    if len(counts) != len(axes) or np.prod(counts) > _MOST_TRIED:
        return None
    grids = dict(zip(axes, np.indices(counts, np.int64, sparse=True), strict=True))
    offset: NDArray[np.int64] = np.zeros((), np.int64)
    for index, size in zip(read.indices, read.tensor.shape, strict=True):
        place = _evaluate(index, grids)
        if place is None or not isinstance(size, int):
            return None
        offset = offset * size + place
    return np.broadcast_to(offset, counts)


def _evaluate(expr: Expr, grids: Mapping[Axis, NDArray[np.int64]]) -> NDArray[np.int64] | None:
    match expr:
        case Literal(value):
            return np.asarray(int(value), np.int64)
        case Axis():
            return grids.get(expr)
        case Apply(function, arguments) if function != "select":
            values = [_evaluate(argument, grids) for argument in arguments]
            if any(value is None for value in values):
                return None
            return np.asarray(SCALARS[function].apply(*values), np.int64)
    return None
