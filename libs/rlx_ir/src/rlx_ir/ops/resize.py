"""resize: an image at another size, by nearest, linear or cubic interpolation.

Where a place of the result comes from is a fraction of whole numbers, computed exactly with integers, so that ties of
`nearest` fall the same way on every target.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal as Choice

import numpy as np

from rlx_base.dtypes import INDEX, DType
from rlx_ir.dims import Dim, Shape, floor_div, mul
from rlx_ir.expr import Axis, Expr, Tensor, cast, clamp, define, extent, literal, maximum, select
from rlx_ir.op import Array, Op, register
from rlx_ir.ops.axes import result_axes
from rlx_ir.ops.rules import accumulator, check_dtype, inherit, refuse
from rlx_ir.types import TensorType

__all__ = ["Resize"]

Coordinates = Choice["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
Rounding = Choice["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]


@dataclass(frozen=True, slots=True)
class _Along:
    """One resized dimension: `source` places become `target`, `numerator ÷ denominator` times as many."""

    source: Dim
    target: Dim
    numerator: Dim
    denominator: Dim


@register
@dataclass(frozen=True, slots=True)
class Resize(Op):
    """y[…, i, …] = x at the place that i comes from, along each resized dimension in turn.

    With s = new size ÷ old size (or the given scale) that place is, by `coordinate_mode`: half_pixel
    (i + ½) ÷ s − ½; pytorch_half_pixel the same, but 0 where the new size is 1; asymmetric i ÷ s; align_corners
    i · (old − 1) ÷ (new − 1). mode "nearest" takes the element that `nearest_mode` rounds to, "linear" weighs two
    neighbours, "cubic" four (a = −0.75); beyond the border the border repeats.
    Shapes: `size` or `scales` are for the last dimensions (height, width), or for all; ⌊old · scale⌋ of a scale.
    Errors: E110 where neither or both are given, or an empty dimension grows.
    Source: ONNX Resize-19, without antialias.
    """

    name = "resize"
    operands = ("x",)

    size: tuple[int, ...] | None = None
    scales: tuple[float, ...] | None = None
    mode: Choice["nearest", "linear", "cubic"] = "nearest"
    coordinate_mode: Coordinates = "half_pixel"
    nearest_mode: Rounding = "round_prefer_floor"

    def _along(self, shape: Shape) -> dict[int, _Along]:
        """The resized dimensions by place; one that keeps its size and scale is not among them."""
        if (self.size is None) == (self.scales is None):
            raise refuse(self.name, f"size={self.size}, scales={self.scales}", "give one of the two")
        asked = self.size if self.size is not None else self.scales
        assert asked is not None
        if not 0 < len(asked) <= len(shape) or any(value <= 0 for value in asked):
            raise refuse(
                self.name,
                f"{list(asked)} for a tensor with {len(shape)} dimensions",
                "give numbers > 0 for the last dimensions, as in size=[height, width]",
            )
        found: dict[int, _Along] = {}
        for place, value in enumerate(asked, len(shape) - len(asked)):
            source = shape[place]
            if self.size is not None:
                target: Dim = int(value)
                numerator, denominator = target, source
            else:
                scale = Fraction(value).limit_denominator(10_000)
                numerator, denominator = scale.numerator, scale.denominator
                target = floor_div(mul(source, numerator), denominator)
            if source == 0 and target != 0:
                raise refuse(self.name, f"dimension {place} is 0 and has nothing to repeat", "give it elements first")
            if source != target or numerator != denominator:
                found[place] = _Along(source, target, numerator, denominator)
        return found

    def _shape(self, shape: Shape) -> Shape:
        along = self._along(shape)
        return tuple(along[place].target if place in along else size for place, size in enumerate(shape))

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "x", x.dtype, "number" if self.mode == "nearest" else "float")
        return (inherit(x, self._shape(x.shape)),)

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        along = self._along(x.shape)
        axes = result_axes(self._shape(x.shape))
        wide = accumulator(x.dtype)

        def read(place: int, indices: tuple[Expr, ...]) -> Expr:
            """The value that is interpolated along dimension `place` and those after it."""
            if place == x.rank:
                return cast(x[indices], wide)
            if place not in along:
                return read(place + 1, (*indices, axes[place]))
            y: Expr | None = None
            for index, weight in self._taps(along[place], axes[place], wide):
                value = read(place + 1, (*indices, index))
                term = value if weight is None else value * weight
                y = term if y is None else y + term
            assert y is not None
            return y

        return (define("output", axes, cast(read(0, ()), x.dtype)),)

    def _position(self, along: _Along, i: Expr) -> tuple[Expr, Expr]:
        """Where place i comes from, as numerator and denominator."""
        up, down = extent(along.numerator), extent(along.denominator)
        half_pixel = (i * 2 + 1) * down - up, up * 2
        nowhere = literal(0, INDEX), literal(1, INDEX)
        known = isinstance(along.target, int)
        match self.coordinate_mode:
            case "asymmetric":
                return i * down, up
            case "align_corners" | "pytorch_half_pixel" if along.target == 1:
                return nowhere
            case "align_corners":
                steps = extent(along.target) - 1
                return i * (extent(along.source) - 1), steps if known else maximum(steps, 1)
            case "pytorch_half_pixel" if not known:
                return select(extent(along.target) > 1, half_pixel[0], nowhere[0]), half_pixel[1]
            case _:
                return half_pixel

    def _taps(self, along: _Along, i: Axis, wide: DType) -> list[tuple[Expr, Expr | None]]:
        """The places of x that count for place i, and their weights (None: 1)."""
        above, below = self._position(along, i)
        last = extent(along.source) - 1
        if self.mode == "nearest":
            match self.nearest_mode:
                case "floor":
                    index = above // below
                case "ceil":
                    index = (above + below - 1) // below
                case "round_prefer_floor":  # ⌈p − ½⌉
                    index = (above * 2 + below - 1) // (below * 2)
                case "round_prefer_ceil":  # ⌊p + ½⌋
                    index = (above * 2 + below) // (below * 2)
            return [(clamp(index, 0, last), None)]
        first = above // below
        t = cast(above % below, wide) / cast(below, wide)
        if self.mode == "linear":
            return [(clamp(first, 0, last), 1 - t), (clamp(first + 1, 0, last), t)]
        weights = [_outer(t + 1), _inner(t), _inner(1 - t), _outer(2 - t)]
        return [(clamp(first + (k - 1), 0, last), weight) for k, weight in enumerate(weights)]

    def reference(self, x: Array) -> tuple[Array, ...]:
        """Dimension by dimension, with exact fractions."""
        along = self._along(x.shape)
        y = x.astype(np.float64) if self.mode != "nearest" else x
        for place, one in along.items():
            source, target = y.shape[place], one.target
            assert isinstance(target, int)
            assert isinstance(one.numerator, int)
            assert isinstance(one.denominator, int)
            columns = []
            for i in range(target):
                at = self._place(Fraction(one.numerator, one.denominator), i, source, target)
                weighed = _weights(at, self.mode, self.nearest_mode)
                columns.append(sum(w * y.take(min(max(k, 0), source - 1), axis=place) for k, w in weighed))
            y = np.stack(columns, axis=place) if columns else y.take(range(0), axis=place)
        return (np.asarray(y).astype(x.dtype),)

    def _place(self, scale: Fraction, i: int, source: int, target: int) -> Fraction:
        match self.coordinate_mode:
            case "asymmetric":
                return i / scale
            case "align_corners":
                return Fraction(i * (source - 1), target - 1) if target > 1 else Fraction(0)
            case "pytorch_half_pixel" if target == 1:
                return Fraction(0)
            case _:
                return (i + Fraction(1, 2)) / scale - Fraction(1, 2)


_A = -0.75  # the steepness of the cubic kernel


def _inner(t: Expr) -> Expr:
    """The cubic weight at a distance t ≤ 1."""
    return ((t * (_A + 2) - (_A + 3)) * t) * t + 1


def _outer(t: Expr) -> Expr:
    """The cubic weight at a distance 1 ≤ t ≤ 2."""
    return ((t * _A - 5 * _A) * t + 8 * _A) * t - 4 * _A


def _weights(at: Fraction, mode: str, rounding: str) -> list[tuple[int, int | float]]:
    """The places that count at a position, with their weights."""
    first = math.floor(at)
    half = Fraction(1, 2)
    if mode == "nearest":
        nearest = {
            "floor": first,
            "ceil": math.ceil(at),
            "round_prefer_floor": math.ceil(at - half),
            "round_prefer_ceil": math.floor(at + half),
        }
        return [(nearest[rounding], 1)]
    if mode == "linear":
        return [(first, float(1 - (at - first))), (first + 1, float(at - first))]
    weights: list[tuple[int, int | float]] = []
    for k in range(first - 1, first + 3):
        d = abs(float(at - k))
        inner = (_A + 2) * d**3 - (_A + 3) * d**2 + 1
        weights.append((k, inner if d <= 1 else _A * d**3 - 5 * _A * d**2 + 8 * _A * d - 4 * _A))
    return weights
