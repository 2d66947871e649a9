"""Short names for building expressions, so that a formula in `rlx_compiler.math` reads as one."""

from __future__ import annotations

from collections.abc import Sequence

from rlx_base.dtypes import BOOL, DTYPES, DType
from rlx_compiler.loops.ir import Apply, Bitcast, Broadcast, Cast, Expr, Fma, Literal, Select

__all__ = [
    "absolute",
    "add",
    "both",
    "cast",
    "copysign",
    "div",
    "either",
    "equal",
    "exponent_bits",
    "greater",
    "inverted",
    "less",
    "like",
    "mantissa_bits",
    "mul",
    "neg",
    "polynomial",
    "power_of_two",
    "select",
    "shl",
    "shr",
    "signed",
    "sub",
    "unsigned",
]


def like(value: float | int | bool, model: Expr, dtype: DType | None = None) -> Expr:
    """A constant in all lanes of `model`, of its dtype unless another is given."""
    literal = Literal(value, dtype or model.dtype)
    return literal if model.lanes == 1 else Broadcast(literal, model.lanes)


def _two(function: str, a: Expr, b: Expr | float | int, dtype: DType | None = None) -> Expr:
    return Apply(function, (a, b if isinstance(b, Expr) else like(b, a)), dtype or a.dtype)


def add(a: Expr, b: Expr | float | int) -> Expr:
    return _two("add", a, b)


def sub(a: Expr, b: Expr | float | int) -> Expr:
    return _two("sub", a, b)


def mul(a: Expr, b: Expr | float | int) -> Expr:
    return _two("mul", a, b)


def div(a: Expr, b: Expr | float | int) -> Expr:
    return _two("div", a, b)


def shl(a: Expr, b: Expr | int) -> Expr:
    return _two("shl", a, b)


def shr(a: Expr, b: Expr | int) -> Expr:
    return _two("shr", a, b)


def both(a: Expr, b: Expr | int) -> Expr:
    """Bitwise and."""
    return _two("and", a, b)


def either(a: Expr, b: Expr | int) -> Expr:
    """Bitwise or."""
    return _two("or", a, b)


def inverted(a: Expr) -> Expr:
    """Bitwise not."""
    return Apply("not", (a,), a.dtype)


def neg(a: Expr) -> Expr:
    return Apply("neg", (a,), a.dtype)


def absolute(a: Expr) -> Expr:
    return Apply("abs", (a,), a.dtype)


def less(a: Expr, b: Expr | float | int) -> Expr:
    return _two("lt", a, b, BOOL)


def greater(a: Expr, b: Expr | float | int) -> Expr:
    return _two("gt", a, b, BOOL)


def equal(a: Expr, b: Expr | float | int) -> Expr:
    return _two("eq", a, b, BOOL)


def select(condition: Expr, then: Expr | float | int, otherwise: Expr | float | int) -> Expr:
    """A blend; one side may be a number."""
    model = then if isinstance(then, Expr) else otherwise
    assert isinstance(model, Expr), "one side of a select is an expression"
    return Select(
        condition,
        then if isinstance(then, Expr) else like(then, model),
        otherwise if isinstance(otherwise, Expr) else like(otherwise, model),
    )


def cast(a: Expr, dtype: DType) -> Expr:
    return a if a.dtype == dtype else Cast(a, dtype)


def polynomial(x: Expr, coefficients: Sequence[float]) -> Expr:
    """Horner's rule; the highest power's coefficient first."""
    result = like(coefficients[0], x)
    for coefficient in coefficients[1:]:
        result = Fma(result, x, like(coefficient, x))
    return result


def signed(a: Expr) -> Expr:
    """The bits as a signed integer of the same width."""
    return Bitcast(a, DTYPES[f"int{a.dtype.bits}"])


def unsigned(a: Expr) -> Expr:
    """The bits as an unsigned integer of the same width."""
    return Bitcast(a, DTYPES[f"uint{a.dtype.bits}"])


def mantissa_bits(dtype: DType) -> int:
    """The bits after the point."""
    return {16: 10, 32: 23, 64: 52}[dtype.bits]


def exponent_bits(dtype: DType) -> int:
    return dtype.bits - 1 - mantissa_bits(dtype)


def power_of_two(n: Expr, dtype: DType) -> Expr:
    """2ⁿ for a signed integer n within the exponents of normal numbers, as a float of the same width."""
    bias = 2 ** (exponent_bits(dtype) - 1) - 1
    return Bitcast(shl(add(n, bias), mantissa_bits(dtype)), dtype)


def copysign(magnitude: Expr, sign: Expr) -> Expr:
    """|magnitude| with the sign bit of `sign`."""
    bits = magnitude.dtype.bits
    top = both(unsigned(sign), 1 << (bits - 1))
    rest = both(unsigned(magnitude), (1 << (bits - 1)) - 1)
    return Bitcast(either(top, rest), magnitude.dtype)
