"""Normalisation: batch_norm, layer_norm, normalize."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlx_base.dtypes import FLOAT32, DType
from rlx_ir.expr import Expr, Tensor, apply, cast, define, literal, select
from rlx_ir.op import Array, Op, register
from rlx_ir.ops.axes import read_broadcast, reduced_axes, result_axes
from rlx_ir.ops.reduction import mean_of
from rlx_ir.ops.rules import accumulator, broadcast, check_dtype, check_equal_dtypes, inherit, position, refuse
from rlx_ir.types import TensorType

__all__ = ["BatchNorm", "LayerNorm", "Normalize"]


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


@register
@dataclass(frozen=True, slots=True)
class LayerNorm(Op):
    """y = (x − μ) ÷ √(σ² + eps) · scale + bias, mean μ and variance σ² over the dimensions from `axis` on.

    Shapes: scale and bias broadcast to x; absent ones are 1 and 0. The variance is the mean of (x − μ)².
    Errors: E110 where they do not fit. Source: ONNX LayerNormalization-17.
    """

    name = "layer_norm"
    operands = ("x", "scale?", "bias?")

    axis: int = -1
    eps: float = 1e-5

    def infer(
        self, x: TensorType, scale: TensorType | None = None, bias: TensorType | None = None
    ) -> tuple[TensorType, ...]:
        check_dtype(self.name, "x", x.dtype, "float")
        position(self.name, self.axis, x.rank)
        for name, factor in (("scale", scale), ("bias", bias)):
            if factor is None:
                continue
            check_equal_dtypes(self.name, ("x", name), (x, factor))
            if broadcast(self.name, ("x", name), (x, factor)) != x.shape:
                raise refuse(self.name, f"{name} {factor} is larger than x {x}", "it may only repeat to the shape of x")
        return (inherit(x, x.shape),)

    def expression(self, x: Tensor, scale: Tensor | None = None, bias: Tensor | None = None) -> tuple[Tensor, ...]:
        axis = position(self.name, self.axis, x.rank)
        axes = result_axes(x.shape)
        rest, over = axes[:axis], reduced_axes(x.shape[axis:])
        wide = accumulator(x.dtype)
        element = cast(x[(*rest, *over)], wide)
        mean = define("mean", rest, mean_of(element, over))
        distance = element - mean[rest]
        variance = define("variance", rest, mean_of(distance * distance, over))
        # One division for all of a row. The root of a number is never subnormal, so its inverse is finite or 1 ÷ 0.
        y = (cast(x[axes], wide) - mean[rest]) * (1.0 / apply("sqrt", variance[rest] + self.eps))
        if scale is not None:
            y = y * cast(read_broadcast(scale, axes), wide)
        if bias is not None:
            y = y + cast(read_broadcast(bias, axes), wide)
        return (define("output", axes, cast(y, x.dtype)),)

    def reference(self, x: Array, scale: Array | None = None, bias: Array | None = None) -> tuple[Array, ...]:
        wide = x.astype(np.float64)
        if x.size == 0:
            return (x.copy(),)
        over = tuple(range(position(self.name, self.axis, x.ndim), x.ndim))
        deviation = np.sqrt(wide.var(axis=over, keepdims=True) + self.eps)
        y = (wide - wide.mean(axis=over, keepdims=True)) / deviation
        y = y * (1.0 if scale is None else scale.astype(np.float64)) + (
            0.0 if bias is None else bias.astype(np.float64)
        )
        return (y.astype(x.dtype),)


@register
@dataclass(frozen=True, slots=True)
class Normalize(Op):
    """y = (x − mean[c]) ÷ std[c], c the channel: how the pixels of an image become the input of a network.

    `mean` and `std` are one number each, or one per channel; without `std` nothing divides. Integers (pixels) become
    float32. Shapes: as x, channels at `axis`. Errors: E110 for another number of channels, a std of 0, or more than 16
    numbers, for which `batch_norm` is made. Source: torchvision `Normalize`.
    """

    name = "normalize"
    operands = ("x",)

    mean: tuple[float, ...]
    std: tuple[float, ...] | None = None
    axis: int = 1

    def _result(self, dtype: DType) -> DType:
        return dtype if dtype.is_float else FLOAT32

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "x", x.dtype, "number")
        channels = x.shape[position(self.name, self.axis, x.rank)]
        for name, numbers in (("mean", self.mean), ("std", self.std)):
            if numbers is not None and (len(numbers) not in (1, channels) or len(numbers) > 16):
                raise refuse(
                    self.name,
                    f"{name} has {len(numbers)} numbers, x {x} has {channels} channels at axis {self.axis}",
                    "give one number, or one per channel; rlx.batch_norm takes any number of channels",
                )
        if self.std is not None and 0.0 in self.std:
            raise refuse(self.name, f"std is {list(self.std)}", "a channel cannot be divided by 0")
        return (inherit(x, x.shape, self._result(x.dtype)),)

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        axes = result_axes(x.shape)
        channel = axes[position(self.name, self.axis, x.rank)]
        result = self._result(x.dtype)
        wide = accumulator(result)

        def of(numbers: tuple[float, ...]) -> Expr:
            chosen: Expr = literal(numbers[-1], wide)
            for place in range(len(numbers) - 2, -1, -1):
                chosen = select(apply("eq", channel, place), literal(numbers[place], wide), chosen)
            return chosen

        y = cast(x[axes], wide) - of(self.mean)
        if self.std is not None:
            y = y / of(self.std)
        return (define("output", axes, cast(y, result)),)

    def reference(self, x: Array) -> tuple[Array, ...]:
        along = [1] * x.ndim
        along[self.axis] = -1
        std = np.ones(1) if self.std is None else np.array(self.std)
        y = (x.astype(np.float64) - np.array(self.mean).reshape(along)) / std.reshape(along)
        return (y.astype(x.dtype if x.dtype.kind == "f" else np.float32),)
