"""tan, the inverse trigonometric functions, and the hyperbolic ones with their inverses. Error: a few ulp.

The formulas keep their relative precision near their zeros; outside its domain a function gives NaN.
"""

from __future__ import annotations

import math
from typing import Final

from rlx_compiler.loops.ir import Apply, Expr
from rlx_compiler.math.build import absolute, add, copysign, div, equal, greater, like, mul, polynomial, select, sub

__all__ = ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh", "tan"]

# arctan(x) = x + x · z · P(z) ÷ Q(z) with z = x², |x| ≤ 0.66. Source: Cephes, atan.c.
_P: Final = (
    -8.750608600031904122785e-1,
    -1.615753718733365076637e1,
    -7.500855792314704667340e1,
    -1.228866684490136173410e2,
    -6.485021904942025371773e1,
)
_Q: Final = (
    1.0,
    2.485846490142306297962e1,
    1.650270098316988542046e2,
    4.328810604912902668951e2,
    4.853903996359136964868e2,
    1.945506571482613964425e2,
)
# From here on x² + 1 is x² in every dtype, and 2x is what the inverse hyperbolic functions take the logarithm of.
_LARGE: Final = 1e8


def _of(function: str, x: Expr) -> Expr:
    return Apply(function, (x,), x.dtype)


def tan(x: Expr) -> Expr:
    return div(_of("sin", x), _of("cos", x))


def atan(x: Expr) -> Expr:
    """Brought below 0.66 by arctan(x) = π/2 − arctan(1/x) or π/4 + arctan((x − 1) ÷ (x + 1))."""
    size = absolute(x)
    steep, middle = greater(size, math.tan(3 * math.pi / 8)), greater(size, 0.66)
    t = select(steep, div(like(-1.0, x), size), select(middle, div(sub(size, 1.0), add(size, 1.0)), size))
    start = select(steep, like(math.pi / 2, x), select(middle, like(math.pi / 4, x), 0.0))
    z = mul(t, t)
    rest = mul(t, div(mul(z, polynomial(z, _P)), polynomial(z, _Q)))
    return copysign(add(start, add(t, rest)), x)


def asin(x: Expr) -> Expr:
    """The angle whose tangent is x ÷ √(1 − x²)."""
    return atan(div(x, _of("sqrt", mul(sub(like(1.0, x), x), add(x, 1.0)))))


def acos(x: Expr) -> Expr:
    """Twice the angle whose tangent is √((1 − x) ÷ (1 + x))."""
    return mul(atan(_of("sqrt", div(sub(like(1.0, x), x), add(x, 1.0)))), 2.0)


def _log1p(x: Expr) -> Expr:
    """ln(1 + x), also where 1 + x rounds: ln(u) · x ÷ (u − 1) with u = 1 + x. Source: Kahan."""
    u = add(x, 1.0)
    step = sub(u, 1.0)
    log = _of("log", u)
    infinite = equal(step, u)
    return select(equal(u, 1.0), x, select(infinite, log, mul(log, div(x, select(infinite, like(1.0, x), step)))))


def _expm1(x: Expr) -> Expr:
    """eˣ − 1 for |x| ≤ 1, also where eˣ rounds to 1: (u − 1) · x ÷ ln(u) with u = eˣ. Source: Kahan."""
    u = _of("exp", x)
    one = equal(u, 1.0)
    return select(one, x, div(mul(sub(u, 1.0), x), select(one, like(1.0, x), _of("log", u))))


def sinh(x: Expr) -> Expr:
    """Of a large x as a product, which overflows no earlier than the result."""
    small = _expm1(x)
    up, down = _of("exp", mul(x, 0.5)), _of("exp", mul(x, -0.5))
    large = sub(mul(mul(up, 0.5), up), mul(mul(down, 0.5), down))
    near = mul(add(small, div(small, add(small, 1.0))), 0.5)
    return select(greater(like(1.0, x), absolute(x)), near, large)


def cosh(x: Expr) -> Expr:
    up, down = _of("exp", mul(x, 0.5)), _of("exp", mul(x, -0.5))
    return add(mul(mul(up, 0.5), up), mul(mul(down, 0.5), down))


def asinh(x: Expr) -> Expr:
    """ln(1 + (x + x² ÷ (1 + √(x² + 1)))) of |x|."""
    size = absolute(x)
    square = mul(size, size)
    y = _log1p(add(size, div(square, add(_of("sqrt", add(square, 1.0)), 1.0))))
    return copysign(select(greater(size, _LARGE), add(_of("log", size), math.log(2)), y), x)


def acosh(x: Expr) -> Expr:
    """ln(1 + (t + √t · √(t + 2))) with t = x − 1; the root of a product would be real again from x = −1 down."""
    t = sub(x, 1.0)
    y = _log1p(add(t, mul(_of("sqrt", t), _of("sqrt", add(t, 2.0)))))
    return select(greater(x, _LARGE), add(_of("log", x), math.log(2)), y)


def atanh(x: Expr) -> Expr:
    """½ ln(1 + 2x ÷ (1 − x)) of |x|."""
    size = absolute(x)
    return copysign(mul(_log1p(div(mul(size, 2.0), sub(like(1.0, x), size))), 0.5), x)
