"""Addresses made cheap: every access gets one linear index, whose parts are computed in the outermost loop they allow.

`input[0, y + kh, x, k]` becomes `input[a2 + 96]`, where `a1 = y·7168`, `a2 = a1 + kh·7168 + k` are `Let`s of the loops
that bind y and k. Targets then need no optimiser to find loop-invariant arithmetic, and constants fold into the
addressing mode of the instruction.
"""

from __future__ import annotations

from rlx_base.dtypes import INDEX
from rlx_compiler.loops import build
from rlx_compiler.loops.ir import (
    Accumulator,
    Apply,
    Assign,
    Body,
    Buffer,
    Element,
    Expr,
    For,
    If,
    Kernel,
    Let,
    Literal,
    Load,
    Prefetch,
    Size,
    Stmt,
    Store,
    Var,
)
from rlx_compiler.loops.rewrite import map_children, walk
from rlx_ir.dims import Dim, DimExpr, Symbol

__all__ = ["dim_index", "linear_addresses", "linear_terms"]


def dim_index(dim: Dim) -> Expr:
    """A dimension as an index expression."""
    match dim:
        case int():
            return build.index(dim)
        case Symbol(name):
            return Size(name)
        case DimExpr("+", left, right):
            return build.add(dim_index(left), dim_index(right))
        case DimExpr("-", left, right):
            return build.sub(dim_index(left), dim_index(right))
        case DimExpr("*", left, right):
            return build.mul(dim_index(left), dim_index(right))
        case DimExpr(_, left, right):
            return Apply("floor_div", (dim_index(left), dim_index(right)), INDEX)


def linear_terms(expr: Expr) -> tuple[dict[Expr, int], int]:
    """An index as Σ coefficient · atom + constant; an atom is a variable or anything that is not linear."""
    terms: dict[Expr, int] = {}
    constant = 0

    def collect(part: Expr, factor: int) -> None:
        nonlocal constant
        match part:
            case Literal(value):
                constant += factor * int(value)
            case Apply("add", (a, b)):
                collect(a, factor)
                collect(b, factor)
            case Apply("sub", (a, b)):
                collect(a, factor)
                collect(b, -factor)
            case Apply("mul", (a, Literal(value))):
                collect(a, factor * int(value))
            case _:
                terms[part] = terms.get(part, 0) + factor

    collect(expr, 1)
    return {atom: factor for atom, factor in terms.items() if factor}, constant


def linear_addresses(kernel: Kernel) -> Kernel:
    """The kernel with one linear index per access."""
    return Kernel(kernel.name, kernel.params, _Addresses().body(kernel.body, ()))


class _Scope:
    """A body being written: its statements so far and the sums that it already has a name for."""

    def __init__(self) -> None:
        self.statements: list[Stmt] = []
        self.named: dict[Expr, Var] = {}


class _Addresses:
    def __init__(self) -> None:
        self._scopes: list[_Scope] = []
        self._level: dict[str, int] = {}
        self._count = 0

    def body(self, body: Body, bound: tuple[str, ...]) -> Body:
        """`bound` are names that this body's own loop binds."""
        scope = _Scope()
        self._scopes.append(scope)
        here = len(self._scopes) - 1
        for name in bound:
            self._level[name] = here
        for statement in body:
            match statement:
                case Let(name, value):
                    rewritten: Stmt = Let(name, self._expr(value))
                    self._level[name] = here
                case Store(buffer, indices, value, stride, active):
                    only = None if active is None else self._expr(active)
                    value = self._expr(value)
                    rewritten = Store(buffer, self._linear(buffer, indices), value, stride, only)
                case Accumulator(name, dtype, lanes, shape, initial):
                    start = None if initial is None else self._expr(initial)
                    rewritten = Accumulator(name, dtype, lanes, shape, start)
                case Assign(name, places, value):
                    rewritten = Assign(name, places, self._expr(value))
                case For(var, start, stop, inner, step, kind):
                    first, last = self._expr(start), self._expr(stop)
                    rewritten = For(var, first, last, self.body(inner, (var,)), step, kind)
                case If(condition, then, otherwise):
                    condition = self._expr(condition)
                    rewritten = If(condition, self.body(then, ()), self.body(otherwise, ()))
                case Prefetch(buffer, indices):
                    rewritten = Prefetch(buffer, self._linear(buffer, indices))
                case _:
                    rewritten = statement
            scope.statements.append(rewritten)
        self._scopes.pop()
        return tuple(scope.statements)

    def _expr(self, expr: Expr) -> Expr:
        match expr:
            case Literal() | Var() | Size():
                return expr
            case Load(buffer, indices, lanes, stride, active):
                only = None if active is None else self._expr(active)
                return Load(buffer, self._linear(buffer, indices), lanes, stride, only)
        return map_children(expr, self._expr)

    def _linear(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Expr]:
        offset: Expr = build.index(0)
        if len(indices) == 1:
            offset = indices[0]
        else:
            for index, dim in zip(indices, buffer.shape, strict=True):
                size = dim_index(dim)
                if isinstance(size, Literal):
                    offset = build.add(build.mul(offset, size), index)
                else:
                    offset = build.add(Apply("mul", (offset, size), INDEX), index)
        terms, constant = linear_terms(offset)
        by_level: dict[int, list[tuple[Expr, int]]] = {}
        for atom, factor in terms.items():
            by_level.setdefault(self._depth(atom), []).append((atom, factor))
        total: Expr | None = None
        for level in sorted(by_level):
            for atom, factor in by_level[level]:
                part = build.mul(self._expr(atom), factor)
                total = part if total is None else build.add(total, part)
            assert total is not None
            if level < len(self._scopes):
                total = self._named(total, level)
        return (build.index(constant) if total is None else build.add(total, constant),)

    def _named(self, total: Expr, level: int) -> Expr:
        if isinstance(total, Var | Literal):
            return total
        scope = self._scopes[level]
        if total not in scope.named:
            name = f"a{self._count}"
            self._count += 1
            self._level[name] = level
            scope.statements.append(Let(name, total))
            scope.named[total] = Var(name)
        return scope.named[total]

    def _depth(self, atom: Expr) -> int:
        """The level of the outermost body in which the atom can be computed; beyond all where it reads memory."""
        level = 0
        for part in walk(atom):
            if isinstance(part, Load | Element):
                return len(self._scopes)
            if isinstance(part, Var):
                level = max(level, self._level[part.name])
        return level
