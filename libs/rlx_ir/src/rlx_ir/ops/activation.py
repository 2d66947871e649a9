"""Elementwise activations. Each propagates NaN, unless it says otherwise.

Shapes and errors as in `rlx_ir.ops.elementwise`. The references work in float64 and round once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rlx_ir.expr import Expr, apply, maximum, minimum, select
from rlx_ir.op import Array, as_arrays, register
from rlx_ir.ops.elementwise import Unary
from rlx_ir.ops.rules import refuse
from rlx_ir.types import TensorType

__all__ = [
    "Clip",
    "Elu",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "LeakyRelu",
    "Relu",
    "Selu",
    "Sigmoid",
    "Silu",
    "Softplus",
]


def _rounded(x: Array, function: Callable[[Array], Any]) -> tuple[Array, ...]:
    """`function` of x in float64, rounded to x's dtype."""
    return as_arrays([np.asarray(function(x.astype(np.float64))).astype(x.dtype)])


@register
@dataclass(frozen=True, slots=True)
class Relu(Unary):
    """y = max(x, 0). Source: ONNX Relu-14."""

    name = "relu"
    takes = "signed"

    def scalar(self, x: Expr) -> Expr:
        return maximum(x, 0)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return as_arrays([np.maximum(x, np.zeros((), x.dtype))])


@register
@dataclass(frozen=True, slots=True)
class LeakyRelu(Unary):
    """y = x where x ≥ 0, else alpha · x. Source: ONNX LeakyRelu-16."""

    name = "leaky_relu"
    takes = "float"

    alpha: float = 0.01

    def scalar(self, x: Expr) -> Expr:
        return select(x >= 0, x, x * self.alpha)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return _rounded(x, lambda v: np.where(v >= 0, v, self.alpha * v))


@register
@dataclass(frozen=True, slots=True)
class Elu(Unary):
    """y = x where x ≥ 0, else alpha · (eˣ − 1). Source: ONNX Elu-22."""

    name = "elu"
    takes = "float"

    alpha: float = 1.0

    def scalar(self, x: Expr) -> Expr:
        return select(x >= 0, x, (apply("exp", x) - 1) * self.alpha)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return _rounded(x, lambda v: np.where(v >= 0, v, self.alpha * np.expm1(v)))


@register
@dataclass(frozen=True, slots=True)
class Selu(Unary):
    """y = gamma · (x where x > 0, else alpha · (eˣ − 1)). Source: ONNX Selu-22."""

    name = "selu"
    takes = "float"

    alpha: float = 1.6732632423543772
    gamma: float = 1.0507009873554805

    def scalar(self, x: Expr) -> Expr:
        return select(x > 0, x, (apply("exp", x) - 1) * self.alpha) * self.gamma

    def reference(self, x: Array) -> tuple[Array, ...]:
        return _rounded(x, lambda v: self.gamma * np.where(v > 0, v, self.alpha * np.expm1(v)))


@register
@dataclass(frozen=True, slots=True)
class Clip(Unary):
    """y = min(max(x, min), max); a bound that is None does not bound. Source: ONNX Clip-13, bounds as attributes.

    Errors: E110 where a bound of an integer tensor is not a whole number of its dtype.
    """

    name = "clip"

    min: float | None = None
    max: float | None = None

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        for name, bound in (("min", self.min), ("max", self.max)):
            if bound is not None and x.dtype.is_integer:
                limits = np.iinfo(str(x.dtype))
                if bound != math.floor(bound) or not limits.min <= bound <= limits.max:
                    raise refuse(self.name, f"{name}={bound} of {x.dtype} values", "give a whole number of that range")
        return Unary.infer(self, x)

    def scalar(self, x: Expr) -> Expr:
        y = x if self.min is None else maximum(x, self.min)
        return y if self.max is None else minimum(y, self.max)

    def reference(self, x: Array) -> tuple[Array, ...]:
        y = x if self.min is None else np.maximum(x, np.array(self.min, x.dtype))
        return as_arrays([y if self.max is None else np.minimum(y, np.array(self.max, x.dtype))])


@register
@dataclass(frozen=True, slots=True)
class Sigmoid(Unary):
    """y = 1 ÷ (1 + e⁻ˣ). Source: ONNX Sigmoid-13."""

    name = "sigmoid"
    takes = "float"

    def scalar(self, x: Expr) -> Expr:
        return 1 / (1 + apply("exp", -x))

    def reference(self, x: Array) -> tuple[Array, ...]:
        return _rounded(x, lambda v: 0.5 * (1 + np.tanh(0.5 * v)))


@register
@dataclass(frozen=True, slots=True)
class HardSigmoid(Unary):
    """y = max(0, min(1, alpha · x + beta)). Source: ONNX HardSigmoid-22."""

    name = "hard_sigmoid"
    takes = "float"

    alpha: float = 0.2
    beta: float = 0.5

    def scalar(self, x: Expr) -> Expr:
        return maximum(minimum(x * self.alpha + self.beta, 1), 0)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return _rounded(x, lambda v: np.clip(self.alpha * v + self.beta, 0, 1))


@register
@dataclass(frozen=True, slots=True)
class HardSwish(Unary):
    """y = x · max(0, min(1, x/6 + 1/2)). Source: ONNX HardSwish-22."""

    name = "hard_swish"
    takes = "float"

    def scalar(self, x: Expr) -> Expr:
        return x * maximum(minimum(x * (1 / 6) + 0.5, 1), 0)

    def reference(self, x: Array) -> tuple[Array, ...]:
        return _rounded(x, lambda v: v * np.clip(v / 6 + 0.5, 0, 1))


@register
@dataclass(frozen=True, slots=True)
class Silu(Unary):
    """y = x ÷ (1 + e⁻ˣ), also called swish; −∞ gives NaN. Source: ONNX Swish-24."""

    name = "silu"
    takes = "float"

    def scalar(self, x: Expr) -> Expr:
        return x / (1 + apply("exp", -x))

    def reference(self, x: Array) -> tuple[Array, ...]:
        return _rounded(x, lambda v: v * (0.5 * (1 + np.tanh(0.5 * v))))


@register
@dataclass(frozen=True, slots=True)
class Gelu(Unary):
    """y = x/2 · (1 + erf(x/√2)); with `approximate="tanh"`, x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))).

    −∞ gives NaN. Source: ONNX Gelu-20.
    """

    name = "gelu"
    takes = "float"

    approximate: Literal["none", "tanh"] = "none"

    def scalar(self, x: Expr) -> Expr:
        if self.approximate == "tanh":
            return x * 0.5 * (1 + apply("tanh", (x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)))
        return x * 0.5 * (1 + apply("erf", x * math.sqrt(0.5)))

    def reference(self, x: Array) -> tuple[Array, ...]:
        if self.approximate == "tanh":
            return _rounded(x, lambda v: v / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))))
        erf = np.array([math.erf(v / math.sqrt(2)) for v in x.ravel()], np.float64).reshape(x.shape)
        return _rounded(x, lambda v: v / 2 * (1 + erf))


@register
@dataclass(frozen=True, slots=True)
class Softplus(Unary):
    """y = ln(1 + eˣ), formed as max(x, 0) + ln(1 + e^−|x|), which cannot overflow. Source: ONNX Softplus-22."""

    name = "softplus"
    takes = "float"

    def scalar(self, x: Expr) -> Expr:
        return maximum(x, 0) + apply("log", 1 + apply("exp", -apply("abs", x)))

    def reference(self, x: Array) -> tuple[Array, ...]:
        return _rounded(x, lambda v: np.logaddexp(0, v))
