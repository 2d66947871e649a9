"""conv_transpose: the gradient of a convolution, which makes images larger."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlx_ir.dims import Dim, Shape, add, floor_div, mul
from rlx_ir.expr import Axis, Expr, Tensor, all_of, apply, cast, define, extent, literal, select, total
from rlx_ir.op import Array, Op, register
from rlx_ir.ops.axes import result_axes
from rlx_ir.ops.convolution import check_channels
from rlx_ir.ops.rules import accumulator, check_dtype, check_equal_dtypes, check_rank, inherit, refuse
from rlx_ir.types import TensorType

__all__ = ["ConvTranspose"]


@register
@dataclass(frozen=True, slots=True)
class ConvTranspose(Op):
    """y[n, o, h…] = bias[o] + Σ x[n, i, q…] · weight[i, o, k…] over all i of o's group and q, k with q·s + k·d − p = h.

    s are the strides, d the dilations, p the padding that is taken away before; `output_padding` places are put on
    after. Shapes: input (N, C, D…), weight (C, O ÷ groups, K…), bias (O) → (N, O, D′…) with
    D′ = (D − 1)·s + (K − 1)·d + 1 − both paddings + output_padding. `padding` has all befores, then all afters.
    Errors: E110 where they do not fit. Source: ONNX ConvTranspose-22.
    """

    name = "conv_transpose"
    operands = ("input", "weight", "bias?")

    strides: tuple[int, ...]
    padding: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    output_padding: tuple[int, ...] = ()
    groups: int = 1

    def _each(self, rank: int) -> list[tuple[int, int, int, int, int]]:
        """Stride, dilation, padding before and after, and output padding of each dimension."""
        pads, dilations = self.padding or (0,) * (2 * rank), self.dilations or (1,) * rank
        more = self.output_padding or (0,) * rank
        if not (len(self.strides) == len(dilations) == len(more) == rank and len(pads) == 2 * rank) or any(
            value < 1 for value in (*self.strides, *dilations)
        ):
            raise refuse(self.name, f"{self}", f"give {rank} strides, dilations ≥ 1, and {2 * rank} paddings")
        return list(zip(self.strides, dilations, pads[:rank], pads[rank:], more, strict=True))

    def _sizes(self, image: Shape, weight: Shape) -> tuple[Dim, ...]:
        sizes: list[Dim] = []
        for size, kernel, (stride, dilation, before, after, more) in zip(
            image[2:], weight[2:], self._each(len(image) - 2), strict=True
        ):
            if not isinstance(kernel, int):
                raise refuse(self.name, f"the kernel's size {kernel} is not known", "give it as a number")
            grown = add(mul(add(size, -1), stride), (kernel - 1) * dilation + 1 - before - after + more)
            if isinstance(grown, int) and grown < 0:
                raise refuse(self.name, f"a result of {grown} places", "make the padding smaller")
            sizes.append(grown)
        return tuple(sizes)

    def infer(self, input: TensorType, weight: TensorType, bias: TensorType | None = None) -> tuple[TensorType, ...]:
        if input.rank < 3:
            raise refuse(self.name, f"input is {input}", "it has a batch, a channel and more: (N, C, D, …)")
        check_rank(self.name, "weight", weight, input.rank, "I, O, then the kernel's sizes")
        check_dtype(self.name, "input", input.dtype, "float")
        check_equal_dtypes(self.name, ("input", "weight"), (input, weight))
        out = mul(weight.shape[1], self.groups)
        check_channels(
            self.name,
            input,
            self.groups,
            out,
            floor_div(weight.shape[0], self.groups) if self.groups > 0 else 0,
            weight,
        )
        if bias is not None:
            check_equal_dtypes(self.name, ("input", "bias"), (input, bias))
            if bias.shape != (out,):
                raise refuse(self.name, f"bias is {bias} for {out} output channels", f"give it the shape [{out}]")
        return (inherit(input, (input.shape[0], out, *self._sizes(input.shape, weight.shape))),)

    def expression(self, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> tuple[Tensor, ...]:
        each = self._each(input.rank - 2)
        channels, per_group = weight.shape[0], weight.shape[1]
        assert isinstance(channels, int)
        assert isinstance(per_group, int)
        axes = result_axes((input.shape[0], per_group * self.groups, *self._sizes(input.shape, weight.shape)))
        names = ("kernel_depth", "kernel_height", "kernel_width")[-len(each) :]
        kernel = [Axis(name, size) for name, size in zip(names, weight.shape[2:], strict=True)]
        input_channel = Axis("input_channel", channels // self.groups)
        channel: Expr = input_channel
        within: Expr = axes[1]
        if self.groups > 1:
            channel = axes[1] // per_group * (channels // self.groups) + input_channel
            within = axes[1] % per_group
        places, conditions = [], []
        for axis, k, size, (stride, dilation, before, _, _) in zip(
            axes[2:], kernel, input.shape[2:], each, strict=True
        ):
            reached = axis + before - k * dilation
            place = reached // stride
            places.append(place)
            conditions += [reached >= 0, place < extent(size)]
            if stride > 1:
                conditions.append(apply("eq", reached % stride, 0))
        wide = accumulator(input.dtype)
        x = cast(input[(axes[0], channel, *places)], wide)
        term = x * cast(weight[(channel, within, *kernel)], wide)
        y = total(select(all_of(conditions), term, literal(0, wide)), over=(input_channel, *kernel))
        if bias is not None:
            y = y + cast(bias[axes[1]], wide)
        return (define("output", axes, cast(y, input.dtype)),)

    def reference(self, input: Array, weight: Array, bias: Array | None = None) -> tuple[Array, ...]:
        """Every input element spreads its kernel over the result."""
        each, groups = self._each(input.ndim - 2), self.groups
        sizes = [size for size in self._sizes(input.shape, weight.shape) if isinstance(size, int)]
        out = weight.shape[1] * groups
        einsum: Any = np.einsum
        full = [
            max((size - 1) * s + (k - 1) * d + 1, 0) + before + after + max(more, 0)
            for size, k, (s, d, before, after, more) in zip(input.shape[2:], weight.shape[2:], each, strict=True)
        ]
        y = np.zeros((input.shape[0], groups, weight.shape[1], *full))
        x = input.astype(np.float64).reshape(input.shape[0], groups, input.shape[1] // groups, *input.shape[2:])
        w = weight.astype(np.float64).reshape(groups, -1, *weight.shape[1:])
        for place in itertools.product(*map(range, weight.shape[2:])):
            here: Any = (..., *place)
            term = einsum("ngi...,gio->ngo...", x, w[here])
            at: Any = (
                ...,
                *(
                    slice(k * d, k * d + (size - 1) * s + 1 if size else k * d, s)
                    for k, size, (s, d, *_) in zip(place, input.shape[2:], each, strict=True)
                ),
            )
            y[at] += term
        cut: Any = (..., *(slice(pad, pad + size) for size, (_, _, pad, _, _) in zip(sizes, each, strict=True)))
        y = y.reshape(input.shape[0], out, *full)[cut]
        if bias is not None:
            y = y + bias.astype(np.float64).reshape(1, -1, *[1] * len(sizes))
        return (np.ascontiguousarray(y).astype(input.dtype),)
