"""Reductions over axes: reduce_sum, _mean, _max, _min, _prod, _sum_square, _l1, _l2, _log_sum_exp.

`axes` None means all; negative ones count from the end; `keepdims` leaves a dimension of 1 in their places.
Shapes: as in NumPy. Errors: E110 for an axis that is not there. Integers wrap. Over nothing, a sum is 0, a product 1, a
mean NaN, a maximum the lowest value of the dtype and a minimum the highest (±∞ of floats). 16-bit floats add up in 32
bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rlx_base.dtypes import DType
from rlx_ir.dims import Shape
from rlx_ir.dims import total as elements
from rlx_ir.expr import (
    Axis,
    Expr,
    Tensor,
    apply,
    cast,
    define,
    extent,
    greatest,
    least,
    literal,
    product,
    select,
    total,
)
from rlx_ir.op import Array, Op, as_arrays, register
from rlx_ir.ops.axes import reduced_axes, result_axes
from rlx_ir.ops.rules import Kinds, accumulator, check_dtype, inherit, positions
from rlx_ir.types import TensorType

__all__ = [
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
    "Reduction",
    "count_of",
    "mean_of",
]


class Reduction(Op):
    """What all reductions share. A subclass gives `body`, the reduced value, and `reduced`, the same by NumPy."""

    operands = ("x",)
    takes: ClassVar[Kinds] = "number"

    axes: tuple[int, ...] | None
    keepdims: bool

    def body(self, element: Expr, over: tuple[Axis, ...]) -> Expr:
        """The reduced value of `element`, which is in the dtype of the sums."""
        raise NotImplementedError

    def reduced(self, x: Array, over: dict[str, Any]) -> Any:
        """The reduced array; `over` holds NumPy's `axis` and `keepdims`."""
        raise NotImplementedError

    def places(self, rank: int) -> tuple[int, ...]:
        """The reduced dimensions, in order."""
        return tuple(range(rank)) if self.axes is None else tuple(sorted(positions(self.name, self.axes, rank)))

    def result_shape(self, shape: Shape) -> Shape:
        gone = self.places(len(shape))
        if self.keepdims:
            return tuple(1 if place in gone else size for place, size in enumerate(shape))
        return tuple(size for place, size in enumerate(shape) if place not in gone)

    def reading(self, x: Tensor) -> tuple[tuple[Axis, ...], tuple[Axis, ...], tuple[Expr, ...]]:
        """The result's axes, the reduced ones, and the indices at which x is read."""
        gone = self.places(x.rank)
        axes, over = result_axes(self.result_shape(x.shape)), reduced_axes([x.shape[place] for place in gone])
        kept = [place for place in range(x.rank) if place not in gone]
        own = axes if not self.keepdims else tuple(axes[place] for place in kept)
        at: dict[int, Axis] = dict(zip(kept, own, strict=True)) | dict(zip(gone, over, strict=True))
        return axes, over, tuple(at[place] for place in range(x.rank))

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "x", x.dtype, self.takes)
        return (inherit(x, self.result_shape(x.shape)),)

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        axes, over, indices = self.reading(x)
        y = self.body(cast(x[indices], accumulator(x.dtype)), over)
        return (define("output", axes, cast(y, x.dtype)),)

    def reference(self, x: Array) -> tuple[Array, ...]:
        wide = x.astype(np.float64) if x.dtype.kind == "f" else x
        y = self.reduced(wide, {"axis": self.places(x.ndim), "keepdims": self.keepdims})
        return as_arrays([np.asarray(y).astype(x.dtype)])


def count_of(over: Sequence[Axis], dtype: DType) -> Expr:
    """How many places the axes have, as a number of this dtype."""
    count = elements(axis.extent for axis in over)
    return literal(count, dtype) if isinstance(count, int) else cast(extent(count), dtype)


def mean_of(element: Expr, over: Sequence[Axis]) -> Expr:
    """The mean of an expression over axes."""
    return total(element, over=over) / count_of(over, element.dtype)


def _edge(x: Array, highest: bool) -> Any:
    """The highest or lowest value of x's dtype."""
    if x.dtype.kind == "f":
        return np.inf if highest else -np.inf
    return np.iinfo(x.dtype).max if highest else np.iinfo(x.dtype).min


@register
@dataclass(frozen=True, slots=True)
class ReduceSum(Reduction):
    """y = Σ x. Source: ONNX ReduceSum-13."""

    name = "reduce_sum"

    axes: tuple[int, ...] | None = None
    keepdims: bool = True

    def body(self, element: Expr, over: tuple[Axis, ...]) -> Expr:
        return total(element, over=over)

    def reduced(self, x: Array, over: dict[str, Any]) -> Any:
        return np.sum(x, dtype=x.dtype, **over)


@register
@dataclass(frozen=True, slots=True)
class ReduceMean(Reduction):
    """y = Σ x ÷ n, for floats. Source: ONNX ReduceMean-18."""

    name = "reduce_mean"
    takes = "float"

    axes: tuple[int, ...] | None = None
    keepdims: bool = True

    def body(self, element: Expr, over: tuple[Axis, ...]) -> Expr:
        return mean_of(element, over)

    def reduced(self, x: Array, over: dict[str, Any]) -> Any:
        return np.sum(x, **over) / np.prod([x.shape[place] for place in over["axis"]], dtype=np.float64)


@register
@dataclass(frozen=True, slots=True)
class ReduceMax(Reduction):
    """y = the greatest x; NaN where any is. Source: ONNX ReduceMax-20."""

    name = "reduce_max"

    axes: tuple[int, ...] | None = None
    keepdims: bool = True

    def body(self, element: Expr, over: tuple[Axis, ...]) -> Expr:
        return greatest(element, over=over)

    def reduced(self, x: Array, over: dict[str, Any]) -> Any:
        return np.max(x, initial=_edge(x, highest=False), **over)


@register
@dataclass(frozen=True, slots=True)
class ReduceMin(Reduction):
    """y = the least x; NaN where any is. Source: ONNX ReduceMin-20."""

    name = "reduce_min"

    axes: tuple[int, ...] | None = None
    keepdims: bool = True

    def body(self, element: Expr, over: tuple[Axis, ...]) -> Expr:
        return least(element, over=over)

    def reduced(self, x: Array, over: dict[str, Any]) -> Any:
        return np.min(x, initial=_edge(x, highest=True), **over)


@register
@dataclass(frozen=True, slots=True)
class ReduceProd(Reduction):
    """y = Π x. Source: ONNX ReduceProd-18."""

    name = "reduce_prod"

    axes: tuple[int, ...] | None = None
    keepdims: bool = True

    def body(self, element: Expr, over: tuple[Axis, ...]) -> Expr:
        return product(element, over=over)

    def reduced(self, x: Array, over: dict[str, Any]) -> Any:
        return np.prod(x, dtype=x.dtype, **over)


@register
@dataclass(frozen=True, slots=True)
class ReduceSumSquare(Reduction):
    """y = Σ x². Source: ONNX ReduceSumSquare-18."""

    name = "reduce_sum_square"

    axes: tuple[int, ...] | None = None
    keepdims: bool = True

    def body(self, element: Expr, over: tuple[Axis, ...]) -> Expr:
        return total(element * element, over=over)

    def reduced(self, x: Array, over: dict[str, Any]) -> Any:
        return np.sum(x * x, dtype=x.dtype, **over)


@register
@dataclass(frozen=True, slots=True)
class ReduceL1(Reduction):
    """y = Σ |x|. Source: ONNX ReduceL1-18."""

    name = "reduce_l1"

    axes: tuple[int, ...] | None = None
    keepdims: bool = True

    def body(self, element: Expr, over: tuple[Axis, ...]) -> Expr:
        return total(apply("abs", element), over=over)

    def reduced(self, x: Array, over: dict[str, Any]) -> Any:
        return np.sum(np.abs(x), dtype=x.dtype, **over)


@register
@dataclass(frozen=True, slots=True)
class ReduceL2(Reduction):
    """y = √(Σ x²), for floats. Source: ONNX ReduceL2-18."""

    name = "reduce_l2"
    takes = "float"

    axes: tuple[int, ...] | None = None
    keepdims: bool = True

    def body(self, element: Expr, over: tuple[Axis, ...]) -> Expr:
        return apply("sqrt", total(element * element, over=over))

    def reduced(self, x: Array, over: dict[str, Any]) -> Any:
        return np.sqrt(np.sum(x * x, **over))


@register
@dataclass(frozen=True, slots=True)
class ReduceLogSumExp(Reduction):
    """y = ln Σ eˣ, formed as m + ln Σ e^(x − m) with the greatest x as m, which cannot overflow; for floats.

    Source: ONNX ReduceLogSumExp-18.
    """

    name = "reduce_log_sum_exp"
    takes = "float"

    axes: tuple[int, ...] | None = None
    keepdims: bool = True

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        axes, over, indices = self.reading(x)
        element = cast(x[indices], accumulator(x.dtype))
        highest = greatest(element, over=over)
        # Where the greatest is infinite (or there is none), x − m would be NaN: there e^x is right as it is.
        shift = define("shift", axes, select(apply("eq", highest - highest, 0), highest, 0))
        y = shift[axes] + apply("log", total(apply("exp", element - shift[axes]), over=over))
        return (define("output", axes, cast(y, x.dtype)),)

    def reduced(self, x: Array, over: dict[str, Any]) -> Any:
        return np.logaddexp.reduce(x, **over)
