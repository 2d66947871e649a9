"""Ops that choose elements by their order: argmax, argmin, top_k.

NaN comes first in every order (it is the greatest for argmax and top_k, the least for argmin and `largest=False`), and
of equal elements the one with the smaller index.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlx_base.dtypes import INDEX, INT64
from rlx_ir.dims import Shape
from rlx_ir.expr import (
    Axis,
    Expr,
    Tensor,
    apply,
    cast,
    define,
    extent,
    greatest,
    identity,
    least,
    literal,
    select,
    total,
)
from rlx_ir.op import Array, Op, as_arrays, register
from rlx_ir.ops.axes import result_axes
from rlx_ir.ops.rules import check_dtype, inherit, position, refuse
from rlx_ir.types import TensorType

__all__ = ["ArgMax", "ArgMin", "TopK", "top_k_stages"]

# Up to so many elements, each is selected in a pass of its own, O(k·n); above, all ranks are counted once, O(n²).
_SELECTED = 16


def before(a: Expr, b: Expr, largest: bool) -> Expr:
    """Whether value a comes before value b."""
    ahead = a > b if largest else a < b
    if not a.dtype.is_float:
        return ahead
    return apply("or", ahead, apply("and", apply("is_nan", a), apply("not", apply("is_nan", b))))


def same(a: Expr, b: Expr) -> Expr:
    """Whether two values stand at the same place of the order."""
    equal = apply("eq", a, b)
    if not a.dtype.is_float:
        return equal
    return apply("or", equal, apply("and", apply("is_nan", a), apply("is_nan", b)))


class _Arg(Op):
    operands = ("x",)

    axis: int
    keepdims: bool

    def _shape(self, shape: Shape) -> tuple[int, Shape]:
        axis = position(self.name, self.axis, len(shape))
        if shape[axis] == 0:
            raise refuse(self.name, f"dimension {axis} is 0: nothing to choose from", "give it at least one element")
        return axis, (*shape[:axis], *((1,) if self.keepdims else ()), *shape[axis + 1 :])

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "x", x.dtype, "number")
        return (inherit(x, self._shape(x.shape)[1], INT64),)

    def _expression(self, x: Tensor, largest: bool) -> tuple[Tensor, ...]:
        axis, shape = self._shape(x.shape)
        axes = result_axes(shape)
        rest = axes[:axis] + axes[axis + (1 if self.keepdims else 0) :]
        reduce = Axis("reduce", x.shape[axis])
        element = x[(*rest[:axis], reduce, *rest[axis:])]
        best = define("best", axes, (greatest if largest else least)(element, over=(reduce,)))
        index = select(same(element, best[axes]), reduce, extent(x.shape[axis]))
        return (define("output", axes, cast(least(index, over=(reduce,)), INT64)),)


@register
@dataclass(frozen=True, slots=True)
class ArgMax(_Arg):
    """y = the index of the greatest x along an axis, as int64; the first of equal ones, and of NaNs.

    Errors: E110 for an axis that is not there or has no elements. Source: ONNX ArgMax-13.
    """

    name = "arg_max"

    axis: int = 0
    keepdims: bool = True

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        return self._expression(x, largest=True)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.argmax(x, axis=self.axis, keepdims=self.keepdims)])


@register
@dataclass(frozen=True, slots=True)
class ArgMin(_Arg):
    """y = the index of the least x along an axis, as int64; the first of equal ones, and of NaNs.

    Errors: E110 for an axis that is not there or has no elements. Source: ONNX ArgMin-13.
    """

    name = "arg_min"

    axis: int = 0
    keepdims: bool = True

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        return self._expression(x, largest=False)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.argmin(x, axis=self.axis, keepdims=self.keepdims)])


def top_k_stages(x: Tensor, axis: int, k: int, largest: bool = True) -> tuple[Tensor, Tensor]:
    """The k first elements along an axis in the order, and their indices."""
    stages = _selected if k <= _SELECTED else _ranked
    return stages(x, axis, k, largest)


def _selected(x: Tensor, axis: int, k: int, largest: bool) -> tuple[Tensor, Tensor]:
    """One pass per element: the first of those that come after the one before."""
    axes = result_axes((*x.shape[:axis], k, *x.shape[axis + 1 :]))
    rest = axes[:axis] + axes[axis + 1 :]
    reduce = Axis("reduce", x.shape[axis])
    element = x[(*axes[:axis], reduce, *axes[axis + 1 :])]
    nothing = identity("max" if largest else "min", x.dtype)
    best, size = greatest if largest else least, extent(x.shape[axis])
    values: list[Tensor] = []
    indices: list[Tensor] = []
    for number in range(k):
        left: Expr | bool = True
        if number:
            value, index = values[-1][rest], indices[-1][rest]
            left = apply("or", before(value, element, largest), apply("and", same(value, element), index < reduce))
        values.append(define(f"value{number}", rest, best(select(left, element, nothing), over=(reduce,))))
        chosen = same(element, values[-1][rest])
        chosen = chosen if left is True else apply("and", left, chosen)
        indices.append(define(f"index{number}", rest, least(select(chosen, reduce, size), over=(reduce,))))
    return (
        define("values", axes, _pick(axes[axis], [value[rest] for value in values], literal(0, x.dtype))),
        define("indices", axes, cast(_pick(axes[axis], [index[rest] for index in indices], literal(0, INDEX)), INT64)),
    )


def _pick(place: Axis, choices: list[Expr], nothing: Expr) -> Expr:
    """choices[place]."""
    picked = choices[-1] if choices else nothing
    for number in range(len(choices) - 2, -1, -1):
        picked = select(apply("eq", place, number), choices[number], picked)
    return picked


def _ranked(x: Tensor, axis: int, k: int, largest: bool) -> tuple[Tensor, Tensor]:
    """The rank of each element is the number of those that come before it; place p takes the element of rank p."""
    all_axes = result_axes(x.shape)
    other = Axis("reduce", x.shape[axis])

    def along(at: Expr) -> Expr:
        return x[(*all_axes[:axis], at, *all_axes[axis + 1 :])]

    here, there = along(all_axes[axis]), along(other)
    tie = apply("and", same(there, here), other < all_axes[axis])
    ahead = apply("or", before(there, here, largest), tie)
    ranks = define("ranks", all_axes, total(select(ahead, literal(1, INDEX), literal(0, INDEX)), over=(other,)))

    axes = result_axes((*x.shape[:axis], k, *x.shape[axis + 1 :]))
    rank = ranks[(*axes[:axis], other, *axes[axis + 1 :])]
    place = total(select(apply("eq", rank, axes[axis]), other, literal(0, INDEX)), over=(other,))
    indices = define("indices", axes, cast(place, INT64))
    found = cast(indices[axes], INDEX)
    return define("values", axes, x[(*axes[:axis], found, *axes[axis + 1 :])]), indices


@register
@dataclass(frozen=True, slots=True)
class TopK(Op):
    """The k greatest elements along an axis, falling (the least, rising, where not `largest`), and their indices.

    Shapes: x with k instead of the axis's size, twice; indices are int64. Errors: E110 where k is larger than the axis.
    Source: ONNX TopK-11, always sorted.
    """

    name = "top_k"
    operands = ("x",)
    results = ("values", "indices")

    k: int
    axis: int = -1
    largest: bool = True

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "x", x.dtype, "number")
        shape = top_k_shape(self.name, x.shape, self.axis, self.k)
        return inherit(x, shape), inherit(x, shape, INT64)

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        return top_k_stages(x, position(self.name, self.axis, x.rank), self.k, self.largest)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return top_k_reference(x, self.k, self.axis, self.largest)


def top_k_shape(op: str, shape: Shape, axis: int, k: int) -> Shape:
    """The shape of the k first elements. Raises E110 where there are fewer."""
    place = position(op, axis, len(shape))
    size = shape[place]
    if not isinstance(size, int):
        raise refuse(op, f"dimension {place} is {size}", "choose along a dimension whose size is a number")
    if not 0 <= k <= size:
        raise refuse(op, f"k is {k}, dimension {place} has {size} elements", f"choose k from 0 to {size}")
    return (*shape[:place], k, *shape[place + 1 :])


def top_k_reference(x: Array, k: int, axis: int, largest: bool = True) -> tuple[Array, ...]:
    """A stable sort by Python, slice by slice."""
    rows = np.moveaxis(x, axis, -1)
    indices = np.zeros((*rows.shape[:-1], k), np.int64)
    for place in np.ndindex(rows.shape[:-1]):
        row = [float("nan") if value != value else value for value in rows[place].tolist()]
        sign = -1 if largest else 1
        order = sorted(range(len(row)), key=lambda i: (row[i] == row[i], sign * row[i] if row[i] == row[i] else 0, i))
        indices[place] = order[:k]
    values = np.take_along_axis(rows, indices, axis=-1)
    return np.moveaxis(values, -1, axis).copy(), np.moveaxis(indices, -1, axis).copy()
