"""Running sums and products: cum_sum, cum_prod."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rlx_ir.expr import Axis, Expr, Tensor, cast, define, identity, product, select, total
from rlx_ir.op import Array, Op, register
from rlx_ir.ops.axes import result_axes
from rlx_ir.ops.rules import accumulator, check_dtype, inherit, position
from rlx_ir.types import TensorType

__all__ = ["CumProd", "CumSum"]


class _Cumulative(Op):
    operands = ("x",)

    axis: int
    exclusive: bool
    reverse: bool

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "x", x.dtype, "number")
        position(self.name, self.axis, x.rank)
        return (inherit(x, x.shape),)

    def _expression(self, x: Tensor, sums: bool) -> tuple[Tensor, ...]:
        axis = position(self.name, self.axis, x.rank)
        axes = result_axes(x.shape)
        step = Axis("reduce", x.shape[axis])
        here, wide = axes[axis], accumulator(x.dtype)
        if self.reverse:
            counts = step > here if self.exclusive else step >= here
        else:
            counts = step < here if self.exclusive else step <= here
        element: Expr = cast(x[(*axes[:axis], step, *axes[axis + 1 :])], wide)
        value = select(counts, element, identity("sum" if sums else "prod", wide))
        y = (total if sums else product)(value, over=(step,))
        return (define("output", axes, cast(y, x.dtype)),)

    def _reference(self, x: Array, fold: Any, start: int) -> tuple[Array, ...]:
        axis = position(self.name, self.axis, x.ndim)
        wide = x.astype(np.float64) if x.dtype.kind == "f" else x
        row = np.flip(wide, axis) if self.reverse else wide
        if self.exclusive and row.shape[axis]:
            first = np.full_like(row.take([0], axis=axis), start)
            row = np.concatenate([first, row.take(range(row.shape[axis] - 1), axis=axis)], axis=axis)
        y = fold(row, axis=axis, dtype=wide.dtype)
        return (np.ascontiguousarray(np.flip(y, axis) if self.reverse else y).astype(x.dtype),)


@register
@dataclass(frozen=True, slots=True)
class CumSum(_Cumulative):
    """y[…, i, …] = Σ_{j ≤ i} x[…, j, …] along `axis`; j < i where `exclusive`; from the end where `reverse`.

    Errors: E110 for an axis that is not there. Source: ONNX CumSum-14, with the axis as attribute.
    """

    name = "cum_sum"

    axis: int = 0
    exclusive: bool = False
    reverse: bool = False

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        return self._expression(x, sums=True)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return self._reference(x, np.cumsum, 0)


@register
@dataclass(frozen=True, slots=True)
class CumProd(_Cumulative):
    """y[…, i, …] = Π_{j ≤ i} x[…, j, …] along `axis`; j < i where `exclusive`; from the end where `reverse`.

    Errors: E110 for an axis that is not there. Source: ONNX CumProd-26, with the axis as attribute.
    """

    name = "cum_prod"

    axis: int = 0
    exclusive: bool = False
    reverse: bool = False

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        return self._expression(x, sums=False)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return self._reference(x, np.cumprod, 1)
