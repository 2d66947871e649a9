"""Walking and rebuilding loop IR: the two functions that every pass over it is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rlx_compiler.loops.ir import (
    Accumulator,
    Apply,
    Assign,
    Bitcast,
    Body,
    Broadcast,
    Cast,
    Element,
    Expr,
    Fma,
    Fold,
    For,
    If,
    Let,
    Load,
    Prefetch,
    Ramp,
    Select,
    Stmt,
    Store,
)

__all__ = ["children", "expressions", "map_children", "statements", "walk"]


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct parts of an expression."""
    match expr:
        case Load(_, indices, _, _, active):
            return indices if active is None else (*indices, active)
        case Broadcast(value) | Cast(value) | Bitcast(value) | Fold(_, value):
            return (value,)
        case Ramp(start):
            return (start,)
        case Apply(_, arguments):
            return arguments
        case Fma(a, b, c):
            return (a, b, c)
        case Select(a, b, c):
            return (a, b, c)
        case Element(_, places):
            return tuple(p for p in places if isinstance(p, Expr))
    return ()


def map_children(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The expression with each direct part replaced."""
    match expr:
        case Load(buffer, indices, lanes, stride, active):
            kept = None if active is None else change(active)
            return Load(buffer, tuple(change(i) for i in indices), lanes, stride, kept)
        case Broadcast(value, lanes):
            return Broadcast(change(value), lanes)
        case Ramp(start, lanes):
            return Ramp(change(start), lanes)
        case Cast(value, dtype):
            return Cast(change(value), dtype)
        case Bitcast(value, dtype):
            return Bitcast(change(value), dtype)
        case Fold(kind, value):
            return Fold(kind, change(value))
        case Apply(function, arguments, dtype):
            return Apply(function, tuple(change(a) for a in arguments), dtype)
        case Fma(a, b, c):
            return Fma(change(a), change(b), change(c))
        case Select(a, b, c):
            return Select(change(a), change(b), change(c))
        case Element(name, places, dtype, lanes):
            return Element(name, tuple(change(p) if isinstance(p, Expr) else p for p in places), dtype, lanes)
    return expr


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and all its parts, outermost first."""
    yield expr
    for child in children(expr):
        yield from walk(child)


def expressions(statement: Stmt) -> tuple[Expr, ...]:
    """The expressions that stand directly in a statement, without those of bodies inside it."""
    match statement:
        case Let(_, value):
            return (value,)
        case Store(_, indices, value, _, active):
            return (*indices, value) if active is None else (*indices, value, active)
        case Accumulator(_, _, _, _, initial):
            return () if initial is None else (initial,)
        case Assign(_, places, value):
            return (*(p for p in places if isinstance(p, Expr)), value)
        case For(_, start, stop):
            return (start, stop)
        case If(condition):
            return (condition,)
        case Prefetch(_, indices):
            return indices
    return ()


def statements(body: Body) -> Iterator[Stmt]:
    """All statements, those of inner bodies too."""
    for statement in body:
        yield statement
        match statement:
            case For(_, _, _, inner):
                yield from statements(inner)
            case If(_, then, otherwise):
                yield from statements(then)
                yield from statements(otherwise)
