"""From a stage and a plan to a loop nest: the generic lowering that every op goes through.

The loops of the plan cut the result's axes into ever smaller domains; what is left at the innermost is a tile of
registers. All sizes are numbers, so a rest that a cut leaves is a second copy of the inner loops, with its own size.
Where a guard (padding, a concatenation's seam) depends on an axis of the tile, that axis is first cut into segments in
which the guard is known: inside an image nothing is tested, and only its edges are done one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rlx_compiler.loops import build
from rlx_compiler.loops.ir import Body, Buffer, Expr, For, If, Kernel, Let, Stmt, Var
from rlx_compiler.lowering.indices import Scope
from rlx_compiler.lowering.leaf import Group, Tile, groups_of
from rlx_compiler.lowering.prefetch import NextPanel
from rlx_compiler.lowering.segments import Segment, segments
from rlx_compiler.lowering.storage import Stage
from rlx_compiler.lowering.substitute import reduces
from rlx_compiler.lowering.sums import Sums
from rlx_compiler.lowering.values import LANE, Values, splat, stored
from rlx_compiler.schedule.plan import Loop, Plan
from rlx_ir.expr import Reduce, Tensor

__all__ = ["Nest", "build_kernel"]

_NOTHING_AROUND = Scope()


@dataclass(frozen=True, slots=True)
class _Domain:
    """The part of an axis that is still to be looped over; `narrow` ones are done one by one.

    `size` is how many elements there are, or, where `limit` is given, at most: the last of blocks that do not divide
    their axis is cut short by it.
    """

    base: Expr
    size: int
    narrow: bool = False
    limit: Expr | None = None


def build_kernel(stage: Stage, plan: Plan, name: str, buffers: Mapping[Tensor, Buffer]) -> Kernel:
    """The kernel. `buffers` gives the parameters in order, the output last. Raises NotVectorisable."""
    return Kernel(name, tuple(dict.fromkeys(buffers.values())), Nest(stage, plan, buffers).body())


class Nest:
    """The loops of one stage. `scope` is what holds around them, `names` counts the names that are taken there."""

    def __init__(
        self,
        stage: Stage,
        plan: Plan,
        buffers: Mapping[Tensor, Buffer],
        scope: Scope = _NOTHING_AROUND,
        names: dict[str, int] | None = None,
    ) -> None:
        self._stage, self._plan, self._buffers, self._scope = stage, plan, buffers, scope
        self._axes = {axis.name: axis for axis in stage.axes}
        self._reduces = reduces(stage.body)
        self._count: dict[str, int] = {buffer.name: 1 for buffer in buffers.values()} if names is None else names
        summed = {axis.name: axis for reduce in self._reduces for axis in reduce.axes}
        self._lane_axis = self._axes.get(plan.vector or "")
        self._summed_lanes = summed.get(plan.vector or "") if self._lane_axis is None else None
        tiled = {plan.pixel, plan.vector} & set(self._axes)
        self._parallel = self._leading_parallel()
        self._loops = self._complete(plan.loops[len(self._parallel) :])
        cut = {loop.axis for loop in self._parallel}
        self._segments = {name: segments(stage, self._axes[name]) for name in tiled if name is not None}
        for name in cut & set(self._segments):
            if len(self._segments[name]) > 1:  # a parallel loop is not cut: its guards stay, its tile is narrow
                self._segments[name] = [Segment(0, self._size(name), False)]

    def _size(self, name: str) -> int:
        size = self._axes[name].extent
        assert isinstance(size, int)
        return size

    def _fresh(self, name: str) -> str:
        count = self._count.get(name, 0)
        self._count[name] = count + 1
        return name if count == 0 else self._fresh(f"{name}_{count}")

    def _leading_parallel(self) -> tuple[Loop, ...]:
        found: list[Loop] = []
        for loop in self._plan.loops:
            if loop.kind != "parallel" or any(loop.axis == other.axis for other in found):
                break
            found.append(loop)
        return tuple(found)

    def _complete(self, loops: Sequence[Loop]) -> tuple[Loop, ...]:
        """The loops, with those that are missing until only pixel and vector axes have more than one element."""
        complete = list(loops)
        for name in self._axes:
            sizes = [loop.size for loop in (*self._parallel, *complete) if loop.axis == name]
            if name in (self._plan.pixel, self._plan.vector):
                if not any(loop.axis == name for loop in complete):
                    complete.append(Loop(name, sizes[-1] if sizes else max(self._size(name), 1)))
            elif not sizes or sizes[-1] != 1:
                complete.append(Loop(name, 1))
        return tuple(complete)

    # --- loops over the result

    def statements(self) -> list[Stmt]:
        """The loops inside of a kernel that shares its work already."""
        assert not self._parallel
        if any(self._size(name) == 0 for name in self._axes):
            return []
        domains = {name: _Domain(build.index(0), self._size(name)) for name in self._axes}
        return self._nest(0, self._narrowed(domains), self._scope)

    def body(self) -> Body:
        """The whole body of a kernel, with the loop that a team shares."""
        if any(self._size(name) == 0 for name in self._axes):
            return ()
        domains = {name: _Domain(build.index(0), self._size(name)) for name in self._axes}
        scope = self._scope
        counts = {loop: -(-self._size(loop.axis) // loop.size) for loop in self._parallel}
        shared = [loop for loop in self._parallel if counts[loop] > 1]
        if not shared:
            return tuple(self._nest(0, self._narrowed(domains), scope))
        if len(shared) == 1:
            (loop,) = shared
            var = self._fresh(loop.axis)
            inner, scope = self._parallel_domain(loop, Var(var), domains, scope, var)
            body = self._rests(shared, inner, scope)
            return (For(var, build.index(0), build.index(self._size(loop.axis)), tuple(body), loop.size, "parallel"),)
        var = self._fresh("task")
        total = 1
        for loop in shared:
            total *= counts[loop]
        statements: list[Stmt] = []
        left, inner_count = total, total
        for loop in shared:
            inner_count //= counts[loop]
            number: Expr = Var(var)
            if left != total:
                number = build.mod(number, left)
            number = build.floor_div(number, inner_count)
            left = inner_count
            own = self._fresh(loop.axis)
            statements.append(Let(own, build.mul(number, loop.size)))
            domains, scope = self._parallel_domain(loop, Var(own), domains, scope, own)
        statements += self._rests(shared, domains, scope)
        return (For(var, build.index(0), build.index(total), tuple(statements), 1, "parallel"),)

    def _parallel_domain(
        self, loop: Loop, base: Expr, domains: Mapping[str, _Domain], scope: Scope, var: str
    ) -> tuple[dict[str, _Domain], Scope]:
        size = self._size(loop.axis)
        last = (size - 1) // loop.size * loop.size
        cut = size % loop.size and loop.axis not in (self._plan.pixel, self._plan.vector)
        domain = _Domain(base, loop.size, limit=build.sub(size, base) if cut else None)
        return {**domains, loop.axis: domain}, scope.variable(var, 0, last, loop.size)

    def _rests(self, shared: Sequence[Loop], domains: Mapping[str, _Domain], scope: Scope) -> list[Stmt]:
        """The inside of the parallel loop; blocks that are cut short at the end have their own copy."""
        for place, loop in enumerate(shared):
            size = self._size(loop.axis)
            rest = size % loop.size
            domain = domains[loop.axis]
            if rest and domain.limit is None:
                assert isinstance(domain.base, Var)
                whole = scope.variable(domain.base.name, 0, size - rest - loop.size, loop.size)
                tail = scope.variable(domain.base.name, size - rest, size - rest, loop.size)
                then = self._rests(shared[place + 1 :], domains, whole)
                cut = {**domains, loop.axis: replace(domain, size=rest)}
                otherwise = self._rests(shared[place + 1 :], cut, tail)
                return [If(build.less(domain.base, size - rest), tuple(then), tuple(otherwise))]
        return self._nest(0, self._narrowed(domains), scope)

    def _narrowed(self, domains: Mapping[str, _Domain]) -> dict[str, _Domain]:
        """Domains of parallel axes whose guards are not known are done one by one."""
        return {
            name: replace(domain, narrow=any(not s.known for s in self._segments.get(name, ())))
            if any(loop.axis == name for loop in self._parallel)
            else domain
            for name, domain in domains.items()
        }

    def _nest(self, place: int, domains: Mapping[str, _Domain], scope: Scope) -> list[Stmt]:
        if place == len(self._loops):
            return self._leaf(domains, scope)
        loop = self._loops[place]
        domain = domains[loop.axis]
        first = not any(other.axis == loop.axis for other in (*self._parallel, *self._loops[:place]))
        parts = self._segments.get(loop.axis) if first else None
        if parts is None:
            return self._range(place, domain, domains, scope)
        statements: list[Stmt] = []
        for part in parts:
            cut = _Domain(build.add(domain.base, part.start), part.size, not part.known)
            statements += self._range(place, cut, domains, scope)
        return statements

    def _range(self, place: int, domain: _Domain, domains: Mapping[str, _Domain], scope: Scope) -> list[Stmt]:
        """One loop of the plan over a domain: its whole blocks, and the rest.

        A rest of the tile is a copy of the code, with its own size; elsewhere the last block ends early.
        """
        loop = self._loops[place]
        if loop.axis not in (self._plan.pixel, self._plan.vector):
            return self._blocks(place, domain, domains, scope)
        last = not any(other.axis == loop.axis for other in self._loops[place + 1 :])
        step = 1 if domain.narrow and last else min(loop.size, domain.size)
        whole, rest = divmod(domain.size, step)
        statements: list[Stmt] = []

        def inside(base: Expr, size: int, scope: Scope) -> list[Stmt]:
            return self._nest(place + 1, {**domains, loop.axis: _Domain(base, size, domain.narrow)}, scope)

        if whole == 1:
            statements += inside(domain.base, step, scope)
        elif whole > 1:
            var = self._fresh(loop.axis)
            here = build.add(domain.base, Var(var))
            body = inside(here, step, scope.variable(var, 0, (whole - 1) * step, step))
            statements.append(For(var, build.index(0), build.index(whole * step), tuple(body), step))
        if rest:
            statements += inside(build.add(domain.base, whole * step), rest, scope)
        return statements

    def _blocks(self, place: int, domain: _Domain, domains: Mapping[str, _Domain], scope: Scope) -> list[Stmt]:
        loop = self._loops[place]
        step = min(loop.size, domain.size)
        if step == domain.size:
            return self._nest(place + 1, domains, scope)
        var = self._fresh(loop.axis)
        count = build.index(domain.size) if domain.limit is None else build.minimum(domain.limit, domain.size)
        cut = step > 1 and (domain.limit is not None or domain.size % step > 0)
        limit = build.sub(domain.size if domain.limit is None else domain.limit, Var(var)) if cut else None
        inner = _Domain(build.add(domain.base, Var(var)), step, limit=limit)
        last = (domain.size - 1) // step * step
        body = self._nest(place + 1, {**domains, loop.axis: inner}, scope.variable(var, 0, last, step))
        return [For(var, build.index(0), count, tuple(body), step)]

    # --- the tile

    def _next_panels(self, domains: Mapping[str, _Domain]) -> tuple[NextPanel, ...]:
        """Of the packed constants that the plan fetches ahead."""
        plan, lanes = self._plan, self._lane_axis
        found = []
        for packing in plan.packings:
            if packing.tensor.name in plan.ahead and lanes is not None and plan.pixel is not None:
                buffer = next(b for t, b in self._buffers.items() if t.name == packing.tensor.name)
                tile = min(loop.size for loop in plan.loops if loop.axis == plan.pixel)
                place, first = domains[lanes.name].base, domains[plan.pixel].base
                found.append(NextPanel(packing, buffer, place, first, tile, self._size(plan.pixel)))
        return tuple(found)

    def _leaf(self, domains: Mapping[str, _Domain], scope: Scope) -> list[Stmt]:
        plan = self._plan
        pixels = domains[plan.pixel].size if plan.pixel is not None else 1
        row = domains[self._lane_axis.name].size if self._lane_axis is not None else 1
        tile = Tile(pixels, groups_of(row, plan.lanes if self._lane_axis is not None else 1), self._fresh)

        def values(group: Group, scope: Scope) -> Values:
            """The scope of one place of the tile."""
            for name, axis in self._axes.items():
                base = domains[name].base
                if name == plan.pixel:
                    base = build.add(base, tile.pixel)
                    scope = scope.variable("pixel", 0, pixels - 1)
                elif axis is self._lane_axis:
                    step = build.mul(tile.vector(group), group.lanes)
                    base = build.add(build.add(base, group.first), step)
                    scope = scope.variable(f"vector{group.lanes}", 0, group.count - 1)
                    if group.lanes > 1:
                        base = build.add(base, Var(LANE))
                        scope = scope.variable(LANE, 0, group.lanes - 1)
                scope = scope.bind(axis, base)
            return Values(scope, group.lanes, self._buffers)

        statements: list[Stmt] = []
        results: dict[Reduce, object] = {}
        ahead = self._next_panels(domains) if pixels > 1 else ()
        sums = Sums(tile, scope, values, plan.reduce_loops, self._summed_lanes, plan.lanes, self._fresh, ahead)
        for reduce in self._reduces:
            filled, results[reduce] = sums.fill(reduce, "sum" if reduce.kind == "sum" else reduce.kind)
            statements += filled

        output = self._buffers[self._stage.output]

        def value(group: Group) -> Expr:
            placed = replace(values(group, scope), sums=lambda reduce: results[reduce](group))  # type: ignore[operator]
            return splat(stored(placed.lower(self._stage.body), output.dtype), group.lanes)

        def use(group: Group, expr: Expr) -> Stmt:
            return values(group, scope).store(self._stage.output, self._stage.indices, expr)

        return statements + tile.each(value, use)
