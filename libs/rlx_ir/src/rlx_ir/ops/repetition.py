"""tile: a tensor side by side with itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlx_ir.dims import Shape, mul
from rlx_ir.expr import Tensor, define, extent
from rlx_ir.op import Array, Op, register
from rlx_ir.ops.axes import result_axes
from rlx_ir.ops.rules import inherit, refuse
from rlx_ir.types import TensorType

__all__ = ["Tile"]


@register
@dataclass(frozen=True, slots=True)
class Tile(Op):
    """y[i] = x[i mod size]: each dimension repeated `repeats` times.

    Errors: E110 where there is not one number ≥ 0 per dimension. Source: ONNX Tile-13, with repeats as attribute.
    """

    name = "tile"
    operands = ("x",)

    repeats: tuple[int, ...]

    def _shape(self, shape: Shape) -> Shape:
        if len(self.repeats) != len(shape) or any(count < 0 for count in self.repeats):
            raise refuse(
                self.name,
                f"repeats are {list(self.repeats)} for {len(shape)} dimensions",
                f"give {len(shape)} numbers ≥ 0",
            )
        return tuple(mul(size, count) for size, count in zip(shape, self.repeats, strict=True))

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        return (inherit(x, self._shape(x.shape)),)

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        axes = result_axes(self._shape(x.shape))
        at = tuple(
            axis if count == 1 else axis % extent(size)
            for axis, size, count in zip(axes, x.shape, self.repeats, strict=True)
        )
        return (define("output", axes, x[at]),)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return (np.tile(x, self.repeats).reshape(tuple(s * r for s, r in zip(x.shape, self.repeats, strict=True))),)
