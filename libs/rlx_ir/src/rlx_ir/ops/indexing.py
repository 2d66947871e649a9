"""Ops that read at places that another tensor gives: gather and its kin, one_hot, reverse_sequence.

An index below 0 counts from the end, as in NumPy; one beyond the dimension is brought to its nearest place, so that
nothing is ever read out of bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rlx_base.dtypes import BOOL, INDEX
from rlx_ir.dims import Dim, Shape
from rlx_ir.expr import Expr, Tensor, apply, cast, clamp, define, extent, literal, minimum, select
from rlx_ir.op import Array, Op, register
from rlx_ir.ops.axes import result_axes
from rlx_ir.ops.rules import check_dtype, inherit, position, refuse
from rlx_ir.types import TensorType

__all__ = [
    "Gather",
    "GatherElements",
    "GatherND",
    "OneHot",
    "ReverseSequence",
    "check_readable",
    "check_within",
    "place_in",
    "places_in",
]


def place_in(index: Expr, size: Dim) -> Expr:
    """An index of a tensor's element as a place of a dimension: from the end below 0, and never out of bounds."""
    at = cast(index, INDEX)
    return clamp(select(at < 0, at + extent(size), at), 0, extent(size) - 1)


def places_in(indices: Array, size: int) -> Array:
    """The same by NumPy."""
    at = indices.astype(np.int64)
    return np.clip(np.where(at < 0, at + size, at), 0, max(size - 1, 0))


def check_readable(op: str, size: Dim, indices: Shape) -> None:
    """That a dimension has elements to read, unless nothing is read. Raises E110."""
    if size == 0 and 0 not in indices:
        raise refuse(op, "the indexed dimension is 0: nothing to read", "give it at least one element")


@register
@dataclass(frozen=True, slots=True)
class Gather(Op):
    """y[…, i…, …] = x[…, indices[i…], …]: whole slices of x along `axis`, which `indices` chooses.

    Shapes: x (…, d, …), indices (i…) → (…, i…, …). Errors: E110 for indices that are no integers, or an empty d.
    Source: ONNX Gather-13.
    """

    name = "gather"
    operands = ("x", "indices")

    axis: int = 0

    def infer(self, x: TensorType, indices: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "indices", indices.dtype, "integer")
        axis = position(self.name, self.axis, x.rank)
        check_readable(self.name, x.shape[axis], indices.shape)
        return (inherit(x, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])),)

    def expression(self, x: Tensor, indices: Tensor) -> tuple[Tensor, ...]:
        axis = position(self.name, self.axis, x.rank)
        axes = result_axes((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))
        end = axis + indices.rank
        at = place_in(indices[axes[axis:end]], x.shape[axis])
        return (define("output", axes, x[(*axes[:axis], at, *axes[end:])]),)

    def reference(self, x: Array, indices: Array) -> tuple[Array, ...]:
        axis = position(self.name, self.axis, x.ndim)
        if x.shape[axis] == 0:
            return (np.zeros((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype),)
        return (np.asarray(np.take(x, places_in(indices, x.shape[axis]), axis)),)


@register
@dataclass(frozen=True, slots=True)
class GatherElements(Op):
    """y[…, i, …] = x[…, indices[…, i, …], …]: one element of x for each of `indices`, along `axis`.

    Shapes: indices of x's rank, in the other dimensions no larger than x → the shape of indices.
    Errors: E110 where they do not fit. Source: ONNX GatherElements-13.
    """

    name = "gather_elements"
    operands = ("x", "indices")

    axis: int = 0

    def infer(self, x: TensorType, indices: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "indices", indices.dtype, "integer")
        axis = position(self.name, self.axis, x.rank)
        check_within(self.name, axis, x, indices, "indices")
        check_readable(self.name, x.shape[axis], indices.shape)
        return (inherit(x, indices.shape),)

    def expression(self, x: Tensor, indices: Tensor) -> tuple[Tensor, ...]:
        axis = position(self.name, self.axis, x.rank)
        axes = result_axes(indices.shape)
        at = place_in(indices[axes], x.shape[axis])
        return (define("output", axes, x[(*axes[:axis], at, *axes[axis + 1 :])]),)

    def reference(self, x: Array, indices: Array) -> tuple[Array, ...]:
        axis = position(self.name, self.axis, x.ndim)
        at: list[Any] = list(np.indices(indices.shape, sparse=True))
        at[axis] = places_in(indices, x.shape[axis])
        return (np.zeros(indices.shape, x.dtype) if indices.size == 0 else np.asarray(x[tuple(at)]),)


def check_within(op: str, axis: int, x: TensorType, other: TensorType, name: str) -> None:
    """That `other` has x's rank and, but for `axis`, no dimension larger than x's. Raises E110."""
    fits = other.rank == x.rank and all(
        place == axis or (a == b or (isinstance(a, int) and isinstance(b, int) and a <= b))
        for place, (a, b) in enumerate(zip(other.shape, x.shape, strict=False))
    )
    if not fits:
        raise refuse(
            op, f"{name} is {other}, x is {x}", f"equal ranks, and no dimension but {axis} larger than that of x"
        )


@register
@dataclass(frozen=True, slots=True)
class GatherND(Op):
    """y[b…, i…, r…] = x[b…, indices[b…, i…, 0], …, indices[b…, i…, m − 1], r…], b… the first `batch_dims` dimensions.

    Shapes: x (b…, d₁ … d_m, r…), indices (b…, i…, m) → (b…, i…, r…).
    Errors: E110 where they do not fit, or m is not known. Source: ONNX GatherND-13.
    """

    name = "gather_nd"
    operands = ("x", "indices")

    batch_dims: int = 0

    def _count(self, x: Shape, indices: Shape) -> int:
        count = indices[-1] if indices else None
        most = len(x) - self.batch_dims
        if not isinstance(count, int) or not 1 <= count <= most or not 0 <= self.batch_dims < len(indices):
            raise refuse(
                self.name,
                f"indices are {list(map(str, indices))}, x is {list(map(str, x))}, batch_dims={self.batch_dims}",
                f"the last dimension of indices holds 1 to {most} indices",
            )
        return count

    def _shape(self, x: Shape, indices: Shape) -> Shape:
        return (*indices[:-1], *x[self.batch_dims + self._count(x, indices) :])

    def infer(self, x: TensorType, indices: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "indices", indices.dtype, "integer")
        shape = self._shape(x.shape, indices.shape)
        batch = self.batch_dims
        if x.shape[:batch] != indices.shape[:batch]:
            raise refuse(self.name, f"x is {x}, indices are {indices}", f"the first {batch} dimensions are equal")
        for size in x.shape[batch : batch + self._count(x.shape, indices.shape)]:
            check_readable(self.name, size, indices.shape)
        return (inherit(x, shape),)

    def expression(self, x: Tensor, indices: Tensor) -> tuple[Tensor, ...]:
        count, batch = self._count(x.shape, indices.shape), self.batch_dims
        axes = result_axes(self._shape(x.shape, indices.shape))
        lead = axes[: indices.rank - 1]
        at = [place_in(indices[(*lead, literal(k, INDEX))], x.shape[batch + k]) for k in range(count)]
        return (define("output", axes, x[(*axes[:batch], *at, *axes[indices.rank - 1 :])]),)

    def reference(self, x: Array, indices: Array) -> tuple[Array, ...]:
        count, batch = self._count(x.shape, indices.shape), self.batch_dims
        y = np.zeros((*indices.shape[:-1], *x.shape[batch + count :]), x.dtype)
        for lead in np.ndindex(indices.shape[:-1]):
            if y.size:
                at = [int(places_in(indices[(*lead, k)], x.shape[batch + k])) for k in range(count)]
                y[lead] = x[(*lead[:batch], *at)]
        return (y,)


@register
@dataclass(frozen=True, slots=True)
class OneHot(Op):
    """y[…, k, …] = whether indices[…] is k: a new dimension of `depth` places at `axis`, one of them true.

    An index outside of −depth … depth − 1 gives no true place. Shapes: (i…) → (i…) with depth put in at `axis`.
    Errors: E110 for indices that are no integers, or a depth below 0. Source: ONNX OneHot-11.
    """

    name = "one_hot"
    operands = ("indices",)

    depth: int
    axis: int = -1

    def _shape(self, indices: Shape) -> tuple[int, Shape]:
        axis = position(self.name, self.axis, len(indices) + 1)
        return axis, (*indices[:axis], self.depth, *indices[axis:])

    def infer(self, indices: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "indices", indices.dtype, "integer")
        if self.depth < 0:
            raise refuse(self.name, f"depth is {self.depth}", "give a number ≥ 0")
        return (inherit(indices, self._shape(indices.shape)[1], BOOL),)

    def expression(self, indices: Tensor) -> tuple[Tensor, ...]:
        axis, shape = self._shape(indices.shape)
        axes = result_axes(shape)
        at = cast(indices[axes[:axis] + axes[axis + 1 :]], INDEX)
        return (define("output", axes, apply("eq", select(at < 0, at + self.depth, at), axes[axis])),)

    def reference(self, indices: Array) -> tuple[Array, ...]:
        axis, _ = self._shape(indices.shape)
        at = indices.astype(np.int64)
        at = np.expand_dims(np.where(at < 0, at + self.depth, at), axis)
        places = np.arange(self.depth).reshape([-1 if i == axis else 1 for i in range(indices.ndim + 1)])
        return (np.asarray(at == places),)


@register
@dataclass(frozen=True, slots=True)
class ReverseSequence(Op):
    """x with the first lengths[b] places of each sequence b in reverse order, the others as they are.

    Shapes: x with a batch and a time dimension among its dimensions, lengths (batch) → the shape of x.
    Errors: E110 where they do not fit. Source: ONNX ReverseSequence-10.
    """

    name = "reverse_sequence"
    operands = ("x", "lengths")

    batch_axis: int = 1
    time_axis: int = 0

    def infer(self, x: TensorType, lengths: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "lengths", lengths.dtype, "integer")
        batch, time = (position(self.name, axis, x.rank) for axis in (self.batch_axis, self.time_axis))
        if batch == time or lengths.shape != (x.shape[batch],):
            raise refuse(self.name, f"x is {x}, lengths are {lengths}", f"one length per place of dimension {batch}")
        return (inherit(x, x.shape),)

    def expression(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, ...]:
        batch, time = (position(self.name, axis, x.rank) for axis in (self.batch_axis, self.time_axis))
        axes = result_axes(x.shape)
        length = minimum(cast(lengths[axes[batch]], INDEX), extent(x.shape[time]))
        at = select(axes[time] < length, length - 1 - axes[time], axes[time])
        return (define("output", axes, x[(*axes[:time], at, *axes[time + 1 :])]),)

    def reference(self, x: Array, lengths: Array) -> tuple[Array, ...]:
        batch, time = (position(self.name, axis, x.ndim) for axis in (self.batch_axis, self.time_axis))
        moved = np.moveaxis(x, (batch, time), (0, 1)).copy()
        for row, length in enumerate(np.minimum(lengths.astype(np.int64), x.shape[time]).tolist()):
            moved[row, : max(length, 0)] = moved[row, : max(length, 0)][::-1].copy()
        return (np.ascontiguousarray(np.moveaxis(moved, (0, 1), (batch, time))).reshape(x.shape),)
