"""Where an element lives: stored order as index arithmetic, so that every later step sees physical tensors only.

A stage of an op is written in logical indices. `physical` rewrites it: each read is a read of the stored shape at
stored indices, and the loops run over the stored dimensions of the result, innermost last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rlx_base.dtypes import INDEX
from rlx_compiler.lowering.substitute import map_reads, rebuild, replace_axes
from rlx_ir.expr import (
    Apply,
    Axis,
    Expr,
    Read,
    Reduce,
    Tensor,
    all_of,
    apply,
    children,
    identity,
    literal,
    select,
    walk,
)
from rlx_ir.layout import Layout

__all__ = ["Stage", "physical", "stored_tensor"]


@dataclass(frozen=True, slots=True)
class Stage:
    """`output[indices] = body` for all `axes`: one loop nest to be. Tensors are as they are stored.

    Axes are in the order of the output's stored dimensions. An axis keeps the name by which a schedule calls it.
    `outer` are axes of loops around the nest, which indices may use.
    """

    output: Tensor
    axes: tuple[Axis, ...]
    indices: tuple[Expr, ...]
    body: Expr
    outer: tuple[Axis, ...] = ()


def stored_tensor(tensor: Tensor, layout: Layout | None) -> Tensor:
    """The tensor with its stored shape, as something to read."""
    shape = tensor.shape if layout is None else layout.stored_shape(tensor.shape)
    return Tensor(tensor.name, shape, tensor.dtype)


def _stored_indices(layout: Layout | None, logical: tuple[Expr, ...]) -> tuple[Expr, ...]:
    if layout is None:
        return logical
    blocks = layout.blocks
    stored: list[Expr] = []
    for dim in layout.physical:
        index = logical[dim.axis]
        if dim.inside is not None:
            stored.append(apply("mod", index, dim.inside))
        elif (block := blocks.get(dim.axis)) is not None:
            stored.append(apply("floor_div", index, block))
        else:
            stored.append(index)
    return tuple(stored)


def physical(defined: Tensor, layouts: Mapping[str, Layout | None]) -> Stage:
    """A defined tensor as a stage; `layouts` gives the layout of every tensor by name (None: logical order)."""
    assert defined.body is not None
    layout = layouts.get(defined.name)
    blocks = layout.blocks if layout is not None else {}
    order = [(dim.axis, dim.inside) for dim in layout.physical] if layout else [(i, None) for i in range(defined.rank)]
    stored = stored_tensor(defined, layout)
    axes: list[Axis] = []
    for (place, inside), size in zip(order, stored.shape, strict=True):
        name = defined.axes[place].name
        outer = inside is None and place in blocks
        axes.append(Axis(f"{name}_block" if outer else name, size))
    body = defined.body
    values: dict[Axis, Expr] = {}
    for place, block in blocks.items():
        around = next(a for a, (p, inside) in zip(axes, order, strict=True) if p == place and inside is None)
        within = next(a for a, (p, inside) in zip(axes, order, strict=True) if p == place and inside is not None)
        values[defined.axes[place]] = apply("add", apply("mul", around, block), within)
    body = replace_axes(body, values)
    for place, value in ((p, values[defined.axes[p]]) for p in blocks):
        size = defined.shape[place]
        if isinstance(size, int) and size % blocks[place]:
            body = select(value < size, body, literal(0, body.dtype))

    def change(read: Read) -> Expr:
        where = layouts.get(read.tensor.name)
        return Read(stored_tensor(read.tensor, where), _stored_indices(where, read.indices))

    return _squeezed(Stage(stored, tuple(axes), tuple(axes), _guarded_sums(map_reads(body, change), ())))


def _guarded_sums(expr: Expr, guards: tuple[Expr, ...]) -> Expr:
    """Guards around a reduction moved into it: it fills its accumulator before anything chooses whether to use it."""
    match expr:
        case Apply("select", (condition, then, otherwise)) if not any(isinstance(p, Read) for p in walk(condition)):
            unless = apply("not", condition)
            return select(
                condition, _guarded_sums(then, (*guards, condition)), _guarded_sums(otherwise, (*guards, unless))
            )
        case Reduce(kind, axes, body) if guards:
            return Reduce(kind, axes, select(all_of(guards), body, identity(kind, body.dtype)))
        case _ if children(expr):
            return rebuild(expr, lambda part: _guarded_sums(part, guards))
    return expr


def _squeezed(stage: Stage) -> Stage:
    """The stage without dimensions of one element: they have no loop and no place in an address."""
    zeros: dict[Axis, Expr] = {axis: literal(0, INDEX) for axis in stage.axes if axis.extent == 1}

    def change(read: Read) -> Expr:
        kept = [i for i, size in enumerate(read.tensor.shape) if size != 1]
        return Read(_kept(read.tensor, kept), tuple(read.indices[i] for i in kept))

    dims = [i for i, size in enumerate(stage.output.shape) if size != 1]
    axes = tuple(axis for axis in stage.axes if axis.extent != 1)
    body = map_reads(replace_axes(stage.body, zeros), change)
    return Stage(_kept(stage.output, dims), axes, tuple(stage.indices[i] for i in dims), body)


def _kept(tensor: Tensor, dims: Sequence[int]) -> Tensor:
    return Tensor(tensor.name, tuple(tensor.shape[i] for i in dims), tensor.dtype)
