"""Elementwise trigonometric and hyperbolic functions of floats, written with those that every target has.

Shapes and errors as in `rlx_ir.ops.elementwise`; outside its domain a function gives NaN. The formulas keep their
relative precision near their zeros. The references work in float64 and round once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from rlx_ir.expr import Expr, Operand, apply, cast, literal, select
from rlx_ir.op import Array, as_arrays, register
from rlx_ir.ops.elementwise import Unary
from rlx_ir.ops.rules import accumulator

__all__ = ["Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Sinh", "Tan"]


def log1p(x: Expr) -> Expr:
    """ln(1 + x), also where 1 + x rounds: ln(u) · x ÷ (u − 1) with u = 1 + x. Source: Kahan."""
    u = x + 1
    exact = apply("or", apply("eq", u, 1), apply("eq", u - 1, u))  # u is 1, or infinite
    return select(apply("eq", u, 1), x, select(exact, apply("log", u), apply("log", u) * (x / (u - 1))))


def expm1(x: Expr) -> Expr:
    """eˣ − 1, also where eˣ rounds to 1: (u − 1) · x ÷ ln(u) with u = eˣ. Source: Kahan."""
    u = apply("exp", x)
    return select(apply("eq", u, 1), x, select(apply("eq", u, 0), literal(-1, x.dtype), (u - 1) * x / apply("log", u)))


# arctan(x) = x + x · z · P(z) ÷ Q(z) with z = x², |x| ≤ 0.66. Source: Cephes, atan.c.
_P: Final = (
    -8.750608600031904122785e-1,
    -1.615753718733365076637e1,
    -7.500855792314704667340e1,
    -1.228866684490136173410e2,
    -6.485021904942025371773e1,
)
_Q: Final = (
    1.0,
    2.485846490142306297962e1,
    1.650270098316988542046e2,
    4.328810604912902668951e2,
    4.853903996359136964868e2,
    1.945506571482613964425e2,
)


def _polynomial(z: Expr, coefficients: Sequence[float]) -> Expr:
    y: Operand = coefficients[0]
    for coefficient in coefficients[1:]:
        y = z * y + coefficient
    assert isinstance(y, Expr)
    return y


def arctan(x: Expr) -> Expr:
    """The angle, brought below 0.66 by arctan(x) = π/2 − arctan(1/x) or π/4 + arctan((x − 1) ÷ (x + 1))."""
    size = apply("abs", x)
    steep, middle = size > np.tan(3 * np.pi / 8), size > 0.66
    t = select(steep, -1 / size, select(middle, (size - 1) / (size + 1), size))
    start = select(steep, literal(np.pi / 2, x.dtype), select(middle, literal(np.pi / 4, x.dtype), 0))
    z = t * t
    angle = start + (t + t * (z * _polynomial(z, _P) / _polynomial(z, _Q)))
    return select(x < 0, -angle, angle)


class _Float(Unary):
    """A function that is evaluated in at least float32."""

    takes = "float"
    exact: ClassVar[Any]  # the NumPy function

    def wide(self, x: Expr) -> Expr:
        """The function of x, a float32 or float64."""
        raise NotImplementedError

    def scalar(self, x: Expr) -> Expr:
        return cast(self.wide(cast(x, accumulator(x.dtype))), x.dtype)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.asarray(type(self).exact(x.astype(np.float64))).astype(x.dtype)])


@register
@dataclass(frozen=True, slots=True)
class Tan(_Float):
    """y = tan x, x in radians. Source: ONNX Tan-22."""

    name = "tan"
    exact = np.tan

    def wide(self, x: Expr) -> Expr:
        return apply("sin", x) / apply("cos", x)


@register
@dataclass(frozen=True, slots=True)
class Asin(_Float):
    """y = the angle in −π/2 … π/2 whose sine is x. Source: ONNX Asin-22."""

    name = "asin"
    exact = np.arcsin

    def wide(self, x: Expr) -> Expr:
        return arctan(x / apply("sqrt", (1 - x) * (x + 1)))


@register
@dataclass(frozen=True, slots=True)
class Acos(_Float):
    """y = the angle in 0 … π whose cosine is x. Source: ONNX Acos-22."""

    name = "acos"
    exact = np.arccos

    def wide(self, x: Expr) -> Expr:
        return arctan(apply("sqrt", (1 - x) / (x + 1))) * 2


@register
@dataclass(frozen=True, slots=True)
class Atan(_Float):
    """y = the angle in −π/2 … π/2 whose tangent is x. Source: ONNX Atan-22."""

    name = "atan"
    exact = np.arctan

    def wide(self, x: Expr) -> Expr:
        return arctan(x)


@register
@dataclass(frozen=True, slots=True)
class Sinh(_Float):
    """y = (eˣ − e⁻ˣ) ÷ 2. Source: ONNX Sinh-22."""

    name = "sinh"
    exact = np.sinh

    def wide(self, x: Expr) -> Expr:
        small = expm1(x)
        half = apply("exp", x * 0.5) * 0.5  # eˣ ÷ 2 as a product, which overflows no earlier than the result
        down = apply("exp", x * -0.5) * 0.5
        large = half * apply("exp", x * 0.5) - down * apply("exp", x * -0.5)
        return select(apply("abs", x) < 1, (small + small / (small + 1)) * 0.5, large)


@register
@dataclass(frozen=True, slots=True)
class Cosh(_Float):
    """y = (eˣ + e⁻ˣ) ÷ 2. Source: ONNX Cosh-22."""

    name = "cosh"
    exact = np.cosh

    def wide(self, x: Expr) -> Expr:
        up, down = apply("exp", x * 0.5), apply("exp", x * -0.5)
        return up * 0.5 * up + down * 0.5 * down


@register
@dataclass(frozen=True, slots=True)
class Asinh(_Float):
    """y = ln(x + √(x² + 1)). Source: ONNX Asinh-22."""

    name = "asinh"
    exact = np.arcsinh

    def wide(self, x: Expr) -> Expr:
        size = apply("abs", x)
        square = size * size
        y = log1p(size + square / (apply("sqrt", square + 1) + 1))
        y = select(size > 1e8, apply("log", size) + float(np.log(2)), y)
        return select(x < 0, -y, y)


@register
@dataclass(frozen=True, slots=True)
class Acosh(_Float):
    """y = ln(x + √(x² − 1)), x ≥ 1. Source: ONNX Acosh-22."""

    name = "acosh"
    exact = np.arccosh

    def wide(self, x: Expr) -> Expr:
        t = x - 1
        y = log1p(t + apply("sqrt", t * 2 + t * t))
        return select(x > 1e8, apply("log", x) + float(np.log(2)), y)


@register
@dataclass(frozen=True, slots=True)
class Atanh(_Float):
    """y = ½ ln((1 + x) ÷ (1 − x)), |x| ≤ 1. Source: ONNX Atanh-22."""

    name = "atanh"
    exact = np.arctanh

    def wide(self, x: Expr) -> Expr:
        size = apply("abs", x)
        y = log1p(size * 2 / (1 - size)) * 0.5
        return select(x < 0, -y, y)
