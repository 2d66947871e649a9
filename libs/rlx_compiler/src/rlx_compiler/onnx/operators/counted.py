"""Operators whose result has as many places as the data says: the model's declared result says how many."""

from __future__ import annotations

import numpy as np

from rlx_compiler.onnx.registry import operator
from rlx_compiler.onnx.translation import Call, Unsupported, Value
from rlx_ir.ops.counted import Compress, NonZero, Unique
from rlx_ir.ops.indexing import Gather
from rlx_ir.ops.reshape import Reshape

__all__: list[str] = []


def _declared(call: Call, place: int, *needed: Value) -> tuple[int, ...]:
    """The declared shape of a result."""
    shape = call.declared_shape(place)
    if shape is None:
        inputs = frozenset[str]().union(*(value.inputs for value in needed))
        raise Unsupported("its size is computed at run time, and the model declares none", inputs)
    return shape


@operator("Compress")
def compress(call: Call) -> Value:
    """A known condition is a gather."""
    axis = call.attribute("axis")
    if call[1].known is not None:
        kept = call.constant(np.flatnonzero(call[1].known.reshape(-1)).astype(np.int64))
        x = call.apply(Reshape((-1,)), call[0]) if axis is None else call[0]
        return call.apply(Gather(axis or 0), x, kept)
    count = _declared(call, 0, call[1])[axis or 0]
    return call.apply(Compress(count, axis), call[0], call[1])


@operator("NonZero")
def non_zero(call: Call) -> Value:
    if call[0].known is not None:
        return call.constant(np.array(np.nonzero(call[0].known), np.int64))
    return call.apply(NonZero(_declared(call, 0, call[0])[1]), call[0])


@operator("Unique")
def unique(call: Call) -> tuple[Value, ...]:
    axis = call.attribute("axis")
    if call[0].known is not None:
        count = np.unique(call[0].known, axis=axis).shape[axis or 0]
    else:
        count = _declared(call, 0, call[0])[axis or 0]
    return call.apply_all(Unique(count, axis, bool(call.attribute("sorted", 1))), call[0])
