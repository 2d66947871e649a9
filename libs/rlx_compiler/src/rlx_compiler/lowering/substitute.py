"""Rewriting tensor expressions: axes replaced by what stands for them, reads replaced by what they read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from rlx_ir.expr import Apply, Axis, Bitcast, Cast, Expr, Read, Reduce, Tensor, apply, children, select, walk

__all__ = [
    "count_nodes",
    "depth",
    "inline",
    "map_reads",
    "operations",
    "read_tensors",
    "reads",
    "reads_outside",
    "reduces",
    "replace_axes",
]


def rebuild(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The expression with each direct part replaced; index arithmetic folds on the way."""
    match expr:
        case Read(tensor, indices):
            return Read(tensor, tuple(change(i) for i in indices))
        case Apply("select", (condition, then, otherwise)):
            return select(change(condition), change(then), change(otherwise))
        case Apply(function, arguments):
            return apply(function, *(change(a) for a in arguments))
        case Cast(value, dtype):
            return Cast(change(value), dtype)
        case Bitcast(value, dtype):
            return Bitcast(change(value), dtype)
        case Reduce(kind, axes, body):
            return Reduce(kind, axes, change(body))
    return expr


def replace_axes(expr: Expr, values: Mapping[Axis, Expr]) -> Expr:
    """The expression with some of its axes replaced."""
    if isinstance(expr, Axis):
        return values.get(expr, expr)
    return rebuild(expr, lambda part: replace_axes(part, values))


def map_reads(expr: Expr, change: Callable[[Read], Expr]) -> Expr:
    """The expression with each read replaced, inner ones (in an index) first."""
    rebuilt = rebuild(expr, lambda part: map_reads(part, change))
    return change(rebuilt) if isinstance(rebuilt, Read) else rebuilt


def inline(expr: Expr, tensor: Tensor) -> Expr:
    """The expression with every read of a defined tensor replaced by what the tensor is there."""
    body, axes = tensor.body, tensor.axes
    assert body is not None

    def change(read: Read) -> Expr:
        if read.tensor.name == tensor.name:
            return replace_axes(body, dict(zip(axes, read.indices, strict=True)))
        return read

    return map_reads(expr, change)


def reads(expr: Expr) -> Iterator[Read]:
    """Every read in the expression."""
    return (part for part in walk(expr) if isinstance(part, Read))


def reads_outside(expr: Expr) -> Iterator[Read]:
    """Every read that stands in no reduction: those of an epilogue."""
    if isinstance(expr, Read):
        yield expr
    if not isinstance(expr, Reduce):
        for child in children(expr):
            yield from reads_outside(child)


def reduces(expr: Expr) -> list[Reduce]:
    """The distinct reductions in the expression, outermost first."""
    return list(dict.fromkeys(part for part in walk(expr) if isinstance(part, Reduce)))


def read_tensors(exprs: Sequence[Expr]) -> list[Tensor]:
    """The tensors that the expressions read, in order of their first read."""
    return list(dict.fromkeys(read.tensor for expr in exprs for read in reads(expr)))


def depth(expr: Expr) -> int:
    """How many expressions stand inside each other at most."""
    deepest, left = 0, [(expr, 1)]
    while left:
        part, level = left.pop()
        deepest = max(deepest, level)
        left += [(child, level + 1) for child in children(part)]
    return deepest


def operations(expr: Expr) -> int:
    """How many functions of data one evaluation applies; what depends on axes alone (a guard) is not counted."""
    match expr:
        case Read():
            return 0
        case Apply(_, arguments):
            of_axes = not any(isinstance(part, Read) for part in walk(expr))
            return 0 if of_axes else 1 + sum(operations(argument) for argument in arguments)
    return sum(operations(child) for child in children(expr))


def count_nodes(expr: Expr) -> int:
    """The size of the expression: a bound on how much code it makes."""
    return sum(1 for _ in walk(expr))
