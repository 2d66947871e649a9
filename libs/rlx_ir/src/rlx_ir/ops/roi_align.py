"""roi_align: regions of an image as grids of one size, each place the mean or the greatest of points in it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rlx_base.dtypes import INDEX
from rlx_ir.expr import (
    Axis,
    Expr,
    Tensor,
    apply,
    cast,
    clamp,
    define,
    greatest,
    literal,
    maximum,
    minimum,
    select,
    total,
)
from rlx_ir.op import Array, Op, register
from rlx_ir.ops.axes import result_axes
from rlx_ir.ops.indexing import place_in, places_in
from rlx_ir.ops.rules import accumulator, check_dtype, check_equal_dtypes, inherit, refuse
from rlx_ir.types import TensorType

__all__ = ["RoiAlign"]


@register
@dataclass(frozen=True, slots=True)
class RoiAlign(Op):
    """y[r, c, i, j] = the mean (or the greatest, with mode "max") over points of bin (i, j) of region r, read between
    the pixels of x[batch_indices[r], c].

    A region is (x₁, y₁, x₂, y₂), times `spatial_scale`, less half a pixel where `half_pixel`; without it a region is at
    least one pixel wide. Each bin has `sampling_ratio`² points, or, for 0, as many as its sides have pixels, rounded
    up. A point more than a pixel outside is 0. The greatest is of the weighted pixels, not of what they sum to.
    Shapes: x (N, C, H, W), rois (R, 4), batch_indices (R) → (R, C, output_height, output_width).
    Errors: E110 where they do not fit. Source: ONNX RoiAlign-22.
    """

    name = "roi_align"
    operands = ("x", "rois", "batch_indices")

    output_height: int = 1
    output_width: int = 1
    sampling_ratio: int = 0
    spatial_scale: float = 1.0
    half_pixel: bool = True
    mode: Literal["avg", "max"] = "avg"

    def infer(self, x: TensorType, rois: TensorType, batch_indices: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "x", x.dtype, "float")
        check_dtype(self.name, "batch_indices", batch_indices.dtype, "integer")
        check_equal_dtypes(self.name, ("x", "rois"), (x, rois))
        known = x.rank == 4 and all(isinstance(size, int) and size > 0 for size in x.shape[2:])
        if not known or x.shape[0] == 0 or rois.rank != 2 or rois.shape[1] != 4:
            raise refuse(self.name, f"x is {x}, rois {rois}", "(N, C, H, W) with H and W as numbers, and (R, 4)")
        if batch_indices.shape != rois.shape[:1]:
            raise refuse(self.name, f"rois are {rois}, batch_indices {batch_indices}", "give one index per region")
        if min(self.output_height, self.output_width) < 1 or self.sampling_ratio < 0:
            sizes = f"{self.output_height} x {self.output_width}, sampling_ratio {self.sampling_ratio}"
            raise refuse(self.name, f"the output is {sizes}", "give sizes ≥ 1 and a ratio ≥ 0")
        return (inherit(x, (rois.shape[0], x.shape[1], self.output_height, self.output_width)),)

    def expression(self, x: Tensor, rois: Tensor, batch_indices: Tensor) -> tuple[Tensor, ...]:
        wide = accumulator(x.dtype)
        axes = result_axes((rois.shape[0], x.shape[1], self.output_height, self.output_width))
        region = axes[0]
        # Per dimension, of the height first: where the region begins, how long a bin is, how many points it has.
        shape = (self.output_height, self.output_width)
        steps = tuple(Axis(f"point{d}", self._points(x, d)) for d in (0, 1))
        # Places and weights do not depend on the channel: each is a stage of its own.
        taps: list[list[tuple[Expr, Expr]]] = []
        counted: list[Expr] = []
        near: list[Expr] = []
        counts: list[Expr] = []
        for d in (0, 1):
            size = x.shape[2 + d]
            assert isinstance(size, int)
            low, high = (cast(rois[region, k], wide) * self.spatial_scale for k in (1 - d, 3 - d))
            half = 0.5 if self.half_pixel else 0.0
            length = high - low if self.half_pixel else maximum(high - low, 1.0)
            start = define(f"start{d}", (region,), low - half)[region]
            bin = define(f"bin{d}", (region,), length / float(shape[d]))[region]
            grid: Expr = literal(float(self.sampling_ratio), wide)
            if not self.sampling_ratio:
                grid = define(f"grid{d}", (region,), maximum(apply("ceil", bin), 0.0))[region]
            point = (region, axes[2 + d], steps[d])
            base = start + cast(axes[2 + d], wide) * bin
            number: Expr = cast(steps[d], wide)
            if not self.sampling_ratio:
                # Points far outside are 0; the loop begins with the last one before the image.
                skipped = minimum(apply("floor", (-1.0 - base) * grid / bin - 0.5), grid - 1.0)
                number = number + select(bin > 0, maximum(skipped, 0.0), literal(0.0, wide))
                number = define(f"number{d}", point, number)[point]
            at = define(f"at{d}", point, base + (number + 0.5) * bin / grid)[point]
            counts.append(grid)
            counted.append(number < grid)
            near += [at >= -1.0, at <= float(size)]
            inner = clamp(at, 0.0, float(size - 1))
            place = define(f"place{d}", point, clamp(cast(apply("floor", inner), INDEX), 0, size - 1))[point]
            weight = define(f"weight{d}", point, inner - apply("floor", inner))[point]
            taps.append([(place, 1.0 - weight), (minimum(place + 1, size - 1), weight)])
        there = apply("and", *counted)
        inside = apply("and", apply("and", near[0], near[1]), apply("and", near[2], near[3]))
        image = place_in(batch_indices[region], x.shape[0])

        def pixel(y: int, x_: int) -> Expr:
            (row, up), (column, along) = taps[0][y], taps[1][x_]
            return cast(x[image, axes[1], row, column], wide) * (up * along)

        corners = [pixel(0, 0), pixel(0, 1), pixel(1, 0), pixel(1, 1)]
        zero = literal(0.0, wide)
        if self.mode == "max":
            best = corners[0]
            for corner in corners[1:]:
                best = maximum(best, corner)
            points = greatest(select(there, select(inside, best, zero), -math.inf), over=steps)
            found = define("points", axes, points)
            return (define("output", axes, cast(select(counts[0] * counts[1] > 0, found[axes], zero), x.dtype)),)
        value = select(apply("and", there, inside), corners[0] + corners[1] + corners[2] + corners[3], zero)
        count = maximum(counts[0] * counts[1], 1.0)
        return (define("output", axes, cast(total(value, over=steps) / count, x.dtype)),)

    def _points(self, x: Tensor, d: int) -> int:
        """How many points along a dimension can be inside: they are half a pixel apart or more."""
        size = x.shape[2 + d]
        assert isinstance(size, int)
        return self.sampling_ratio or 2 * (size + 3)

    def reference(self, x: Array, rois: Array, batch_indices: Array) -> tuple[Array, ...]:
        y = np.zeros((len(rois), x.shape[1], self.output_height, self.output_width), np.float64)
        images = places_in(batch_indices, x.shape[0])
        wide = np.float64 if x.dtype == np.float64 else np.float32
        for r, i, j in np.ndindex(len(rois), self.output_height, self.output_width):
            rows, columns = (
                self._along(rois[r].astype(wide), d, place, x.shape[2 + d]) for d, place in ((0, i), (1, j))
            )
            if not rows or not columns:
                continue
            image = x[images[r]].astype(np.float64)
            values = []
            for row, column in ((row, column) for row in rows for column in columns):
                weighed = [image[:, p, q] * (u * v) for p, u in row for q, v in column] or [np.zeros(x.shape[1])]
                values.append(np.sum(weighed, axis=0) if self.mode == "avg" else np.max(weighed, axis=0))
            y[r, :, i, j] = np.mean(values, axis=0) if self.mode == "avg" else np.max(values, axis=0)
        return (y.astype(x.dtype),)

    def _along(self, roi: Array, d: int, place: int, size: int) -> list[list[tuple[int, float]]]:
        """Per point of a bin the two pixels around it with their weights; none outside."""
        half = 0.5 if self.half_pixel else 0.0
        bins = self.output_height if d == 0 else self.output_width
        low, high = (roi[k] * self.spatial_scale - half for k in (1 - d, 3 - d))
        length = (high - low if self.half_pixel else max(high - low, 1.0)) / bins
        count = self.sampling_ratio or max(math.ceil(length), 0)
        points: list[list[tuple[int, float]]] = []
        for k in range(count):
            at = low + place * length + (k + 0.5) * length / count
            if not -1 <= at <= size:
                points.append([])
                continue
            at = min(max(at, 0.0), size - 1.0)
            first = math.floor(at)
            points.append([(first, 1 - (at - first)), (min(first + 1, size - 1), at - first)])
        return points
