"""Quantised operators, as compositions of what they mean."""

from __future__ import annotations

from rlx_base.dtypes import DTYPES, FLOAT32, INT32, DType
from rlx_compiler.onnx.operators.conversion import converted
from rlx_compiler.onnx.operators.linear import centred
from rlx_compiler.onnx.operators.movement import whole
from rlx_compiler.onnx.registry import operator
from rlx_compiler.onnx.tensors import dtype_of
from rlx_compiler.onnx.translation import Call, Value
from rlx_ir.ops.activation import Clip
from rlx_ir.ops.arithmetic import Add, Div, Mul, Sub
from rlx_ir.ops.functions import Round
from rlx_ir.ops.matmul import MatMul
from rlx_ir.ops.reduction import ReduceMax, ReduceMin
from rlx_ir.ops.reshape import Expand, Reshape, Unsqueeze

__all__ = ["dequantized", "limits", "quantized"]


def limits(dtype: DType) -> tuple[int, int]:
    """The least and the greatest integer of a dtype."""
    if dtype.kind == "uint":
        return 0, 2**dtype.bits - 1
    return -(2 ** (dtype.bits - 1)), 2 ** (dtype.bits - 1) - 1


def spread(call: Call, factor: Value, x: Value, axis: int, block: int) -> Value:
    """A scale or zero point lined up with x: one for all, one per place of an axis, or one per block of it."""
    if factor.rank == 0 or factor.type.shape == (1,):
        return call.apply(Reshape((), True), factor) if factor.rank else factor
    axis %= x.rank
    if block == 0:
        after = x.rank - 1 - axis
        return call.apply(Unsqueeze(tuple(range(1, after + 1))), factor) if after else factor
    shape = [whole(factor, place) for place in range(factor.rank)]
    wide = call.apply(Unsqueeze((axis + 1,)), factor)
    wide = call.apply(Expand((*shape[: axis + 1], block, *shape[axis + 1 :])), wide)
    return call.apply(Reshape((*shape[:axis], shape[axis] * block, *shape[axis + 1 :]), True), wide)


def quantized(call: Call, y: Value, zero: Value | None, dtype: DType) -> Value:
    """round(y) + zero point, saturated; y is x ÷ scale."""
    if dtype.is_float:
        return converted(call, y, dtype)
    rounded = call.apply(Round(), y)
    if zero is not None:
        rounded = call.apply(Add(), rounded, call.cast(zero, rounded.type.dtype))
    low, high = limits(dtype)
    return call.cast(call.apply(Clip(float(low), float(high)), rounded), dtype)


def dequantized(call: Call, x: Value, scale: Value, zero: Value | None) -> Value:
    """(x − zero point) · scale, in the scale's dtype."""
    if x.type.dtype.is_float:
        return call.apply(Mul(), call.cast(x, scale.type.dtype), scale)
    wide = call.cast(x, INT32)
    if zero is not None:
        wide = call.apply(Sub(), wide, call.cast(zero, INT32))
    return call.apply(Mul(), call.cast(wide, scale.type.dtype), scale)


@operator("QuantizeLinear")
def quantize(call: Call) -> Value:
    x, zero = call[0], call.optional(2)
    axis, block = call.attribute("axis", 1), call.attribute("block_size", 0)
    asked = call.attribute("output_dtype", 0)
    dtype = zero.type.dtype if zero is not None else dtype_of(asked) if asked else DTYPES["uint8"]
    precision = call.attribute("precision", 0)
    working = dtype_of(precision) if precision else FLOAT32
    scale = spread(call, call[1], x, axis, block)
    y = call.apply(Div(), call.cast(x, working), call.cast(scale, working))
    return quantized(call, y, None if zero is None else spread(call, zero, x, axis, block), dtype)


@operator("DequantizeLinear")
def dequantize(call: Call) -> Value:
    x, zero = call[0], call.optional(2)
    axis, block = call.attribute("axis", 1), call.attribute("block_size", 0)
    y = dequantized(
        call, x, spread(call, call[1], x, axis, block), None if zero is None else spread(call, zero, x, axis, block)
    )
    asked = call.attribute("output_dtype", 0)
    return call.cast(y, dtype_of(asked)) if asked else y


@operator("DynamicQuantizeLinear")
def dynamic_quantize(call: Call) -> tuple[Value, ...]:
    """The scale spans 0 and all of x in 255 steps."""
    x = call[0]
    from rlx_ir.ops.arithmetic import Max, Min

    zero = call.like(0, x)
    least = call.apply(Min(), call.apply(ReduceMin(None, False), x), zero)
    most = call.apply(Max(), call.apply(ReduceMax(None, False), x), zero)
    scale = call.apply(Div(), call.apply(Sub(), most, least), call.like(255, x))
    place = call.apply(Clip(0.0, 255.0), call.apply(Div(), call.apply(Sub(), zero, least), scale))
    point = call.cast(call.apply(Round(), place), DTYPES["uint8"])
    return quantized(call, call.apply(Div(), x, scale), point, DTYPES["uint8"]), scale, point


@operator("QLinearMatMul")
def quantized_matmul(call: Call) -> Value:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = (call[place] for place in range(8))
    left, right = centred(call, a, a_zero, -2), centred(call, b, b_zero, -1)
    product = call.cast(call.apply(MatMul(), left, right), FLOAT32)
    along = spread(call, call.cast(a_scale, FLOAT32), left, -2, 0)
    factor = call.apply(Mul(), along, spread(call, call.cast(b_scale, FLOAT32), right, -1, 0))
    factor = call.apply(Div(), factor, call.cast(spread(call, y_scale, product, -1, 0), FLOAT32))
    return quantized(call, call.apply(Mul(), product, factor), y_zero, y_zero.type.dtype)
