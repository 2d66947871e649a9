"""pad: more elements around a tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as Choice

import numpy as np

from rlx_ir.dims import Shape, add
from rlx_ir.expr import Axis, Expr, Tensor, all_of, apply, clamp, define, extent, literal, select
from rlx_ir.op import Array, Op, register
from rlx_ir.ops.axes import result_axes
from rlx_ir.ops.rules import inherit, positions, refuse
from rlx_ir.types import TensorType

__all__ = ["Pad"]


@register
@dataclass(frozen=True, slots=True)
class Pad(Op):
    """x with `pads` places added along `axes` (by default all): all befores, then all afters, as in ONNX.

    mode "constant" fills with `value`, "edge" repeats the border, "reflect" mirrors at the border without repeating it.
    Shapes: each dimension grows by before + after. Errors: E110 for negative pads, pads of the wrong number, an edge of
    nothing, or a mirror that is wider than the dimension − 1. Source: ONNX Pad-21, with pads as attributes.
    """

    name = "pad"
    operands = ("x",)

    pads: tuple[int, ...]
    mode: Choice["constant", "edge", "reflect"] = "constant"
    value: float = 0.0
    axes: tuple[int, ...] | None = None

    def _sides(self, shape: Shape) -> list[tuple[int, int]]:
        rank = len(shape)
        axes = tuple(range(rank)) if self.axes is None else positions(self.name, self.axes, rank)
        if len(self.pads) != 2 * len(axes) or any(pad < 0 for pad in self.pads):
            raise refuse(
                self.name,
                f"pads are {list(self.pads)} for {len(axes)} dimensions",
                f"give {2 * len(axes)} numbers ≥ 0: all befores, then all afters; rlx.slice takes away",
            )
        sides = [(0, 0)] * rank
        for order, place in enumerate(axes):
            sides[place] = (self.pads[order], self.pads[len(axes) + order])
        for place, (size, side) in enumerate(zip(shape, sides, strict=True)):
            if isinstance(size, int) and any(side):
                if self.mode == "edge" and size == 0:
                    raise refuse(self.name, f"dimension {place} is 0 and has no edge", 'use mode="constant"')
                if self.mode == "reflect" and max(side) > size - 1:
                    raise refuse(
                        self.name,
                        f"a mirror of {max(side)} places at dimension {place}, which is {size}",
                        "a mirror is at most the dimension − 1 wide",
                    )
        return sides

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        if not x.dtype.is_float and self.value != int(self.value):
            raise refuse(self.name, f"value {self.value} of {x.dtype} elements", "give a whole number")
        sides = self._sides(x.shape)
        return (inherit(x, tuple(add(size, b + a) for size, (b, a) in zip(x.shape, sides, strict=True))),)

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        sides = self._sides(x.shape)
        axes = result_axes(tuple(add(size, b + a) for size, (b, a) in zip(x.shape, sides, strict=True)))
        indices: list[Expr] = []
        inside: list[Expr] = []
        for place, (axis, (before, after)) in enumerate(zip(axes, sides, strict=True)):
            at, conditions = self._source(axis, x, place, before, after)
            indices.append(at)
            inside += conditions
        return (define("output", axes, select(all_of(inside), x[tuple(indices)], literal(self.value, x.dtype))),)

    def _source(self, axis: Axis, x: Tensor, place: int, before: int, after: int) -> tuple[Expr, list[Expr]]:
        """Where in x a place of the result comes from, and when that is inside (constant) of it."""
        at, last = axis - before, extent(add(x.shape[place], -1))
        if self.mode == "constant":
            low = [at >= 0] if before else []
            return at, low + ([at < extent(x.shape[place])] if after else [])
        if before == after == 0:
            return axis, []
        if self.mode == "edge":
            return clamp(at, 0, last), []
        return last - apply("abs", last - apply("abs", at)), []

    def reference(self, x: Array) -> tuple[Array, ...]:
        sides = self._sides(x.shape)
        if x.ndim == 0:
            return (x.copy(),)
        if self.mode == "constant":
            return (np.pad(x, sides, constant_values=np.array(self.value).astype(x.dtype)),)
        return (np.pad(x, sides, mode=self.mode),)
