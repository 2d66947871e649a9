"""det: the determinant of square matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from rlx_base.dtypes import INDEX
from rlx_ir.dims import Shape
from rlx_ir.expr import Axis, Expr, Tensor, apply, cast, clamp, define, greatest, least, literal, select
from rlx_ir.op import Array, Op, as_arrays, register
from rlx_ir.ops.axes import result_axes
from rlx_ir.ops.rules import accumulator, check_dtype, inherit, refuse
from rlx_ir.types import TensorType

__all__ = ["Det"]

_LARGEST: Final = 128  # rows; each is a step of the elimination, a few kernels of its own


@register
@dataclass(frozen=True, slots=True)
class Det(Op):
    """y = det x: Gaussian elimination, each step with the largest element of its column as the pivot.

    Shapes: x (…, n, n) → (…). Errors: E110 for matrices that are not square, of an unknown size, or above 128 rows.
    Source: ONNX Det-22.
    """

    name = "det"
    operands = ("x",)

    def _size(self, shape: Shape) -> int:
        size = shape[-1] if len(shape) >= 2 else None
        if not isinstance(size, int) or shape[-2] != size or size > _LARGEST:
            raise refuse(self.name, f"x has the shape {list(map(str, shape))}", f"(…, n, n) with n up to {_LARGEST}")
        return size

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "x", x.dtype, "float")
        self._size(x.shape)
        return (inherit(x, x.shape[:-2]),)

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        size, batch = self._size(x.shape), result_axes(x.shape[:-2])
        wide = accumulator(x.dtype)
        matrix, y = x, literal(1.0, wide)
        factors: list[Expr] = []
        for left in range(size, 0, -1):
            row = Axis("reduce", left)
            first = literal(0, INDEX)

            def at(i: Expr, j: Expr, matrix: Tensor = matrix) -> Expr:
                return cast(matrix[(*batch, i, j)], wide)

            column = apply("abs", at(row, first))
            largest = define(f"largest{left}", batch, greatest(column, over=(row,)))
            found = least(select(apply("eq", column, largest[batch]), row, left), over=(row,))
            place = define(f"place{left}", batch, found)
            pivot = clamp(place[batch], 0, left - 1)  # among NaNs there is none
            value = define(f"pivot{left}", batch, at(pivot, first))
            factors += [value[batch], select(apply("eq", pivot, 0), literal(1.0, wide), literal(-1.0, wide))]
            if left == 1:
                break
            axes = (*batch, Axis("minor_row", left - 1), Axis("minor_column", left - 1))
            i, j = axes[-2] + 1, axes[-1] + 1
            swapped = apply("eq", i, pivot)
            own = select(swapped, at(first, j), at(i, j))
            head = select(swapped, at(first, first), at(i, first))
            # A column of zeros: nothing to take away, and the determinant is 0.
            by = select(apply("eq", value[batch], 0.0), literal(0.0, wide), head / value[batch])
            matrix = define(f"rest{left}", axes, own - by * at(pivot, j))
        for factor in factors:
            y = y * factor  # type: ignore[assignment]
        return (define("output", batch, cast(y, x.dtype)),)

    def reference(self, x: Array) -> tuple[Array, ...]:
        self._size(x.shape)
        return as_arrays([np.linalg.det(x.astype(np.float64)).astype(x.dtype)])
