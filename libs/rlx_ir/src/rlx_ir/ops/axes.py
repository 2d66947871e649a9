"""The names of iteration axes: what a `compute_schedule` calls the dimensions of a result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlx_base.dtypes import INDEX
from rlx_ir.dims import Dim
from rlx_ir.expr import Axis, Read, Tensor, literal

__all__ = ["axis_names", "read_broadcast", "reduced_axes", "result_axes"]

_BY_RANK: Final[dict[int, tuple[str, ...]]] = {
    1: ("column",),
    2: ("row", "column"),
    3: ("batch", "row", "column"),
    4: ("batch", "output_channel", "height", "width"),
    5: ("batch", "output_channel", "depth", "height", "width"),
}


def axis_names(rank: int) -> tuple[str, ...]:
    """The axis names of a result of this rank; a rank without names of its own counts dim0, dim1, …"""
    return _BY_RANK.get(rank) or tuple(f"dim{i}" for i in range(rank))


def result_axes(shape: Sequence[Dim]) -> tuple[Axis, ...]:
    """The axes of a result of this shape."""
    return tuple(Axis(name, size) for name, size in zip(axis_names(len(shape)), shape, strict=True))


def reduced_axes(extents: Sequence[Dim]) -> tuple[Axis, ...]:
    """The axes that a reduction runs over: `reduce` where there is one, else reduce0, reduce1, …"""
    if len(extents) == 1:
        return (Axis("reduce", extents[0]),)
    return tuple(Axis(f"reduce{i}", size) for i, size in enumerate(extents))


def read_broadcast(tensor: Tensor, axes: Sequence[Axis]) -> Read:
    """The element of `tensor` that broadcasting brings to the place `axes`: aligned at the right, size 1 repeats."""
    aligned = axes[len(axes) - tensor.rank :]
    indices = (
        axis if size == axis.extent else literal(0, INDEX) for size, axis in zip(tensor.shape, aligned, strict=True)
    )
    return Read(tensor, tuple(indices))
