"""Integer division, remainders and powers that never trap: ÷ 0 gives 0, the lowest number ÷ −1 wraps to itself."""

from __future__ import annotations

from rlx_base.dtypes import BOOL, DType
from rlx_compiler.loops.ir import Accumulator, Apply, Assign, Broadcast, Element, Expr, For, If, Literal, Var
from rlx_compiler.math.build import add, both, equal, less, like, mul, neg, select, shl, shr, sub
from rlx_compiler.math.function import Call, Function

__all__ = ["floored", "modulo", "pow", "remainder", "shifted_left", "shifted_right", "truncated"]


def _safe(a: Expr, b: Expr) -> Expr:
    """A divisor that cannot trap: 1 in place of 0, and of −1 under the lowest number, whose quotient is itself."""
    unsafe = equal(b, 0)
    if a.dtype.kind == "int":
        lowest = -(2 ** (a.dtype.bits - 1))
        unsafe = Apply("or", (unsafe, Apply("and", (equal(b, -1), equal(a, lowest)), BOOL)), BOOL)
    return select(unsafe, 1, b)


def truncated(a: Expr, b: Expr) -> Expr:
    """a ÷ b towards zero, as C."""
    if _is_positive(b):
        return Apply("quotient", (a, b), a.dtype)
    return select(equal(b, 0), 0, Apply("quotient", (a, _safe(a, b)), a.dtype))


def remainder(a: Expr, b: Expr) -> Expr:
    """What `truncated` leaves, with the sign of a; 0 where b is 0."""
    if _is_positive(b):
        return Apply("remainder", (a, b), a.dtype)
    return select(equal(b, 0), 0, Apply("remainder", (a, _safe(a, b)), a.dtype))


def floored(a: Expr, b: Expr) -> Expr:
    """⌊a ÷ b⌋, as Python."""
    if a.dtype.kind == "uint":
        return truncated(a, b)
    return sub(truncated(a, b), select(_crosses_zero(remainder(a, b), b), like(1, a), 0))


def modulo(a: Expr, b: Expr) -> Expr:
    """a − ⌊a ÷ b⌋ · b, with the sign of b; 0 where b is 0."""
    if a.dtype.kind == "uint":
        return remainder(a, b)
    left = remainder(a, b)
    return add(left, select(_crosses_zero(left, b), b, 0))


def _whole_shift(b: Expr) -> Expr:
    """Whether a shift by b leaves any bit."""
    below = less(b, b.dtype.bits)
    return below if b.dtype.kind == "uint" else Apply("and", (below, less(like(-1, b), b)), BOOL)


def shifted_left(a: Expr, b: Expr) -> Expr:
    """a · 2ᵇ; 0 where b is not in 0 … width − 1."""
    fits = _whole_shift(b)
    return select(fits, shl(a, select(fits, b, 0)), 0)


def shifted_right(a: Expr, b: Expr) -> Expr:
    """⌊a ÷ 2ᵇ⌋; where b is not in 0 … width − 1, 0, or −1 of a negative a."""
    fits = _whole_shift(b)
    beyond = like(0, a) if a.dtype.kind == "uint" else select(less(a, 0), like(-1, a), 0)
    return select(fits, shr(a, select(fits, b, 0)), beyond)


def _crosses_zero(left: Expr, b: Expr) -> Expr:
    """Whether the division leaves something, and with the other sign than b: its true quotient is negative."""
    if _is_positive(b):
        return less(left, 0)
    return Apply("and", (Apply("ne", (left, like(0, b)), BOOL), less(Apply("xor", (left, b), b.dtype), 0)), BOOL)


def _is_positive(b: Expr) -> bool:
    """Whether it is a constant that no division traps on, as the indices of a loop nest have."""
    literal = b.value if isinstance(b, Broadcast) else b
    return isinstance(literal, Literal) and int(literal.value) > 0


def pow(a: Expr, b: Expr) -> Expr:
    """aᵇ, wrapping. NumPy refuses a negative exponent; here it gives the truncated quotient 1 ÷ a^|b|."""
    return Call(_power(a.dtype), (a, b))


def _power(dtype: DType) -> Function:
    """By squaring, over all bits of the exponent."""
    base, exponent = Var("base", dtype), Var("exponent", dtype)
    magnitude = exponent if dtype.kind == "uint" else select(less(exponent, 0), neg(exponent), exponent)
    result, square = Element("result", (), dtype, 1), Element("square", (), dtype, 1)
    rest = Element("rest", (), dtype, 1)
    whole = result if dtype.kind == "uint" else select(less(exponent, 0), truncated(Literal(1, dtype), result), result)
    bit = Var("bit")
    return Function(
        f"rlx_pow_{dtype}",
        (base, exponent),
        (
            Accumulator("result", dtype, 1, (), Literal(1, dtype)),
            Accumulator("square", dtype, 1, (), base),
            Accumulator("rest", dtype, 1, (), magnitude),
            For(
                bit.name,
                Literal(0, bit.dtype),
                Literal(dtype.bits, bit.dtype),
                (
                    If(equal(both(rest, 1), 1), (Assign("result", (), mul(result, square)),)),
                    Assign("square", (), mul(square, square)),
                    Assign("rest", (), Apply("quotient", (rest, Literal(2, dtype)), dtype)),
                ),
            ),
        ),
        whole,
    )
