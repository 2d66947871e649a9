"""Ops that give the same elements another shape: reshape, flatten, squeeze, unsqueeze; expand, which repeats them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from rlx_base.dtypes import INDEX, of_numpy
from rlx_ir.dims import Dim, DimExpr, Shape, Symbol, mul
from rlx_ir.dims import total as elements
from rlx_ir.expr import Expr, Tensor, define, extent, literal
from rlx_ir.op import Array, Op, register
from rlx_ir.ops.axes import read_broadcast, result_axes
from rlx_ir.ops.rules import broadcast, inherit, positions, refuse
from rlx_ir.types import TensorType

__all__ = ["Expand", "Flatten", "Reshape", "Squeeze", "Unsqueeze", "reshaped"]


def factors(shape: Shape) -> tuple[int, Counter[Dim]]:
    """The number of elements as a known number and the unknowns that multiply it."""
    known, unknown = 1, Counter[Dim]()
    for dim in shape:
        match dim:
            case int():
                known *= dim
            case DimExpr("*", left, right):
                inner, more = factors((left, right))
                known, unknown = known * inner, unknown + more
            case _:
                unknown[dim] += 1
    return known, unknown


def same_count(a: Shape, b: Shape) -> bool:
    """Whether two shapes are sure to have equally many elements."""
    return factors(a) == factors(b)


def reshaped(x: Tensor, shape: Shape) -> Tensor:
    """The elements of x, in row-major order, in another shape of the same number of elements.

    Runs of dimensions with equally many elements in both shapes are matched, so that a dimension that is kept is read
    by its own axis, and only the rest divides.
    """
    axes = result_axes(shape)
    indices: list[Expr] = [literal(0, INDEX)] * x.rank
    for source, target in _runs(x.shape, shape):
        read = [place for place in range(*source) if x.shape[place] != 1]
        own = [axis for axis in axes[slice(*target)] if axis.extent != 1]
        if len(read) == 1 and len(own) == 1:
            indices[read[0]] = own[0]
            continue
        at: Expr = literal(0, INDEX)
        for axis in own:
            at = at * extent(axis.extent) + axis
        for order, place in enumerate(read):
            index = at // extent(elements(x.shape[inner] for inner in read[order + 1 :]))
            indices[place] = index % extent(x.shape[place]) if order > 0 else index
    return define("output", axes, x[tuple(indices)])


def _runs(source: Shape, target: Shape) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The shortest runs of dimensions of both shapes that have equally many elements, from the left."""
    runs = []
    i = j = 0
    for end in range(1, len(source) + 1):
        match = next((k for k in range(j + 1, len(target) + 1) if same_count(source[:end], target[:k])), None)
        if match is not None:
            runs.append(((i, end), (j, match)))
            i, j = end, match
    return [*runs, ((i, len(source)), (j, len(target)))]


def named(shape: tuple[int | str, ...]) -> Shape:
    """A shape attribute with its names as symbolic dimensions."""
    return tuple(Symbol(size) if isinstance(size, str) else size for size in shape)


def bound(shape: tuple[int | str, ...], dims: Mapping[str, int]) -> tuple[int | str, ...]:
    """A shape attribute with the names that are known replaced."""
    return tuple(dims.get(size, size) if isinstance(size, str) else size for size in shape)


@register
@dataclass(frozen=True, slots=True)
class Reshape(Op):
    """The elements of x, in row-major order, in another shape.

    In `shape`, 0 keeps x's dimension at that place (with `allow_zero` it is a size of 0), −1 (at most one) is what
    remains, a name is a symbolic dimension.
    Errors: E110 where the numbers of elements differ, or cannot be compared. Source: ONNX Reshape-21.
    """

    name = "reshape"
    operands = ("x",)

    shape: tuple[int | str, ...]
    allow_zero: bool = False

    def bind(self, dims: Mapping[str, int]) -> Op:
        shape = bound(self.shape, dims)
        return replace(self, shape=shape, allow_zero=self.allow_zero or (0 in shape and 0 not in self.shape))

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        return (inherit(x, self._resolved(x.shape)),)

    def _resolved(self, shape: Shape) -> Shape:
        asked = list(named(self.shape))
        if any(isinstance(size, int) and size < -1 for size in asked) or asked.count(-1) > 1:
            raise refuse(self.name, f"shape is {list(self.shape)}", "give sizes ≥ 0, and −1 at most once")
        for place, size in enumerate(asked):
            if size == 0 and not self.allow_zero:
                if place >= len(shape):
                    raise refuse(
                        self.name,
                        f"shape {list(self.shape)} keeps dimension {place} of a tensor with {len(shape)}",
                        "0 keeps a dimension that x has at the same place",
                    )
                asked[place] = shape[place]
        if -1 in asked:
            place = asked.index(-1)
            asked[place] = self._rest(shape, tuple(asked[:place] + asked[place + 1 :]))
        if not same_count(shape, tuple(asked)):
            raise self._unequal(shape)
        return tuple(asked)

    def _rest(self, shape: Shape, others: Shape) -> Dim:
        """What −1 stands for."""
        (known, unknown), (taken, divided) = factors(shape), factors(others)
        if taken == 0 or known % taken or divided - unknown:
            raise self._unequal(shape)
        rest: Dim = known // taken
        for dim in (unknown - divided).elements():
            rest = mul(dim, rest)
        return rest

    def _unequal(self, shape: Shape) -> Exception:
        sizes = ", ".join(map(str, shape))
        return refuse(
            self.name,
            f"x has the shape [{sizes}], {elements(shape)} elements, which do not fit {list(self.shape)}",
            "the number of elements stays the same; −1 takes what remains",
        )

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        return (reshaped(x, self._resolved(x.shape)),)

    def reference(self, x: Array) -> tuple[Array, ...]:
        keeps = not self.allow_zero
        shape = [x.shape[place] if size == 0 and keeps else size for place, size in enumerate(self.shape)]
        return (x.reshape([int(size) for size in shape]),)


@register
@dataclass(frozen=True, slots=True)
class Flatten(Op):
    """A matrix: the dimensions before `axis` become its rows, the others its columns.

    Shapes: (d₀, …) → (d₀ · … , d_axis · …). Errors: E110 for an axis outside of −rank … rank. Source: ONNX Flatten-21.
    """

    name = "flatten"
    operands = ("x",)

    axis: int = 1

    def _shape(self, shape: Shape) -> Shape:
        if not -len(shape) <= self.axis <= len(shape):
            raise refuse(
                self.name,
                f"axis {self.axis} of a tensor with {len(shape)} dimensions",
                f"axes run from {-len(shape)} to {len(shape)}",
            )
        axis = self.axis if self.axis >= 0 else self.axis + len(shape)
        return (elements(shape[:axis]), elements(shape[axis:]))

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        return (inherit(x, self._shape(x.shape)),)

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        return (reshaped(x, self._shape(x.shape)),)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return (x.reshape(math.prod(x.shape[: self.axis]), math.prod(x.shape[self.axis :])),)


@register
@dataclass(frozen=True, slots=True)
class Squeeze(Op):
    """x without dimensions of 1: those in `axes`, or all that are known to be 1.

    Errors: E110 where a named dimension is not 1. Source: ONNX Squeeze-21.
    """

    name = "squeeze"
    operands = ("x",)

    axes: tuple[int, ...] | None = None

    def _gone(self, shape: Shape) -> tuple[int, ...]:
        if self.axes is None:
            return tuple(place for place, size in enumerate(shape) if size == 1)
        gone = positions(self.name, self.axes, len(shape))
        for place in gone:
            if shape[place] != 1:
                sizes = ", ".join(map(str, shape))
                raise refuse(self.name, f"dimension {place} of [{sizes}] is {shape[place]}", "only a 1 can be left out")
        return gone

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        gone = self._gone(x.shape)
        return (inherit(x, tuple(size for place, size in enumerate(x.shape) if place not in gone)),)

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        gone = self._gone(x.shape)
        axes = result_axes(tuple(size for place, size in enumerate(x.shape) if place not in gone))
        kept = iter(axes)
        indices = tuple(literal(0, INDEX) if place in gone else next(kept) for place in range(x.rank))
        return (define("output", axes, x[indices]),)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return (np.squeeze(x, axis=self.axes),)


@register
@dataclass(frozen=True, slots=True)
class Unsqueeze(Op):
    """x with dimensions of 1 put in, so that they stand at `axes` of the result.

    Errors: E110 for an axis that the result does not have, or one named twice. Source: ONNX Unsqueeze-21.
    """

    name = "unsqueeze"
    operands = ("x",)

    axes: tuple[int, ...]

    def _shape(self, shape: Shape) -> Shape:
        rank = len(shape) + len(self.axes)
        new = positions(self.name, self.axes, rank)
        kept = iter(shape)
        return tuple(1 if place in new else next(kept) for place in range(rank))

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        return (inherit(x, self._shape(x.shape)),)

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        shape = self._shape(x.shape)
        axes = result_axes(shape)
        new = positions(self.name, self.axes, len(shape))
        return (define("output", axes, x[tuple(axis for place, axis in enumerate(axes) if place not in new)]),)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return (np.expand_dims(x, self.axes),)


@register
@dataclass(frozen=True, slots=True)
class Expand(Op):
    """x repeated along its dimensions of 1 until its shape is `shape`, both broadcast as in NumPy.

    Errors: E110 where they do not broadcast. Source: ONNX Expand-13.
    """

    name = "expand"
    operands = ("x",)

    shape: tuple[int | str, ...]

    def bind(self, dims: Mapping[str, int]) -> Op:
        return replace(self, shape=bound(self.shape, dims))

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        asked = TensorType(named(self.shape), x.dtype)
        return (inherit(x, broadcast(self.name, ("x", "shape"), (x, asked))),)

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        (type,) = self.infer(TensorType(x.shape, x.dtype))
        axes = result_axes(type.shape)
        return (define("output", axes, read_broadcast(x, axes)),)

    def reference(self, x: Array) -> tuple[Array, ...]:
        (type,) = self.infer(TensorType(x.shape, of_numpy(x.dtype)))
        return (np.broadcast_to(x, [size for size in type.shape if isinstance(size, int)]).copy(),)
