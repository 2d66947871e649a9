"""From a stage and a grid plan to the kernel of a GPU.

A block computes a tile of the result, a thread some elements of it, at most along two axes in registers. A sum is
taken by each thread alone (`sums`), over operands that the block brings into shared memory first (`staged_sums`), or by
several threads together (`shared_sums`).

Where tiles do not divide an axis, threads beyond its end compute its last element again and store nothing: all threads
of a block meet at every barrier.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from rlx_base.dtypes import BOOL
from rlx_compiler.loops import build
from rlx_compiler.loops.grid import as_grid
from rlx_compiler.loops.ir import Allocate, Apply, Body, Buffer, Expr, For, If, Kernel, Let, Literal, Stmt, Var
from rlx_compiler.lowering.indices import Scope
from rlx_compiler.lowering.leaf import Group, Tile, groups_of
from rlx_compiler.lowering.shared_sums import SharedSums
from rlx_compiler.lowering.staged_sums import StagedSums
from rlx_compiler.lowering.storage import Stage
from rlx_compiler.lowering.substitute import reduces
from rlx_compiler.lowering.sums import Sums
from rlx_compiler.lowering.values import Values, stored
from rlx_compiler.schedule.grid_plan import GridPlan, Spread
from rlx_ir.expr import Reduce, Tensor

__all__ = ["build_grid_kernel"]

_THREAD = Var("thread")
_BLOCK = Var("block")


def build_grid_kernel(stage: Stage, plan: GridPlan, name: str, buffers: Mapping[Tensor, Buffer]) -> Kernel:
    """The kernel. `buffers` gives the parameters in order, the output last."""
    return Kernel(name, tuple(dict.fromkeys(buffers.values())), _Grid(stage, plan, buffers).body())


class _Grid:
    def __init__(self, stage: Stage, plan: GridPlan, buffers: Mapping[Tensor, Buffer]) -> None:
        self._stage, self._plan, self._buffers = stage, plan, buffers
        self._axes = {axis.name: axis for axis in stage.axes}
        self._reduces = reduces(stage.body)
        self._spreads = {spread.axis: spread for spread in plan.spreads}
        self._count: dict[str, int] = {buffer.name: 1 for buffer in buffers.values()} | {"block": 1, "thread": 1}
        self._shared: list[Stmt] = []
        self._base: dict[str, Expr] = {}  # where the block's part of an axis begins
        self._local: dict[str, Expr] = {}  # the thread's first place in it
        self._scope = Scope()

    def _size(self, name: str) -> int:
        size = self._axes[name].extent
        assert isinstance(size, int)
        return size

    def _fresh(self, name: str) -> str:
        count = self._count.get(name, 0)
        self._count[name] = count + 1
        return name if count == 0 else self._fresh(f"{name}_{count}")

    # --- who computes what

    def body(self) -> Body:
        if any(self._size(name) == 0 for name in self._axes):
            return ()
        statements = [*self._find_block(), *self._find_thread()]
        serial = [s for s in self._plan.spreads if s.each > 1 and s.axis not in (self._plan.pixel, self._plan.row)]
        statements += self._one_by_one(serial)
        blocks = 1
        for spread in self._plan.spreads:
            blocks *= self._blocks(spread)
        return as_grid(tuple(statements), blocks, self._plan.threads, tuple(self._shared))

    def _blocks(self, spread: Spread) -> int:
        return -(-self._size(spread.axis) // spread.tile)

    def _find_block(self) -> list[Stmt]:
        statements: list[Stmt] = []
        inner = 1
        for place, spread in reversed(list(enumerate(self._plan.spreads))):
            count = self._blocks(spread)
            if count == 1:
                self._base[spread.axis] = build.index(0)
                continue
            number = build.floor_div(_BLOCK, inner)
            if any(self._blocks(outer) > 1 for outer in self._plan.spreads[:place]):
                number = build.mod(number, count)
            name = self._fresh(f"{spread.axis}_block")
            statements.append(Let(name, build.mul(number, spread.tile)))
            self._scope = self._scope.variable(name, 0, (count - 1) * spread.tile, spread.tile)
            self._base[spread.axis] = Var(name)
            inner *= count
        return statements

    def _find_thread(self) -> list[Stmt]:
        """Threads are numbered along `order`, those that share a sum last where its terms are neighbours."""
        statements: list[Stmt] = []
        self._stride: dict[str, int] = {}
        inner = 1
        numbered = [(name, self._spreads[name].threads) for name in self._plan.order if name in self._spreads]
        if self._plan.shared_axis is not None:
            place = self._plan.order.index(self._plan.shared_axis)
            numbered.insert(place, (self._plan.shared_axis, self._plan.shared_threads))
        for place, (name, threads) in reversed(list(enumerate(numbered))):
            self._stride[name] = inner
            if threads == 1:
                self._local[name] = build.index(0)
                continue
            number = build.floor_div(_THREAD, inner)
            if any(outer > 1 for _, outer in numbered[:place]):
                number = build.mod(number, threads)
            own = self._fresh(f"{name}_thread")
            statements.append(Let(own, number))
            self._scope = self._scope.variable(own, 0, threads - 1)
            self._local[name] = Var(own)
            inner *= threads
        return statements

    def _one_by_one(self, serial: list[Spread]) -> list[Stmt]:
        """Loops over elements of a thread that are not in registers."""
        if not serial:
            return self._guarded() if self._is_simple() else self._tile()
        spread, rest = serial[0], serial[1:]
        var = self._fresh(spread.axis)
        before = self._local[spread.axis], self._scope
        self._local[spread.axis] = build.add(before[0], build.mul(Var(var), spread.threads))
        self._scope = self._scope.variable(var, 0, spread.each - 1)
        inside = self._one_by_one(rest)
        self._local[spread.axis], self._scope = before
        return [For(var, build.index(0), build.index(spread.each), tuple(inside))]

    # --- what is computed

    def _is_simple(self) -> bool:
        """Whether a thread has one element at a time and meets no other: then it may just do nothing."""
        registers = [self._spreads[n].each for n in (self._plan.pixel, self._plan.row) if n is not None]
        return not self._plan.staged and self._plan.shared_axis is None and all(each == 1 for each in registers)

    def _guarded(self) -> list[Stmt]:
        lets: list[Stmt] = []
        conditions: list[Expr] = []
        for name in self._axes:
            place = build.add(self._base[name], self._local[name])
            conditions += self._inside(name, self._local[name])
            if not isinstance(place, Var | Literal):
                own = self._fresh(name)
                lets.append(Let(own, place))
                place = Var(own)
            if isinstance(place, Var):
                self._scope = self._scope.variable(place.name, 0, self._size(name) - 1)
            self._scope = self._scope.bind(self._axes[name], place)
        inside = self._leaf(Tile(1, groups_of(1, 1), self._fresh), lambda _, scope: scope, [])
        condition = _all(conditions)
        return [*lets, *(inside if condition is None else [If(condition, tuple(inside))])]

    def _tile(self) -> list[Stmt]:
        plan = self._plan
        pixels = self._spreads[plan.pixel].each if plan.pixel is not None else 1
        row = self._spreads[plan.row].each if plan.row is not None else 1
        tile = Tile(pixels, groups_of(row, 1), self._fresh)

        def placed(group: Group, scope: Scope) -> Scope:
            scope = scope.variable("pixel", 0, pixels - 1).variable("vector1", 0, row - 1)
            for name, axis in self._axes.items():
                place = build.add(self._base[name], self._places(name, tile, group))
                if not self._is_exact(name):
                    place = build.minimum(place, self._size(name) - 1)
                scope = scope.bind(axis, place)
            return scope

        (group,) = tile.groups
        conditions = [c for name in self._axes for c in self._inside(name, self._places(name, tile, group))]
        if plan.shared_axis is not None:
            conditions.append(Apply("eq", (self._local[plan.shared_axis], build.index(0)), BOOL))
        return self._leaf(tile, placed, conditions)

    def _places(self, name: str, tile: Tile, group: Group) -> Expr:
        """Where in the block's part of an axis one of the thread's elements is."""
        local, threads = self._local[name], self._spreads[name].threads
        if name == self._plan.pixel:
            return build.add(local, build.mul(tile.pixel, threads))
        if name == self._plan.row:
            return build.add(local, build.mul(tile.vector(group), threads))
        return local

    def _is_exact(self, name: str) -> bool:
        """Whether threads stand on places of the axis alone."""
        spread = self._spreads[name]
        return spread.covered == spread.tile and self._size(name) % spread.tile == 0

    def _inside(self, name: str, local: Expr) -> list[Expr]:
        """What must hold for a place to be one of this block's."""
        spread, size, found = self._spreads[name], self._size(name), []
        if spread.covered > spread.tile:
            found.append(build.less(local, spread.tile))
        if size % spread.tile or spread.covered > spread.tile:
            found.append(build.less(build.add(self._base[name], local), size))
        return [c for c in found if not (isinstance(c, Literal) and c.value)]

    def _leaf(self, tile: Tile, placed: Callable[[Group, Scope], Scope], conditions: list[Expr]) -> list[Stmt]:
        def values(group: Group, scope: Scope) -> Values:
            return Values(placed(group, scope), 1, self._buffers)

        statements: list[Stmt] = []
        results: dict[Reduce, Callable[[Group], Expr]] = {}
        sums = Sums(tile, self._scope, values, (), None, 1, self._fresh)
        for reduce in self._reduces:
            name = "sum" if reduce.kind == "sum" else reduce.kind
            if self._plan.shared_axis in {axis.name for axis in reduce.axes}:
                filled, results[reduce] = self._shared_sums(sums).fill(reduce, name)
            elif self._plan.staged and (staged := self._staged_sums(sums, tile)).takes(reduce):
                filled, results[reduce] = staged.fill(reduce, name)
            else:
                filled, results[reduce] = sums.fill(reduce, name)
            statements += filled
        output = self._buffers[self._stage.output]

        def value(group: Group) -> Expr:
            lowered = replace(values(group, self._scope), sums=lambda reduce: results[reduce](group))
            return stored(lowered.lower(self._stage.body), output.dtype)

        condition = _all(conditions)

        def use(group: Group, expr: Expr) -> Stmt:
            store = values(group, self._scope).store(self._stage.output, self._stage.indices, expr)
            return store if condition is None else If(condition, (store,))

        return statements + tile.each(value, use)

    def _shared_sums(self, sums: Sums) -> SharedSums:
        axis = self._plan.shared_axis
        assert axis is not None
        return SharedSums(
            sums,
            axis,
            self._local[axis],
            self._plan.shared_threads,
            self._stride[axis],
            self._plan.threads,
            self._share,
        )

    def _staged_sums(self, sums: Sums, tile: Tile) -> StagedSums:
        return StagedSums(
            sums,
            self._axes,
            {name: spread.covered for name, spread in self._spreads.items()},
            self._plan.chunks,
            self._base,
            lambda group: {name: self._places(name, tile, group) for name in self._axes},
            self._plan.threads,
            self._share,
        )

    def _share(self, buffer: Buffer) -> None:
        self._shared.append(Allocate(buffer))


def _all(conditions: list[Expr]) -> Expr | None:
    result: Expr | None = None
    for condition in dict.fromkeys(conditions):
        result = condition if result is None else Apply("and", (result, condition), BOOL)
    return result
