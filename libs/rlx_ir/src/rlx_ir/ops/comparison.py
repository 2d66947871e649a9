"""Elementwise comparisons and logic.

The logical ops carry NumPy's names, since `and`, `or` and `not` are words of the text's syntax. Shapes and errors as in
`rlx_ir.ops.elementwise`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlx_base.dtypes import BOOL
from rlx_ir.expr import Expr, apply
from rlx_ir.op import Array, as_arrays, register
from rlx_ir.ops.elementwise import Binary, Comparison, Unary
from rlx_ir.ops.rules import inherit
from rlx_ir.scalar import shifted
from rlx_ir.types import TensorType

__all__ = [
    "BitwiseAnd",
    "BitwiseNot",
    "BitwiseOr",
    "BitwiseXor",
    "Equal",
    "Greater",
    "GreaterOrEqual",
    "IsNaN",
    "Less",
    "LessOrEqual",
    "LogicalAnd",
    "LogicalNot",
    "LogicalOr",
    "LogicalXor",
    "NotEqual",
    "ShiftLeft",
    "ShiftRight",
]


@register
@dataclass(frozen=True, slots=True)
class Equal(Comparison):
    """c = (a = b), a bool. Source: ONNX Equal-13."""

    name = "equal"
    takes = "any"

    def scalar(self, a: Expr, b: Expr) -> Expr:
        return apply("eq", a, b)

    def reference(self, a: Array, b: Array) -> tuple[Array, ...]:
        return as_arrays([np.equal(a, b)])


@register
@dataclass(frozen=True, slots=True)
class NotEqual(Comparison):
    """c = (a ≠ b), a bool. Source: NumPy `not_equal`."""

    name = "not_equal"
    takes = "any"

    def scalar(self, a: Expr, b: Expr) -> Expr:
        return apply("ne", a, b)

    def reference(self, a: Array, b: Array) -> tuple[Array, ...]:
        return as_arrays([np.not_equal(a, b)])


@register
@dataclass(frozen=True, slots=True)
class Less(Comparison):
    """c = (a < b), a bool. Source: ONNX Less-13."""

    name = "less"

    def scalar(self, a: Expr, b: Expr) -> Expr:
        return apply("lt", a, b)

    def reference(self, a: Array, b: Array) -> tuple[Array, ...]:
        return as_arrays([np.less(a, b)])


@register
@dataclass(frozen=True, slots=True)
class LessOrEqual(Comparison):
    """c = (a ≤ b), a bool. Source: ONNX LessOrEqual-16."""

    name = "less_or_equal"

    def scalar(self, a: Expr, b: Expr) -> Expr:
        return apply("le", a, b)

    def reference(self, a: Array, b: Array) -> tuple[Array, ...]:
        return as_arrays([np.less_equal(a, b)])


@register
@dataclass(frozen=True, slots=True)
class Greater(Comparison):
    """c = (a > b), a bool. Source: ONNX Greater-13."""

    name = "greater"

    def scalar(self, a: Expr, b: Expr) -> Expr:
        return apply("gt", a, b)

    def reference(self, a: Array, b: Array) -> tuple[Array, ...]:
        return as_arrays([np.greater(a, b)])


@register
@dataclass(frozen=True, slots=True)
class GreaterOrEqual(Comparison):
    """c = (a ≥ b), a bool. Source: ONNX GreaterOrEqual-16."""

    name = "greater_or_equal"

    def scalar(self, a: Expr, b: Expr) -> Expr:
        return apply("ge", a, b)

    def reference(self, a: Array, b: Array) -> tuple[Array, ...]:
        return as_arrays([np.greater_equal(a, b)])


@register
@dataclass(frozen=True, slots=True)
class LogicalAnd(Binary):
    """c = a and b, for bools. Source: ONNX And-7."""

    name = "logical_and"
    takes = "bool"

    def scalar(self, a: Expr, b: Expr) -> Expr:
        return apply("and", a, b)

    def reference(self, a: Array, b: Array) -> tuple[Array, ...]:
        return as_arrays([np.logical_and(a, b)])


@register
@dataclass(frozen=True, slots=True)
class LogicalOr(Binary):
    """c = a or b, for bools. Source: ONNX Or-7."""

    name = "logical_or"
    takes = "bool"

    def scalar(self, a: Expr, b: Expr) -> Expr:
        return apply("or", a, b)

    def reference(self, a: Array, b: Array) -> tuple[Array, ...]:
        return as_arrays([np.logical_or(a, b)])


@register
@dataclass(frozen=True, slots=True)
class LogicalXor(Binary):
    """c = one of a and b, not both, for bools. Source: ONNX Xor-7."""

    name = "logical_xor"
    takes = "bool"

    def scalar(self, a: Expr, b: Expr) -> Expr:
        return apply("xor", a, b)

    def reference(self, a: Array, b: Array) -> tuple[Array, ...]:
        return as_arrays([np.logical_xor(a, b)])


@register
@dataclass(frozen=True, slots=True)
class LogicalNot(Unary):
    """y = not x, for bools. Source: ONNX Not-1."""

    name = "logical_not"
    takes = "bool"

    def scalar(self, x: Expr) -> Expr:
        return apply("not", x)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.logical_not(x)])


@register
@dataclass(frozen=True, slots=True)
class BitwiseAnd(Binary):
    """c = a and b, bit by bit, for integers. Source: ONNX BitwiseAnd-18."""

    name = "bitwise_and"
    takes = "integer"

    def scalar(self, a: Expr, b: Expr) -> Expr:
        return apply("and", a, b)

    def reference(self, a: Array, b: Array) -> tuple[Array, ...]:
        return as_arrays([np.bitwise_and(a, b)])


@register
@dataclass(frozen=True, slots=True)
class BitwiseOr(Binary):
    """c = a or b, bit by bit, for integers. Source: ONNX BitwiseOr-18."""

    name = "bitwise_or"
    takes = "integer"

    def scalar(self, a: Expr, b: Expr) -> Expr:
        return apply("or", a, b)

    def reference(self, a: Array, b: Array) -> tuple[Array, ...]:
        return as_arrays([np.bitwise_or(a, b)])


@register
@dataclass(frozen=True, slots=True)
class BitwiseXor(Binary):
    """c = a xor b, bit by bit, for integers. Source: ONNX BitwiseXor-18."""

    name = "bitwise_xor"
    takes = "integer"

    def scalar(self, a: Expr, b: Expr) -> Expr:
        return apply("xor", a, b)

    def reference(self, a: Array, b: Array) -> tuple[Array, ...]:
        return as_arrays([np.bitwise_xor(a, b)])


@register
@dataclass(frozen=True, slots=True)
class BitwiseNot(Unary):
    """y = x with every bit flipped, for integers. Source: ONNX BitwiseNot-18."""

    name = "bitwise_not"
    takes = "integer"

    def scalar(self, x: Expr) -> Expr:
        return apply("not", x)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.invert(x)])


@register
@dataclass(frozen=True, slots=True)
class IsNaN(Unary):
    """y = whether x is not a number, a bool. Source: ONNX IsNaN-20."""

    name = "is_nan"
    takes = "float"

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        (type,) = Unary.infer(self, x)
        return (inherit(type, type.shape, BOOL),)

    def scalar(self, x: Expr) -> Expr:
        return apply("is_nan", x)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.isnan(x)])


@register
@dataclass(frozen=True, slots=True)
class ShiftLeft(Binary):
    """c = a · 2ᵇ, for integers; what leaves at the top is lost, and a shift by all bits gives 0.

    Source: ONNX BitShift-11, direction LEFT.
    """

    name = "shift_left"
    takes = "integer"

    def scalar(self, a: Expr, b: Expr) -> Expr:
        return apply("shift_left", a, b)

    def reference(self, a: Array, b: Array) -> tuple[Array, ...]:
        return as_arrays([shifted(np.left_shift, a, b)])


@register
@dataclass(frozen=True, slots=True)
class ShiftRight(Binary):
    """c = ⌊a ÷ 2ᵇ⌋, for integers; a shift by all bits gives 0, or −1 of a negative number.

    Source: ONNX BitShift-11, direction RIGHT.
    """

    name = "shift_right"
    takes = "integer"

    def scalar(self, a: Expr, b: Expr) -> Expr:
        return apply("shift_right", a, b)

    def reference(self, a: Array, b: Array) -> tuple[Array, ...]:
        return as_arrays([shifted(np.right_shift, a, b)])
