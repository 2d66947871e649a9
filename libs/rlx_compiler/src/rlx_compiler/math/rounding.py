"""floor, ceil and round to even without an instruction for them: exact for every float."""

from __future__ import annotations

from rlx_compiler.loops.ir import Expr
from rlx_compiler.math.build import absolute, add, copysign, greater, less, mantissa_bits, select, sub

__all__ = ["ceil", "floor", "round_even"]


def round_even(x: Expr) -> Expr:
    """x + 2^m − 2^m lets the processor's own rounding do it; from 2^m on every float is whole (NaN stays)."""
    large = 2.0 ** mantissa_bits(x.dtype)
    rounded = sub(add(absolute(x), large), large)
    return select(less(absolute(x), large), copysign(rounded, x), x)


def floor(x: Expr) -> Expr:
    rounded = round_even(x)
    return select(greater(rounded, x), copysign(sub(rounded, 1.0), x), rounded)


def ceil(x: Expr) -> Expr:
    rounded = round_even(x)
    return select(less(rounded, x), copysign(add(rounded, 1.0), x), rounded)
