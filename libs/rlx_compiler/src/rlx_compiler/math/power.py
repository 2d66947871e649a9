"""pow and the remainders of floats. Largest errors: pow 1 ulp for float32, 3 ulp for float64; remainders are exact."""

from __future__ import annotations

from typing import Final

from rlx_base.dtypes import BOOL, DTYPES, FLOAT32, FLOAT64, INDEX, DType
from rlx_compiler.loops.ir import Accumulator, Apply, Assign, Bitcast, Element, Expr, Fma, For, If, Let, Literal, Var
from rlx_compiler.math.build import (
    absolute,
    add,
    both,
    cast,
    copysign,
    div,
    either,
    equal,
    greater,
    less,
    like,
    mantissa_bits,
    mul,
    neg,
    polynomial,
    select,
    shl,
    shr,
    signed,
    sub,
    unsigned,
)
from rlx_compiler.math.exponential import exp, log, split
from rlx_compiler.math.function import Call, Function

__all__ = ["floor_divided", "modulo", "pow", "pow_without_float64", "remainder"]


def pow(x: Expr, y: Expr) -> Expr:
    """x^y as IEEE 754: e^(y · ln|x|), the sign of x for odd whole y, NaN for a negative x and a broken y."""
    magnitude = absolute(x)
    if x.dtype == FLOAT32:
        size = cast(exp(mul(cast(y, FLOAT64), log(cast(magnitude, FLOAT64)))), FLOAT32)
    else:
        size = _exact_power(magnitude, y)
    return _signed_power(x, y, magnitude, size)


def pow_without_float64(x: Expr, y: Expr) -> Expr:
    """The same for float32 on a device that has no other float: 2 ulp where the result is not near the ends."""
    magnitude = absolute(x)
    return _signed_power(x, y, magnitude, _exact_power(magnitude, y))


def _signed_power(x: Expr, y: Expr, magnitude: Expr, size: Expr) -> Expr:
    """x^y from |x|^y."""
    # ln 1 · ∞ is NaN, where 1^∞ is 1; and anything to the 0th is 1, even NaN.
    size = select(Apply("or", (equal(magnitude, 1.0), equal(y, 0.0)), BOOL), 1.0, size)
    whole = equal(Apply("floor", (y,), y.dtype), y)
    half = mul(y, 0.5)
    odd = Apply("and", (whole, Apply("ne", (Apply("floor", (half,), y.dtype), half), BOOL)), BOOL)
    negative = Apply("lt", (signed(x), like(0, signed(x))), BOOL)
    result = select(Apply("and", (negative, odd), BOOL), neg(size), size)
    broken = Apply("and", (less(x, 0.0), Apply("not", (whole,), BOOL)), BOOL)
    # (−∞)^broken is like that of ∞.
    broken = Apply("and", (broken, greater(x, float("-inf"))), BOOL)
    result = select(broken, float("nan"), result)
    one = Apply("or", (equal(x, 1.0), equal(y, 0.0)), BOOL)
    undefined = Apply("and", (Apply("not", (one,), BOOL), _either_nan(x, y)), BOOL)
    return select(undefined, float("nan"), result)


def _either_nan(x: Expr, y: Expr) -> Expr:
    return Apply("or", (Apply("is_nan", (x,), BOOL), Apply("is_nan", (y,), BOOL)), BOOL)


def _two_sum(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """a + b and its rounding error, where |a| ≥ |b|."""
    total = add(a, b)
    return total, sub(b, sub(total, a))


def _two_product(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """a · b and its rounding error, by halves of the bits: also right where a fused multiply-add is two operations."""
    product = mul(a, b)
    a_high, b_high = _upper_half(a), _upper_half(b)
    a_low, b_low = sub(a, a_high), sub(b, b_high)
    error = add(sub(mul(a_high, b_high), product), add(mul(a_high, b_low), mul(a_low, b_high)))
    return product, add(error, mul(a_low, b_low))


def _upper_half(a: Expr) -> Expr:
    """The value cut to its upper half, 26 or 12 bits: products of two such are exact."""
    return Bitcast(both(unsigned(a), 0xFFFFFFFFF8000000 if a.dtype == FLOAT64 else 0xFFFFF000), a.dtype)


_LN2: Final = {
    "float32": (0.693359375, -2.12194440054690583e-4),
    "float64": (6.93147180369123816490e-01, 1.90821492927058770002e-10),
}
# What ⅓ is more than the float nearest to it.
_THIRD_LOW: Final = {"float32": -9.934107705e-09, "float64": 1.850371707708594e-17}
_HUGE: Final = {"float32": 1e30, "float64": 1e290}
# log((1 + s) ÷ (1 − s)) = 2 · (s + s³ · (⅓ + z · R(z))), z = s²; the coefficients of R, highest power first.
_SERIES: Final = tuple(1.0 / n for n in range(25, 4, -2))


def _exact_power(x: Expr, y: Expr) -> Expr:
    """x^y for x ≥ 0, with ln x to some bits more than the dtype has: about 70 for float64."""
    m, k = split(x)
    f = sub(m, 1.0)
    # s = f ÷ (2 + f) as a sum of two floats; 2 + f is m + 1.
    bottom, bottom_low = _two_sum(like(2.0, x), f)
    s = div(f, bottom)
    back, back_low = _two_product(s, bottom)
    s_low = div(sub(sub(sub(f, back), back_low), mul(s, bottom_low)), bottom)
    # ln m = 2s + ⅔ s³ + …; the cube needs some of the low bits too.
    z, z_low = _two_product(s, s)
    z_low = add(z_low, mul(mul(s, s_low), 2.0))
    third = 1.0 / 3.0
    tail = mul(z, polynomial(z, _SERIES))
    factor, factor_low = _two_sum(like(third, x), add(tail, _THIRD_LOW[x.dtype.name]))
    cubic, cubic_low = _two_product(z, factor)
    cubic_low = add(cubic_low, add(mul(z_low, factor), mul(z, factor_low)))
    rest, rest_low = _two_product(s, cubic)
    rest_low = add(rest_low, add(mul(s_low, cubic), mul(s, cubic_low)))
    ln_m, ln_m_low = _two_sum(s, rest)
    ln_m_low = add(ln_m_low, add(s_low, rest_low))
    # k · ln 2 + 2 · (…)
    ln2_high, ln2_low = _LN2[x.dtype.name]
    big = mul(k, ln2_high)
    double, double_low = mul(ln_m, 2.0), mul(ln_m_low, 2.0)
    high = add(big, double)
    # Where k is not 0, k · ln 2 is the larger one.
    error = select(equal(k, 0.0), like(0.0, x), sub(double, sub(high, big)))
    low = add(add(error, double_low), mul(k, ln2_low))
    high, low = _two_sum(high, low)
    product, product_low = _two_product(y, high)
    product_low = add(product_low, mul(y, low))
    result = exp(product)
    # Not at infinity, where adding a negative correction would give NaN.
    result = select(less(result, float("inf")), Fma(result, product_low, result), result)
    extreme = Apply("or", (equal(x, 0.0), equal(x, float("inf"))), BOOL)
    huge = greater(absolute(y), _HUGE[x.dtype.name])
    # At the ends, and where y would overflow the halves above, plain logarithms tell 0 from ∞.
    plain = exp(mul(y, log(x)))
    return select(Apply("or", (extreme, huge), BOOL), plain, result)


def remainder(a: Expr, b: Expr) -> Expr:
    """a − trunc(a ÷ b) · b, with the sign of a (C's fmod); NaN where a is infinite or b is 0."""
    return Call(_fmod(a.dtype), (a, b))


def modulo(a: Expr, b: Expr) -> Expr:
    """a − ⌊a ÷ b⌋ · b, with the sign of b (Python's and NumPy's)."""
    left = remainder(a, b)
    return select(equal(left, 0.0), copysign(left, b), select(_crosses_zero(left, b), add(left, b), left))


def floor_divided(a: Expr, b: Expr) -> Expr:
    """⌊a ÷ b⌋ as NumPy: from the remainder, so that rounding the quotient cannot cross a whole number."""
    left = remainder(a, b)
    quotient = div(sub(a, left), b)
    quotient = select(_crosses_zero(left, b), sub(quotient, 1.0), quotient)
    # A whole number but for rounding, in either direction.
    whole: Expr = Apply("floor", (quotient,), a.dtype)
    whole = select(greater(sub(quotient, whole), 0.5), add(whole, 1.0), whole)
    return select(equal(b, 0.0), div(a, b), whole)


def _crosses_zero(left: Expr, b: Expr) -> Expr:
    """Whether something is left, with the other sign than b."""
    return Apply("and", (Apply("ne", (left, like(0.0, left)), BOOL), _signs_differ(left, b)), BOOL)


def _signs_differ(a: Expr, b: Expr) -> Expr:
    return Apply("lt", (Apply("xor", (signed(a), signed(b)), signed(a).dtype), like(0, signed(a))), BOOL)


def _fmod(dtype: DType) -> Function:
    """Long division of the mantissas, bit by bit: exact, in as many steps as the exponents lie apart."""
    bits = mantissa_bits(dtype)
    word = DTYPES[f"uint{dtype.bits}"]
    a, b = Var("a", dtype), Var("b", dtype)
    x, y = Var("x", word), Var("y", word)
    ex, ey = Var("ex"), Var("ey")
    left = Element("left", (), word, 1)

    def exponent(number: Expr) -> Expr:
        biased = cast(shr(number, bits), INDEX)
        return select(equal(biased, 0), 1, biased)

    def mantissa(number: Expr) -> Expr:
        return select(less(number, 1 << bits), number, either(both(number, (1 << bits) - 1), 1 << bits))

    divisor, step = Var("divisor", word), Var("step")
    body = (
        Let("x", both(unsigned(a), 2 ** (dtype.bits - 1) - 1)),
        Let("y", both(unsigned(b), 2 ** (dtype.bits - 1) - 1)),
        Let("ex", exponent(x)),
        Let("ey", exponent(y)),
        Let("divisor", mantissa(y)),
        # Below the divisor from the first step on, also where that is subnormal.
        Accumulator("left", word, 1, (), Apply("rem", (mantissa(x), divisor), word)),
        Accumulator("result", dtype, 1, (), a),
        If(
            Apply("ge", (x, y), BOOL),
            (
                For(
                    step.name,
                    Literal(0, INDEX),
                    sub(ex, ey),
                    (
                        Assign("left", (), shl(left, 1)),
                        If(Apply("ge", (left, divisor), BOOL), (Assign("left", (), sub(left, divisor)),)),
                    ),
                ),
                Assign("result", (), copysign(_assembled(left, ey, dtype), a)),
            ),
        ),
    )
    result = Element("result", (), dtype, 1)
    invalid = Apply("or", (_either_nan(a, b), Apply("or", (_infinite(a), equal(b, 0.0)), BOOL)), BOOL)
    return Function(f"rlx_fmod_{dtype}", (a, b), body, select(invalid, float("nan"), result))


def _infinite(x: Expr) -> Expr:
    return equal(absolute(x), float("inf"))


def _assembled(mantissa: Expr, exponent: Expr, dtype: DType) -> Expr:
    """mantissa · 2^(exponent − bias − bits) with a mantissa below 2^(bits + 1): exact, so two factors in any order."""
    bits = mantissa_bits(dtype)
    word = DTYPES[f"uint{dtype.bits}"]
    # As the exponent of the last place: for exponent 1 the bits are the number itself, below that it scales up.
    number = Bitcast(mantissa, dtype)
    scale = cast(sub(exponent, 1), word)
    bias = 2 ** (dtype.bits - 2 - bits) - 1
    first = select(greater(scale, bias), like(bias, scale), scale)
    factor = Bitcast(shl(add(first, bias), bits), dtype)
    second = Bitcast(shl(add(sub(scale, first), bias), bits), dtype)
    return mul(mul(number, factor), second)
