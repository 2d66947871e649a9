"""Elementwise functions of floats: exponentials, roots, rounding; `trigonometry` has the others.

Shapes and errors as in `rlx_ir.ops.elementwise`; outside its domain a function gives NaN or ±∞ as in NumPy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rlx_ir.expr import Expr, apply
from rlx_ir.op import Array, as_arrays, register
from rlx_ir.ops.elementwise import Unary

__all__ = ["Ceil", "Cos", "Erf", "Exp", "Floor", "Log", "Round", "Sin", "Sqrt", "Tanh"]


@register
@dataclass(frozen=True, slots=True)
class Exp(Unary):
    """y = eˣ. Source: ONNX Exp-13."""

    name = "exp"
    takes = "float"

    def scalar(self, x: Expr) -> Expr:
        return apply("exp", x)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.exp(x)])


@register
@dataclass(frozen=True, slots=True)
class Log(Unary):
    """y = the natural logarithm of x. Source: ONNX Log-13."""

    name = "log"
    takes = "float"

    def scalar(self, x: Expr) -> Expr:
        return apply("log", x)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.log(x)])


@register
@dataclass(frozen=True, slots=True)
class Sqrt(Unary):
    """y = √x. Source: ONNX Sqrt-13."""

    name = "sqrt"
    takes = "float"

    def scalar(self, x: Expr) -> Expr:
        return apply("sqrt", x)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.sqrt(x)])


@register
@dataclass(frozen=True, slots=True)
class Sin(Unary):
    """y = sin x, x in radians. Source: ONNX Sin-7."""

    name = "sin"
    takes = "float"

    def scalar(self, x: Expr) -> Expr:
        return apply("sin", x)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.sin(x)])


@register
@dataclass(frozen=True, slots=True)
class Cos(Unary):
    """y = cos x, x in radians. Source: ONNX Cos-7."""

    name = "cos"
    takes = "float"

    def scalar(self, x: Expr) -> Expr:
        return apply("cos", x)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.cos(x)])


@register
@dataclass(frozen=True, slots=True)
class Tanh(Unary):
    """y = tanh x. Source: ONNX Tanh-13."""

    name = "tanh"
    takes = "float"

    def scalar(self, x: Expr) -> Expr:
        return apply("tanh", x)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.tanh(x)])


@register
@dataclass(frozen=True, slots=True)
class Erf(Unary):
    """y = 2/√π · ∫₀ˣ e^(−t²) dt. Source: ONNX Erf-13."""

    name = "erf"
    takes = "float"

    def scalar(self, x: Expr) -> Expr:
        return apply("erf", x)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.array([math.erf(v) for v in x.ravel()], np.float64).reshape(x.shape).astype(x.dtype)])


@register
@dataclass(frozen=True, slots=True)
class Floor(Unary):
    """y = the greatest whole number ≤ x. Source: ONNX Floor-13."""

    name = "floor"
    takes = "float"

    def scalar(self, x: Expr) -> Expr:
        return apply("floor", x)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.floor(x)])


@register
@dataclass(frozen=True, slots=True)
class Ceil(Unary):
    """y = the least whole number ≥ x. Source: ONNX Ceil-13."""

    name = "ceil"
    takes = "float"

    def scalar(self, x: Expr) -> Expr:
        return apply("ceil", x)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.ceil(x)])


@register
@dataclass(frozen=True, slots=True)
class Round(Unary):
    """y = the nearest whole number, halves to the even one. Source: ONNX Round-22."""

    name = "round"
    takes = "float"

    def scalar(self, x: Expr) -> Expr:
        return apply("round", x)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.rint(x)])
