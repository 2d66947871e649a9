"""Elementwise trigonometric and hyperbolic functions of floats and their inverses.

Shapes and errors as in `rlx_ir.ops.elementwise`; outside its domain a function gives NaN or ±∞ as in NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlx_ir.expr import Expr, apply
from rlx_ir.op import Array, as_arrays, register
from rlx_ir.ops.elementwise import Unary

__all__ = ["Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Sinh", "Tan"]


@register
@dataclass(frozen=True, slots=True)
class Tan(Unary):
    """y = tan x, x in radians. Source: ONNX Tan-22."""

    name = "tan"
    takes = "float"

    def scalar(self, x: Expr) -> Expr:
        return apply("tan", x)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.tan(x)])


@register
@dataclass(frozen=True, slots=True)
class Asin(Unary):
    """y = the angle in −π/2 … π/2 whose sine is x. Source: ONNX Asin-22."""

    name = "asin"
    takes = "float"

    def scalar(self, x: Expr) -> Expr:
        return apply("asin", x)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.arcsin(x)])


@register
@dataclass(frozen=True, slots=True)
class Acos(Unary):
    """y = the angle in 0 … π whose cosine is x. Source: ONNX Acos-22."""

    name = "acos"
    takes = "float"

    def scalar(self, x: Expr) -> Expr:
        return apply("acos", x)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.arccos(x)])


@register
@dataclass(frozen=True, slots=True)
class Atan(Unary):
    """y = the angle in −π/2 … π/2 whose tangent is x. Source: ONNX Atan-22."""

    name = "atan"
    takes = "float"

    def scalar(self, x: Expr) -> Expr:
        return apply("atan", x)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.arctan(x)])


@register
@dataclass(frozen=True, slots=True)
class Sinh(Unary):
    """y = (eˣ − e⁻ˣ) ÷ 2. Source: ONNX Sinh-22."""

    name = "sinh"
    takes = "float"

    def scalar(self, x: Expr) -> Expr:
        return apply("sinh", x)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.sinh(x)])


@register
@dataclass(frozen=True, slots=True)
class Cosh(Unary):
    """y = (eˣ + e⁻ˣ) ÷ 2. Source: ONNX Cosh-22."""

    name = "cosh"
    takes = "float"

    def scalar(self, x: Expr) -> Expr:
        return apply("cosh", x)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.cosh(x)])


@register
@dataclass(frozen=True, slots=True)
class Asinh(Unary):
    """y = ln(x + √(x² + 1)). Source: ONNX Asinh-22."""

    name = "asinh"
    takes = "float"

    def scalar(self, x: Expr) -> Expr:
        return apply("asinh", x)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.arcsinh(x)])


@register
@dataclass(frozen=True, slots=True)
class Acosh(Unary):
    """y = ln(x + √(x² − 1)), x ≥ 1. Source: ONNX Acosh-22."""

    name = "acosh"
    takes = "float"

    def scalar(self, x: Expr) -> Expr:
        return apply("acosh", x)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.arccosh(x)])


@register
@dataclass(frozen=True, slots=True)
class Atanh(Unary):
    """y = ½ ln((1 + x) ÷ (1 − x)), |x| ≤ 1. Source: ONNX Atanh-22."""

    name = "atanh"
    takes = "float"

    def scalar(self, x: Expr) -> Expr:
        return apply("atanh", x)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.arctanh(x)])
