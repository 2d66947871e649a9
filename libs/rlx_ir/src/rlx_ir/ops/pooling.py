"""Pooling over images: max_pool, average_pool, global_max_pool, global_average_pool."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rlx_base.dtypes import INDEX
from rlx_ir.dims import Dim
from rlx_ir.dims import total as elements
from rlx_ir.expr import (
    Axis,
    Expr,
    Tensor,
    all_of,
    cast,
    define,
    extent,
    greatest,
    identity,
    literal,
    select,
    total,
)
from rlx_ir.op import Array, Op, register
from rlx_ir.ops.axes import result_axes
from rlx_ir.ops.rules import accumulator, check_dtype, check_rank, inherit, refuse
from rlx_ir.ops.window import Padding, Window, padded, windows
from rlx_ir.types import TensorType

__all__ = ["AveragePool", "GlobalAveragePool", "GlobalMaxPool", "MaxPool"]


class _Pool(Op):
    """A window over each channel of an image."""

    operands = ("input",)

    kernel: tuple[int, ...]
    strides: tuple[int, ...] | None
    padding: Padding
    dilations: tuple[int, ...] | None
    ceil_mode: bool

    def _windows(self, shape: tuple[Dim, ...]) -> tuple[Window, ...]:
        found = windows(
            self.name, shape[2:], self.kernel, self.strides, self.padding, self.dilations, round_up=self.ceil_mode
        )
        for window in found:
            if max(window.before, window.after) >= window.reach:
                raise refuse(
                    self.name,
                    f"padding {max(window.before, window.after)} under a window over {window.reach} places",
                    "a window must see some of the image: make the padding smaller than the window",
                )
        return found

    def _infer(self, input: TensorType) -> tuple[TensorType, ...]:
        check_rank(self.name, "input", input, 4, "N, C, H, W")
        return (inherit(input, (*input.shape[:2], *(window.output for window in self._windows(input.shape)))),)

    def _axes(self, input: Tensor) -> tuple[tuple[Axis, ...], tuple[Axis, Axis], tuple[Expr, ...], list[Expr]]:
        """The result's axes, the kernel's, the place in the input that they see, and when it is in bounds."""
        vertical, horizontal = self._windows(input.shape)
        axes = result_axes((*input.shape[:2], vertical.output, horizontal.output))
        kernel = Axis("kernel_height", vertical.kernel), Axis("kernel_width", horizontal.kernel)
        row, column = vertical.place(axes[2], kernel[0]), horizontal.place(axes[3], kernel[1])
        return axes, kernel, (*axes[:2], row, column), vertical.inside(row) + horizontal.inside(column)

    def _seen(self, image: Array, along: tuple[Window, ...]) -> Iterator[Array]:
        """For each place of the kernel, what it sees of a padded image from every output place."""
        vertical, horizontal = along
        height, width = vertical.output, horizontal.output
        assert isinstance(height, int)
        assert isinstance(width, int)
        for p in range(vertical.kernel):
            for q in range(horizontal.kernel):
                rows = np.arange(height) * vertical.stride + p * vertical.dilation
                columns = np.arange(width) * horizontal.stride + q * horizontal.dilation
                yield image[:, :, rows[:, None], columns[None, :]]


@register
@dataclass(frozen=True, slots=True)
class MaxPool(_Pool):
    """y[n, c, h, w] = the greatest x that the window at (h, w) sees; padding is never chosen, NaN always is.

    Shapes: (N, C, H, W) → (N, C, H′, W′), sizes as in `conv2d`; `ceil_mode` rounds them up. Strides are 1 by default.
    Errors: E110 where the window outgrows the padded image or the padding the window. Source: ONNX MaxPool-22.
    """

    name = "max_pool"

    kernel: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    padding: Padding = (0, 0)
    dilations: tuple[int, ...] | None = None
    ceil_mode: bool = False

    def infer(self, input: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "input", input.dtype, "number")
        return self._infer(input)

    def expression(self, input: Tensor) -> tuple[Tensor, ...]:
        axes, kernel, place, inside = self._axes(input)
        seen = select(all_of(inside), input[place], identity("max", input.dtype))
        return (define("output", axes, greatest(seen, over=kernel)),)

    def reference(self, input: Array) -> tuple[Array, ...]:
        along = self._windows(input.shape)
        lowest = -np.inf if input.dtype.kind == "f" else np.iinfo(input.dtype).min
        return (np.maximum.reduce(list(self._seen(padded(input, along, lowest), along))),)


@register
@dataclass(frozen=True, slots=True)
class AveragePool(_Pool):
    """y[n, c, h, w] = the mean of what the window at (h, w) sees: of the image alone, or of its padding too
    (`count_include_pad`); what `ceil_mode` adds beyond the padding is never counted.

    Shapes and errors as in `max_pool`. Source: ONNX AveragePool-22.
    """

    name = "average_pool"

    kernel: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    padding: Padding = (0, 0)
    dilations: tuple[int, ...] | None = None
    ceil_mode: bool = False
    count_include_pad: bool = False

    def infer(self, input: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "input", input.dtype, "float")
        return self._infer(input)

    def expression(self, input: Tensor) -> tuple[Tensor, ...]:
        axes, kernel, place, inside = self._axes(input)
        wide = accumulator(input.dtype)
        seen = select(all_of(inside), cast(input[place], wide), literal(0, wide))
        names = ("counted_rows", "counted_columns")
        counts = [self._count(*pair) for pair in zip(names, self._windows(input.shape), strict=True)]
        y = total(seen, over=kernel)
        fixed = 1
        for axis, count in zip(axes[2:], counts, strict=True):
            if isinstance(count, int):
                fixed *= count
            else:
                y = y / cast(count[axis], wide)
        return (define("output", axes, cast(y if fixed == 1 else y / fixed, input.dtype)),)

    def _count(self, name: str, window: Window) -> int | Tensor:
        """How many places count along one dimension: a number, or one for each output place."""
        output, kernel = Axis("column", window.output), Axis("reduce", window.kernel)
        place = window.place(output, kernel)
        if not self.count_include_pad:
            inside = window.inside(place)
        elif self.ceil_mode:
            inside = [place < extent(window.size) + window.after]
        else:
            inside = []
        if not inside:
            return window.kernel
        counted = select(all_of(inside), literal(1, INDEX), literal(0, INDEX))
        return define(name, (output,), total(counted, over=(kernel,)))

    def reference(self, input: Array) -> tuple[Array, ...]:
        along = self._windows(input.shape)
        image = padded(input.astype(np.float64), along, 0.0)
        counted = padded(np.ones((1, 1, *input.shape[2:])), along, 0.0)
        if self.count_include_pad:
            counted[:] = 0
            vertical, horizontal = along
            rows = input.shape[2] + vertical.before + vertical.after
            columns = input.shape[3] + horizontal.before + horizontal.after
            counted[:, :, :rows, :columns] = 1
        total_seen = np.add.reduce(list(self._seen(image, along)))
        return ((total_seen / np.add.reduce(list(self._seen(counted, along)))).astype(input.dtype),)


class _GlobalPool(Op):
    """One value per channel, over everything after it."""

    operands = ("input",)

    def _infer(self, input: TensorType) -> tuple[TensorType, ...]:
        if input.rank < 3:
            raise refuse(self.name, f"input is {input}", "it has a batch, a channel and more: (N, C, H, …)")
        return (inherit(input, input.shape[:2] + (1,) * (input.rank - 2)),)

    def _axes(self, input: Tensor) -> tuple[tuple[Axis, ...], tuple[Axis, ...], Expr]:
        """The result's axes, those it runs over, and the element that they read."""
        axes = result_axes(input.shape[:2] + (1,) * (input.rank - 2))
        names = ("kernel_depth", "kernel_height", "kernel_width")[-(input.rank - 2) :]
        if input.rank > 5:
            names = tuple(f"reduce{i}" for i in range(input.rank - 2))
        over = tuple(Axis(name, size) for name, size in zip(names, input.shape[2:], strict=True))
        return axes, over, input[(*axes[:2], *over)]


@register
@dataclass(frozen=True, slots=True)
class GlobalAveragePool(_GlobalPool):
    """y[n, c, 1, …] = the mean of x[n, c, :, …]; NaN of an empty image.

    Shapes: (N, C, H, …) → (N, C, 1, …). Errors: E110 of a rank < 3. Source: ONNX GlobalAveragePool-22.
    """

    name = "global_average_pool"

    def infer(self, input: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "input", input.dtype, "float")
        return self._infer(input)

    def expression(self, input: Tensor) -> tuple[Tensor, ...]:
        axes, over, element = self._axes(input)
        wide = accumulator(input.dtype)
        count = elements(input.shape[2:])
        divisor = literal(count, wide) if isinstance(count, int) else cast(extent(count), wide)
        return (define("output", axes, cast(total(cast(element, wide), over=over) / divisor, input.dtype)),)

    def reference(self, input: Array) -> tuple[Array, ...]:
        axes = tuple(range(2, input.ndim))
        summed = input.astype(np.float64).sum(axis=axes, keepdims=True)
        return ((summed / np.prod(input.shape[2:], dtype=np.float64)).astype(input.dtype),)


@register
@dataclass(frozen=True, slots=True)
class GlobalMaxPool(_GlobalPool):
    """y[n, c, 1, …] = the greatest of x[n, c, :, …]; the lowest value of the dtype of an empty image.

    Shapes: (N, C, H, …) → (N, C, 1, …). Errors: E110 of a rank < 3. Source: ONNX GlobalMaxPool-22.
    """

    name = "global_max_pool"

    def infer(self, input: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "input", input.dtype, "number")
        return self._infer(input)

    def expression(self, input: Tensor) -> tuple[Tensor, ...]:
        axes, over, element = self._axes(input)
        return (define("output", axes, greatest(element, over=over)),)

    def reference(self, input: Array) -> tuple[Array, ...]:
        lowest = -np.inf if input.dtype.kind == "f" else np.iinfo(input.dtype).min
        return (input.max(axis=tuple(range(2, input.ndim)), keepdims=True, initial=lowest),)
