"""Ops that keep some elements, how many of which only the data says: compress, non_zero, unique.

A result has a shape, so its number of places, `count`, is an attribute: what a model declares. With fewer elements to
keep, the places that are left hold what the op says; with more, the last ones are cut.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rlx_base.dtypes import INDEX, INT64
from rlx_ir.dims import Shape
from rlx_ir.expr import Axis, Expr, Tensor, apply, cast, clamp, define, least, literal, select, total
from rlx_ir.op import Array, Op, register
from rlx_ir.ops.axes import result_axes
from rlx_ir.ops.rules import check_dtype, inherit, position, refuse
from rlx_ir.ops.selection import same
from rlx_ir.types import TensorType

__all__ = ["Compress", "NonZero", "Unique", "flat_size", "kept_places", "unravelled"]


def flat_size(op: str, shape: Shape) -> int:
    """The number of elements. Raises E110 where it is not known."""
    sizes = [size for size in shape if isinstance(size, int)]
    if len(sizes) != len(shape):
        raise refuse(op, f"x has the shape {list(map(str, shape))}", "it takes tensors whose sizes are numbers")
    return math.prod(sizes)


def check_count(op: str, count: int, size: int) -> None:
    """That so many places can be filled."""
    if not 0 <= count <= size:
        raise refuse(op, f"count is {count} of {size} elements", f"choose a count from 0 to {size}")


def unravelled(flat: Expr, shape: Shape) -> tuple[Expr, ...]:
    """The indices of the element that stands at a place of the row-major order."""
    indices: list[Expr] = []
    for size in reversed(shape):
        assert isinstance(size, int)
        indices.insert(0, flat % size)
        flat = flat // size
    return tuple(indices)


def kept_places(kept: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Of a row of 0 and 1: for p < count the place of the p-th 1, or 0; and how many ones there are in all.

    In blocks of √n, so that n places take n·√n steps: first the block is found in which the p-th 1 is, then its place.
    """
    (size,) = kept.shape
    assert isinstance(size, int)
    zero, place = literal(0, INDEX), Axis("column", count)
    if size == 0:
        return define("places", (place,), zero), define("found", (), zero)
    length = math.isqrt(size - 1) + 1
    block, inside = Axis("row", -(-size // length)), Axis("within", length)

    def at(number: Expr, offset: Expr) -> Expr:
        flat = number * length + offset
        return select(flat < size, kept[flat], zero)

    sums = define("sums", (block,), total(at(block, inside), over=(inside,)))
    other = Axis("earlier", block.extent)
    ends = define("ends", (block,), total(select(other <= block, sums[other], zero), over=(other,)))
    here = Axis("inner", length)
    earlier = total(select(inside < here, at(block, inside), zero), over=(inside,))
    ranks = define("ranks", (block, here), earlier)
    passed = total(select(ends[other] <= place, literal(1, INDEX), zero), over=(other,))
    mine = clamp(define("block", (place,), passed)[place], 0, -(-size // length) - 1)
    rank = define("rank", (place,), place - select(mine > 0, ends[clamp(mine - 1, 0, -(-size // length) - 1)], zero))[
        place
    ]
    hit = apply("and", apply("eq", at(mine, inside), 1), apply("eq", ranks[mine, inside], rank))
    places = define("places", (place,), total(select(hit, mine * length + inside, zero), over=(inside,)))
    return places, define("found", (), total(sums[other], over=(other,)))


@register
@dataclass(frozen=True, slots=True)
class Compress(Op):
    """The slices of x along `axis` (of its elements as one row, by default) at whose place the condition is true.

    Places beyond the last true one hold 0. Shapes: x (…, d, …), condition (c) with c ≤ d → (…, count, …).
    Errors: E110 where they do not fit. Source: ONNX Compress-11, with the count as attribute.
    """

    name = "compress"
    operands = ("x", "condition")

    count: int
    axis: int | None = None

    def _shape(self, x: Shape, condition: Shape) -> Shape:
        shape: Shape = (self.count,)
        if self.axis is None:
            size = flat_size(self.name, x)
        else:
            axis = position(self.name, self.axis, len(x))
            shape, size = (*x[:axis], self.count, *x[axis + 1 :]), flat_size(self.name, x[axis : axis + 1])
        known = condition[0] if len(condition) == 1 else None
        if not isinstance(known, int) or known > size:
            raise refuse(self.name, f"the condition has the shape {list(map(str, condition))}", f"[c] with c ≤ {size}")
        check_count(self.name, self.count, known)
        return shape

    def infer(self, x: TensorType, condition: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "condition", condition.dtype, "bool")
        return (inherit(x, self._shape(x.shape, condition.shape)),)

    def expression(self, x: Tensor, condition: Tensor) -> tuple[Tensor, ...]:
        axes = result_axes(self._shape(x.shape, condition.shape))
        here = Axis("column", condition.shape[0])
        kept = define("kept", (here,), select(condition[here], literal(1, INDEX), literal(0, INDEX)))
        places, found = kept_places(kept, self.count)
        axis = 0 if self.axis is None else position(self.name, self.axis, x.rank)
        at = places[axes[axis]]
        element = x[unravelled(at, x.shape) if self.axis is None else (*axes[:axis], at, *axes[axis + 1 :])]
        return (define("output", axes, select(axes[axis] < found[()], element, literal(0, x.dtype))),)

    def reference(self, x: Array, condition: Array) -> tuple[Array, ...]:
        shape = tuple(size for size in self._shape(x.shape, condition.shape) if isinstance(size, int))
        axis = 0 if self.axis is None else position(self.name, self.axis, x.ndim)
        kept = np.flatnonzero(condition)[: self.count]
        y = np.zeros(shape, x.dtype)
        y[(*[slice(None)] * axis, slice(kept.size))] = np.take(x, kept, self.axis)
        return (y,)


@register
@dataclass(frozen=True, slots=True)
class NonZero(Op):
    """The indices of the elements that are not 0, one column each, in row-major order; zeros beyond the last.

    Shapes: x (d₁ … d_r) → (r, count), int64. Errors: E110 for a rank of 0 or a count above the number of elements.
    Source: ONNX NonZero-13, with the count as attribute.
    """

    name = "non_zero"
    operands = ("x",)

    count: int

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        if x.rank == 0:
            raise refuse(self.name, "x has no dimensions", "rlx.unsqueeze gives it one")
        check_count(self.name, self.count, flat_size(self.name, x.shape))
        return (TensorType((x.rank, self.count), INT64),)

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        here = Axis("column", flat_size(self.name, x.shape))
        element = x[unravelled(here, x.shape)]
        some = element if element.dtype.kind == "bool" else apply("ne", element, literal(0, element.dtype))
        kept = define("kept", (here,), select(some, literal(1, INDEX), literal(0, INDEX)))
        places, found = kept_places(kept, self.count)
        axes = result_axes((x.rank, self.count))
        indices = unravelled(places[axes[1]], x.shape)
        chosen = indices[-1]
        for dim in reversed(range(x.rank - 1)):
            chosen = select(apply("eq", axes[0], dim), indices[dim], chosen)
        return (define("output", axes, cast(select(axes[1] < found[()], chosen, literal(0, INDEX)), INT64)),)

    def reference(self, x: Array) -> tuple[Array, ...]:
        found = np.array(np.nonzero(x), np.int64)[:, : self.count]
        y = np.zeros((x.ndim, self.count), np.int64)
        y[:, : found.shape[1]] = found
        return (y,)


@register
@dataclass(frozen=True, slots=True)
class Unique(Op):
    """The elements of x (or its slices along `axis`), each once: rising, or in the order of their first appearance.

    Gives them, the index of the first of each, for every element its place among them, and how often each is there.
    NaN equals NaN and comes last. With fewer than `count`, index 0 fills the rest, counted 0 times.
    Shapes: x → (count) or (…, count, …), (count), (n), (count), with n elements or slices; all but the first int64.
    Errors: E110 for a count above n. Source: ONNX Unique-11, with the count as attribute.
    """

    name = "unique"
    operands = ("x",)
    results = ("output", "indices", "inverse", "counts")

    count: int
    axis: int | None = None
    sorted: bool = True

    def _rows(self, x: Shape) -> tuple[int, Shape, Shape]:
        """How many rows are compared, the shape of one, and that of the result."""
        rest: Shape = ()
        shape: Shape = (self.count,)
        if self.axis is None:
            size = flat_size(self.name, x)
        else:
            axis = position(self.name, self.axis, len(x))
            size, rest = flat_size(self.name, x[axis : axis + 1]), x[:axis] + x[axis + 1 :]
            flat_size(self.name, rest)
            shape = (*x[:axis], self.count, *x[axis + 1 :])
        check_count(self.name, self.count, size)
        return size, rest, shape

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        size, _, shape = self._rows(x.shape)
        counted = TensorType((self.count,), INT64)
        return inherit(x, shape), counted, TensorType((size,), INT64), counted

    def _element(self, x: Tensor, row: Expr, flat: Expr) -> Expr:
        """An element of a row, by its place in the row-major order of the row."""
        if self.axis is None:
            return x[unravelled(row, x.shape)]
        axis = position(self.name, self.axis, x.rank)
        inner = unravelled(flat, x.shape[:axis] + x.shape[axis + 1 :])
        return x[(*inner[:axis], row, *inner[axis:])]

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        size, rest, shape = self._rows(x.shape)
        length = flat_size(self.name, rest)
        zero, one = literal(0, INDEX), literal(1, INDEX)
        a, b = Axis("row", size), Axis("column", size)
        flat = Axis("reduce", length)
        differ = select(same(self._element(x, a, flat), self._element(x, b, flat)), length, flat)
        where = define("differ", (a, b), least(differ, over=(flat,)))
        at = clamp(where[a, b], 0, max(length - 1, 0))
        before = _below(self._element(x, a, at), self._element(x, b, at)) if length else (a < a)
        equal = define("equal", (a, b), select(where[a, b] >= length, one, zero))
        below = define("below", (a, b), select(where[a, b] < length, select(before, one, zero), zero))
        other = Axis("reduce", size)
        earlier = select(apply("and", apply("eq", equal[other, b], 1), other < b), zero, one)
        first = define("first", (b,), least(earlier, over=(other,)))
        ahead = first[other] * below[other, b] if self.sorted else select(other < b, first[other], zero)
        rank = define("rank", (b,), total(ahead, over=(other,)))
        place = Axis("column", self.count)
        mine = apply("and", apply("eq", first[other], 1), apply("eq", rank[other], place))
        index = define("index", (place,), total(select(mine, other, zero), over=(other,)))
        group = apply("and", apply("eq", first[other], 1), apply("eq", equal[other, b], 1))
        inverse = define("inverse", (b,), cast(total(select(group, rank[other], zero), over=(other,)), INT64))
        hits = select(apply("eq", cast(inverse[other], INDEX), place), one, zero)
        counts = define("counts", (place,), cast(total(hits, over=(other,)), INT64))
        axes = result_axes(shape)
        axis = 0 if self.axis is None else position(self.name, self.axis, x.rank)
        chosen = index[axes[axis]]
        y = x[unravelled(chosen, x.shape) if self.axis is None else (*axes[:axis], chosen, *axes[axis + 1 :])]
        indices = define("indices", (place,), cast(index[place], INT64))
        return define("output", axes, y), indices, inverse, counts

    def reference(self, x: Array) -> tuple[Array, ...]:
        size, _, _ = self._rows(x.shape)
        moved = x.reshape(size, 1) if self.axis is None else np.moveaxis(x, self.axis, 0)
        rows = moved.reshape(size, math.prod(moved.shape[1:]))
        keys = [tuple((value != value, 0 if value != value else value) for value in row.tolist()) for row in rows]
        first: dict[tuple[tuple[bool, float], ...], int] = {}
        for place, key in enumerate(keys):
            first.setdefault(key, place)
        order = sorted(first) if self.sorted else list(first)
        rank = {key: place for place, key in enumerate(order)}
        inverse = np.array([rank[key] for key in keys], np.int64).reshape(size)
        indices = np.zeros(self.count, np.int64)
        found = [first[key] for key in order[: self.count]]
        indices[: len(found)] = found
        counts = np.bincount(inverse, minlength=self.count)[: self.count].astype(np.int64)
        return np.take(x, indices, self.axis).copy(), indices, inverse, counts


def _below(a: Expr, b: Expr) -> Expr:
    if a.dtype.kind == "bool":
        return apply("and", apply("not", a), b)
    if not a.dtype.is_float:
        return a < b
    return apply("or", a < b, apply("and", apply("is_nan", b), apply("not", apply("is_nan", a))))
