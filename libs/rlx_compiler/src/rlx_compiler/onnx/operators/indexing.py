"""Operators that read or write where other tensors say."""

from __future__ import annotations

import numpy as np

from rlx_base.dtypes import INT64
from rlx_compiler.onnx.operators.movement import whole
from rlx_compiler.onnx.operators.shapes import sizes_of
from rlx_compiler.onnx.registry import operator
from rlx_compiler.onnx.translation import Call, Value
from rlx_ir.ops.arithmetic import Max, Min, Mod, Sub
from rlx_ir.ops.comparison import GreaterOrEqual, Less, LogicalAnd
from rlx_ir.ops.copying import Where
from rlx_ir.ops.indexing import Gather, GatherElements, GatherND, OneHot
from rlx_ir.ops.reshape import Expand, Unsqueeze
from rlx_ir.ops.scattering import ScatterElements, ScatterND

__all__: list[str] = []


@operator("Gather")
def gather(call: Call) -> Value:
    x, indices = call[0], call[1]
    if x.data is not None and x.known is None:
        return sizes_of(np.asarray(x.data[call.known(1, "the index")], object))
    return call.apply(Gather(call.attribute("axis", 0)), x, indices)


@operator("GatherElements")
def gather_elements(call: Call) -> Value:
    return call.apply(GatherElements(call.attribute("axis", 0)), call[0], call[1])


@operator("GatherND")
def gather_nd(call: Call) -> Value:
    return call.apply(GatherND(call.attribute("batch_dims", 0)), call[0], call[1])


@operator("ScatterElements", "Scatter")
def scatter_elements(call: Call) -> Value:
    reduction = call.attribute("reduction", "none")
    return call.apply(ScatterElements(call.attribute("axis", 0), reduction), *call.operands)


@operator("ScatterND")
def scatter_nd(call: Call) -> Value:
    return call.apply(ScatterND(call.attribute("reduction", "none")), *call.operands)


@operator("OneHot")
def one_hot(call: Call) -> Value:
    """values holds what stands off and on; the depth is known, or follows from the declared result."""
    axis, declared = call.attribute("axis", -1), call.declared_shape()
    if call[1].known is None and declared is not None:
        depth = declared[axis]
    else:
        depth = int(call.known(1, "the depth").item())
    indices = call.cast(call[0], INT64)
    hot = call.apply(OneHot(depth, axis), indices)
    off, on = (call.apply(Gather(0), call[2], call.constant(np.int64(place))) for place in (0, 1))
    return call.apply(Where(), hot, on, off)


@operator("TensorScatter")
def tensor_scatter(call: Call) -> Value:
    """The updates of each batch written from a place of its own on; `circular` goes on at the front."""
    past, update, start = call[0], call[1], call.optional(2)
    axis = call.attribute("axis", -2) % past.rank
    size, count = whole(past, axis), whole(update, axis)
    places = np.arange(size, dtype=np.int64).reshape([-1 if i == axis else 1 for i in range(past.rank)])
    offset = call.constant(places)
    if start is not None:
        first = call.apply(Unsqueeze(tuple(range(1, past.rank))), call.cast(start, INT64))
        offset = call.apply(Sub(), offset, first)
    if call.attribute("mode", "linear") == "circular":
        offset = call.apply(Mod(), offset, call.constant(np.int64(size)))
    zero, end = call.constant(np.int64(0)), call.constant(np.int64(count))
    hit = call.apply(LogicalAnd(), call.apply(GreaterOrEqual(), offset, zero), call.apply(Less(), offset, end))
    shape = tuple(whole(past, place) for place in range(past.rank))
    at = call.apply(Min(), call.apply(Max(), offset, zero), call.constant(np.int64(count - 1)))
    value = call.apply(GatherElements(axis), update, call.apply(Expand(shape), at))
    return call.apply(Where(), hit, value, past)
