"""How the reads of a stage move along each axis: what the cost model knows of memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rlx_compiler.loops import build
from rlx_compiler.loops.address import linear_terms
from rlx_compiler.loops.ir import Expr, Var
from rlx_compiler.loops.rewrite import walk
from rlx_compiler.lowering.indices import Scope, index_of
from rlx_compiler.lowering.storage import Stage
from rlx_compiler.lowering.substitute import reads, reduces
from rlx_ir import expr as ir
from rlx_ir.expr import Axis, Tensor

__all__ = ["Access", "accesses", "stage_axes"]


@dataclass(frozen=True, slots=True)
class Access:
    """One read, or the store (`read` None): by how many elements it moves along each axis, None where that varies.

    `summed`: it happens once per term of a reduction. `plain` gives, for each dimension, the axis that alone is its
    index, or None.
    """

    tensor: Tensor
    strides: dict[str, int | None]
    summed: bool
    plain: tuple[str | None, ...]
    is_store: bool = False


def stage_axes(stage: Stage) -> dict[str, Axis]:
    """All axes of a stage by name, the summed ones last."""
    found = {axis.name: axis for axis in stage.axes}
    for reduce in reduces(stage.body):
        for axis in reduce.axes:
            found.setdefault(axis.name, axis)
    return found


def accesses(stage: Stage) -> list[Access]:
    """Every read of the stage, and its store last."""
    axes = stage_axes(stage)
    scope = Scope()
    for axis in (*axes.values(), *stage.outer):
        assert isinstance(axis.extent, int)
        scope = scope.bind(axis, Var(axis.name)).variable(axis.name, 0, max(axis.extent - 1, 0))
    summed = {read for reduce in reduces(stage.body) for read in reads(reduce.body)}
    found = [
        _access(read.tensor, read.indices, scope, axes, summed=read in summed)
        for read in dict.fromkeys(reads(stage.body))
    ]
    return [*found, _access(stage.output, stage.indices, scope, axes, summed=False, is_store=True)]


def _unknown(expr: ir.Expr) -> Expr:
    """What an index reads from memory: it may depend on every axis in it."""
    names = [part.name for part in ir.walk(expr) if isinstance(part, Axis)]
    total: Expr = Var("read")
    for name in names:
        total = build.floor_div(build.add(build.mul(total, 3), Var(name)), 2)
    return total


def _access(
    tensor: Tensor,
    indices: Sequence[ir.Expr],
    scope: Scope,
    axes: dict[str, Axis],
    *,
    summed: bool,
    is_store: bool = False,
) -> Access:
    offset: Expr = build.index(0)
    plain: list[str | None] = []
    for index, dim in zip(indices, tensor.shape, strict=True):
        assert isinstance(dim, int)
        place = index_of(index, scope, _unknown)
        plain.append(place.name if isinstance(place, Var) and place.name in axes else None)
        terms, constant = linear_terms(offset)
        offset = build.index(constant * dim)
        for atom, factor in terms.items():
            offset = build.add(offset, build.mul(atom, factor * dim))
        offset = build.add(offset, place)
    terms, _ = linear_terms(offset)
    strides: dict[str, int | None] = dict.fromkeys(axes, 0)
    for atom, factor in terms.items():
        if isinstance(atom, Var):
            if atom.name in strides:
                strides[atom.name] = factor
        else:
            for part in walk(atom):
                if isinstance(part, Var) and part.name in strides:
                    strides[part.name] = None
    return Access(tensor, strides, summed, tuple(plain), is_store)
