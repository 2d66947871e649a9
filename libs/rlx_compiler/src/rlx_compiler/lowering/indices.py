"""Index arithmetic of the language as index arithmetic of a nest, simplified by what is known of each loop variable.

Knowing that 0 ≤ c < 16 makes (16·b + c) // 16 the b that it is, and a padding's condition true inside an image: that
is how guards, blocked layouts and reshapes disappear from inner loops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from rlx_base.dtypes import BOOL, INDEX
from rlx_compiler.loops import build
from rlx_compiler.loops.address import dim_index, linear_terms
from rlx_compiler.loops.ir import Apply, Cast, Expr, Literal, Select, Var
from rlx_ir import expr as ir
from rlx_ir.expr import Axis, Extent, Read

__all__ = ["Interval", "Scope", "index_of", "interval", "margin", "truth"]

Interval = tuple[int, int]
"""The least and the greatest value, both possible."""

_ORDER = {"lt", "le", "gt", "ge"}


@dataclass(frozen=True, slots=True)
class Scope:
    """What stands for each axis here; the interval of each variable in it, and a number of which it is a multiple."""

    values: Mapping[Axis, Expr] = field(default_factory=dict)
    ranges: Mapping[str, Interval] = field(default_factory=dict)
    steps: Mapping[str, int] = field(default_factory=dict)

    def bind(self, axis: Axis, value: Expr) -> Scope:
        return replace(self, values={**self.values, axis: value})

    def variable(self, name: str, low: int, high: int, step: int = 1) -> Scope:
        return replace(self, ranges={**self.ranges, name: (low, high)}, steps={**self.steps, name: step})


def interval(expr: Expr, ranges: Mapping[str, Interval]) -> Interval | None:
    """Bounds of an index; None where nothing is known."""
    terms, constant = linear_terms(expr)
    low = high = constant
    for atom, factor in terms.items():
        found = _atom_interval(atom, ranges)
        if found is None:
            return None
        ends = (found[0] * factor, found[1] * factor)
        low, high = low + min(ends), high + max(ends)
    return low, high


def _atom_interval(atom: Expr, ranges: Mapping[str, Interval]) -> Interval | None:
    match atom:
        case Var(name):
            return ranges.get(name)
        case Apply("floor_div", (a, Literal(k))) if int(k) > 0:
            inner = interval(a, ranges)
            return None if inner is None else (inner[0] // int(k), inner[1] // int(k))
        case Apply("mod", (_, Literal(k))) if int(k) > 0:
            return 0, int(k) - 1
        case Apply("min" | "max" as which, (a, b)):
            x, y = interval(a, ranges), interval(b, ranges)
            if x is None or y is None:
                return None
            pick = min if which == "min" else max
            return pick(x[0], y[0]), pick(x[1], y[1])
        case Select(_, a, b):
            x, y = interval(a, ranges), interval(b, ranges)
            return None if x is None or y is None else (min(x[0], y[0]), max(x[1], y[1]))
    return None


def _parts(expr: Expr, divisor: int, scope: Scope) -> tuple[Expr, Expr, bool]:
    """expr = quotient · divisor + rest; and whether 0 ≤ rest < divisor is certain."""
    terms, constant = linear_terms(expr)
    quotient: Expr = build.index(constant // divisor)
    rest: Expr = build.index(constant % divisor)
    for atom, factor in terms.items():
        whole, left = divmod(factor, divisor)
        if left == 0:
            quotient = build.add(quotient, build.mul(atom, whole))
        elif isinstance(atom, Var) and factor * scope.steps.get(atom.name, 1) % divisor == 0:
            quotient = build.add(quotient, build.floor_div(build.mul(atom, factor), divisor))
        else:
            rest = build.add(rest, build.mul(atom, factor))
    bounds = interval(rest, scope.ranges)
    return quotient, rest, bounds is not None and bounds[0] >= 0 and bounds[1] < divisor


def _divided(expr: Expr, divisor: int, scope: Scope) -> Expr:
    quotient, rest, exact = _parts(expr, divisor, scope)
    return quotient if exact else build.add(quotient, build.floor_div(rest, divisor))


def _remainder(expr: Expr, divisor: int, scope: Scope) -> Expr:
    _, rest, exact = _parts(expr, divisor, scope)
    return rest if exact else build.mod(rest, divisor)


def index_of(expr: ir.Expr, scope: Scope, value: Callable[[ir.Expr], Expr]) -> Expr:
    """A scalar index. `value` lowers what is not arithmetic on axes: an element that is read, a function."""

    def lower(part: ir.Expr) -> Expr:
        return index_of(part, scope, value)

    match expr:
        case ir.Literal(number):
            return build.index(int(number))
        case Axis():
            return scope.values[expr]
        case Extent(dim):
            return dim_index(dim)
        case Read():
            return value(expr)
        case ir.Apply("add", (a, b)):
            return build.add(lower(a), lower(b))
        case ir.Apply("sub", (a, b)):
            return build.sub(lower(a), lower(b))
        case ir.Apply("neg", (a,)):
            return build.mul(lower(a), -1)
        case ir.Apply("mul", (a, b)):
            x, y = lower(a), lower(b)
            if isinstance(x, Literal) or isinstance(y, Literal):
                return _scaled(x, y)
            return Apply("mul", (x, y), INDEX)
        case ir.Apply("floor_div", (a, ir.Literal(k))) if int(k) > 0:
            return _divided(lower(a), int(k), scope)
        case ir.Apply("mod", (a, ir.Literal(k))) if int(k) > 0:
            return _remainder(lower(a), int(k), scope)
        case ir.Apply("min" | "max" as which, (a, b)):
            return _nearest(which, lower(a), lower(b), scope.ranges)
        case ir.Apply("select", (condition, a, b)):
            holds = truth(condition, scope, value)
            if holds is not None:
                return lower(a if holds else b)
            return Select(value(condition), lower(a), lower(b))
        case ir.Apply(function, arguments):
            return Apply(function, tuple(lower(a) for a in arguments), INDEX)
        case ir.Cast(inner, _):
            lowered = value(inner)
            return lowered if lowered.dtype == INDEX else Cast(lowered, INDEX)
    return value(expr)


def _scaled(x: Expr, y: Expr) -> Expr:
    """A product with a number, multiplied out: 2·(w + j) is 2·w + 2·j."""
    if isinstance(x, Literal):
        x, y = y, x
    assert isinstance(y, Literal)
    factor = int(y.value)
    terms, constant = linear_terms(x)
    return build.linear({atom: own * factor for atom, own in terms.items()}, constant * factor)


def _nearest(which: str, a: Expr, b: Expr, ranges: Mapping[str, Interval]) -> Expr:
    """min or max; the one that it always is, where that is known."""
    gap = interval(build.sub(a, b), ranges)
    if gap is not None and (gap[0] >= 0 or gap[1] <= 0):
        greater, smaller = (a, b) if gap[0] >= 0 else (b, a)
        return smaller if which == "min" else greater
    return build.minimum(a, b) if which == "min" else build.maximum(a, b)


def margin(condition: ir.Expr, scope: Scope, value: Callable[[ir.Expr], Expr]) -> Expr | None:
    """An order of two indices as the one expression that is ≥ 0 where it holds; None for any other condition."""
    match condition:
        case ir.Apply(function, (a, b)) if function in _ORDER and a.dtype == INDEX:
            x, y = index_of(a, scope, value), index_of(b, scope, value)
            if function in ("lt", "le"):
                x, y = y, x
            terms, constant = linear_terms(build.sub(x, y))
            return build.linear(terms, constant - (function in ("lt", "gt")))
    return None


def truth(condition: ir.Expr, scope: Scope, value: Callable[[ir.Expr], Expr]) -> bool | None:
    """Whether a condition holds everywhere in the scope (True) or nowhere (False); None where it is unknown."""
    match condition:
        case ir.Literal(known):
            return bool(known)
        case ir.Apply("and", (a, b)) if condition.dtype == BOOL:
            x, y = truth(a, scope, value), truth(b, scope, value)
            if x is False or y is False:
                return False
            return True if x and y else None
        case ir.Apply("or", (a, b)) if condition.dtype == BOOL:
            x, y = truth(a, scope, value), truth(b, scope, value)
            if x or y:
                return True
            return False if x is False and y is False else None
        case ir.Apply("not", (a,)) if condition.dtype == BOOL:
            x = truth(a, scope, value)
            return None if x is None else not x
        case ir.Apply("eq" | "ne" as which, (a, b)) if a.dtype == INDEX:
            gap = interval(build.sub(index_of(a, scope, value), index_of(b, scope, value)), scope.ranges)
            if gap == (0, 0):
                return which == "eq"
            apart = gap is not None and (gap[0] > 0 or gap[1] < 0)
            return which == "ne" if apart else None
    left = margin(condition, scope, value)
    bounds = None if left is None else interval(left, scope.ranges)
    if bounds is None:
        return None
    return True if bounds[0] >= 0 else False if bounds[1] < 0 else None
