"""Ops that write at places that another tensor gives: scatter_elements, scatter_nd.

Each is written as what every place of the result takes: an op has one result per place, and no target needs atomic
writes. Indices are read as `rlx_ir.ops.indexing` reads them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from rlx_base.dtypes import BOOL, INDEX
from rlx_ir.expr import (
    Axis,
    Expr,
    Tensor,
    all_of,
    apply,
    define,
    extent,
    greatest,
    identity,
    least,
    literal,
    maximum,
    minimum,
    product,
    select,
    total,
)
from rlx_ir.op import Array, Op, register
from rlx_ir.ops.axes import reduced_axes, result_axes
from rlx_ir.ops.indexing import check_within, place_in, places_in
from rlx_ir.ops.rules import check_dtype, check_equal_dtypes, inherit, position, refuse
from rlx_ir.types import TensorType

__all__ = ["ScatterElements", "ScatterND"]

Reduction = Literal["none", "add", "mul", "max", "min"]
_NEUTRAL: Final[dict[str, Literal["sum", "prod", "max", "min"]]] = {"add": "sum", "mul": "prod"}


def merged(reduction: Reduction, x: Expr, update: Expr, hit: Expr, over: Sequence[Axis]) -> Expr:
    """x joined with all updates that hit its place."""
    kind = _NEUTRAL.get(reduction) or ("max" if reduction == "max" else "min")
    value = select(hit, update, identity(kind, x.dtype))
    match reduction:
        case "add":
            return x + total(value, over=over)
        case "mul":
            return x * product(value, over=over)
        case "max":
            return maximum(x, greatest(value, over=over))
        case _:
            return minimum(x, least(value, over=over))


_JOIN: Final[dict[str, Any]] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


@register
@dataclass(frozen=True, slots=True)
class ScatterElements(Op):
    """x with y[…, indices[…, i, …], …] = updates[…, i, …] along `axis`, or joined with it by `reduction`.

    Of several updates of one place, the last one stays. Shapes: indices and updates alike, in the other dimensions no
    larger than x → the shape of x. Errors: E110 where they do not fit. Source: ONNX ScatterElements-18.
    """

    name = "scatter_elements"
    operands = ("x", "indices", "updates")

    axis: int = 0
    reduction: Reduction = "none"

    def infer(self, x: TensorType, indices: TensorType, updates: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "indices", indices.dtype, "integer")
        check_equal_dtypes(self.name, ("x", "updates"), (x, updates))
        if self.reduction != "none":
            check_dtype(self.name, "x", x.dtype, "number")
        if indices.shape != updates.shape:
            raise refuse(self.name, f"indices are {indices}, updates {updates}", "give them equal shapes")
        check_within(self.name, position(self.name, self.axis, x.rank), x, indices, "indices")
        return (inherit(x, x.shape),)

    def expression(self, x: Tensor, indices: Tensor, updates: Tensor) -> tuple[Tensor, ...]:
        axis = position(self.name, self.axis, x.rank)
        axes = result_axes(x.shape)
        step = Axis("reduce", indices.shape[axis])
        here = (*axes[:axis], step, *axes[axis + 1 :])
        inside = [
            axes[place] < extent(size)
            for place, size in enumerate(indices.shape)
            if place != axis and size != x.shape[place]
        ]
        hit = apply("eq", place_in(indices[here], x.shape[axis]), axes[axis])
        hits = hit if not inside else select(all_of(inside), hit, literal(False, BOOL))
        if self.reduction != "none":
            return (define("output", axes, merged(self.reduction, x[axes], updates[here], hits, (step,))),)
        chosen = greatest(select(hits, step, literal(-1, INDEX)), over=(step,))
        last = define("last", axes, maximum(chosen, -1))
        update = updates[(*axes[:axis], last[axes], *axes[axis + 1 :])]
        return (define("output", axes, select(last[axes] >= 0, update, x[axes])),)

    def reference(self, x: Array, indices: Array, updates: Array) -> tuple[Array, ...]:
        axis = position(self.name, self.axis, x.ndim)
        y = x.copy()
        for place in np.ndindex(indices.shape):
            at = list(place)
            at[axis] = int(places_in(indices[place], x.shape[axis]))
            join = _JOIN.get(self.reduction)
            if y.size:
                y[tuple(at)] = updates[place] if join is None else join(y[tuple(at)], updates[place])
        return (y,)


@register
@dataclass(frozen=True, slots=True)
class ScatterND(Op):
    """x with y[indices[i…, 0], …, indices[i…, m − 1], r…] = updates[i…, r…], or joined with it by `reduction`.

    Of several updates of one place, the last one stays.
    Shapes: x (d₁ … d_m, r…), indices (i…, m), updates (i…, r…) → the shape of x. Errors: E110 where they do not fit.
    Source: ONNX ScatterND-18.
    """

    name = "scatter_nd"
    operands = ("x", "indices", "updates")

    reduction: Reduction = "none"

    def infer(self, x: TensorType, indices: TensorType, updates: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "indices", indices.dtype, "integer")
        check_equal_dtypes(self.name, ("x", "updates"), (x, updates))
        if self.reduction != "none":
            check_dtype(self.name, "x", x.dtype, "number")
        count = indices.shape[-1] if indices.rank else None
        if not isinstance(count, int) or not 1 <= count <= x.rank:
            raise refuse(self.name, f"indices are {indices}, x is {x}", f"their last dimension is from 1 to {x.rank}")
        if updates.shape != (*indices.shape[:-1], *x.shape[count:]):
            raise refuse(
                self.name, f"updates are {updates} for indices {indices} into x {x}", "they have the shape (i…, r…)"
            )
        return (inherit(x, x.shape),)

    def expression(self, x: Tensor, indices: Tensor, updates: Tensor) -> tuple[Tensor, ...]:
        count = indices.shape[-1]
        assert isinstance(count, int)
        axes = result_axes(x.shape)
        over = reduced_axes(indices.shape[:-1])
        hit: Expr = literal(True, BOOL)
        for k in range(count):
            equal = apply("eq", place_in(indices[(*over, literal(k, INDEX))], x.shape[k]), axes[k])
            hit = equal if k == 0 else hit & equal
        if self.reduction != "none":
            update = updates[(*over, *axes[count:])]
            return (define("output", axes, merged(self.reduction, x[axes], update, hit, over)),)
        order: Expr = literal(0, INDEX)
        for axis in over:
            order = order * extent(axis.extent) + axis
        chosen = greatest(select(hit, order, literal(-1, INDEX)), over=over)
        last = define("last", axes, maximum(chosen, -1))
        at: list[Expr] = []
        rest: Expr = last[axes]
        for axis in reversed(over):
            at.insert(0, rest % extent(axis.extent))
            rest = rest // extent(axis.extent)
        return (define("output", axes, select(last[axes] >= 0, updates[(*at, *axes[count:])], x[axes])),)

    def reference(self, x: Array, indices: Array, updates: Array) -> tuple[Array, ...]:
        y = x.copy()
        join = _JOIN.get(self.reduction)
        for lead in np.ndindex(indices.shape[:-1]):
            at = tuple(int(places_in(index, size)) for index, size in zip(indices[lead], x.shape, strict=False))
            if math.prod(x.shape):
                y[at] = updates[lead] if join is None else join(y[at], updates[lead])
        return (y,)
