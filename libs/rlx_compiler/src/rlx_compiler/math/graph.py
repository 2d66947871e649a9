"""Expressions as graphs: walking and rewriting them in time linear in their parts.

A formula uses its parts more than once, so as a tree it would be exponentially large; everything here goes by the
identity of parts, never by their equality.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from rlx_compiler.loops.ir import (
    Apply,
    Bitcast,
    Broadcast,
    Cast,
    Expr,
    Fma,
    Fold,
    Literal,
    Load,
    Ramp,
    Select,
    Var,
)
from rlx_compiler.math.function import Call

__all__ = ["all_parts", "parts", "rewrite", "shared_parts", "touches_memory", "with_parts"]


def parts(expr: Expr) -> tuple[Expr, ...]:
    """The direct parts of an expression."""
    match expr:
        case Apply(_, arguments) | Call(_, arguments):
            return arguments
        case Fma(a, b, c):
            return (a, b, c)
        case Select(condition, then, otherwise):
            return (condition, then, otherwise)
        case Load(_, indices, _, _, active):
            return indices if active is None else (*indices, active)
        case Broadcast(value) | Cast(value) | Bitcast(value) | Fold(_, value):
            return (value,)
        case Ramp(start):
            return (start,)
        case _:
            return ()


def with_parts(expr: Expr, new: tuple[Expr, ...]) -> Expr:
    """The expression with other direct parts; the same object where they are the same objects."""
    if all(a is b for a, b in zip(parts(expr), new, strict=True)):
        return expr
    match expr:
        case Apply() | Call():
            return replace(expr, arguments=new)
        case Fma():
            return Fma(*new)
        case Select():
            return Select(*new)
        case Load(active=None):
            return replace(expr, indices=new)
        case Load():
            return replace(expr, indices=new[:-1], active=new[-1])
        case Broadcast() | Cast() | Bitcast() | Fold():
            return replace(expr, value=new[0])
        case Ramp():
            return replace(expr, start=new[0])
        case _:
            return expr


def rewrite(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """Replaces every part, innermost first, by what `change` gives for it, until that is None; sharing is kept."""
    # Holds each part beside its result, so that no identity is used again while the walk lasts.
    done: dict[int, tuple[Expr, Expr]] = {}

    def visit(part: Expr) -> Expr:
        if (known := done.get(id(part))) is not None:
            return known[1]
        result = with_parts(part, tuple(map(visit, parts(part))))
        changed = change(result)
        if changed is not None:
            # The replacement's parts that were visited before are found in `done`.
            done.update({id(p): (p, p) for p in parts(result)})
            result = visit(changed)
        done[id(part)] = (part, result)
        done[id(result)] = (result, result)
        return result

    return visit(expr)


def shared_parts(expr: Expr) -> frozenset[int]:
    """The identities of the parts that stand at more than one place, without those that cost nothing."""
    uses: Counter[int] = Counter()
    pending = [expr]
    while pending:
        part = pending.pop()
        for child in parts(part):
            uses[id(child)] += 1
            if uses[id(child)] == 1:
                pending.append(child)
            elif isinstance(child, Literal | Var):
                uses[id(child)] = 1
    return frozenset(key for key, count in uses.items() if count > 1)


def all_parts(expr: Expr) -> Iterator[Expr]:
    """The expression and its parts, each object once."""
    seen: set[int] = set()
    pending = [expr]
    while pending:
        part = pending.pop()
        yield part
        for child in parts(part):
            if id(child) not in seen:
                seen.add(id(child))
                pending.append(child)


def touches_memory(expr: Expr) -> bool:
    """Whether computing it could fault or is long: then it must not be computed in vain."""
    return any(isinstance(part, Load | Call) for part in all_parts(expr))
