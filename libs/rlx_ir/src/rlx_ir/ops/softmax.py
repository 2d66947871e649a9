"""softmax and log_softmax, in stages that cannot overflow: the maximum m, the sum of e^(x − m), the result."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlx_ir.expr import Axis, Expr, Tensor, apply, cast, define, greatest, total
from rlx_ir.op import Array, Op, register
from rlx_ir.ops.axes import result_axes
from rlx_ir.ops.rules import accumulator, check_dtype, inherit, position
from rlx_ir.types import TensorType

__all__ = ["LogSoftmax", "Softmax", "softmax_stages"]


def softmax_stages(x: Tensor, axis: int) -> tuple[Tensor, Tensor, Tensor]:
    """The greatest x along an axis, e^(x − greatest), and the sum of that; sums in the accumulator's dtype."""
    axes = result_axes(x.shape)
    rest = axes[:axis] + axes[axis + 1 :]
    wide = accumulator(x.dtype)
    reduce = Axis("reduce", x.shape[axis])

    def along(at: Expr) -> tuple[Expr, ...]:
        return (*axes[:axis], at, *axes[axis + 1 :])

    highest = define("highest", rest, greatest(x[along(reduce)], over=(reduce,)))
    powers = define("powers", axes, apply("exp", cast(x[axes], wide) - cast(highest[rest], wide)))
    sums = define("sums", rest, total(powers[along(reduce)], over=(reduce,)))
    return highest, powers, sums


class _Softmax(Op):
    operands = ("x",)

    axis: int

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "x", x.dtype, "float")
        position(self.name, self.axis, x.rank)
        return (inherit(x, x.shape),)


@register
@dataclass(frozen=True, slots=True)
class Softmax(_Softmax):
    """y = e^x ÷ Σ e^x along an axis.

    Shapes: as x. Errors: E110 for an axis that is not there, or integers. NaN or +∞ anywhere along the axis makes all
    of it NaN. Source: ONNX Softmax-13.
    """

    name = "softmax"

    axis: int = -1

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        axis = position(self.name, self.axis, x.rank)
        _, powers, sums = softmax_stages(x, axis)
        axes = result_axes(x.shape)
        # One division for all of a row: the sum is at least 1.
        y = powers[axes] * (1.0 / sums[axes[:axis] + axes[axis + 1 :]])
        return (define("output", axes, cast(y, x.dtype)),)

    def reference(self, x: Array) -> tuple[Array, ...]:
        if x.size == 0:
            return (x.copy(),)
        wide = x.astype(np.float64)
        powers = np.exp(wide - wide.max(axis=self.axis, keepdims=True))
        return ((powers / powers.sum(axis=self.axis, keepdims=True)).astype(x.dtype),)


@register
@dataclass(frozen=True, slots=True)
class LogSoftmax(_Softmax):
    """y = x − ln Σ e^x along an axis. Shapes and errors as `softmax`. Source: ONNX LogSoftmax-13."""

    name = "log_softmax"

    axis: int = -1

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        axis = position(self.name, self.axis, x.rank)
        highest, _, sums = softmax_stages(x, axis)
        axes = result_axes(x.shape)
        rest = axes[:axis] + axes[axis + 1 :]
        wide = sums.dtype
        y = cast(x[axes], wide) - cast(highest[rest], wide) - apply("log", sums[rest])
        return (define("output", axes, cast(y, x.dtype)),)

    def reference(self, x: Array) -> tuple[Array, ...]:
        if x.size == 0:
            return (x.copy(),)
        wide = x.astype(np.float64)
        shifted = wide - wide.max(axis=self.axis, keepdims=True)
        return ((shifted - np.log(np.exp(shifted).sum(axis=self.axis, keepdims=True))).astype(x.dtype),)
