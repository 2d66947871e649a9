"""Ops that move and join whole blocks of elements: transpose, concat, split, slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

import numpy as np

from rlx_base.dtypes import INDEX
from rlx_ir.dims import Dim, add
from rlx_ir.expr import Axis, Expr, Tensor, define, extent, literal, select
from rlx_ir.op import Array, Op, operand_names, register
from rlx_ir.ops.axes import result_axes
from rlx_ir.ops.rules import check_equal_dtypes, inherit, position, positions, refuse
from rlx_ir.types import TensorType

__all__ = ["Concat", "Slice", "Split", "Transpose"]

MAX_PIECES: Final = 4096  # a number in a text costs nothing, and each piece is a value


@register
@dataclass(frozen=True, slots=True)
class Transpose(Op):
    """y[i_perm] = x[i]: dimension k of the result is dimension perm[k] of x; reversed where `perm` is left out.

    Errors: E110 where `perm` does not name each dimension once. Source: ONNX Transpose-21.
    """

    name = "transpose"
    operands = ("x",)

    perm: tuple[int, ...] | None = None

    def order(self, rank: int) -> tuple[int, ...]:
        """`perm` for a tensor of this rank, counted from the front."""
        if self.perm is None:
            return tuple(reversed(range(rank)))
        order = positions(self.name, self.perm, rank)
        if len(order) != rank:
            raise refuse(
                self.name, f"perm is {list(self.perm)} for {rank} dimensions", f"name each of 0 … {rank - 1} once"
            )
        return order

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        return (inherit(x, tuple(x.shape[place] for place in self.order(x.rank))),)

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        order = self.order(x.rank)
        axes = result_axes(tuple(x.shape[place] for place in order))
        return (define("output", axes, x[tuple(axes[order.index(place)] for place in range(x.rank))]),)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return (np.transpose(x, self.perm).copy(),)


@register
@dataclass(frozen=True, slots=True)
class Concat(Op):
    """The operands one after the other along `axis`.

    Shapes: equal but for that axis, whose sizes add up. Errors: E110 where they are not, or dtypes differ.
    Source: ONNX Concat-13.
    """

    name = "concat"
    operands = ("inputs*",)

    axis: int

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        if not inputs:
            raise refuse(self.name, "no operands", "give one or more")
        names = operand_names(self, len(inputs))
        check_equal_dtypes(self.name, names, inputs)
        first = inputs[0]
        axis = position(self.name, self.axis, first.rank)
        size: Dim = 0
        for name, type in zip(names, inputs, strict=True):
            if type.shape[:axis] + type.shape[axis + 1 :] != first.shape[:axis] + first.shape[axis + 1 :] or (
                type.rank != first.rank
            ):
                raise refuse(
                    self.name,
                    f"{names[0]} is {first} and {name} is {type}, joined along axis {axis}",
                    f"all dimensions but {axis} must be equal",
                )
            size = add(size, type.shape[axis])
        return (inherit(first, (*first.shape[:axis], size, *first.shape[axis + 1 :])),)

    def expression(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        (type,) = self.infer(*(TensorType(x.shape, x.dtype) for x in inputs))
        axis = position(self.name, self.axis, type.rank)
        axes = result_axes(type.shape)
        starts: list[Dim] = [0]
        for x in inputs:
            starts.append(add(starts[-1], x.shape[axis]))

        def piece(x: Tensor, start: Dim) -> Expr:
            return x[(*axes[:axis], axes[axis] - extent(start), *axes[axis + 1 :])]

        def joined(low: int, high: int) -> Expr:
            """Pieces low … high − 1, found by halving: many pieces would else make a deep expression."""
            if high - low == 1:
                return piece(inputs[low], starts[low])
            middle = (low + high) // 2
            return select(axes[axis] < extent(starts[middle]), joined(low, middle), joined(middle, high))

        return (define("output", axes, joined(0, len(inputs))),)

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        return (np.concatenate(inputs, axis=self.axis),)


@register
@dataclass(frozen=True, slots=True)
class Split(Op):
    """Consecutive pieces of x along `axis`: of the sizes `split`, or `num_outputs` of equal size, the last one smaller.

    Errors: E110 where the sizes do not add up, or the dimension is not known. Source: ONNX Split-18.
    """

    name = "split"
    operands = ("x",)
    results = ("outputs*",)

    axis: int = 0
    split: tuple[int, ...] | None = None
    num_outputs: int | None = None

    def _sizes(self, shape: Sequence[Dim]) -> tuple[int, list[int]]:
        axis = position(self.name, self.axis, len(shape))
        size = shape[axis]
        if not isinstance(size, int):
            raise refuse(self.name, f"dimension {axis} is {size}", "split a dimension whose size is a number")
        if self.split is not None and self.num_outputs is None:
            sizes = list(self.split)
            fits = bool(sizes) and sum(sizes) == size and min(sizes) >= 0
        elif self.num_outputs is not None and self.split is None and 1 <= self.num_outputs <= MAX_PIECES:
            each = -(-size // self.num_outputs)
            sizes = [max(0, min(each, size - each * i)) for i in range(self.num_outputs)]
            fits = True
        else:
            raise refuse(
                self.name,
                f"split={self.split}, num_outputs={self.num_outputs}",
                f"give one of the two, from 1 to {MAX_PIECES}",
            )
        if not fits:
            raise refuse(self.name, f"split {sizes} of a dimension of {size}", f"the sizes add up to {size}")
        return axis, sizes

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        axis, sizes = self._sizes(x.shape)
        return tuple(inherit(x, (*x.shape[:axis], size, *x.shape[axis + 1 :])) for size in sizes)

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        axis, sizes = self._sizes(x.shape)
        pieces = []
        for number, (start, size) in enumerate(zip(accumulate(sizes, initial=0), sizes, strict=False)):
            axes = result_axes((*x.shape[:axis], size, *x.shape[axis + 1 :]))
            at = (*axes[:axis], axes[axis] + start, *axes[axis + 1 :])
            pieces.append(define(f"output{number}", axes, x[at]))
        return tuple(pieces)

    def reference(self, x: Array) -> tuple[Array, ...]:
        axis, sizes = self._sizes(x.shape)
        return tuple(np.ascontiguousarray(piece) for piece in np.split(x, np.cumsum(sizes)[:-1], axis))


@register
@dataclass(frozen=True, slots=True)
class Slice(Op):
    """y = x[start : end : step] along each of `axes` (by default the first ones); steps may be negative.

    Ends count from the back where negative, are cut to the dimension, and are as far as it goes where None, all as in
    NumPy. Errors: E110 for a step of 0, lists of unequal lengths, or an unknown dimension that is cut.
    Source: ONNX Slice-13.
    """

    name = "slice"
    operands = ("x",)

    starts: tuple[int | None, ...]
    ends: tuple[int | None, ...]
    axes: tuple[int, ...] | None = None
    steps: tuple[int, ...] | None = None

    def _ranges(self, shape: Sequence[Dim]) -> list[tuple[Expr, int, Dim]]:
        """Start, step and size along each dimension."""
        count = len(self.starts)
        axes = positions(self.name, range(count) if self.axes is None else self.axes, len(shape))
        steps = (1,) * count if self.steps is None else self.steps
        if not count == len(self.ends) == len(axes) == len(steps):
            lists = f"{count} starts, {len(self.ends)} ends, {len(axes)} axes and {len(steps)} steps"
            raise refuse(self.name, lists, "give equally many of each")
        found: list[tuple[Expr, int, Dim]] = [(literal(0, INDEX), 1, size) for size in shape]
        for axis, start, end, step in zip(axes, self.starts, self.ends, steps, strict=True):
            found[axis] = self._range(shape[axis], start, end, step)
        return found

    def _range(self, size: Dim, start: int | None, end: int | None, step: int) -> tuple[Expr, int, Dim]:
        if step == 0:
            raise refuse(self.name, "a step is 0", "give a step ≥ 1, or ≤ −1 to go backwards")
        if isinstance(size, int):
            first, last, _ = slice(start, end, step).indices(size)
            return literal(first, INDEX), step, len(range(first, last, step))
        if step == 1 and start in (None, 0) and (end is None or end >= 2**31 - 1):
            return literal(0, INDEX), 1, size
        if step == -1 and (start in (None, -1) or start >= 2**31 - 1) and end is None:
            return extent(add(size, -1)), -1, size
        raise refuse(
            self.name,
            f"{start}:{end}:{step} of a dimension of unknown size {size}",
            "cut a dimension whose size is a number",
        )

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        return (inherit(x, tuple(size for _, _, size in self._ranges(x.shape))),)

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        ranges = self._ranges(x.shape)
        axes = result_axes(tuple(size for _, _, size in ranges))
        at = tuple(_step(axis, start, step) for axis, (start, step, _) in zip(axes, ranges, strict=True))
        return (define("output", axes, x[at]),)

    def reference(self, x: Array) -> tuple[Array, ...]:
        cuts = [slice(None)] * x.ndim
        steps = self.steps or (1,) * len(self.starts)
        axes = self.axes if self.axes is not None else range(len(self.starts))
        for axis, start, end, step in zip(axes, self.starts, self.ends, steps, strict=True):
            cuts[axis] = slice(start, end, step)
        return (x[tuple(cuts)].copy(),)


def _step(axis: Axis, start: Expr, step: int) -> Expr:
    return start - axis * -step if step < 0 else axis * step + start
