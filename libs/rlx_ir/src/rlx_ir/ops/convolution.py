"""Convolution over images."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlx_ir.dims import Dim
from rlx_ir.expr import Axis, Expr, Tensor, all_of, cast, define, literal, select, total
from rlx_ir.op import Array, Op, register
from rlx_ir.ops.axes import result_axes
from rlx_ir.ops.rules import accumulator, check_dtype, check_equal_dtypes, check_rank, inherit, refuse
from rlx_ir.ops.window import Padding, Window, padded, windows
from rlx_ir.types import TensorType

__all__ = ["Conv2d"]


@register
@dataclass(frozen=True, slots=True)
class Conv2d(Op):
    """y[n, o, h, w] = bias[o] + Σ_{i,p,q} x[n, g·I + i, h·s + p·d − t, w·s + q·d − l] · weight[o, i, p, q].

    g = ⌊o · groups ÷ O⌋ is the group of output channel o; outside of the image x is 0; s are the strides, d the
    dilations, t and l the padding above and at the left.
    Shapes: input (N, C, H, W), weight (O, C ÷ groups, P, Q), bias (O) → (N, O, H′, W′) with
    H′ = ⌊(H + padding − (P − 1)·d − 1) ÷ s⌋ + 1.
    Errors: E110 where channels, groups, bias, dtypes or ranks do not fit, or the window outgrows the padded image.
    Source: ONNX Conv-22 with two spatial dimensions.
    """

    name = "conv2d"
    operands = ("input", "weight", "bias?")

    strides: tuple[int, ...] = (1, 1)
    padding: Padding = (0, 0)
    dilations: tuple[int, ...] = (1, 1)
    groups: int = 1

    def infer(self, input: TensorType, weight: TensorType, bias: TensorType | None = None) -> tuple[TensorType, ...]:
        check_rank(self.name, "input", input, 4, "N, C, H, W")
        check_rank(self.name, "weight", weight, 4, "O, I, H, W")
        check_dtype(self.name, "input", input.dtype, "float")
        check_equal_dtypes(self.name, ("input", "weight"), (input, weight))
        channels, out, per_group = input.shape[1], weight.shape[0], weight.shape[1]
        if not isinstance(channels, int) or not isinstance(out, int) or not isinstance(per_group, int):
            raise refuse(self.name, f"the channels of {input} and {weight} are not all known", "give them as numbers")
        if self.groups < 1 or channels % self.groups or out % self.groups:
            raise refuse(
                self.name,
                f"{channels} input and {out} output channels do not divide into groups={self.groups}",
                "choose a number of groups that divides both",
            )
        if per_group * self.groups != channels:
            raise refuse(
                self.name,
                f"input {input} has {channels} channels, weight {weight} takes {per_group} · groups={self.groups}",
                f"weight's second dimension is {channels // self.groups}"
                + (f", or groups is {channels // per_group}" if per_group and channels % per_group == 0 else ""),
            )
        if bias is not None:
            check_equal_dtypes(self.name, ("input", "bias"), (input, bias))
            if bias.shape != (out,):
                raise refuse(self.name, f"bias is {bias} for {out} output channels", f"give it the shape [{out}]")
        height, width = self._windows(input.shape, weight.shape)
        return (inherit(input, (input.shape[0], out, height.output, width.output)),)

    def _windows(self, image: tuple[Dim, ...], weight: tuple[Dim, ...]) -> tuple[Window, ...]:
        kernel = weight[2:]
        if not all(isinstance(size, int) for size in kernel):
            raise refuse(self.name, f"the kernel's size {kernel[0]} x {kernel[1]} is not known", "give it as numbers")
        sizes = tuple(size for size in kernel if isinstance(size, int))
        return windows(self.name, image[2:], sizes, self.strides, self.padding, self.dilations)

    def expression(self, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> tuple[Tensor, ...]:
        vertical, horizontal = self._windows(input.shape, weight.shape)
        out, per_group = weight.shape[0], weight.shape[1]
        assert isinstance(out, int)
        assert isinstance(per_group, int)
        axes = result_axes((input.shape[0], out, vertical.output, horizontal.output))
        batch, output_channel, height, width = axes
        input_channel = Axis("input_channel", per_group)
        kernel_height = Axis("kernel_height", vertical.kernel)
        kernel_width = Axis("kernel_width", horizontal.kernel)
        channel: Expr = input_channel
        if self.groups > 1:
            channel = output_channel // (out // self.groups) * per_group + input_channel
        row, column = vertical.place(height, kernel_height), horizontal.place(width, kernel_width)
        inside = all_of(vertical.inside(row) + horizontal.inside(column))
        wide = accumulator(input.dtype)
        x = select(inside, cast(input[batch, channel, row, column], wide), literal(0, wide))
        w = cast(weight[output_channel, input_channel, kernel_height, kernel_width], wide)
        y = total(x * w, over=(input_channel, kernel_height, kernel_width))
        if bias is not None:
            y = y + cast(bias[output_channel], wide)
        return (define("output", axes, cast(y, input.dtype)),)

    def reference(self, input: Array, weight: Array, bias: Array | None = None) -> tuple[Array, ...]:
        """One matrix product per kernel place, in float64."""
        vertical, horizontal = self._windows(input.shape, weight.shape)
        height, width = vertical.output, horizontal.output
        assert isinstance(height, int)
        assert isinstance(width, int)
        batch, channels, out = input.shape[0], input.shape[1], weight.shape[0]
        groups = self.groups
        image = padded(input.astype(np.float64), (vertical, horizontal), 0.0)
        kernel = weight.astype(np.float64).reshape(groups, out // groups, channels // groups, *weight.shape[2:])
        y = np.zeros((batch, groups, out // groups, height * width))
        for p in range(vertical.kernel):
            for q in range(horizontal.kernel):
                top, left = p * vertical.dilation, q * horizontal.dilation
                rows = slice(top, top + (height - 1) * vertical.stride + 1 if height else top, vertical.stride)
                columns = slice(left, left + (width - 1) * horizontal.stride + 1 if width else left, horizontal.stride)
                seen = image[:, :, rows, columns].reshape(batch, groups, channels // groups, height * width)
                y += np.matmul(kernel[:, :, :, p, q], seen)
        y = y.reshape(batch, out, height, width)
        if bias is not None:
            y += bias.astype(np.float64).reshape(1, -1, 1, 1)
        return (y.astype(input.dtype),)
