"""Guards that loops can take over: a padding's condition becomes the bounds of a loop, so nothing is tested inside.

In Σ select(0 ≤ y + k − 1 < H, x[y + k − 1] · w[k], 0) the places where the condition fails add nothing, so k may
simply run from max(0, 1 − y) to min(3, H + 1 − y).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rlx_compiler.loops import build
from rlx_compiler.loops.address import dim_index, linear_terms
from rlx_compiler.loops.ir import Expr, Var
from rlx_compiler.loops.rewrite import walk
from rlx_compiler.lowering.indices import Scope, margin, truth
from rlx_ir import expr as ir
from rlx_ir.expr import Axis, Reduce, identity

__all__ = ["Clip", "clips", "conditions", "conjuncts", "skippable", "summed"]


def conjuncts(condition: ir.Expr) -> Iterator[ir.Expr]:
    """The parts of a condition that must all hold."""
    match condition:
        case ir.Apply("and", (a, b)):
            yield from conjuncts(a)
            yield from conjuncts(b)
        case _:
            yield condition


def conditions(expr: ir.Expr) -> list[ir.Expr]:
    """The orders of indices on which anything in the expression depends, each once."""
    found: dict[ir.Expr, None] = {}
    for part in ir.walk(expr):
        if isinstance(part, ir.Apply) and part.function == "select":
            found |= dict.fromkeys(conjuncts(part.arguments[0]))
    return [c for c in found if not any(isinstance(p, ir.Read | Reduce) for p in ir.walk(c))]


def skippable(reduce: Reduce) -> list[ir.Expr]:
    """The conditions without which the reduction's body adds nothing: it may be left out where one fails."""
    neutral = identity(reduce.kind, reduce.dtype)

    def needed(expr: ir.Expr) -> Iterator[ir.Expr]:
        match expr:
            case ir.Apply("select", (condition, then, otherwise)):
                if _is(otherwise, neutral):
                    yield from conjuncts(condition)
                    yield from needed(then)
            case ir.Apply("mul", (a, b)) if reduce.kind == "sum":
                yield from needed(a)
                yield from needed(b)
            case ir.Cast(value, dtype) if dtype.is_float == value.dtype.is_float and reduce.kind == "sum":
                yield from needed(value)

    return list(dict.fromkeys(needed(reduce.body)))


def _is(expr: ir.Expr, neutral: ir.Literal) -> bool:
    return isinstance(expr, ir.Literal) and expr.value == neutral.value


@dataclass(frozen=True, slots=True)
class Clip:
    """Bounds of a reduced axis: low ≤ axis < high."""

    low: Expr
    high: Expr


def summed(axis: Axis) -> Var:
    """The variable of a reduced axis; no loop has such a name."""
    return Var(f"summed:{axis.name}")


def clips(
    reduce: Reduce, scope: Scope, value: Callable[[ir.Expr], Expr], inner: Sequence[str]
) -> tuple[dict[Axis, Clip], frozenset[ir.Expr]]:
    """The bounds that make the reduction's guards true, and the guards that they make true.

    The scope binds each reduced axis to the variable `summed(axis)`. `inner` are variables that change inside the
    loops (pixel, lane), so no bound may depend on them.
    """
    bounds: dict[Axis, Clip] = {}
    met: set[ir.Expr] = set()
    axes = {summed(axis).name: axis for axis in reduce.axes}
    for condition in skippable(reduce):
        if any(isinstance(part, ir.Read | Reduce) for part in ir.walk(condition)):
            continue
        if truth(condition, scope, value) is True:
            met.add(condition)
            continue
        left = margin(condition, scope, value)
        if left is None:
            continue
        terms, constant = linear_terms(left)
        own = [(atom, factor) for atom, factor in terms.items() if isinstance(atom, Var) and atom.name in axes]
        rest = {atom: factor for atom, factor in terms.items() if not (isinstance(atom, Var) and atom.name in axes)}
        names = {part.name for atom in rest for part in walk(atom) if isinstance(part, Var)}
        if len(own) != 1 or names & (set(inner) | set(axes)):
            continue
        atom, factor = own[0]
        assert isinstance(atom, Var)
        axis = axes[atom.name]
        clip = bounds.get(axis, Clip(build.index(0), dim_index(axis.extent)))
        if factor > 0:  # factor · r + rest ≥ 0
            below = build.linear({term: -times for term, times in rest.items()}, factor - 1 - constant)
            bounds[axis] = Clip(build.maximum(build.floor_div(below, factor), clip.low), clip.high)
        else:  # r ≤ rest ÷ −factor
            above = build.linear(rest, constant - factor)
            bounds[axis] = Clip(clip.low, build.minimum(build.floor_div(above, -factor), clip.high))
        met.add(condition)
    return bounds, frozenset(met)
