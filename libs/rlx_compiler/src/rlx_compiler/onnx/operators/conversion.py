"""Conversions between element types, as ONNX has them: casts that saturate, and bits as another type."""

from __future__ import annotations

from typing import Final

from rlx_base.dtypes import DTYPES, FLOAT32, DType
from rlx_compiler.onnx.registry import operator
from rlx_compiler.onnx.tensors import dtype_of
from rlx_compiler.onnx.translation import Call, Unsupported, Value
from rlx_ir.ops import activation, arithmetic, comparison, copying

__all__ = ["converted"]


@operator("Cast")
def cast(call: Call) -> Value:
    if call.attribute("to") is None:
        raise Unsupported("attribute to is missing")
    try:
        target = dtype_of(int(call.attribute("to")))
    except ValueError as why:
        raise Unsupported(f"it gives {why}") from None
    return converted(call, call[0], target)


def converted(call: Call, x: Value, target: DType) -> Value:
    """A conversion as ONNX has it: to a small float, what is too large becomes its largest number."""
    if x.type.dtype == target:
        return call.apply(copying.Identity(), x)
    if x.type.dtype.is_float and target.name in _LARGEST and call.attribute("saturate", 1):
        x = _saturated(call, x, target)
    if target.name == "float8_e8m0fnu" and x.type.dtype.is_float:
        return _as_power_of_two(call, x, target)
    if target.is_integer and target.bits < 8 and x.type.dtype.is_float:  # through whole numbers, which wrap
        x = call.cast(x, DTYPES["int32"])
    return call.cast(x, target)


# The largest finite numbers of the small floats: beyond them a conversion saturates, infinities too.
_LARGEST: Final = {
    "float8_e4m3fn": 448.0,
    "float8_e4m3fnuz": 240.0,
    "float8_e5m2": 57344.0,
    "float8_e5m2fnuz": 57344.0,
    "float4_e2m1fn": 6.0,
}


def _saturated(call: Call, x: Value, target: DType) -> Value:
    limit = _LARGEST[target.name]
    wide = call.cast(x, FLOAT32) if x.type.dtype.bits < 32 else x
    return call.apply(activation.Clip(-limit, limit), wide)


@operator("CastLike")
def cast_like(call: Call) -> Value:
    return converted(call, call[0], call[1].type.dtype)


def _as_power_of_two(call: Call, x: Value, target: DType) -> Value:
    """float8e8m0 holds exponents alone: the power of two above (by default), below or nearest, by the bits of x.

    The sign is lost; 0 is the least power; the largest stands for what is above it, unless `saturate` is 0.
    """
    wide = call.cast(x, FLOAT32)
    magnitude = call.apply(copying.BitCast(DTYPES["int32"]), call.apply(arithmetic.Abs(), wide))
    more = {"up": 0x7FFFFF, "nearest": 0x400000, "down": 0}[call.attribute("round_mode", "up")]
    power = call.apply(
        comparison.ShiftRight(),
        call.apply(arithmetic.Add(), magnitude, call.like(more, magnitude)),
        call.like(23, magnitude),
    )
    if call.attribute("saturate", 1):
        power = call.apply(arithmetic.Min(), power, call.like(0xFE, power))
    finite = call.apply(comparison.Less(), magnitude, call.like(0x7F800000, magnitude))
    power = call.apply(copying.Where(), finite, power, call.like(0xFF, power))
    return call.apply(copying.BitCast(target), call.cast(power, DTYPES["uint8"]))


@operator("BitCast")
def bit_cast(call: Call) -> Value:
    return call.apply(copying.BitCast(dtype_of(int(call.attribute("to")))), call[0])
