"""Where an axis is cut, so that the guards on it are known in each part: the inside of an image and its edges, the
operands of a concatenation.

A guard is an order of two indices, so along one axis it changes only where its margin meets zero; those places are
computed, not searched for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rlx_compiler.loops import build
from rlx_compiler.loops.address import linear_terms
from rlx_compiler.loops.ir import Expr, Var
from rlx_compiler.loops.rewrite import walk
from rlx_compiler.lowering.guards import conditions
from rlx_compiler.lowering.indices import Scope, interval, margin, truth
from rlx_compiler.lowering.storage import Stage
from rlx_ir import expr as ir
from rlx_ir.expr import Axis

__all__ = ["Segment", "segments"]

_MOST_SEGMENTS: Final = 8
_MOST_TRIED: Final = 512  # places of an axis that are tried one by one where a guard is no order of indices


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of an axis. `known`: in all of it every guard on the axis is decided."""

    start: int
    size: int
    known: bool


def segments(stage: Stage, axis: Axis) -> list[Segment]:
    """The axis cut where a guard on it changes; one known segment where there is no guard."""
    size = axis.extent
    assert isinstance(size, int)
    guards = [c for c in conditions(stage.body) if any(part == axis for part in ir.walk(c))]
    if not guards or size == 0:
        return [Segment(0, size, True)]
    scope = _scope_of_others(guards, axis)
    starts = _starts(guards, axis, size, scope)
    if starts is None:
        return [Segment(0, size, False)]
    found: list[Segment] = []
    last: tuple[bool | None, ...] | None = None
    for start, end in zip(starts, [*starts[1:], size], strict=True):
        here = scope.bind(axis, build.index(start))
        now = tuple(truth(guard, here, _unread) for guard in guards)
        known = None not in now
        if found and found[-1].known == known and (now == last or not known):
            found[-1] = Segment(found[-1].start, end - found[-1].start, known)
        else:
            found.append(Segment(start, end - start, known))
        last = now
    return found if len(found) <= _MOST_SEGMENTS else [Segment(0, size, False)]


def _unread(_: ir.Expr) -> Expr:
    raise ValueError("guards read nothing")


def _scope_of_others(guards: Sequence[ir.Expr], axis: Axis) -> Scope:
    scope = Scope()
    for guard in guards:
        for part in ir.walk(guard):
            if isinstance(part, Axis) and part != axis:
                assert isinstance(part.extent, int)
                scope = scope.bind(part, Var(part.name)).variable(part.name, 0, max(part.extent - 1, 0))
    return scope


def _starts(guards: Sequence[ir.Expr], axis: Axis, size: int, scope: Scope) -> list[int] | None:
    """The places at which some guard may change, the first one among them. None where that cannot be told."""
    starts = {0}
    for guard in guards:
        changes = _changes(guard, axis, size, scope)
        if changes is None:
            return list(range(size)) if size <= _MOST_TRIED else None
        starts.update(place for place in changes if 0 < place < size)
    return sorted(starts)


def _changes(guard: ir.Expr, axis: Axis, size: int, scope: Scope) -> list[int] | None:
    match guard:
        case ir.Apply("not", (inner,)):
            return _changes(inner, axis, size, scope)
        case ir.Apply("and" | "or", (a, b)):
            left, right = _changes(a, axis, size, scope), _changes(b, axis, size, scope)
            return None if left is None or right is None else left + right
    var = Var(f"along:{axis.name}")
    left_over = margin(guard, scope.bind(axis, var).variable(var.name, 0, size - 1), _unread)
    if left_over is None:
        return None
    terms, constant = linear_terms(left_over)
    factor = terms.pop(var, 0)
    bounds = interval(build.linear(terms, constant), scope.ranges)
    if bounds is None or any(part == var for atom in terms for part in walk(atom)):
        return None
    return list(_crossings(factor, bounds))


def _crossings(factor: int, bounds: tuple[int, int]) -> Iterator[int]:
    """Where factor · x + bound becomes or ceases to be ≥ 0, for each bound."""
    for bound in bounds:
        if factor > 0:
            yield -(bound // factor)
        elif factor < 0:
            yield bound // -factor + 1
