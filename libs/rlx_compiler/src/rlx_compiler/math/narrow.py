"""bfloat16, float8, float4 and integers of 4 and 2 bits: from and to their bits, by integer arithmetic on every device.

A small float has `exponent` and `mantissa` bits; it passes through float32, which holds every one of them exactly, and
is rounded once, to nearest even. A small integer passes through int8 or uint8 and wraps. Source of the formats: the OCP
specifications of 8-bit and microscaling floats, and `ml_dtypes`, which the interpreter computes with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rlx_base.dtypes import BOOL, DTYPES, FLOAT32, FLOAT64, DType
from rlx_compiler.loops.ir import Apply, Bitcast, Cast, Expr
from rlx_compiler.math.build import absolute, add, both, cast, either, less, like, mul, select, shl, shr, sub, unsigned
from rlx_compiler.math.half import odd_float32

__all__ = ["converted"]

_INT8, _UINT32 = DTYPES["int8"], DTYPES["uint32"]
_INFINITY: Final = 0x7F800000  # of float32; every magnitude above it is NaN


@dataclass(frozen=True, slots=True)
class _Format:
    """A small float. `beyond` is the magnitude that stands for all above the largest finite number, `nan` the bits of
    NaN (None: there is none), `zero_sign` whether −0 is there."""

    exponent: int
    mantissa: int
    bias: int
    largest: int
    beyond: int
    nan: int | None
    zero_sign: bool = True

    @property
    def sign(self) -> int:
        return self.exponent + self.mantissa


_FORMATS: Final = {
    "float8_e4m3fn": _Format(4, 3, 7, 0x7E, 0x7F, 0x7F),
    "float8_e5m2": _Format(5, 2, 15, 0x7B, 0x7C, 0x7E),
    "float8_e4m3fnuz": _Format(4, 3, 8, 0x7F, 0x80, 0x80, zero_sign=False),
    "float8_e5m2fnuz": _Format(5, 2, 16, 0x7F, 0x80, 0x80, zero_sign=False),
    "float4_e2m1fn": _Format(2, 1, 1, 0x7, 0x7, None),
}


def converted(value: Expr, dtype: DType) -> Expr | None:
    """A conversion from or to one of these types; None for one that is legal as it is."""
    source = value.dtype
    if source.numpy is None:
        wide = _widened(value)
        return wide if dtype == wide.dtype else Cast(wide, dtype)
    if dtype.is_integer:
        # Of the byte that holds it, the other bits are 0, as `ml_dtypes` keeps them.
        return Bitcast(both(cast(value, dtype.bits_held), (1 << dtype.bits) - 1), dtype)
    if source.is_float and source != FLOAT64:
        return Bitcast(_narrowed(cast(value, FLOAT32), dtype), dtype)
    exact = value if source in (FLOAT64, BOOL) or source.bits <= 16 else Cast(value, FLOAT64)
    return Bitcast(_narrowed(odd_float32(exact) if exact.dtype == FLOAT64 else Cast(exact, FLOAT32), dtype), dtype)


def _wrapped(value: Expr, dtype: DType) -> Expr:
    """The lowest bits of a byte as the number that they are."""
    if dtype.kind == "uint":
        return both(value, (1 << dtype.bits) - 1)
    return shr(shl(value, 8 - dtype.bits), 8 - dtype.bits)


def _widened(value: Expr) -> Expr:
    """The number in the type that it is computed in."""
    dtype = value.dtype
    held = Bitcast(value, dtype.bits_held)
    if dtype.is_integer:
        return _wrapped(held, dtype)
    bits = cast(held, _UINT32)
    match dtype.name:
        case "bfloat16":
            return Bitcast(shl(bits, 16), FLOAT32)
        case "float8_e8m0fnu":  # 2^(bits − 127); 2⁻¹²⁷ is half of the least normal float32
            power = select(less(bits, 1), 0x00400000, shl(bits, 23))
            return Bitcast(select(Apply("eq", (bits, like(0xFF, bits)), BOOL), 0x7FC00000, power), FLOAT32)
    form = _FORMATS[dtype.name]
    magnitude = both(bits, (1 << form.sign) - 1)
    normal = Bitcast(add(shl(magnitude, 23 - form.mantissa), (127 - form.bias) << 23), FLOAT32)
    # Without a normal's leading 1: so many times the least number. No float32 below its own normals takes part.
    small = mul(Cast(magnitude, FLOAT32), 2.0 ** (1 - form.bias - form.mantissa))
    result = unsigned(select(less(magnitude, 1 << form.mantissa), small, normal))
    if form.zero_sign and form.nan is not None:
        left = shl(both(magnitude, (1 << form.mantissa) - 1), 23 - form.mantissa)
        special = either(left, _INFINITY) if form.beyond < form.nan else like(0x7FC00000, bits)
        result = select(Apply("ge", (magnitude, like(form.beyond, bits)), BOOL), special, result)
    result = either(result, shl(shr(bits, form.sign), 31))
    if not form.zero_sign:
        result = select(Apply("eq", (bits, like(0x80, bits)), BOOL), 0x7FC00000, result)
    return Bitcast(result, FLOAT32)


def _narrowed(value: Expr, dtype: DType) -> Expr:
    """float32 → the bits, to nearest even."""
    bits = unsigned(value)
    magnitude = both(bits, 0x7FFFFFFF)
    nan = Apply("gt", (magnitude, like(_INFINITY, bits)), BOOL)
    match dtype.name:
        case "bfloat16":
            odd = both(shr(bits, 16), 1)
            rounded = shr(add(add(bits, 0x7FFF), odd), 16)
            result = select(nan, either(both(shr(bits, 16), 0x8000), 0x7FC0), rounded)
        case "float8_e8m0fnu":
            result = _power_of_two(bits, magnitude, nan)
        case _:
            result = _rounded(value, bits, magnitude, nan, _FORMATS[dtype.name])
    return cast(result, dtype.bits_held)


def _rounded(value: Expr, bits: Expr, magnitude: Expr, nan: Expr, form: _Format) -> Expr:
    sign = shl(shr(bits, 31), form.sign)
    # Below the normals: adding 2ᵏ lines the mantissa up with the least number, and the processor rounds.
    aligned = 1 - form.bias - form.mantissa + 23
    small = sub(unsigned(add(absolute(value), 2.0**aligned)), (127 + aligned) << 23)
    shift = 23 - form.mantissa
    odd = both(shr(magnitude, shift), 1)
    shifted = sub(magnitude, (127 - form.bias) << 23)
    normal = shr(add(add(shifted, (1 << (shift - 1)) - 1), odd), shift)
    result = select(less(magnitude, (128 - form.bias) << 23), small, normal)
    result = select(Apply("gt", (result, like(form.largest, bits)), BOOL), form.beyond, result)
    if not form.zero_sign:
        zero = Apply("eq", (result, like(0, bits)), BOOL)
        lost = Apply("ge", (result, like(0x80, bits)), BOOL)
        signed = select(Apply("or", (zero, lost), BOOL), result, either(result, sign))
        return select(nan, 0x80, signed)
    if form.nan is None:  # a zero, of the other sign
        return select(nan, Apply("xor", (sign, like(1 << form.sign, bits)), bits.dtype), either(result, sign))
    return either(select(nan, form.nan, result), sign)


def _power_of_two(bits: Expr, magnitude: Expr, nan: Expr) -> Expr:
    """The exponent of the nearest power of two, the greater one of two; what is not above 0, or too large, is NaN."""
    # A float32 below its normals has no leading 1, and what is no power of two there goes up.
    half = select(less(magnitude, 0x00800000), like(0x3FFFFF, bits), 0x400000)
    result = shr(add(magnitude, half), 23)
    beyond = Apply("ge", (magnitude, like(0x7F400000, bits)), BOOL)
    # Less 1, zero is the greatest number, and so above the negative ones too.
    not_above = Apply("ge", (sub(bits, 1), like(0x7FFFFFFF, bits)), BOOL)
    wrong = Apply("or", (Apply("or", (beyond, not_above), BOOL), nan), BOOL)
    return select(wrong, 0xFF, result)
