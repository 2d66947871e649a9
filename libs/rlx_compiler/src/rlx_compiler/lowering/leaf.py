"""The innermost part of a nest: one statement for each place of a tile of registers, shared parts computed once.

The tile is `pixels` rows (along the unrolled axis) of vectors. A row's vectors have the target's full width, and then
halves of it for what is left: 24 channels are a vector of 16 and one of 8. What depends on the row alone is computed
once per row, what depends on the vector alone once per vector before all rows: one load of a weight serves all pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rlx_compiler.loops import build
from rlx_compiler.loops.ir import Accumulator, Assign, Element, Expr, For, Let, Load, Select, Stmt, Var
from rlx_compiler.loops.rewrite import map_children, walk

__all__ = ["Group", "Tile", "groups_of"]

_PIXEL = "pixel"


@dataclass(frozen=True, slots=True)
class Group:
    """`count` vectors of `lanes` elements from element `first` of a row of the tile."""

    first: int
    lanes: int
    count: int


def groups_of(size: int, lanes: int) -> list[Group]:
    """A row of `size` elements as full vectors and halves, quarters … of one for the rest."""
    found: list[Group] = []
    first = 0
    while size > 0:
        count = size // lanes
        if count:
            found.append(Group(first, lanes, count))
            first, size = first + count * lanes, size % lanes
        lanes //= 2
    return found


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile's shape. `fresh` makes names that are unique in the kernel."""

    pixels: int
    groups: Sequence[Group]
    fresh: Callable[[str], str]

    @property
    def pixel(self) -> Expr:
        """Which row, in the statements of `each`."""
        return Var(_PIXEL) if self.pixels > 1 else build.index(0)

    def vector(self, group: Group) -> Expr:
        """Which vector of the group, in the statements of `each`."""
        return Var(f"vector{group.lanes}") if group.count > 1 else build.index(0)

    def shape(self, count: int) -> tuple[int, ...]:
        """The shape of an accumulator for every place of a group of `count` vectors; dimensions of 1 are left out."""
        return tuple(size for size in (self.pixels, count) if size > 1)

    def place(self, group: Group) -> tuple[Expr, ...]:
        """Where in such an accumulator a place is, in the statements of `each`."""
        counters = ((self.pixels, self.pixel), (group.count, self.vector(group)))
        return tuple(counter for size, counter in counters if size > 1)

    def each(self, value: Callable[[Group], Expr], use: Callable[[Group, Expr], Stmt]) -> list[Stmt]:
        """`use(group, value(group))` for each place of the tile, in terms of `pixel` and `vector(group)`."""
        shared = _Shared(self)
        uses = [self._vectors(group, use(group, shared.rewrite(group, value(group)))) for group in self.groups]
        if self.pixels == 1:
            return [*shared.before, *shared.per_row, *uses]
        body = (*shared.per_row, *uses)
        rows = For(_PIXEL, build.index(0), build.index(self.pixels), body, 1, "unrolled")
        return [*shared.before, rows]

    def _vectors(self, group: Group, statement: Stmt) -> Stmt:
        if group.count == 1:
            return statement
        var = self.vector(group)
        assert isinstance(var, Var)
        return For(var.name, build.index(0), build.index(group.count), (statement,), 1, "unrolled")


@dataclass(slots=True)
class _Shared:
    """What several places of the tile have in common: loads, with what is computed from them alone."""

    tile: Tile
    before: list[Stmt] = field(default_factory=list)
    per_row: list[Stmt] = field(default_factory=list)
    named: dict[Expr, Expr] = field(default_factory=dict)

    def rewrite(self, group: Group, expr: Expr) -> Expr:
        loads = [part for part in walk(expr) if isinstance(part, Load)]
        if not loads:
            return expr
        if not any(isinstance(part, Element) for part in walk(expr)):
            counters = {_PIXEL, f"vector{group.lanes}"}
            used = {part.name for part in walk(expr) if isinstance(part, Var) and part.name in counters}
            name = f"{loads[0].buffer.name}_value"
            one_vector = group.count == 1 and len(self.tile.groups) == 1
            if not used and not (one_vector and self.tile.pixels == 1):
                return self._let(self.before, name, expr)
            if used == {_PIXEL} and not one_vector:
                return self._let(self.per_row, name, expr)
            if used and _PIXEL not in used and self.tile.pixels > 1:
                return self._array(group, name, expr)
        if isinstance(expr, Select) and expr.condition.lanes == 1:
            # What a guard protects stays behind it.
            return Select(self.rewrite(group, expr.condition), expr.then, expr.otherwise)
        return map_children(expr, lambda part: part if isinstance(expr, Load) else self.rewrite(group, part))

    def _let(self, place: list[Stmt], name: str, expr: Expr) -> Expr:
        if expr not in self.named:
            fresh = self.tile.fresh(name)
            place.append(Let(fresh, expr))
            self.named[expr] = Var(fresh, expr.dtype, expr.lanes)
        return self.named[expr]

    def _array(self, group: Group, name: str, expr: Expr) -> Expr:
        """One value for each vector of the group, in registers."""
        if expr not in self.named:
            fresh, vector = self.tile.fresh(name), self.tile.vector(group)
            assert isinstance(vector, Var)
            fill = Assign(fresh, (vector,), expr)
            self.before.append(Accumulator(fresh, expr.dtype, expr.lanes, (group.count,)))
            self.before.append(For(vector.name, build.index(0), build.index(group.count), (fill,), 1, "unrolled"))
            self.named[expr] = Element(fresh, (vector,), expr.dtype, expr.lanes)
        return self.named[expr]
