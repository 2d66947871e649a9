"""Making index arithmetic: the constructors fold what is known, so that a nest reads as a person would write it."""

from __future__ import annotations

from collections.abc import Mapping

from rlx_base.dtypes import BOOL, INDEX
from rlx_compiler.loops.ir import Apply, Expr, Literal

__all__ = ["add", "floor_div", "index", "less", "linear", "maximum", "minimum", "mod", "mul", "sub"]


def index(value: int | Expr) -> Expr:
    """A whole number as an index."""
    return Literal(value, INDEX) if isinstance(value, int) else value


def _known(value: int | Expr) -> int | None:
    if isinstance(value, int):
        return value
    return int(value.value) if isinstance(value, Literal) else None


def _apply(function: str, a: int | Expr, b: int | Expr) -> Expr:
    return Apply(function, (index(a), index(b)), INDEX)


def add(a: int | Expr, b: int | Expr) -> Expr:
    """a + b; a constant part is kept on the right and merged."""
    x, y = _known(a), _known(b)
    if x is not None and y is not None:
        return index(x + y)
    if x is not None:
        a, b, y = b, a, x
    if y is not None:
        if y == 0:
            return index(a)
        match a:
            case Apply("add", (inner, Literal(c))):
                return add(inner, int(c) + y)
            case Apply("sub", (inner, Literal(c))):
                return add(inner, y - int(c))
        if y < 0:
            return _apply("sub", a, -y)
    return _apply("add", a, b)


def sub(a: int | Expr, b: int | Expr) -> Expr:
    """a − b."""
    y = _known(b)
    if y is not None:
        return add(a, -y)
    return index(0) if a == b else _apply("sub", a, b)


def mul(a: int | Expr, b: int | Expr) -> Expr:
    """a · b."""
    x, y = _known(a), _known(b)
    if x is not None and y is not None:
        return index(x * y)
    if x is not None:
        a, b, y = b, a, x
    if y == 0:
        return index(0)
    return index(a) if y == 1 else _apply("mul", a, b)


def linear(terms: Mapping[Expr, int], constant: int) -> Expr:
    """Σ factor · atom + constant, written as a person would: what is taken away comes last."""
    total: Expr | None = None
    for atom, factor in terms.items():
        if factor > 0:
            total = mul(atom, factor) if total is None else add(total, mul(atom, factor))
    left = 0 if total is None else constant
    result = index(constant) if total is None else total
    for atom, factor in terms.items():
        if factor < 0:
            result = sub(result, mul(atom, -factor))
    return add(result, left)


def floor_div(a: int | Expr, b: int) -> Expr:
    """⌊a ÷ b⌋, b > 0."""
    x = _known(a)
    if x is not None:
        return index(x // b)
    return index(a) if b == 1 else _apply("floor_div", a, b)


def mod(a: int | Expr, b: int) -> Expr:
    """a mod b, b > 0; never negative."""
    x = _known(a)
    if x is not None:
        return index(x % b)
    return index(0) if b == 1 else _apply("mod", a, b)


def minimum(a: int | Expr, b: int | Expr) -> Expr:
    """The smaller index."""
    x, y = _known(a), _known(b)
    if x is not None and y is not None:
        return index(min(x, y))
    return index(a) if a == b else _apply("min", a, b)


def maximum(a: int | Expr, b: int | Expr) -> Expr:
    """The greater index."""
    x, y = _known(a), _known(b)
    if x is not None and y is not None:
        return index(max(x, y))
    return index(a) if a == b else _apply("max", a, b)


def less(a: int | Expr, b: int | Expr) -> Expr:
    """a < b, a bool."""
    x, y = _known(a), _known(b)
    if x is not None and y is not None:
        return Literal(x < y, BOOL)
    return Apply("lt", (index(a), index(b)), BOOL)
