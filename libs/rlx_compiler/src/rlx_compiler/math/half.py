"""float16 by integer arithmetic, for devices that do not convert it, and without rounding twice for those that do.

Every value passes through float32. On the way from float64 the float32 is rounded to odd (the last bit is set where
anything was cut off), so that the second rounding decides as one from float64 would.
"""

from __future__ import annotations

from rlx_base.dtypes import BOOL, DTYPES, FLOAT32, DType
from rlx_compiler.loops.ir import Apply, Bitcast, Cast, Expr
from rlx_compiler.math.build import (
    absolute,
    add,
    both,
    cast,
    either,
    equal,
    greater,
    less,
    like,
    mul,
    select,
    shl,
    shr,
    sub,
    unsigned,
)

__all__ = ["converted", "odd_float32"]

_FLOAT16 = DTYPES["float16"]
_UINT16, _UINT32 = DTYPES["uint16"], DTYPES["uint32"]


def converted(value: Expr, dtype: DType, *, native: bool) -> Expr | None:
    """A conversion from or to float16; None where it is legal as it is."""
    if value.dtype == _FLOAT16:
        if dtype != FLOAT32:
            return Cast(Cast(value, FLOAT32), dtype)
        return None if native else _widened(value)
    if value.dtype == FLOAT32:
        return None if native else _narrowed(value)
    if value.dtype.name == "float64":
        return Cast(odd_float32(value), dtype)
    # Whole numbers that float32 rounds are infinite in float16, before and after.
    return Cast(Cast(value, FLOAT32), dtype)


def _widened(value: Expr) -> Expr:
    """float16 → float32: the bits moved into place, then the exponent's bias corrected by a multiplication."""
    bits = cast(Bitcast(value, _UINT16), _UINT32)
    magnitude = both(bits, 0x7FFF)
    scaled = mul(Bitcast(shl(magnitude, 13), FLOAT32), 2.0**112)
    # Infinity and NaN have the largest exponent in both.
    special = Bitcast(either(shl(magnitude, 13), 0x7F800000), FLOAT32)
    result = select(less(magnitude, 0x7C00), scaled, special)
    return Bitcast(either(unsigned(result), shl(both(bits, 0x8000), 16)), FLOAT32)


def _narrowed(value: Expr) -> Expr:
    """float32 → float16, to nearest even."""
    bits = unsigned(value)
    sign = shr(both(bits, 0x80000000), 16)
    magnitude = both(bits, 0x7FFFFFFF)
    # Below the normal float16s: adding ½ lines the mantissa up with 2⁻²⁴, and the processor rounds.
    small = sub(unsigned(add(absolute(value), 0.5)), 0x3F000000)
    odd = both(shr(magnitude, 13), 1)
    normal = shr(add(add(sub(magnitude, 112 << 23), 0xFFF), odd), 13)
    result = select(less(magnitude, 113 << 23), small, normal)
    # From 65520 on it rounds to infinity.
    result = select(Apply("ge", (magnitude, like(0x477FF000, magnitude)), BOOL), 0x7C00, result)
    result = select(greater(magnitude, 0x7F800000), 0x7E00, result)
    return Bitcast(cast(either(result, sign), _UINT16), _FLOAT16)


def odd_float32(value: Expr) -> Expr:
    """float64 → float32, rounded to odd."""
    near = Cast(value, FLOAT32)
    back = Cast(near, value.dtype)
    bits = unsigned(near)
    beyond = greater(absolute(back), absolute(value))
    exact = equal(back, value)
    nan = Apply("is_nan", (value,), BOOL)
    # One step towards zero where rounding went away from it: then `truncated` is the value cut off.
    truncated = sub(bits, select(beyond, like(1, bits), 0))
    odd = either(truncated, 1)
    return Bitcast(select(Apply("or", (exact, nan), BOOL), bits, odd), FLOAT32)
