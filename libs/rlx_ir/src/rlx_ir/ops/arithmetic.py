"""Elementwise arithmetic: add, sub, mul, div, mod, pow, min, max, neg, abs, sign, reciprocal.

Shapes and errors as in `rlx_ir.ops.elementwise`. Integers wrap on overflow; an integer ÷ 0 is 0; nothing traps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from rlx_ir.expr import Expr, apply, maximum, minimum, select
from rlx_ir.op import Array, as_arrays, register
from rlx_ir.ops.elementwise import Binary, Unary, Variadic

__all__ = ["Abs", "Add", "Div", "Max", "Min", "Mod", "Mul", "Neg", "Pow", "Reciprocal", "Sign", "Sub"]


@register
@dataclass(frozen=True, slots=True)
class Add(Binary):
    """c = a + b. Source: ONNX Add-14."""

    name = "add"

    def scalar(self, a: Expr, b: Expr) -> Expr:
        return a + b

    def reference(self, a: Array, b: Array) -> tuple[Array, ...]:
        return as_arrays([np.add(a, b)])


@register
@dataclass(frozen=True, slots=True)
class Sub(Binary):
    """c = a − b. Source: ONNX Sub-14."""

    name = "sub"

    def scalar(self, a: Expr, b: Expr) -> Expr:
        return a - b

    def reference(self, a: Array, b: Array) -> tuple[Array, ...]:
        return as_arrays([np.subtract(a, b)])


@register
@dataclass(frozen=True, slots=True)
class Mul(Binary):
    """c = a · b. Source: ONNX Mul-14."""

    name = "mul"

    def scalar(self, a: Expr, b: Expr) -> Expr:
        return a * b

    def reference(self, a: Array, b: Array) -> tuple[Array, ...]:
        return as_arrays([np.multiply(a, b)])


@register
@dataclass(frozen=True, slots=True)
class Div(Binary):
    """c = a ÷ b; integers truncate towards zero, and ÷ 0 is 0. Source: ONNX Div-14."""

    name = "div"

    def scalar(self, a: Expr, b: Expr) -> Expr:
        return a / b

    def reference(self, a: Array, b: Array) -> tuple[Array, ...]:
        if a.dtype.kind == "f":
            return as_arrays([np.divide(a, b)])
        divisor = np.where(b == 0, np.ones_like(b), b)
        exact = a - np.fmod(a, divisor)
        return as_arrays([np.where(b == 0, np.zeros_like(b), exact // divisor)])


@register
@dataclass(frozen=True, slots=True)
class Mod(Binary):
    """The remainder of a ÷ b, with the sign of b as in Python; with `fmod`, of a as in C. An integer mod 0 is 0.

    Source: ONNX Mod-13 (which leaves floats without `fmod` open: here as NumPy's `mod`).
    """

    name = "mod"

    fmod: bool = False

    def scalar(self, a: Expr, b: Expr) -> Expr:
        return apply("rem" if self.fmod else "mod", a, b)

    def reference(self, a: Array, b: Array) -> tuple[Array, ...]:
        remainder = np.fmod if self.fmod else np.mod
        if a.dtype.kind == "f":
            return as_arrays([remainder(a, b)])
        divisor = np.where(b == 0, np.ones_like(b), b)
        return as_arrays([np.where(b == 0, np.zeros_like(b), remainder(a, divisor))])


@register
@dataclass(frozen=True, slots=True)
class Pow(Binary):
    """c = a to the power b, for floats. Source: ONNX Pow-15, with equal dtypes."""

    name = "pow"
    takes = "float"

    def scalar(self, a: Expr, b: Expr) -> Expr:
        return apply("pow", a, b)

    def reference(self, a: Array, b: Array) -> tuple[Array, ...]:
        return as_arrays([np.power(a, b)])


def halved(join: Callable[[Expr, Expr], Expr], values: Sequence[Expr]) -> Expr:
    """A fold by halving: a chain over many operands would be a deep expression."""
    if len(values) == 1:
        return values[0]
    middle = len(values) // 2
    return join(halved(join, values[:middle]), halved(join, values[middle:]))


@register
@dataclass(frozen=True, slots=True)
class Min(Variadic):
    """The least of all operands, element by element; NaN where any is. Source: ONNX Min-13."""

    name = "min"

    def scalar(self, *inputs: Expr) -> Expr:
        return halved(minimum, inputs)

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        return as_arrays([reduce(np.minimum, inputs)])


@register
@dataclass(frozen=True, slots=True)
class Max(Variadic):
    """The greatest of all operands, element by element; NaN where any is. Source: ONNX Max-13."""

    name = "max"

    def scalar(self, *inputs: Expr) -> Expr:
        return halved(maximum, inputs)

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        return as_arrays([reduce(np.maximum, inputs)])


@register
@dataclass(frozen=True, slots=True)
class Neg(Unary):
    """y = −x; the least integer stays itself. Source: ONNX Neg-13."""

    name = "neg"
    takes = "signed"

    def scalar(self, x: Expr) -> Expr:
        return -x

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.negative(x)])


@register
@dataclass(frozen=True, slots=True)
class Abs(Unary):
    """y = |x|; the least integer stays itself. Source: ONNX Abs-13."""

    name = "abs"

    def scalar(self, x: Expr) -> Expr:
        return apply("abs", x)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.abs(x)])


@register
@dataclass(frozen=True, slots=True)
class Sign(Unary):
    """y = 1, 0 or −1, as x is positive, zero or negative; NaN stays. Source: ONNX Sign-13."""

    name = "sign"

    def scalar(self, x: Expr) -> Expr:
        if x.dtype.kind == "uint":
            return minimum(x, 1)
        return select(x > 0, 1, select(x < 0, -1, x))

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.sign(x)])


@register
@dataclass(frozen=True, slots=True)
class Reciprocal(Unary):
    """y = 1 ÷ x, for floats. Source: ONNX Reciprocal-13."""

    name = "reciprocal"
    takes = "float"

    def scalar(self, x: Expr) -> Expr:
        return 1 / x

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.reciprocal(x)])
