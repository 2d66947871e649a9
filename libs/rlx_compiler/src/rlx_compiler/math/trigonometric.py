"""sin and cos of every finite argument. Largest error: 1.5 ulp for float32, 2.5 ulp for float64.

Up to 2²⁰ the multiple of π ÷ 2 is taken away in parts (Cody and Waite); a larger argument in any lane takes the
slow way for the lanes that need it: π ÷ 2 to 1280 bits and integer arithmetic (Payne and Hanek), in a function.
"""

from __future__ import annotations

from typing import Final

from rlx_base.dtypes import BOOL, DTYPES, FLOAT64, INDEX, INT32
from rlx_compiler.loops.ir import (
    Allocate,
    Apply,
    Buffer,
    Expr,
    Fma,
    Fold,
    Let,
    Literal,
    Load,
    Select,
    Stmt,
    Store,
    Var,
)
from rlx_compiler.math.build import (
    absolute,
    add,
    both,
    cast,
    either,
    equal,
    greater,
    inverted,
    less,
    like,
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
from rlx_compiler.math.function import Call, Function

__all__ = ["cos", "cos_without_float64", "sin", "sin_without_float64"]

_TWO_OVER_PI: Final = 0.6366197723675814
# π ÷ 2: three parts of 33 bits, whose product with a whole number below 2²⁰ is exact, and the rest.
_HALF_PI: Final = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32)
_LIMIT: Final = 2.0**20

# sin r = r + r·z·P(z), cos r = 1 − z ÷ 2 + z²·Q(z), z = r², |r| ≤ π ÷ 4; highest power first (Cephes and fdlibm).
_SIN: Final = {
    "float32": (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1),
    "float64": (
        1.58969099521155010221e-10,
        -2.50507602534068634195e-08,
        2.75573137070700676789e-06,
        -1.98412698298579493134e-04,
        8.33333333332248946124e-03,
        -1.66666666666666324348e-01,
    ),
}
_COS: Final = {
    "float32": (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2),
    "float64": (
        -1.13596475577881948265e-11,
        2.08757232129817482790e-09,
        -2.75573143513906633035e-07,
        2.48015872894767294178e-05,
        -1.38888888888741095749e-03,
        4.16666666666666019037e-02,
    ),
}


def sin(x: Expr) -> Expr:
    return _sine(x, 0)


def cos(x: Expr) -> Expr:
    return _sine(x, 1)


def _sine(x: Expr, quarters: int) -> Expr:
    """sin(x + quarters · π ÷ 2)."""
    wide = cast(x, FLOAT64)
    n = Apply("round", (mul(wide, _TWO_OVER_PI),), FLOAT64)
    r = wide
    for part in _HALF_PI:
        r = Fma(n, like(-part, n), r)
    # The number of quarters only matters up to the limit, where it fits.
    fast = _wave(cast(r, x.dtype), add(cast(n, INT32), quarters))
    large = Apply("and", (greater(absolute(x), _LIMIT), less(absolute(x), float("inf"))), BOOL)
    anywhere = large if x.lanes == 1 else greater(Fold("max", select(large, like(1.0, x), 0.0)), 0.5)
    slow = cast(Call(_large_argument(), (wide, like(quarters, x, INT32))), x.dtype)
    # Lazy: the call happens only where some lane needs it.
    return Select(anywhere, select(large, slow, fast), fast)


# π ÷ 2 for float32: parts of 8 and 11 bits, whose products with whole numbers below 2¹³ are exact, and the rest.
_HALF_PI_SHORT: Final = (1.5703125, 4.837512969970703125e-4, 7.549789948768648e-8)


def sin_without_float64(x: Expr) -> Expr:
    """sin on a device that has float32 alone: 2 ulp of 1 up to 2¹³; beyond, its error grows with |x|."""
    return _short_sine(x, 0)


def cos_without_float64(x: Expr) -> Expr:
    """cos likewise."""
    return _short_sine(x, 1)


def _short_sine(x: Expr, quarters: int) -> Expr:
    n = Apply("round", (mul(x, _TWO_OVER_PI),), x.dtype)
    r = x
    for part in _HALF_PI_SHORT:
        r = Fma(n, like(-part, n), r)
    return _wave(r, add(cast(n, INT32), quarters))


def _wave(r: Expr, quarters: Expr) -> Expr:
    """sin(r + quarters · π ÷ 2) for |r| ≤ π ÷ 4."""
    z = mul(r, r)
    sine = Fma(mul(r, z), polynomial(z, _SIN[r.dtype.name]), r)
    half = mul(z, 0.5)
    one = sub(like(1.0, r), half)
    # What the subtraction cut off comes back in.
    rest = Fma(mul(z, z), polynomial(z, _COS[r.dtype.name]), sub(sub(like(1.0, r), one), half))
    value = select(equal(both(quarters, 1), 0), sine, add(one, rest))
    return select(equal(both(quarters, 2), 0), value, neg(value))


# 2 ÷ π: the bits after the point.
_BITS: Final = (
    "A2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561B7246E3A424DD2E006492EEA09D1921C"
    "FE1DEB1CB129A73EE88235F52EBB4484E99C7026B45F7E413991D639835339F49C845F8BBDF9283B1FF897FFDE05980F"
    "EF2F118B5A0A6D1F6D367ECF27CB09B74F463F669E5FEA2D7527BAC7EBE5F17B3D0739F78A5292EA6BFB5FB11F8D5D08"
    "56033046FC7B6BABF0CFBC209AF4361D"
)
_UINT64: Final = DTYPES["uint64"]
_MASK: Final = 0xFFFFFFFF


def _large_argument() -> Function:
    """sin(x + quarters · π ÷ 2) for a large finite x, in float64.

    With x = m · 2ᵉ, the bits of 2 ÷ π above 2^(2−e) only add whole turns, and those far below are too small to
    matter: the product of m with the 192 bits between has the quadrant in its two highest bits, then the fraction.
    """
    x, quarters = Var("x", FLOAT64), Var("quarters", INT32)
    # Two words of zeros come first, since the window may begin before the point.
    words = [0, 0, *(int(_BITS[i : i + 8], 16) for i in range(0, len(_BITS), 8))]
    table = Buffer("two_over_pi", _UINT64, (len(words),), "local", "update")
    body: list[Stmt] = [Allocate(table)]
    body += [Store(table, (Literal(i, INDEX),), Literal(word, _UINT64)) for i, word in enumerate(words)]

    def let(name: str, value: Expr) -> Var:
        body.append(Let(name, value))
        return Var(name, value.dtype)

    bits = let("bits", both(unsigned(x), 2**63 - 1))
    mantissa = let("mantissa", either(both(bits, 2**52 - 1), 2**52))
    # e − 1 counted from the first bit after the point, behind the 64 zeros: (biased − 1075) − 1 − 1 + 64.
    position = let("position", sub(cast(shr(bits, 52), INDEX), 1075 + 2 - 64))
    first = let("first", shr(position, 5))
    shift = let("shift", cast(sub(like(32, x, INDEX), both(position, 31)), _UINT64))
    window = []
    for i in range(6):
        pair = either(shl(Load(table, (add(first, i),)), 32), Load(table, (add(first, i + 1),)))
        window.append(let(f"window{i}", both(shr(pair, shift), _MASK)))
    low, high = let("low", both(mantissa, _MASK)), let("high", shr(mantissa, 32))
    # The product modulo 2¹⁹², by words, the most significant one first.
    product: list[Expr] = [window[0]] * 6
    carry: Expr = Literal(0, _UINT64)
    for i in reversed(range(6)):
        column = let(f"low{i}", add(mul(low, window[i]), carry))
        product[i], carry = both(column, _MASK), shr(column, 32)
    carry = Literal(0, _UINT64)
    for i in reversed(range(1, 6)):
        column = let(f"high{i}", add(add(mul(high, window[i]), product[i - 1]), carry))
        product[i - 1], carry = both(column, _MASK), shr(column, 32)
    upper = either(either(shl(product[0], 34), shl(product[1], 2)), shr(product[2], 30))
    lower = either(either(shl(product[2], 34), shl(product[3], 2)), shr(product[4], 30))
    # Rounded to the nearest quadrant: from a half on the fraction counts from the next one, backwards.
    upper, lower = let("upper", upper), let("lower", lower)
    beyond = let("beyond", less(signed(upper), 0))
    carry = select(equal(lower, 0), like(1, lower), 0)
    upper = select(beyond, add(inverted(upper), carry), upper)
    lower = select(beyond, neg(lower), lower)
    angle = add(mul(cast(upper, FLOAT64), 2.0**-64), mul(cast(lower, FLOAT64), 2.0**-128))
    angle = select(beyond, neg(angle), angle)
    r = let("r", mul(angle, 1.5707963267948966))
    quadrant = let("quadrant", add(cast(shr(product[0], 30), INT32), select(beyond, like(1, quarters), 0)))
    negative = less(x, 0.0)
    result = _wave(select(negative, neg(r), r), add(select(negative, neg(quadrant), quadrant), quarters))
    return Function("rlx_sin_large", (x, quarters), tuple(body), result)
