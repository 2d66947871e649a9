"""deform_conv: a convolution whose kernel reads where offsets of its own say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlx_base.dtypes import INDEX
from rlx_ir.dims import Dim
from rlx_ir.expr import Axis, Expr, Tensor, all_of, apply, cast, define, literal, select, total, within
from rlx_ir.op import Array, Op, register
from rlx_ir.ops.axes import result_axes
from rlx_ir.ops.convolution import check_channels
from rlx_ir.ops.rules import accumulator, check_dtype, check_equal_dtypes, check_rank, inherit, refuse
from rlx_ir.types import TensorType

__all__ = ["DeformConv"]


@register
@dataclass(frozen=True, slots=True)
class DeformConv(Op):
    """y[n, o, i, j] = bias[o] + Σ weight[o, c, k, l] · mask · input[n, c, i·s + k·d − p + Δ, …], over c, k and l, read
    between the pixels (those outside are 0); Δ and the mask are given for each place, kernel element and offset group.

    Shapes: input (N, C, H, W), weight (O, C/groups, K, L), offset (N, offset_groups·K·L·2, H′, W′), of each element the
    vertical one first, bias (O), mask (N, offset_groups·K·L, H′, W′) → (N, O, H′, W′).
    Errors: E110 where they do not fit, or sizes are not known. Source: ONNX DeformConv-22, of images.
    """

    name = "deform_conv"
    operands = ("input", "weight", "offset", "bias?", "mask?")

    strides: tuple[int, ...] = (1, 1)
    pads: tuple[int, ...] = (0, 0, 0, 0)
    dilations: tuple[int, ...] = (1, 1)
    groups: int = 1
    offset_groups: int = 1

    def infer(
        self,
        input: TensorType,
        weight: TensorType,
        offset: TensorType,
        bias: TensorType | None = None,
        mask: TensorType | None = None,
    ) -> tuple[TensorType, ...]:
        check_dtype(self.name, "input", input.dtype, "float")
        for name, type in (("input", input), ("weight", weight), ("offset", offset)):
            check_rank(self.name, name, type, 4, "N, C, H, W")
            check_equal_dtypes(self.name, ("input", name), (input, type))
        check_channels(self.name, input, self.groups, weight.shape[0], weight.shape[1], weight)
        sizes = [size for size in (*input.shape[1:], *weight.shape) if isinstance(size, int)]
        if len(sizes) != 7 or min(sizes) < 1 or sizes[0] % max(self.offset_groups, 1):
            what = f"input is {input}, weight {weight}, offset_groups={self.offset_groups}"
            raise refuse(self.name, what, "sizes ≥ 1 as numbers, and channels that offset_groups divides")
        rows, columns = self._sizes(input.shape, weight.shape)
        kernel = self.offset_groups * sizes[-2] * sizes[-1]
        wanted = (input.shape[0], 2 * kernel, rows, columns)
        if offset.shape != wanted or min(rows, columns) < 1:
            raise refuse(self.name, f"offset is {offset}", f"give it the shape {list(map(str, wanted))}")
        out = weight.shape[0]
        for name, own, shape in (
            ("bias", bias, (out,)),
            ("mask", mask, (input.shape[0], kernel, rows, columns)),
        ):
            if own is not None:
                check_equal_dtypes(self.name, ("input", name), (input, own))
                if own.shape != shape:
                    raise refuse(self.name, f"{name} is {own}", f"give it the shape {list(map(str, shape))}")
        return (inherit(input, (input.shape[0], out, rows, columns)),)

    def _sizes(self, image: tuple[Dim, ...], weight: tuple[Dim, ...]) -> tuple[int, int]:
        """Height and width of the result."""
        if len(self.strides) != 2 or len(self.dilations) != 2 or len(self.pads) != 4 or min(self.strides) < 1:
            raise refuse(self.name, "its windows are not of two dimensions", "2 strides ≥ 1, 2 dilations, 4 pads")
        found = []
        for d in (0, 1):
            size, kernel = image[2 + d], weight[2 + d]
            assert isinstance(size, int)
            assert isinstance(kernel, int)
            reach = self.dilations[d] * (kernel - 1) + 1
            found.append((size + self.pads[d] + self.pads[2 + d] - reach) // self.strides[d] + 1)
        return found[0], found[1]

    def expression(
        self,
        input: Tensor,
        weight: Tensor,
        offset: Tensor,
        bias: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        wide = accumulator(input.dtype)
        (out, per_group, kernel_height, kernel_width), channels = weight.shape, input.shape[1]
        assert isinstance(out, int)
        assert isinstance(per_group, int)
        assert isinstance(channels, int)
        assert isinstance(kernel_height, int)
        assert isinstance(kernel_width, int)
        rows, columns = self._sizes(input.shape, weight.shape)
        axes = result_axes((input.shape[0], out, rows, columns))
        batch, _, row, column = axes
        share = channels // self.offset_groups
        group = Axis("offset_group", self.offset_groups)
        tap = Axis("tap", kernel_height * kernel_width)
        inner = (tap // kernel_width, tap % kernel_width)
        number = group * (kernel_height * kernel_width) + tap
        channel = Axis("channel", channels)
        here = (batch, group, tap, row, column)
        there = (batch, channel // share, tap, row, column)
        sides = []
        for d, axis in ((0, row), (1, column)):
            size = input.shape[2 + d]
            plain = axis * self.strides[d] + inner[d] * self.dilations[d] - self.pads[d]
            moved = cast(plain, wide) + cast(offset[batch, number * 2 + d, row, column], wide)
            at = define(f"at{d}", here, moved)[here]
            first = apply("floor", at)
            near = cast(select(_is_near(first, size), first, literal(-2.0, wide)), INDEX)
            place, part = define(f"place{d}", here, near)[there], define(f"part{d}", here, at - first)[there]
            sides.append([(place, 1.0 - part, size), (place + 1, part, size)])
        value: Expr = literal(0.0, wide)
        for y, up, height in sides[0]:
            for x, along, width in sides[1]:
                inside = all_of([*within(y, 0, height), *within(x, 0, width)])  # type: ignore[arg-type]
                pixel = cast(input[batch, channel, y, x], wide) * (up * along)
                value = value + select(inside, pixel, literal(0.0, wide))
        if mask is not None:
            weight_of = mask[batch, (channel // share) * (kernel_height * kernel_width) + tap, row, column]
            value = value * cast(weight_of, wide)
        read = define("read", (batch, channel, tap, row, column), value)
        own, step = Axis("reduce0", per_group), Axis("reduce1", kernel_height * kernel_width)
        first_channel = axes[1] // (out // self.groups) * per_group
        term = read[batch, first_channel + own, step, row, column] * cast(
            weight[axes[1], own, step // kernel_width, step % kernel_width], wide
        )
        y_sum = total(term, over=(own, step))
        if bias is not None:
            y_sum = y_sum + cast(bias[axes[1]], wide)
        return (define("output", axes, cast(y_sum, input.dtype)),)

    def reference(
        self, input: Array, weight: Array, offset: Array, bias: Array | None = None, mask: Array | None = None
    ) -> tuple[Array, ...]:
        (batches, channels), (out, per_group, kernel_height, kernel_width) = input.shape[:2], weight.shape
        rows, columns = self._sizes(input.shape, weight.shape)
        taps = kernel_height * kernel_width
        moved = offset.astype(np.float64).reshape(batches, self.offset_groups, taps, 2, rows, columns)
        shares = np.ones((batches, self.offset_groups, taps, rows, columns))
        if mask is not None:
            shares = mask.astype(np.float64).reshape(shares.shape)
        read = np.zeros((batches, channels, taps, rows, columns))
        image = np.pad(input.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
        for n, g, tap, i, j in np.ndindex(batches, self.offset_groups, taps, rows, columns):
            k = divmod(tap, kernel_width)
            at = [
                (i, j)[d] * self.strides[d] + k[d] * self.dilations[d] - self.pads[d] + moved[n, g, tap, d, i, j]
                for d in (0, 1)
            ]
            share = channels // self.offset_groups
            own = slice(g * share, (g + 1) * share)
            read[n, own, tap, i, j] = _between(image[n, own], at[0], at[1]) * shares[n, g, tap, i, j]
        y = np.zeros((batches, out, rows, columns))
        for o in range(out):
            first = o // (out // self.groups) * per_group
            part = read[:, first : first + per_group]
            y[:, o] = np.einsum("nckij,ck->nij", part, weight[o].astype(np.float64).reshape(per_group, taps))
        if bias is not None:
            y += bias.astype(np.float64).reshape(1, -1, 1, 1)
        return (y.astype(input.dtype),)


def _is_near(first: Expr, size: Dim) -> Expr:
    """Whether a place is near enough to the dimension for one of its neighbours to be inside."""
    assert isinstance(size, int)
    return apply("and", first >= -1.0, first < float(size))


def _between(image: Array, y: float, x: float) -> Array:
    """The pixels of all channels between places, of an image with a border of zeros around it."""
    height, width = image.shape[1] - 2, image.shape[2] - 2
    if not (-1 <= y < height and -1 <= x < width):
        return np.zeros(len(image))
    row, column = int(np.floor(y)), int(np.floor(x))
    up, along = y - row, x - column
    top = image[:, row + 1, column + 1] * (1 - along) + image[:, row + 1, column + 2] * along
    bottom = image[:, row + 2, column + 1] * (1 - along) + image[:, row + 2, column + 2] * along
    return np.asarray(top * (1 - up) + bottom * up)
