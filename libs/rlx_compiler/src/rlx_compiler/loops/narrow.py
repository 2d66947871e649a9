"""Indices of GPU kernels in 32 bits: wider ones take a GPU two instructions each, and some languages have none.

Only what addresses memory or counts loops becomes narrower. A 64-bit integer that comes from memory stays one, and is
cut where it is used as an index: it is one of a buffer of fewer than 2³¹ elements.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rlx_base.dtypes import INDEX, INT32
from rlx_base.errors import InternalError
from rlx_compiler.loops.ir import (
    Accumulator,
    Apply,
    Assign,
    Body,
    Cast,
    Expr,
    For,
    If,
    Kernel,
    Let,
    Literal,
    Load,
    Prefetch,
    Select,
    Stmt,
    Store,
    Var,
)
from rlx_compiler.loops.rewrite import map_children

__all__ = ["narrow_indices"]

_LARGEST = 2**31 - 1


def narrow_indices(kernel: Kernel) -> Kernel:
    """The same kernel with 32-bit loop counters and addresses."""
    for buffer in kernel.params:
        elements = 1
        for dim in buffer.shape:
            elements *= dim if isinstance(dim, int) else 1
        if elements > _LARGEST:
            raise InternalError("E900", what=f"{buffer.name} has {elements} elements, more than 32 bits address")
    return Kernel(kernel.name, kernel.params, _Narrowing().body(kernel.body))


@dataclass
class _Narrowing:
    """`narrow` are the names that are bound to 32-bit numbers."""

    narrow: set[str] = field(default_factory=set)

    def body(self, body: Body) -> Body:
        return tuple(self._statement(statement) for statement in body)

    def _statement(self, statement: Stmt) -> Stmt:
        match statement:
            case Let(name, expr) if expr.dtype == INDEX and expr.lanes == 1 and self._is_index(expr):
                narrowed = self.index(expr)
                self.narrow.add(name)
                return Let(name, narrowed)
            case Let(name, expr):
                return Let(name, self.value(expr))
            case Store(buffer, indices, expr, stride, active):
                only = None if active is None else self.index(active)
                return Store(buffer, tuple(map(self.index, indices)), self.value(expr), stride, only)
            case Prefetch(buffer, indices):
                return Prefetch(buffer, tuple(map(self.index, indices)))
            case Accumulator(name, dtype, lanes, shape, initial):
                return Accumulator(name, dtype, lanes, shape, None if initial is None else self.value(initial))
            case Assign(name, places, expr):
                return Assign(name, places, self.value(expr))
            case For(var, start, stop, inner, step, kind):
                first, last = self.index(start), self.index(stop)
                self.narrow.add(var)
                return For(var, first, last, self.body(inner), step, kind)
            case If(condition, then, otherwise):
                return If(self.value(condition), self.body(then), self.body(otherwise))
        return statement

    def _is_index(self, expr: Expr) -> bool:
        """Whether it is made of counters, small numbers and short integers alone, and so fits."""
        match expr:
            case Literal(number):
                return abs(int(number)) <= _LARGEST
            case Var(name):
                return name in self.narrow
            case Apply(_, arguments):
                return all(a.dtype == INDEX and self._is_index(a) for a in arguments)
            case Select(_, then, otherwise):
                return self._is_index(then) and self._is_index(otherwise)
            case Cast(inner, _):
                short = inner.dtype.is_integer and (inner.dtype.bits < 32 or inner.dtype == INT32)
                return short and inner.lanes == 1
        return False

    def index(self, expr: Expr) -> Expr:
        """An index in 32 bits."""
        match expr:
            case Literal(number):
                return Literal(number, INT32)
            case Var(name) if name in self.narrow:
                return Var(name, INT32)
            case Apply(function, arguments) if all(a.dtype == INDEX for a in arguments):
                return Apply(function, tuple(map(self.index, arguments)), INT32)
            case Select(condition, then, otherwise):
                return Select(self.value(condition), self.index(then), self.index(otherwise))
            case Cast(inner, _) if self._is_index(expr):
                value = self.value(inner)
                return value if value.dtype == INT32 else Cast(value, INT32)
        return Cast(self.value(expr), INT32)

    def value(self, expr: Expr) -> Expr:
        """A value of the same dtype as before."""
        match expr:
            case Load(buffer, indices, lanes, stride, active):
                only = None if active is None else self.index(active)
                return Load(buffer, tuple(map(self.index, indices)), lanes, stride, only)
            case Literal():
                return expr
            case Apply(function, (a, b)) if a.dtype == INDEX and expr.dtype != INDEX and self._both_index(a, b):
                return Apply(function, (self.index(a), self.index(b)), expr.dtype)
            case Var() | Apply() | Select() if expr.dtype == INDEX and expr.lanes == 1 and self._is_index(expr):
                return Cast(self.index(expr), INDEX)
        return map_children(expr, self.value)

    def _both_index(self, a: Expr, b: Expr) -> bool:
        return a.lanes == b.lanes == 1 and self._is_index(a) and self._is_index(b)
