"""Ops that copy values element by element: identity, cast, bit_cast, where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlx_base.dtypes import BOOL, DType
from rlx_ir.elements import numpy_of
from rlx_ir.expr import Bitcast, Expr, cast, select
from rlx_ir.op import Array, as_arrays, register
from rlx_ir.ops.elementwise import Elementwise, Unary, broadcast_type
from rlx_ir.ops.rules import check_dtype, check_equal_dtypes, inherit, refuse
from rlx_ir.types import TensorType

__all__ = ["BitCast", "Cast", "Identity", "Where"]


@register
@dataclass(frozen=True, slots=True)
class Identity(Unary):
    """y = x. Source: ONNX Identity-21."""

    name = "identity"
    takes = "any"

    def scalar(self, x: Expr) -> Expr:
        return x

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([x])


@register
@dataclass(frozen=True, slots=True)
class Cast(Unary):
    """y = x in another dtype: floats to integers truncate, anything but 0 is True.

    A float out of the integer's range, or NaN, gives some value and never traps. Source: ONNX Cast-21, NumPy `astype`.
    """

    name = "cast"
    takes = "any"

    to: DType

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        return (inherit(x, x.shape, self.to),)

    def scalar(self, x: Expr) -> Expr:
        return cast(x, self.to)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([x.astype(numpy_of(self.to))])


@register
@dataclass(frozen=True, slots=True)
class BitCast(Unary):
    """The bits of x as elements of another dtype that takes as many.

    Errors: E110 where it takes more or fewer. A byte above 1 as bool is True. Source: ONNX BitCast-26.
    """

    name = "bit_cast"
    takes = "any"

    to: DType

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        if x.dtype.bits != self.to.bits:
            raise refuse(
                self.name, f"x is {x.dtype}, {x.dtype.bits} bits, to {self.to}, {self.to.bits}", "choose equal widths"
            )
        return (inherit(x, x.shape, self.to),)

    def scalar(self, x: Expr) -> Expr:
        return Bitcast(x, self.to)

    def reference(self, x: Array) -> tuple[Array, ...]:
        if self.to == BOOL:
            return as_arrays([x.astype(bool)])
        return as_arrays([np.asarray(x).view(numpy_of(self.to))])


@register
@dataclass(frozen=True, slots=True)
class Where(Elementwise):
    """y = x where the condition holds, else the other. Source: ONNX Where-16.

    Shapes: all three broadcast. Errors: E110 where `condition` is not bool, or the other two differ in dtype.
    """

    name = "where"
    operands = ("condition", "x", "y")
    takes = "any"

    def infer(self, condition: TensorType, x: TensorType, y: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "condition", condition.dtype, "bool")
        check_equal_dtypes(self.name, ("x", "y"), (x, y))
        return (broadcast_type(self.name, ("x", "y", "condition"), (x, y, condition)),)

    def scalar(self, condition: Expr, x: Expr, y: Expr) -> Expr:
        return select(condition, x, y)

    def reference(self, condition: Array, x: Array, y: Array) -> tuple[Array, ...]:
        return as_arrays([np.where(condition, x, y)])
