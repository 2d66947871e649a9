"""grid_sample: an image read at places that a grid gives."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rlx_base.dtypes import INDEX
from rlx_ir.dims import Dim
from rlx_ir.expr import Expr, Tensor, all_of, apply, cast, clamp, define, extent, literal, select, within
from rlx_ir.op import Array, Op, register
from rlx_ir.ops.axes import result_axes
from rlx_ir.ops.rules import accumulator, check_dtype, check_equal_dtypes, inherit, refuse
from rlx_ir.types import TensorType

__all__ = ["GridSample"]

_A = -0.75  # the steepness of the cubic kernel


@register
@dataclass(frozen=True, slots=True)
class GridSample(Op):
    """y[n, c, o…] = input[n, c, …] at the place grid[n, o…], whose coordinates (the last dimension first) run from −1
    to 1 over the image: from centre to centre of its outermost pixels with `align_corners`, else from edge to edge.

    mode "nearest" takes the nearest pixel (halves to the even one), "linear" weighs two along each dimension, "cubic"
    four. Outside of the image stands 0, the border, or its reflection.
    Shapes: input (N, C, D…), grid (N, O…, rank of D) → (N, C, O…). Errors: E110 where they do not fit, or the image is
    empty. Source: ONNX GridSample-22.
    """

    name = "grid_sample"
    operands = ("input", "grid")

    mode: Literal["linear", "nearest", "cubic"] = "linear"
    padding_mode: Literal["zeros", "border", "reflection"] = "zeros"
    align_corners: bool = False

    def infer(self, input: TensorType, grid: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "input", input.dtype, "float")
        check_equal_dtypes(self.name, ("input", "grid"), (input, grid))
        rank = input.rank - 2
        if rank < 1 or grid.rank != input.rank or grid.shape[-1] != rank or grid.shape[0] != input.shape[0]:
            raise refuse(self.name, f"input is {input}, grid {grid}", "give (N, C, D…) and (N, O…, one number per D)")
        if 0 in input.shape[2:]:
            raise refuse(self.name, f"input is {input}", "an empty image has no pixels to read")
        if self.mode == "cubic" and rank > 2:
            raise refuse(self.name, f'mode="cubic" over {rank} dimensions', "it is for one or two; use linear")
        return (inherit(input, (input.shape[0], input.shape[1], *grid.shape[1:-1])),)

    def expression(self, input: Tensor, grid: Tensor) -> tuple[Tensor, ...]:
        wide, rank = accumulator(input.dtype), input.rank - 2
        axes = result_axes((input.shape[0], input.shape[1], *grid.shape[1:-1]))
        here = (axes[0], *axes[2:])
        places = []
        for d in range(rank):  # each coordinate is a stage, since every tap reads it
            at = cast(grid[(*here, literal(rank - 1 - d, INDEX))], wide)
            places.append(define(f"place{d}", here, self._place(at, input.shape[2 + d])))
        each: list[list[tuple[Expr, Expr | None, list[Expr]]]] = []
        for d, place in enumerate(places):
            along: list[tuple[Expr, Expr | None, list[Expr]]] = []
            for k, (index, weight, conditions) in enumerate(self._taps(place[here], input.shape[2 + d])):
                pixel = define(f"index{d}_{k}", here, index)[here]
                factor = None if weight is None else define(f"weight{d}_{k}", here, weight)[here]
                along.append((pixel, factor, conditions(pixel)))
            each.append(along)
        y: Expr | None = None
        for taps in itertools.product(*each):
            indices = [index for index, _, _ in taps]
            inside = [condition for _, _, conditions in taps for condition in conditions]
            value: Expr = cast(input[(axes[0], axes[1], *indices)], wide)
            value = select(all_of(inside), value, literal(0, wide))
            for _, weight, _ in taps:
                value = value if weight is None else value * weight
            y = value if y is None else y + value
        assert y is not None
        return (define("output", axes, cast(y, input.dtype)),)

    def _edges(self, size: Expr) -> tuple[float, Expr]:
        """Where the image begins and ends, in pixels."""
        return (0.0, size - 1) if self.align_corners else (-0.5, size - 0.5)

    def _place(self, at: Expr, dim: Dim) -> Expr:
        size = cast(extent(dim), at.dtype) if not isinstance(dim, int) else literal(dim, at.dtype)
        place = (at + 1) * 0.5 * (size - 1) if self.align_corners else ((at + 1) * size - 1) * 0.5
        if self.mode == "nearest":
            place = apply("round", place)
        if self.padding_mode == "border":
            return clamp(place, 0, size - 1)
        if self.padding_mode == "reflection":
            return self._reflected(place, size)
        return place

    def _reflected(self, place: Expr, size: Expr) -> Expr:
        low, high = self._edges(size)
        span = high - low
        turn = apply("mod", place - low, span * 2)
        folded = select(turn > span, span * 2 - turn, turn)
        return select(span > 0, folded + low, literal(0, place.dtype))

    def _taps(self, place: Expr, dim: Dim) -> list[tuple[Expr, Expr | None, Callable[[Expr], list[Expr]]]]:
        """The pixels that count along one dimension: index, weight, and when it is inside."""
        first = apply("floor", place)
        t = place - first
        match self.mode:
            case "nearest":
                weights: list[tuple[int, Expr | None]] = [(0, None)]
            case "linear":
                weights = [(0, 1 - t), (1, t)]
            case _:
                weights = [(-1, _outer(t + 1)), (0, _inner(t)), (1, _inner(1 - t)), (2, _outer(2 - t))]
        size = extent(dim)
        found: list[tuple[Expr, Expr | None, Callable[[Expr], list[Expr]]]] = []
        for step, weight in weights:
            at = first + step
            if self.padding_mode == "reflection":
                pixels = cast(size, place.dtype) if not isinstance(dim, int) else literal(dim, place.dtype)
                at = self._reflected(at, pixels)
            # Brought near the image before it becomes an index: far outside, the conversion would be of any value.
            index = cast(clamp(at, -1e6, 1e6), INDEX)
            if self.padding_mode == "zeros":
                found.append((index, weight, lambda index: within(index, 0, size)))
            else:
                found.append((clamp(index, 0, size - 1), weight, lambda index: []))
        return found

    def reference(self, input: Array, grid: Array) -> tuple[Array, ...]:
        image, rank = input.astype(np.float64), input.ndim - 2
        y = np.zeros((*input.shape[:2], *grid.shape[1:-1]))
        for place in np.ndindex(grid.shape[:-1]):
            each = []
            for d in range(rank):
                each.append(self._numbers(float(grid[(*place, rank - 1 - d)]), input.shape[2 + d]))
            total: Any = 0.0
            for taps in itertools.product(*each):
                if all(index is not None for index, _ in taps):
                    total = total + image[(place[0], slice(None), *(index for index, _ in taps))] * np.prod(
                        [weight for _, weight in taps]
                    )
            y[(place[0], slice(None), *place[1:])] = total
        return (y.astype(input.dtype),)

    def _numbers(self, at: float, size: int) -> list[tuple[Any, float]]:
        """Indices (None: outside) and weights along one dimension."""
        low, high = (0.0, size - 1.0) if self.align_corners else (-0.5, size - 0.5)

        def reflected(x: float) -> float:
            if high == low:
                return 0.0
            turn = (x - low) % (2 * (high - low))
            return low + min(turn, 2 * (high - low) - turn)

        place = (at + 1) / 2 * (size - 1) if self.align_corners else ((at + 1) * size - 1) / 2
        place = float(np.rint(place)) if self.mode == "nearest" else place
        if self.padding_mode == "border":
            place = min(max(place, 0.0), size - 1.0)
        elif self.padding_mode == "reflection":
            place = reflected(place)
        first = float(np.floor(place))
        kernel: Callable[[float], float] = {"nearest": lambda d: 1.0, "linear": lambda d: 1 - d, "cubic": _cubic}[
            self.mode
        ]
        steps = {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}[self.mode]
        found: list[tuple[Any, float]] = []
        for step in steps:
            index = int(reflected(first + step)) if self.padding_mode == "reflection" else int(first + step)
            inside = 0 <= index < size
            clamped = None if self.padding_mode == "zeros" and not inside else min(max(index, 0), size - 1)
            found.append((clamped, kernel(abs(place - (first + step)))))
        return found


def _cubic(d: float) -> float:
    if d <= 1:
        return (_A + 2) * d**3 - (_A + 3) * d**2 + 1
    return _A * d**3 - 5 * _A * d**2 + 8 * _A * d - 4 * _A


def _inner(t: Expr) -> Expr:
    return ((t * (_A + 2) - (_A + 3)) * t) * t + 1


def _outer(t: Expr) -> Expr:
    return ((t * _A - 5 * _A) * t + 8 * _A) * t - 4 * _A
