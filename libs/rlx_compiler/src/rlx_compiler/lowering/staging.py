"""What a block of a GPU brings into its shared memory: the part of an operand that its tile needs, with its halo."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from rlx_compiler.loops import build
from rlx_compiler.loops.address import linear_terms
from rlx_compiler.loops.ir import Expr, Var
from rlx_compiler.loops.rewrite import walk
from rlx_compiler.lowering.guards import conjuncts, skippable
from rlx_compiler.lowering.indices import Scope, index_of, margin
from rlx_compiler.lowering.substitute import reads
from rlx_ir import expr as ir
from rlx_ir.expr import Axis, Read, Reduce

__all__ = ["Footprint", "Side", "base_of", "footprints", "local_of"]


def base_of(axis: str) -> Var:
    """Where a block's part of an axis begins."""
    return Var(f"{axis}:base")


def local_of(axis: str) -> Var:
    """How far into that part a place is."""
    return Var(f"{axis}:local")


@dataclass(frozen=True, slots=True)
class Side:
    """One dimension of a footprint: its first index in terms of `base_of` the axes, how many there are, and the index
    within it, `shift` plus `factors` times `local_of` the axes."""

    first: Expr
    extent: int
    factors: Mapping[str, int]
    shift: int


@dataclass(frozen=True, slots=True)
class Footprint:
    """What one read touches in a tile. `guards` are conditions that only say that the read is in bounds: a footprint
    holds zeros outside, so it needs no test there."""

    read: Read
    sides: tuple[Side, ...]
    guards: frozenset[ir.Expr]

    @property
    def elements(self) -> int:
        return prod(side.extent for side in self.sides)

    @property
    def bytes(self) -> int:
        return self.elements * self.read.tensor.dtype.itemsize


def footprints(reduce: Reduce, axes: Mapping[str, Axis], covered: Mapping[str, int]) -> list[Footprint]:
    """The footprints of the reads of a reduction that several threads, or one thread again, read in a tile of
    `covered` places along each axis. Reads whose index is not linear have none."""
    scope = Scope()
    for name, axis in axes.items():
        assert isinstance(axis.extent, int)
        base, local = base_of(name), local_of(name)
        scope = scope.bind(axis, build.add(base, local))
        scope = scope.variable(base.name, 0, max(axis.extent - 1, 0)).variable(local.name, 0, covered[name] - 1)
    found = []
    for read in dict.fromkeys(reads(reduce.body)):
        footprint = _footprint(read, reduce, scope, covered)
        touched = prod(n for name, n in covered.items())
        if footprint is not None and footprint.sides and footprint.elements < touched:
            found.append(footprint)
    return found


def _unread(expr: ir.Expr) -> Expr:
    raise _NotLinear


class _NotLinear(Exception):
    """The index depends on memory."""


def _footprint(read: Read, reduce: Reduce, scope: Scope, covered: Mapping[str, int]) -> Footprint | None:
    locals_ = {local_of(name).name: name for name in covered}
    sides = []
    for index in read.indices:
        try:
            place = index_of(index, scope, _unread)
        except _NotLinear:
            return None
        terms, constant = linear_terms(place)
        factors: dict[str, int] = {}
        first: dict[Expr, int] = {}
        for atom, factor in terms.items():
            if isinstance(atom, Var) and atom.name in locals_:
                factors[locals_[atom.name]] = factor
            elif any(isinstance(part, Var) and part.name in locals_ for part in walk(atom)):
                return None
            else:
                first[atom] = factor
        back = sum(factor * (covered[name] - 1) for name, factor in factors.items() if factor < 0)
        extent = 1 + sum(abs(factor) * (covered[name] - 1) for name, factor in factors.items())
        sides.append(Side(build.linear(first, constant + back), extent, factors, -back))
    return Footprint(read, tuple(sides), _own_guards(read, reduce, scope))


def _own_guards(read: Read, reduce: Reduce, scope: Scope) -> frozenset[ir.Expr]:
    """The conditions of the reduction that hold exactly where one index of the read is not too small, or not too
    large."""
    bounds = []
    for index, dim in zip(read.indices, read.tensor.shape, strict=True):
        assert isinstance(dim, int)
        place = index_of(index, scope, _unread)
        bounds += [linear_terms(place), linear_terms(build.sub(dim - 1, place))]
    found = set()
    for condition in skippable(reduce):
        for part in conjuncts(condition):
            if any(isinstance(inner, Read | Reduce) for inner in ir.walk(part)):
                continue
            left = margin(part, scope, _unread)
            if left is not None and linear_terms(left) in bounds:
                found.add(part)
    return frozenset(found)
