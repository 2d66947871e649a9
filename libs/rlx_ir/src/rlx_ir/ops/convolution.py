"""Convolution over images, and over any number of spatial dimensions."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlx_ir.dims import Dim
from rlx_ir.expr import Axis, Expr, Tensor, all_of, cast, define, literal, select, total
from rlx_ir.op import Array, Op, register
from rlx_ir.ops.axes import result_axes
from rlx_ir.ops.rules import accumulator, check_dtype, check_equal_dtypes, check_rank, inherit, refuse
from rlx_ir.ops.window import Padding, Window, kernel_axes, windows
from rlx_ir.types import TensorType

__all__ = ["Conv", "Conv2d", "check_channels"]


def check_channels(op: str, input: TensorType, groups: int, out: Dim, per_group: Dim, weight: TensorType) -> None:
    """That channels and groups fit. Raises E110."""
    channels = input.shape[1]
    if not isinstance(channels, int) or not isinstance(out, int) or not isinstance(per_group, int):
        raise refuse(op, f"the channels of {input} and {weight} are not all known", "give them as numbers")
    if groups < 1 or channels % groups or out % groups:
        raise refuse(
            op,
            f"{channels} input and {out} output channels do not divide into groups={groups}",
            "choose a number of groups that divides both",
        )
    if per_group * groups != channels:
        raise refuse(
            op,
            f"input {input} has {channels} channels, weight {weight} takes {per_group} · groups={groups}",
            f"weight's second dimension is {channels // groups}"
            + (f", or groups is {channels // per_group}" if per_group and channels % per_group == 0 else ""),
        )


class _Convolution(Op):
    """A convolution over the dimensions after batch and channel."""

    operands = ("input", "weight", "bias?")

    strides: tuple[int, ...]
    padding: Padding
    dilations: tuple[int, ...]
    groups: int

    def _infer(self, input: TensorType, weight: TensorType, bias: TensorType | None) -> tuple[TensorType, ...]:
        check_dtype(self.name, "input", input.dtype, "float")
        check_equal_dtypes(self.name, ("input", "weight"), (input, weight))
        out = weight.shape[0]
        check_channels(self.name, input, self.groups, out, weight.shape[1], weight)
        if bias is not None:
            check_equal_dtypes(self.name, ("input", "bias"), (input, bias))
            if bias.shape != (out,):
                raise refuse(self.name, f"bias is {bias} for {out} output channels", f"give it the shape [{out}]")
        along = self._windows(input.shape, weight.shape)
        return (inherit(input, (input.shape[0], out, *(window.output for window in along))),)

    def _windows(self, image: tuple[Dim, ...], weight: tuple[Dim, ...]) -> tuple[Window, ...]:
        kernel = weight[2:]
        sizes = tuple(size for size in kernel if isinstance(size, int))
        if len(sizes) != len(kernel):
            raise refuse(
                self.name, f"the kernel's size {' x '.join(map(str, kernel))} is not known", "give it as numbers"
            )
        return windows(self.name, image[2:], sizes, self.strides, self.padding, self.dilations)

    def expression(self, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> tuple[Tensor, ...]:
        along = self._windows(input.shape, weight.shape)
        out, per_group = weight.shape[0], weight.shape[1]
        assert isinstance(out, int)
        assert isinstance(per_group, int)
        axes = result_axes((input.shape[0], out, *(window.output for window in along)))
        batch, output_channel, *image = axes
        input_channel = Axis("input_channel", per_group)
        kernel = kernel_axes(along)
        channel: Expr = input_channel
        if self.groups > 1:
            channel = output_channel // (out // self.groups) * per_group + input_channel
        places = [window.place(o, k) for window, o, k in zip(along, image, kernel, strict=True)]
        inside = all_of([c for window, place in zip(along, places, strict=True) for c in window.inside(place)])
        wide = accumulator(input.dtype)
        x = cast(input[(batch, channel, *places)], wide)
        w = cast(weight[(output_channel, input_channel, *kernel)], wide)
        y = total(select(inside, x * w, literal(0, wide)), over=(input_channel, *kernel))
        if bias is not None:
            y = y + cast(bias[output_channel], wide)
        return (define("output", axes, cast(y, input.dtype)),)

    def reference(self, input: Array, weight: Array, bias: Array | None = None) -> tuple[Array, ...]:
        """One matrix product per kernel place, in float64."""
        along = self._windows(input.shape, weight.shape)
        outputs = [window.output for window in along]
        sizes = [size for size in outputs if isinstance(size, int)]
        batch, channels, out = input.shape[0], input.shape[1], weight.shape[0]
        groups = self.groups
        image = input.astype(np.float64)
        kernel = weight.astype(np.float64).reshape(groups, out // groups, channels // groups, *weight.shape[2:])
        y = np.zeros((batch, groups, out // groups, *sizes))
        for place in itertools.product(*(range(window.kernel) for window in along)):
            pairs = [window.seen(k) for window, k in zip(along, place, strict=True)]
            to: Any = (..., *(written for written, _ in pairs))
            read: Any = (..., *(read for _, read in pairs))
            at: Any = (..., *place)
            seen = image[read]
            flat = seen.reshape(batch, groups, channels // groups, math.prod(seen.shape[2:]))
            term = np.matmul(kernel[at], flat)
            y[to] += term.reshape(*term.shape[:3], *seen.shape[2:])
        y = y.reshape(batch, out, *sizes)
        if bias is not None:
            y += bias.astype(np.float64).reshape(1, -1, *[1] * len(sizes))
        return (y.astype(input.dtype),)


@register
@dataclass(frozen=True, slots=True)
class Conv2d(_Convolution):
    """y[n, o, h, w] = bias[o] + Σ_{i,p,q} x[n, g·I + i, h·s + p·d − t, w·s + q·d − l] · weight[o, i, p, q].

    g = ⌊o · groups ÷ O⌋ is the group of output channel o; s are the strides, d the dilations, t and l the padding above
    and at the left. A padded place adds nothing, whatever its weight: the sum runs over places of the image alone, so
    an infinite weight beside the image makes no NaN.
    Shapes: input (N, C, H, W), weight (O, C ÷ groups, P, Q), bias (O) → (N, O, H′, W′) with
    H′ = ⌊(H + padding − (P − 1)·d − 1) ÷ s⌋ + 1.
    Errors: E110 where channels, groups, bias, dtypes or ranks do not fit, or the window outgrows the padded image.
    Source: ONNX Conv-22 with two spatial dimensions.
    """

    name = "conv2d"

    strides: tuple[int, ...] = (1, 1)
    padding: Padding = (0, 0)
    dilations: tuple[int, ...] = (1, 1)
    groups: int = 1

    def infer(self, input: TensorType, weight: TensorType, bias: TensorType | None = None) -> tuple[TensorType, ...]:
        check_rank(self.name, "input", input, 4, "N, C, H, W")
        check_rank(self.name, "weight", weight, 4, "O, I, H, W")
        return self._infer(input, weight, bias)


@register
@dataclass(frozen=True, slots=True)
class Conv(_Convolution):
    """`conv2d` over any number of spatial dimensions; the attributes have one number for each of them.

    Shapes: input (N, C, D…), weight (O, C ÷ groups, K…), bias (O) → (N, O, D′…). Errors: as `conv2d`.
    Source: ONNX Conv-22.
    """

    name = "conv"

    strides: tuple[int, ...]
    padding: Padding = "valid"
    dilations: tuple[int, ...] = ()
    groups: int = 1

    def infer(self, input: TensorType, weight: TensorType, bias: TensorType | None = None) -> tuple[TensorType, ...]:
        if input.rank < 3:
            raise refuse(self.name, f"input is {input}", "it has a batch, a channel and more: (N, C, D, …)")
        check_rank(self.name, "weight", weight, input.rank, "O, I, then the kernel's sizes")
        return self._infer(input, weight, bias)
