"""Pooling over images: max_pool and the places it chose, average_pool, lp_pool, global_max_pool, global_average_pool.

Images have one to three dimensions; the attributes have one number for each.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlx_base.dtypes import INDEX, INT64
from rlx_ir.dims import Dim
from rlx_ir.dims import total as elements
from rlx_ir.expr import (
    Axis,
    Expr,
    Tensor,
    all_of,
    apply,
    cast,
    define,
    extent,
    greatest,
    identity,
    least,
    literal,
    select,
    total,
)
from rlx_ir.op import Array, Op, register
from rlx_ir.ops.axes import result_axes
from rlx_ir.ops.rules import accumulator, check_dtype, inherit, refuse
from rlx_ir.ops.window import Padding, Window, kernel_axes, padded, windows
from rlx_ir.types import TensorType

__all__ = ["AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LpPool", "MaxPool", "MaxPoolIndices"]


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
        if input.rank < 3:
            raise refuse(self.name, f"input is {input}", "it has a batch, a channel and more: (N, C, H, W)")
        return (inherit(input, (*input.shape[:2], *(window.output for window in self._windows(input.shape)))),)

    def _axes(self, input: Tensor) -> tuple[tuple[Axis, ...], tuple[Axis, ...], tuple[Expr, ...], list[Expr]]:
        """The result's axes, the kernel's, the place in the input that they see, and when it is in bounds."""
        along = self._windows(input.shape)
        axes = result_axes((*input.shape[:2], *(window.output for window in along)))
        kernel = kernel_axes(along)
        places = [window.place(o, k) for window, o, k in zip(along, axes[2:], kernel, strict=True)]
        inside = [condition for window, at in zip(along, places, strict=True) for condition in window.inside(at)]
        return axes, kernel, (*axes[:2], *places), inside

    def _seen(self, image: Array, along: tuple[Window, ...]) -> Iterator[Array]:
        """For each place of the kernel, what it sees of a padded image from every output place."""
        outputs = [window.output for window in along]
        sizes = [size for size in outputs if isinstance(size, int)]
        for place in itertools.product(*(range(window.kernel) for window in along)):
            lines = [
                np.arange(size) * window.stride + k * window.dilation
                for size, window, k in zip(sizes, along, place, strict=True)
            ]
            grid: Any = (..., *np.ix_(*lines))
            yield image[grid]


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
        names = ("counted_planes", "counted_rows", "counted_columns")[-(input.rank - 2) :]
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
            ends = (size + w.before + w.after for size, w in zip(input.shape[2:], along, strict=True))
            counted[(slice(None), slice(None), *map(slice, ends))] = 1
        total_seen = np.add.reduce(list(self._seen(image, along)))
        return ((total_seen / np.add.reduce(list(self._seen(counted, along)))).astype(input.dtype),)


@register
@dataclass(frozen=True, slots=True)
class MaxPoolIndices(_Pool):
    """y[n, c, h, w] = where in the flattened input the greatest x stands that the window at (h, w) sees; of equal ones
    the first. With `column_major`, places of an image count down its columns first.

    Shapes and errors as in `max_pool`; indices are int64. Source: ONNX MaxPool-22, its second result.
    """

    name = "max_pool_indices"

    kernel: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    padding: Padding = (0, 0)
    dilations: tuple[int, ...] | None = None
    ceil_mode: bool = False
    column_major: bool = False

    def infer(self, input: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "input", input.dtype, "number")
        (type,) = self._infer(input)
        return (inherit(type, type.shape, INT64),)

    def expression(self, input: Tensor) -> tuple[Tensor, ...]:
        axes, kernel, place, inside = self._axes(input)
        seen = select(all_of(inside), input[place], identity("max", input.dtype))
        best = define("best", axes, greatest(seen, over=kernel))
        rank = input.rank
        order = [0, 1, *(reversed(range(2, rank)) if self.column_major else range(2, rank))]
        flat: Expr = literal(0, INDEX)
        for dimension in order:
            flat = flat * extent(input.shape[dimension]) + place[dimension]
        last = literal(2**62, INDEX)
        chosen = select(apply("eq", input[place], best[axes]), flat, last)
        index = least(select(all_of(inside), chosen, last), over=kernel)
        return (define("output", axes, cast(index, INT64)),)

    def reference(self, input: Array) -> tuple[Array, ...]:
        along = self._windows(input.shape)
        lowest = -np.inf if input.dtype.kind == "f" else np.iinfo(input.dtype).min
        flat = np.arange(input.size, dtype=np.int64).reshape(input.shape)
        if self.column_major:
            spatial = tuple(reversed(range(2, input.ndim)))
            turned = (*input.shape[:2], *(input.shape[axis] for axis in spatial))
            flat = np.transpose(flat.reshape(turned), (0, 1, *np.argsort([a - 2 for a in spatial]) + 2))
        values = np.stack(list(self._seen(padded(input, along, lowest), along)))
        places = np.stack(list(self._seen(padded(flat, along, 2**62), along)))
        hit = (values == values.max(axis=0)) & (places < 2**62)
        return (np.where(hit, places, 2**62).min(axis=0),)


@register
@dataclass(frozen=True, slots=True)
class LpPool(_Pool):
    """y[n, c, h, w] = (Σ |x|ᵖ)^(1/p) over what the window at (h, w) sees.

    Shapes and errors as in `max_pool`, p ≥ 1. Source: ONNX LpPool-22.
    """

    name = "lp_pool"

    kernel: tuple[int, ...]
    p: int = 2
    strides: tuple[int, ...] | None = None
    padding: Padding = (0, 0)
    dilations: tuple[int, ...] | None = None
    ceil_mode: bool = False

    def infer(self, input: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "input", input.dtype, "float")
        if not 1 <= self.p <= 16:
            raise refuse(self.name, f"p is {self.p}", "give a whole number from 1 to 16")
        return self._infer(input)

    def expression(self, input: Tensor) -> tuple[Tensor, ...]:
        axes, kernel, place, inside = self._axes(input)
        wide = accumulator(input.dtype)
        size = apply("abs", cast(input[place], wide))
        power = size
        for _ in range(self.p - 1):
            power = power * size
        y = total(select(all_of(inside), power, literal(0, wide)), over=kernel)
        if self.p == 2:
            y = apply("sqrt", y)
        elif self.p > 2:
            y = apply("pow", y, 1 / self.p)
        return (define("output", axes, cast(y, input.dtype)),)

    def reference(self, input: Array) -> tuple[Array, ...]:
        along = self._windows(input.shape)
        image = padded(np.abs(input.astype(np.float64)) ** self.p, along, 0.0)
        return ((np.add.reduce(list(self._seen(image, along))) ** (1 / self.p)).astype(input.dtype),)


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
