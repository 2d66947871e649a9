"""Reductions of a tile: accumulators in registers, and the loops that fill them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from rlx_compiler.loops import build
from rlx_compiler.loops.ir import (
    Accumulator,
    Apply,
    Assign,
    Element,
    Expr,
    Fma,
    Fold,
    For,
    Literal,
    LoopKind,
    Stmt,
    Var,
)
from rlx_compiler.lowering.guards import Clip, clips, summed
from rlx_compiler.lowering.indices import Scope
from rlx_compiler.lowering.leaf import Group, Tile
from rlx_compiler.lowering.prefetch import NextPanel
from rlx_compiler.lowering.values import LANE, Values, computed, splat
from rlx_compiler.schedule.plan import Loop
from rlx_ir.expr import Axis, Reduce, identity

__all__ = ["Sums", "combine"]

_COMBINE = {"sum": "add", "prod": "mul", "max": "max", "min": "min"}
_Place = Callable[[Group, Scope], Values]


def combine(kind: str, held: Expr, value: Expr) -> Expr:
    """One more term for an accumulator; a product of floats is fused into its sum."""
    match value:
        case Apply("mul", (a, b)) if kind == "sum" and value.dtype.is_float:
            return Fma(a, b, held)
    return Apply(_COMBINE[kind], (held, value), held.dtype)


@dataclass(frozen=True)
class Sums:
    """The reductions of one tile. `values(group, scope)` lowers in the scope of one place of the tile."""

    tile: Tile
    scope: Scope
    values: _Place
    loops: Sequence[Loop]
    vector: Axis | None
    lanes: int
    fresh: Callable[[str], str]
    ahead: Sequence[NextPanel] = ()

    def fill(self, reduce: Reduce, name: str) -> tuple[list[Stmt], Callable[[Group], Expr]]:
        """The statements that compute the reduction for every place, and what stands for it at a place after them."""
        if self.vector is not None and self.vector in reduce.axes:
            return self._fill_lanes(reduce, name, self.vector)
        statements: list[Stmt] = []
        names: dict[Group, str] = {}
        for group in self.tile.groups:
            names[group] = self.fresh(name)
            statements.append(self._declare(names[group], reduce, group.lanes, group.count))
        statements += self._loops(reduce, names, None)
        return statements, lambda group: self._element(names[group], group, reduce)

    def declare(self, name: str, reduce: Reduce, group: Group) -> Stmt:
        """The accumulator of a reduction for every place of a group."""
        return self._declare(name, reduce, group.lanes, group.count)

    def element(self, name: str, group: Group, reduce: Reduce) -> Element:
        """What such an accumulator holds at a place."""
        return self._element(name, group, reduce)

    def along(self, reduce: Reduce, names: Mapping[Group, str], along: tuple[Axis, Expr]) -> list[Stmt]:
        """The reduction's loops for one value of a summed axis, whose own loop is around them."""
        return self._loops(reduce, names, along)

    def _declare(self, name: str, reduce: Reduce, lanes: int, count: int) -> Stmt:
        start: Expr = _neutral(reduce)
        return Accumulator(name, start.dtype, lanes, self.tile.shape(count), splat(start, lanes))

    def _element(self, name: str, group: Group, reduce: Reduce, lanes: int | None = None) -> Element:
        return Element(name, self.tile.place(group), computed(reduce.dtype), group.lanes if lanes is None else lanes)

    def _loops(self, reduce: Reduce, names: Mapping[Group, str], along: tuple[Axis, Expr] | None) -> list[Stmt]:
        """The reduction's loops around `accumulator = combine(accumulator, body)`.

        `along` is a summed axis that is looped over outside of these, with its value.
        """
        scope = self.scope
        for axis in reduce.axes:
            size = axis.extent
            assert isinstance(size, int)
            scope = scope.bind(axis, summed(axis)).variable(summed(axis).name, 0, max(size - 1, 0))
        inner = ["pixel", LANE, *(f"vector{g.lanes}" for g in self.tile.groups)]
        probe = self.values(self.tile.groups[0], scope)
        bounds, given = clips(reduce, probe.scope, probe.lower, inner)
        axes = {axis.name: axis for axis in reduce.axes}
        if along is not None:
            axes.pop(along[0].name)
            scope = scope.bind(along[0], along[1])
            if along[0] in bounds:
                bounds, given = {}, frozenset()
        asked = [loop for loop in self.loops if loop.axis in axes]
        asked += [Loop(name, 1) for name in axes if self._last_size(asked, name) != 1]

        def turn(scope: Scope) -> list[Stmt]:
            def value(group: Group) -> Expr:
                lanes = group.lanes if along is None else self.lanes
                placed = replace(self.values(group, scope), given=given)
                if along is not None:
                    placed = replace(placed, lanes=lanes)
                held = self._element(names[group], group, reduce, lanes)
                return combine(reduce.kind, held, _terms(placed.lower(reduce.body), lanes))

            def use(group: Group, expr: Expr) -> Stmt:
                return Assign(names[group], self.tile.place(group), expr)

            return self.tile.each(value, use)

        def nest(place: int, scope: Scope, left: Mapping[str, tuple[Expr, int]]) -> list[Stmt]:
            if place == len(asked):
                return turn(scope)
            loop = asked[place]
            axis, (base, size) = axes[loop.axis], left[loop.axis]
            var = self.fresh(axis.name)
            clip = bounds.get(axis)
            if clip is not None:
                if any(earlier.axis == loop.axis for earlier in asked[:place]):
                    return nest(place + 1, scope, left)
                inside = scope.bind(axis, Var(var)).variable(var, 0, size - 1)
                return [self._bounded(var, clip, nest(place + 1, inside, left))]
            step = min(loop.size, size)
            statements: list[Stmt] = []
            whole, rest = (size // step, size % step) if step else (0, 0)
            if whole == 1:
                statements += nest(place + 1, scope.bind(axis, base), {**left, loop.axis: (base, step)})
            elif whole > 1:
                here = build.add(base, Var(var))
                inside = scope.bind(axis, here).variable(var, 0, (whole - 1) * step, step)
                kind: LoopKind = "unrolled" if loop.kind == "unrolled" else "serial"
                fetch = kind == "serial" and all(later.kind == "unrolled" for later in asked[place + 1 :])
                lines = [line for panel in self.ahead if fetch for line in panel.lines(Var(var), step, whole)]
                body = (*lines, *nest(place + 1, inside, {**left, loop.axis: (here, step)}))
                statements.append(For(var, build.index(0), build.index(whole * step), body, step, kind))
            if rest:
                here = build.add(base, whole * step)
                statements += nest(place + 1, scope.bind(axis, here), {**left, loop.axis: (here, rest)})
            return statements

        sizes: dict[str, tuple[Expr, int]] = {}
        for name, axis in axes.items():
            assert isinstance(axis.extent, int)
            sizes[name] = (build.index(0), axis.extent)
        return nest(0, scope, sizes)

    @staticmethod
    def _last_size(loops: Sequence[Loop], axis: str) -> int | None:
        sizes = [loop.size for loop in loops if loop.axis == axis]
        return sizes[-1] if sizes else None

    def _bounded(self, var: str, clip: Clip, body: list[Stmt]) -> Stmt:
        return For(var, clip.low, clip.high, tuple(body))

    def _fill_lanes(self, reduce: Reduce, name: str, axis: Axis) -> tuple[list[Stmt], Callable[[Group], Expr]]:
        """Partial sums in the lanes along a summed axis: full vectors, then the rest one by one, then one fold."""
        size = axis.extent
        assert isinstance(size, int)
        (group,) = self.tile.groups
        whole = size // self.lanes * self.lanes
        partial, single = self.fresh(name), self.fresh(name)
        statements: list[Stmt] = [self._declare(partial, reduce, self.lanes, group.count)]
        if whole:
            var = self.fresh(axis.name)
            value = build.add(Var(var), Var(LANE))
            scope = self.scope.variable(var, 0, whole - self.lanes, self.lanes).variable(LANE, 0, self.lanes - 1)
            inside = replace(self, scope=scope)
            body = inside._loops(reduce, {group: partial}, (axis, value))
            statements.append(For(var, build.index(0), build.index(whole), tuple(body), self.lanes))
        statements.append(self._declare(single, reduce, 1, group.count))
        if whole < size:
            var = self.fresh(axis.name)
            scope = self.scope.variable(var, whole, size - 1)
            inside = replace(self, scope=scope, lanes=1)
            body = inside._loops(reduce, {group: single}, (axis, Var(var)))
            statements.append(For(var, build.index(whole), build.index(size), tuple(body)))

        def result(group: Group) -> Expr:
            lanes = self._element(partial, group, reduce, self.lanes)
            rest = self._element(single, group, reduce, 1)
            return Apply(_COMBINE[reduce.kind], (Fold(reduce.kind, lanes), rest), rest.dtype)

        return statements, result


def _terms(value: Expr, lanes: int) -> Expr:
    """The value in all lanes; the factors of a product each by itself, so that it can still be fused."""
    match value:
        case Apply("mul", (a, b)) if value.lanes != lanes:
            return Apply("mul", (splat(a, lanes), splat(b, lanes)), value.dtype)
    return splat(value, lanes)


def _neutral(reduce: Reduce) -> Literal:
    start = identity(reduce.kind, reduce.dtype)
    return Literal(start.value, computed(reduce.dtype))
