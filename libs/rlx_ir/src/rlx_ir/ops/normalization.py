"""Normalisation: batch_norm, layer_norm, normalize."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlx_ir.expr import Expr, Tensor, apply, cast, define, literal
from rlx_ir.op import Array, Op, register
from rlx_ir.ops.axes import result_axes
from rlx_ir.ops.rules import accumulator, check_dtype, check_equal_dtypes, inherit, refuse
from rlx_ir.types import TensorType

__all__ = ["BatchNorm"]


@register
@dataclass(frozen=True, slots=True)
class BatchNorm(Op):
    """y = (x − mean[c]) · scale[c] ÷ √(var[c] + eps) + bias[c], c the channel.

    Shapes: x (N, C, …), each statistic (C) → the shape of x; absent ones are scale 1, bias 0, mean 0, var 1.
    Errors: E110 where a statistic has another shape or dtype. Source: ONNX BatchNormalization-15, in inference.
    """

    name = "batch_norm"
    operands = ("x", "scale?", "bias?", "mean?", "var?")

    eps: float = 1e-5

    def infer(
        self,
        x: TensorType,
        scale: TensorType | None = None,
        bias: TensorType | None = None,
        mean: TensorType | None = None,
        var: TensorType | None = None,
    ) -> tuple[TensorType, ...]:
        check_dtype(self.name, "x", x.dtype, "float")
        if x.rank < 2:
            raise refuse(self.name, f"x is {x}", "x has a batch and a channel dimension: (N, C, …)")
        for name, statistic in (("scale", scale), ("bias", bias), ("mean", mean), ("var", var)):
            if statistic is None:
                continue
            check_equal_dtypes(self.name, ("x", name), (x, statistic))
            if statistic.shape != (x.shape[1],):
                raise refuse(
                    self.name,
                    f"{name} is {statistic}, x {x} has {x.shape[1]} channels",
                    f"give it the shape [{x.shape[1]}]",
                )
        return (inherit(x, x.shape),)

    def expression(
        self,
        x: Tensor,
        scale: Tensor | None = None,
        bias: Tensor | None = None,
        mean: Tensor | None = None,
        var: Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        axes = result_axes(x.shape)
        channel = axes[1]
        wide = accumulator(x.dtype)

        def of(statistic: Tensor) -> Expr:
            return cast(statistic[channel], wide)

        y = cast(x[axes], wide)
        if mean is not None:
            y = y - of(mean)
        deviation = apply("sqrt", (of(var) if var is not None else literal(1, wide)) + self.eps)
        y = y * ((of(scale) if scale is not None else literal(1, wide)) / deviation)
        if bias is not None:
            y = y + of(bias)
        return (define("output", axes, cast(y, x.dtype)),)

    def reference(
        self,
        x: Array,
        scale: Array | None = None,
        bias: Array | None = None,
        mean: Array | None = None,
        var: Array | None = None,
    ) -> tuple[Array, ...]:
        def of(statistic: Array | None, absent: float) -> Array:
            filled = np.full(x.shape[1], absent) if statistic is None else statistic.astype(np.float64)
            return filled.reshape(-1, *[1] * (x.ndim - 2))

        deviation = np.sqrt(of(var, 1) + self.eps)
        y = (x.astype(np.float64) - of(mean, 0)) / deviation * of(scale, 1) + of(bias, 0)
        return (y.astype(x.dtype),)
