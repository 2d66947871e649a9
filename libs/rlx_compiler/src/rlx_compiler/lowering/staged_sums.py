"""A sum over operands in shared memory: the threads of a block bring a part of them near, meet, and use it together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rlx_base.dtypes import BOOL
from rlx_compiler.loops import build
from rlx_compiler.loops.ir import (
    Apply,
    Assign,
    Barrier,
    Buffer,
    Cast,
    Expr,
    For,
    If,
    Let,
    Literal,
    Load,
    LoopKind,
    Select,
    Stmt,
    Store,
    Var,
)
from rlx_compiler.loops.rewrite import map_children
from rlx_compiler.lowering.guards import conjuncts
from rlx_compiler.lowering.indices import Scope, interval
from rlx_compiler.lowering.leaf import Group
from rlx_compiler.lowering.staging import Footprint, base_of, footprints
from rlx_compiler.lowering.sums import Sums, combine
from rlx_compiler.lowering.values import Values, computed
from rlx_ir import expr as ir
from rlx_ir.expr import Axis, Read, Reduce

__all__ = ["StagedSums"]

_THREAD = Var("thread")
_UNROLLED = 8  # turns of the loop over a staged chunk that are written out


@dataclass(frozen=True)
class _Near(Values):
    """Values whose staged reads are read from shared memory; `local` says how far into the tile each axis is."""

    tiles: Mapping[Read, tuple[Footprint, Buffer]] = field(default_factory=dict)
    local: Mapping[str, Expr] = field(default_factory=dict)

    def _read(self, read: Read) -> Expr:
        if read not in self.tiles:
            return super()._read(read)
        footprint, memory = self.tiles[read]
        indices = []
        for side in footprint.sides:
            place: Expr = build.index(side.shift)
            for name, factor in side.factors.items():
                place = build.add(place, build.mul(self.local[name], factor))
            indices.append(place)
        load = Load(memory, tuple(indices))
        wide = computed(load.dtype)
        return load if load.dtype == wide else Cast(load, wide)

    def _select(self, condition: ir.Expr, then: ir.Expr, otherwise: ir.Expr) -> Expr:
        inner = then.value if isinstance(then, ir.Cast) else then
        if (
            isinstance(inner, Read)
            and inner in self.tiles
            and isinstance(otherwise, ir.Literal)
            and not otherwise.value
        ):
            footprint, _ = self.tiles[inner]
            if all(part in footprint.guards for part in conjuncts(condition)):
                return self.lower(then)
        return super()._select(condition, then, otherwise)


@dataclass(frozen=True)
class StagedSums:
    """`axes` and `covered` are those of the result, `chunks` how much of each summed axis is near at a time; `base` and
    `local` say where the block's part begins and where in it each of the thread's elements is."""

    sums: Sums
    axes: Mapping[str, Axis]
    covered: Mapping[str, int]
    chunks: Mapping[str, int]
    base: Mapping[str, Expr]
    local: Callable[[Group], Mapping[str, Expr]]
    threads: int
    share: Callable[[Buffer], None]

    def _all_axes(self, reduce: Reduce) -> dict[str, Axis]:
        return {**self.axes, **{axis.name: axis for axis in reduce.axes}}

    def _footprints(self, reduce: Reduce) -> list[Footprint]:
        covered = {**self.covered, **{axis.name: self._chunk(axis) for axis in reduce.axes}}
        return footprints(reduce, self._all_axes(reduce), covered)

    def _chunk(self, axis: Axis) -> int:
        assert isinstance(axis.extent, int)
        return max(1, min(axis.extent, self.chunks.get(axis.name, axis.extent)))

    def takes(self, reduce: Reduce) -> bool:
        """Whether there is anything to bring near."""
        return all(axis.extent for axis in reduce.axes) and bool(self._footprints(reduce))

    def fill(self, reduce: Reduce, name: str) -> tuple[list[Stmt], Callable[[Group], Expr]]:
        """The statements that compute the reduction for every place, and what stands for it at a place after them."""
        (group,) = self.sums.tile.groups
        total = self.sums.fresh(name)
        tiles: dict[Read, tuple[Footprint, Buffer]] = {}
        for footprint in self._footprints(reduce):
            tensor = footprint.read.tensor
            shape = tuple(side.extent for side in footprint.sides)
            memory = Buffer(self.sums.fresh(f"{self._param(tensor)}_tile"), tensor.dtype, shape, "shared", "update")
            self.share(memory)
            tiles[footprint.read] = (footprint, memory)
        scope, base = self.sums.scope, dict(self.base)
        loops: list[tuple[str, Axis, int]] = []
        for axis in reduce.axes:
            chunk = self._chunk(axis)
            base[axis.name] = build.index(0)
            assert isinstance(axis.extent, int)
            if chunk < axis.extent:
                var = self.sums.fresh(f"{axis.name}_chunk")
                loops.append((var, axis, chunk))
                base[axis.name] = Var(var)
                scope = scope.variable(var, 0, (axis.extent - 1) // chunk * chunk, chunk)
        body: list[Stmt] = [Barrier()] if loops else []
        for footprint, memory in tiles.values():
            body += self._bring(footprint, memory, base, scope)
        body.append(Barrier())
        body += self._use(reduce, total, group, tiles, base, scope, list(reduce.axes), {})
        for var, axis, chunk in reversed(loops):
            assert isinstance(axis.extent, int)
            body = [For(var, build.index(0), build.index(axis.extent), tuple(body), chunk)]
        return (
            [self.sums.declare(total, reduce, group), *body],
            lambda at: self.sums.element(total, at, reduce),
        )

    def _param(self, tensor: ir.Tensor) -> str:
        (group,) = self.sums.tile.groups
        return self.sums.values(group, self.sums.scope).buffers[tensor].name

    def _bring(self, footprint: Footprint, memory: Buffer, base: Mapping[str, Expr], scope: Scope) -> list[Stmt]:
        """The threads copy the footprint, neighbours beside each other; what lies outside of the operand is 0."""
        turns = -(-footprint.elements // self.threads)
        turn, slot = self.sums.fresh("turn"), self.sums.fresh("slot")
        scope = scope.variable(slot, 0, footprint.elements - 1)
        copied: list[Stmt] = []
        places: list[Expr] = []
        inner = footprint.elements
        for number, side in enumerate(footprint.sides):
            inner //= side.extent
            place: Expr = build.floor_div(Var(slot), inner)
            if number:
                place = build.mod(place, side.extent)
            own = self.sums.fresh("at")
            copied.append(Let(own, place if side.extent > 1 else build.index(0)))
            scope = scope.variable(own, 0, side.extent - 1)
            places.append(Var(own))
        known = {base_of(name).name: value for name, value in base.items()}
        indices: list[Expr] = []
        conditions: list[Expr] = []
        for side, place, dim in zip(footprint.sides, places, footprint.read.tensor.shape, strict=True):
            assert isinstance(dim, int)
            index = build.add(_substituted(side.first, known), place)
            bounds = interval(index, scope.ranges)
            if bounds is None or bounds[0] < 0:
                conditions.append(Apply("ge", (index, build.index(0)), BOOL))
            if bounds is None or bounds[1] >= dim:
                conditions.append(build.less(index, dim))
            indices.append(index)
        (group,) = self.sums.tile.groups
        source = self.sums.values(group, self.sums.scope).buffers[footprint.read.tensor]
        value: Expr = Load(source, tuple(indices))
        if conditions:
            value = Select(_all(conditions), value, Literal(0, memory.dtype))
        copied.append(Store(memory, tuple(places), value))
        number_of = build.add(build.mul(Var(turn), self.threads), _THREAD)
        body: list[Stmt] = [Let(slot, number_of)]
        if footprint.elements % self.threads:
            body.append(If(build.less(Var(slot), footprint.elements), tuple(copied)))
        else:
            body += copied
        kind: LoopKind = "unrolled" if turns <= _UNROLLED else "serial"
        return [For(turn, build.index(0), build.index(turns), tuple(body), 1, kind)]

    def _use(
        self,
        reduce: Reduce,
        total: str,
        group: Group,
        tiles: Mapping[Read, tuple[Footprint, Buffer]],
        base: Mapping[str, Expr],
        scope: Scope,
        axes: Sequence[Axis],
        inner: Mapping[str, Expr],
    ) -> list[Stmt]:
        """The loops over what is near, around `accumulator = combine(accumulator, body)`."""
        if not axes:
            return self._turn(reduce, total, tiles, scope, inner)
        axis, chunk = axes[0], self._chunk(axes[0])
        var = self.sums.fresh(axis.name)
        scope = scope.variable(var, 0, chunk - 1).bind(axis, build.add(base[axis.name], Var(var)))
        body = self._use(reduce, total, group, tiles, base, scope, axes[1:], {**inner, axis.name: Var(var)})
        assert isinstance(axis.extent, int)
        stop = build.index(chunk)
        if axis.extent % chunk:
            stop = build.minimum(build.sub(axis.extent, base[axis.name]), chunk)
        kind: LoopKind = "unrolled" if isinstance(stop, Literal) and chunk <= _UNROLLED and len(axes) == 1 else "serial"
        return [For(var, build.index(0), stop, tuple(body), 1, kind)]

    def _turn(
        self,
        reduce: Reduce,
        total: str,
        tiles: Mapping[Read, tuple[Footprint, Buffer]],
        scope: Scope,
        inner: Mapping[str, Expr],
    ) -> list[Stmt]:
        def value(group: Group) -> Expr:
            plain = self.sums.values(group, scope)
            near = _Near(plain.scope, 1, plain.buffers, plain.sums, plain.given, tiles, {**self.local(group), **inner})
            return combine(reduce.kind, self.sums.element(total, group, reduce), near.lower(reduce.body))

        return self.sums.tile.each(value, lambda group, expr: Assign(total, self.sums.tile.place(group), expr))


def _substituted(expr: Expr, known: Mapping[str, Expr]) -> Expr:
    """The expression with values for variables."""
    if isinstance(expr, Var) and expr.name in known:
        return known[expr.name]
    changed = map_children(expr, lambda part: _substituted(part, known))
    match changed:
        case Apply("add", (a, b)):
            return build.add(a, b)
        case Apply("sub", (a, b)):
            return build.sub(a, b)
        case Apply("mul", (a, b)):
            return build.mul(a, b)
        case Apply("floor_div", (a, Literal(k))):
            return build.floor_div(a, int(k))
        case Apply("mod", (a, Literal(k))):
            return build.mod(a, int(k))
    return changed


def _all(conditions: Sequence[Expr]) -> Expr:
    result = conditions[0]
    for condition in conditions[1:]:
        result = Apply("and", (result, condition), BOOL)
    return result
