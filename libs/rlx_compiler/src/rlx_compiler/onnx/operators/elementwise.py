"""Elementwise operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from rlx_base.dtypes import DTYPES, STRING
from rlx_compiler.onnx.registry import Importer, operator
from rlx_compiler.onnx.translation import Call, Unsupported, Value
from rlx_ir.op import Op
from rlx_ir.ops import activation, arithmetic, comparison, copying, functions, trigonometry
from rlx_ir.ops.text import StringEqual

__all__: list[str] = []

_PLAIN: Final[dict[str, Callable[[], Op]]] = {
    "Add": arithmetic.Add,
    "Sub": arithmetic.Sub,
    "Mul": arithmetic.Mul,
    "Div": arithmetic.Div,
    "Max": arithmetic.Max,
    "Min": arithmetic.Min,
    "Neg": arithmetic.Neg,
    "Abs": arithmetic.Abs,
    "Sign": arithmetic.Sign,
    "Reciprocal": arithmetic.Reciprocal,
    "Equal": comparison.Equal,
    "Less": comparison.Less,
    "LessOrEqual": comparison.LessOrEqual,
    "Greater": comparison.Greater,
    "GreaterOrEqual": comparison.GreaterOrEqual,
    "And": comparison.LogicalAnd,
    "Or": comparison.LogicalOr,
    "Xor": comparison.LogicalXor,
    "Not": comparison.LogicalNot,
    "BitwiseAnd": comparison.BitwiseAnd,
    "BitwiseOr": comparison.BitwiseOr,
    "BitwiseXor": comparison.BitwiseXor,
    "BitwiseNot": comparison.BitwiseNot,
    "Exp": functions.Exp,
    "Log": functions.Log,
    "Sqrt": functions.Sqrt,
    "Sin": functions.Sin,
    "Cos": functions.Cos,
    "Tan": trigonometry.Tan,
    "Asin": trigonometry.Asin,
    "Acos": trigonometry.Acos,
    "Atan": trigonometry.Atan,
    "Sinh": trigonometry.Sinh,
    "Cosh": trigonometry.Cosh,
    "Asinh": trigonometry.Asinh,
    "Acosh": trigonometry.Acosh,
    "Atanh": trigonometry.Atanh,
    "Tanh": functions.Tanh,
    "Erf": functions.Erf,
    "Floor": functions.Floor,
    "Ceil": functions.Ceil,
    "Round": functions.Round,
    "IsNaN": comparison.IsNaN,
    "Relu": activation.Relu,
    "Sigmoid": activation.Sigmoid,
    "HardSwish": activation.HardSwish,
    "Softplus": activation.Softplus,
}


def _plain(make: Callable[[], Op]) -> Importer:
    def importer(call: Call) -> Value:
        return call.apply(make(), *call.operands)

    return importer


_ALIGNED: Final = ("Add", "Sub", "Mul", "Div", "And", "Or", "Xor", "Equal", "Less", "Greater")
for _name, _make in _PLAIN.items():
    operator(_name, since=7 if _name in _ALIGNED else 1)(_plain(_make))


@operator("Identity")
def identity(call: Call) -> Value:
    x = call[0]
    return x if x.items is not None or x.empty else call.apply(copying.Identity(), x)


@operator("Equal", since=11)
def equal(call: Call) -> Value:
    """Of texts too."""
    return call.apply(StringEqual() if call[0].type.dtype == STRING else comparison.Equal(), call[0], call[1])


@operator("Add", "Sub", "Mul", "Div", since=8)
def arithmetic_of_sizes(call: Call) -> Value:
    """Sizes are data: what a graph computes from unknown ones stays a dimension."""
    from rlx_compiler.onnx.operators.shapes import on_sizes

    found = on_sizes(call)
    return found if found is not None else call.apply(_PLAIN[call.proto.op_type](), *call.operands)


@operator(*_ALIGNED)
def with_axis(call: Call) -> Value:
    """Before opset 7 the second operand could be lined up at an axis instead of at the right."""
    from rlx_ir.ops.reshape import Reshape

    b = call[1]
    if call.attribute("broadcast") and call.attribute("axis") is not None and b.rank:
        axis = call.attribute("axis") % call[0].rank
        after = call[0].rank - axis - b.rank
        shape = tuple(size if isinstance(size, int) else str(size) for size in b.type.shape)
        b = call.apply(Reshape((*shape, *(1,) * after), allow_zero=True), b)
    return call.apply(_PLAIN[call.proto.op_type](), call[0], b)


def _sum(call: Call) -> Value:
    y = call[0]
    for place in range(1, len(call.operands)):
        y = call.apply(arithmetic.Add(), y, call[place])
    return y if len(call.operands) > 1 else call.apply(copying.Identity(), y)


@operator("Sum")
def sum_of(call: Call) -> Value:
    return _sum(call)


@operator("Mean")
def mean_of(call: Call) -> Value:
    return call.apply(arithmetic.Mul(), _sum(call), call.like(1 / len(call.operands), call[0]))


@operator("Mod")
def mod(call: Call) -> Value:
    return call.apply(arithmetic.Mod(bool(call.attribute("fmod", 0))), call[0], call[1])


@operator("Pow")
def power(call: Call) -> Value:
    """Any exponent's dtype, with the base's dtype as result; integers through float64, which holds what fits.

    What is a whole number but for the last places of a power is that number: cut off, 3⁶ could be 728.
    """
    a, b = call[0], call[1]
    if a.type.dtype.is_float:
        return call.apply(arithmetic.Pow(), a, call.cast(b, a.type.dtype))
    wide = DTYPES["float64"]
    y = call.apply(arithmetic.Pow(), call.cast(a, wide), call.cast(b, wide))
    near = call.apply(functions.Round(), y)
    if not b.type.dtype.is_integer:
        apart = call.apply(arithmetic.Abs(), call.apply(arithmetic.Sub(), y, near))
        most = call.apply(arithmetic.Mul(), call.apply(arithmetic.Abs(), near), call.like(2.0**-48, near))
        near = call.apply(copying.Where(), call.apply(comparison.LessOrEqual(), apart, most), near, y)
    return call.cast(near, a.type.dtype)


@operator("BitShift")
def bit_shift(call: Call) -> Value:
    left = call.attribute("direction") == "LEFT"
    return call.apply(comparison.ShiftLeft() if left else comparison.ShiftRight(), call[0], call[1])


@operator("IsInf")
def is_inf(call: Call) -> Value:
    x = call[0]
    up, down = call.like(np.inf, x), call.like(-np.inf, x)
    found = [
        call.apply(comparison.Equal(), x, bound)
        for bound, name in ((up, "detect_positive"), (down, "detect_negative"))
        if call.attribute(name, 1)
    ]
    if not found:
        return call.apply(
            comparison.LogicalAnd(), call.apply(comparison.Equal(), x, up), call.constant(np.array(False))
        )
    return found[0] if len(found) == 1 else call.apply(comparison.LogicalOr(), *found)


@operator("Where")
def where(call: Call) -> Value:
    return call.apply(copying.Where(), *call.operands)


@operator("Clip", since=11)
def clip(call: Call) -> Value:
    """Bounds are operands; known ones become attributes."""
    x, least, most = call[0], call.optional(1), call.optional(2)
    y = x
    if least is not None:
        y = call.apply(arithmetic.Max(), y, least)
    if most is not None:
        y = call.apply(arithmetic.Min(), y, most)
    known = all(bound is None or bound.known is not None for bound in (least, most))
    if known and x.type.dtype.is_float:
        bounds = [
            None if bound is None or bound.known is None else float(bound.known.item()) for bound in (least, most)
        ]
        return call.apply(activation.Clip(*bounds), x)
    return y if y is not x else call.apply(copying.Identity(), x)


@operator("Clip")
def clip_by_attributes(call: Call) -> Value:
    return call.apply(activation.Clip(call.attribute("min"), call.attribute("max")), call[0])


@operator("LeakyRelu")
def leaky_relu(call: Call) -> Value:
    return call.apply(activation.LeakyRelu(call.attribute("alpha", 0.01)), call[0])


@operator("Elu")
def elu(call: Call) -> Value:
    return call.apply(activation.Elu(call.attribute("alpha", 1.0)), call[0])


@operator("Selu")
def selu(call: Call) -> Value:
    alpha, gamma = call.attribute("alpha", 1.6732632423543772), call.attribute("gamma", 1.0507009873554805)
    return call.apply(activation.Selu(alpha, gamma), call[0])


@operator("HardSigmoid")
def hard_sigmoid(call: Call) -> Value:
    return call.apply(activation.HardSigmoid(call.attribute("alpha", 0.2), call.attribute("beta", 0.5)), call[0])


@operator("Gelu")
def gelu(call: Call) -> Value:
    return call.apply(activation.Gelu(call.attribute("approximate", "none")), call[0])


@operator("Swish")
def swish(call: Call) -> Value:
    alpha = call.attribute("alpha", 1.0)
    if alpha == 1.0:
        return call.apply(activation.Silu(), call[0])
    gate = call.apply(activation.Sigmoid(), call.apply(arithmetic.Mul(), call[0], call.like(alpha, call[0])))
    return call.apply(arithmetic.Mul(), call[0], gate)


@operator("PRelu")
def parametric_relu(call: Call) -> Value:
    x, slope = call[0], call[1]
    if call.opset < 7 and slope.rank == 1 and x.rank > 2:  # one slope per channel
        from rlx_ir.ops.reshape import Unsqueeze

        slope = call.apply(Unsqueeze(tuple(range(1, x.rank - 1))), slope)
    negative = call.apply(comparison.Less(), x, call.like(0, x))
    return call.apply(copying.Where(), negative, call.apply(arithmetic.Mul(), x, slope), x)


@operator("Dropout")
def dropout(call: Call) -> tuple[Value, Value]:
    """Of inference: nothing is left out, and the mask is true everywhere. In training with a seed the numbers that
    decide are those of NumPy's `RandomState`, as in ONNX's reference; without one they would differ in every run."""
    x, training = call[0], call.optional(2)
    kept = call.apply(comparison.Equal(), x, x)
    everything = call.apply(comparison.LogicalOr(), kept, call.constant(np.array(True)))
    if training is None or (training.known is not None and not training.known.item()):
        return call.apply(copying.Identity(), x), everything
    ratio = call.like(0.5, x) if call.optional(1) is None else call[1]
    if ratio.known is not None and not ratio.known.item():
        return call.apply(copying.Identity(), x), everything
    if call.attribute("seed") is None:
        raise Unsupported("dropout in training is random, and it has no seed", training.inputs)
    sizes = [size for size in x.type.shape if isinstance(size, int)]
    if len(sizes) != x.rank:
        raise Unsupported("dropout in training over an unknown size")
    numbers = call.constant(np.random.RandomState(call.attribute("seed")).uniform(0, 1, sizes))
    wide = call.cast(ratio, DTYPES["float64"])
    mask = call.apply(comparison.GreaterOrEqual(), numbers, wide)
    scale = call.apply(arithmetic.Div(), call.like(1, wide), call.apply(arithmetic.Sub(), call.like(1, wide), wide))
    scaled = call.apply(arithmetic.Mul(), call.cast(x, DTYPES["float64"]), scale)
    dropped = call.cast(call.apply(copying.Where(), mask, scaled, call.like(0, scaled)), x.type.dtype)
    return (
        call.apply(copying.Where(), training, dropped, x),
        call.apply(comparison.LogicalOr(), call.apply(comparison.LogicalNot(), training), mask),
    )


@operator("Mish")
def mish(call: Call) -> Value:
    return call.apply(
        arithmetic.Mul(), call[0], call.apply(functions.Tanh(), call.apply(activation.Softplus(), call[0]))
    )


@operator("Affine")
def affine(call: Call) -> Value:
    scaled = call.apply(arithmetic.Mul(), call[0], call.like(call.attribute("alpha", 1.0), call[0]))
    return call.apply(arithmetic.Add(), scaled, call.like(call.attribute("beta", 0.0), call[0]))


@operator("Shrink")
def shrink(call: Call) -> Value:
    x = call[0]
    bias, limit = call.like(call.attribute("bias", 0.0), x), call.attribute("lambd", 0.5)
    low = call.apply(comparison.Less(), x, call.like(-limit, x))
    high = call.apply(comparison.Greater(), x, call.like(limit, x))
    inner = call.apply(copying.Where(), high, call.apply(arithmetic.Sub(), x, bias), call.like(0, x))
    return call.apply(copying.Where(), low, call.apply(arithmetic.Add(), x, bias), inner)
