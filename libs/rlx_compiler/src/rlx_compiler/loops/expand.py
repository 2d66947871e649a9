"""Unrolled loops written out: their variables become numbers, so that accumulator places are constants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from rlx_base.dtypes import INDEX
from rlx_compiler.loops import build
from rlx_compiler.loops.ir import (
    Accumulator,
    Allocate,
    Apply,
    Assign,
    Barrier,
    Body,
    Broadcast,
    Element,
    Expr,
    For,
    If,
    Kernel,
    Let,
    Literal,
    Prefetch,
    Select,
    Stmt,
    Store,
    Var,
)
from rlx_compiler.loops.rewrite import map_children

__all__ = ["expand", "fold_indices"]

_FOLD = {
    "add": build.add,
    "sub": build.sub,
    "mul": build.mul,
    "min": build.minimum,
    "max": build.maximum,
    "lt": build.less,
}


def fold_indices(expr: Expr) -> Expr:
    """One node of index arithmetic, folded where its parts are known."""
    match expr:
        case Apply(function, (a, b)) if a.dtype == INDEX and a.lanes == 1:
            if function in _FOLD:
                return _FOLD[function](a, b)
            if isinstance(b, Literal) and int(b.value) > 0:
                if function == "floor_div":
                    return build.floor_div(a, int(b.value))
                if function == "mod":
                    return build.mod(a, int(b.value))
        case Select(Literal(value), then, otherwise):
            return then if value else otherwise
        case Select(Broadcast(Literal(value)), then, otherwise):
            return then if value else otherwise
    return expr


def expand(kernel: Kernel) -> Kernel:
    """The kernel without unrolled loops."""
    return Kernel(kernel.name, kernel.params, tuple(_Expansion(p.name for p in kernel.params).body(kernel.body, {})))


class _Expansion:
    """Gives each copy of a bound name a name of its own, since copies stand side by side in one body."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._count: dict[str, int] = {}

    def _fresh(self, name: str) -> str:
        fresh, count = name, self._count.get(name, 0)
        while fresh in self._taken:
            count += 1
            fresh = f"{name}_{count}"
        self._count[name] = count
        self._taken.add(fresh)
        return fresh

    def body(self, body: Body, outer: Mapping[str, Expr | str]) -> Iterator[Stmt]:
        """`names` maps a bound name to what stands for it here: a number, a value, or another name."""
        names = dict(outer)
        for statement in body:
            match statement:
                case Let(name, value):
                    value = _substitute(value, names)
                    fresh = self._fresh(name)
                    if isinstance(value, Literal | Var):
                        names[name] = value
                    else:
                        names[name] = Var(fresh, value.dtype, value.lanes)
                        yield Let(fresh, value)
                case Accumulator(name, dtype, lanes, shape, initial):
                    start = None if initial is None else _substitute(initial, names)
                    names[name] = self._fresh(name)
                    yield Accumulator(str(names[name]), dtype, lanes, shape, start)
                case Assign(name, places, value):
                    yield Assign(_renamed(name, names), _constants(places, names), _substitute(value, names))
                case Store(buffer, indices, value, stride, active):
                    where = tuple(_substitute(i, names) for i in indices)
                    only = None if active is None else _substitute(active, names)
                    yield Store(buffer, where, _substitute(value, names), stride, only)
                case For(var, start, stop, inner, step, "unrolled"):
                    first, last = _substitute(start, names), _substitute(stop, names)
                    assert isinstance(first, Literal), "only known ranges are unrolled"
                    assert isinstance(last, Literal), "only known ranges are unrolled"
                    for number in range(int(first.value), int(last.value), step):
                        yield from self.body(inner, {**names, var: build.index(number)})
                case For(var, start, stop, inner, step, kind):
                    yield self._loop(var, _substitute(start, names), _substitute(stop, names), inner, step, kind, names)
                case If(condition, then, otherwise):
                    condition = _substitute(condition, names)
                    if isinstance(condition, Literal):
                        yield from self.body(then if condition.value else otherwise, names)
                    else:
                        yield If(condition, tuple(self.body(then, names)), tuple(self.body(otherwise, names)))
                case Prefetch(buffer, indices):
                    yield Prefetch(buffer, tuple(_substitute(i, names) for i in indices))
                case Allocate() | Barrier():
                    yield statement

    def _loop(
        self, var: str, start: Expr, stop: Expr, inner: Body, step: int, kind: str, names: Mapping[str, Expr | str]
    ) -> For:
        fresh = self._fresh(var)
        body = tuple(self.body(inner, {**names, var: Var(fresh)}))
        return For(fresh, start, stop, body, step, kind)  # type: ignore[arg-type]


def _substitute(expr: Expr, names: Mapping[str, Expr | str]) -> Expr:
    match expr:
        case Var(name):
            known = names.get(name, expr)
            assert isinstance(known, Expr)
            return known
        case Literal():
            return expr
        case Element(name, places, dtype, lanes):
            return Element(_renamed(name, names), _constants(places, names), dtype, lanes)
    return fold_indices(map_children(expr, lambda part: _substitute(part, names)))


def _renamed(name: str, names: Mapping[str, Expr | str]) -> str:
    known = names.get(name, name)
    assert isinstance(known, str)
    return known


def _constants(places: tuple[int | Expr, ...], names: Mapping[str, Expr | str]) -> tuple[int | Expr, ...]:
    known = (_substitute(build.index(p), names) for p in places)
    return tuple(int(p.value) if isinstance(p, Literal) else p for p in known)
