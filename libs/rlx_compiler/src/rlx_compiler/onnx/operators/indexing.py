"""Operators that read or write where other tensors say."""

from __future__ import annotations

import numpy as np

from rlx_base.dtypes import INT64
from rlx_compiler.onnx.operators.shapes import sizes_of
from rlx_compiler.onnx.registry import operator
from rlx_compiler.onnx.translation import Call, Value
from rlx_ir.ops.copying import Where
from rlx_ir.ops.indexing import Gather, GatherElements, GatherND, OneHot, ScatterElements, ScatterND

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


@operator("Compress")
def compress(call: Call) -> Value:
    """How many elements are kept has to be known."""
    from rlx_ir.ops.reshape import Reshape

    condition = call.known(1, "the condition").reshape(-1)
    kept = call.constant(np.flatnonzero(condition).astype(np.int64))
    axis = call.attribute("axis")
    if axis is None:
        return call.apply(Gather(0), call.apply(Reshape((-1,)), call[0]), kept)
    return call.apply(Gather(axis), call[0], kept)


@operator("NonZero")
def non_zero(call: Call) -> Value:
    return call.constant(np.array(np.nonzero(call.known(0, "the input")), np.int64))
