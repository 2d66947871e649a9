"""Reductions, argmax and argmin, top-k, softmax and its kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from rlx_base.dtypes import BOOL, DTYPES
from rlx_compiler.onnx.operators.deciding import along_chosen, reduced_axes, several_axes
from rlx_compiler.onnx.operators.shapes import sizes_of
from rlx_compiler.onnx.registry import operator
from rlx_compiler.onnx.translation import Call, Unsupported, Value
from rlx_ir.dims import total
from rlx_ir.op import Op
from rlx_ir.ops import reduction
from rlx_ir.ops.functions import Log
from rlx_ir.ops.permutation import Slice
from rlx_ir.ops.reshape import Reshape
from rlx_ir.ops.selection import ArgMax, ArgMin, TopK
from rlx_ir.ops.softmax import LogSoftmax, Softmax

__all__: list[str] = []

_REDUCTIONS: Final[dict[str, Callable[[tuple[int, ...] | None, bool], Op]]] = {
    "ReduceSum": reduction.ReduceSum,
    "ReduceMean": reduction.ReduceMean,
    "ReduceMax": reduction.ReduceMax,
    "ReduceMin": reduction.ReduceMin,
    "ReduceProd": reduction.ReduceProd,
    "ReduceSumSquare": reduction.ReduceSumSquare,
    "ReduceL1": reduction.ReduceL1,
    "ReduceL2": reduction.ReduceL2,
    "ReduceLogSumExp": reduction.ReduceLogSumExp,
}


def _axes(call: Call, place: int = 1) -> tuple[int, ...] | None:
    """The reduced axes; None for all."""
    axes = call.integers(place, "axes")
    return tuple(axes) if axes else None


def _left_as_it_is(call: Call) -> bool:
    axes = call.optional(1)
    none = axes is None or axes.type.shape == (0,)
    return none and bool(call.attribute("noop_with_empty_axes", 0))


@operator(*_REDUCTIONS)
def reduce(call: Call) -> Value:
    """Axes are an operand since opset 13 or 18; with `noop_with_empty_axes`, none at all reduces nothing."""
    return _reduce(call, _REDUCTIONS[call.proto.op_type])


def _reduce(call: Call, kind: Callable[[tuple[int, ...] | None, bool], Op]) -> Value:
    x, keepdims = call[0], bool(call.attribute("keepdims", 1))
    if _left_as_it_is(call):
        return call.apply(kind((), True), x)
    if x.data is not None and x.known is None and call.proto.op_type == "ReduceProd":
        return sizes_of(np.array(total(tuple(x.data)), object).reshape((1,) if keepdims else ()))
    given = call.optional(1)
    if given is not None and given.data is None and given.type.shape == (0,):
        return _reduced(call, kind, None, keepdims)
    if given is not None and given.data is None:
        several = several_axes(call, given, keepdims)
        if several is not None:
            return _reduced(call, kind, several, keepdims)
        possible = reduced_axes(call, given, keepdims)
        if possible is not None:
            return along_chosen(call, given, x.rank, possible, lambda axis: _reduced(call, kind, (axis,), keepdims))
    return _reduced(call, kind, _axes(call), keepdims)


def _reduced(
    call: Call, kind: Callable[[tuple[int, ...] | None, bool], Op], axes: tuple[int, ...] | None, keepdims: bool
) -> Value:
    x = call[0]
    if x.type.dtype == BOOL:  # the greatest and least truth value
        return call.cast(call.apply(kind(axes, keepdims), call.cast(x, DTYPES["uint8"])), BOOL)
    if x.type.dtype.is_integer and call.proto.op_type in ("ReduceMean", "ReduceL2", "ReduceLogSumExp"):
        return call.cast(call.apply(kind(axes, keepdims), call.cast(x, DTYPES["float64"])), x.type.dtype)
    return call.apply(kind(axes, keepdims), x)


@operator("ReduceLogSum")
def reduce_log_sum(call: Call) -> Value:
    if _left_as_it_is(call):
        return call.apply(Log(), call[0])
    return call.apply(Log(), _reduce(call, reduction.ReduceSum))


@operator("ArgMax", "ArgMin")
def arg(call: Call) -> Value:
    """With `select_last_index`, the search runs backwards."""
    kind = ArgMax if call.proto.op_type == "ArgMax" else ArgMin
    axis, keepdims = call.attribute("axis", 0), bool(call.attribute("keepdims", 1))
    x = call[0]
    if not call.attribute("select_last_index", 0):
        return call.apply(kind(axis, keepdims), x)
    from rlx_ir.ops.arithmetic import Sub

    backwards = call.apply(Slice((None,), (None,), (axis,), (-1,)), x)
    size = x.type.shape[axis]
    if not isinstance(size, int):
        raise Unsupported(f"the last index of an unknown size {size}")
    return call.apply(Sub(), call.constant(np.int64(size - 1)), call.apply(kind(axis, keepdims), backwards))


@operator("TopK")
def top_k(call: Call) -> tuple[Value, ...]:
    axis = call.attribute("axis", -1)
    declared = call.declared_shape()
    if call.opset < 10:
        k = int(call.attribute("k"))
    elif call[1].known is None and declared is not None:
        k = declared[axis]
    else:
        k = int(call.known(1, "k").item())
    return call.apply_all(TopK(k, axis, bool(call.attribute("largest", 1))), call[0])


@operator("Softmax", "LogSoftmax", since=13)
def softmax(call: Call) -> Value:
    kind = Softmax if call.proto.op_type == "Softmax" else LogSoftmax
    return call.apply(kind(call.attribute("axis", -1)), call[0])


@operator("Softmax", "LogSoftmax")
def softmax_of_rows(call: Call) -> Value:
    """Before opset 13: over all dimensions from the axis on, as one."""
    x = call[0]
    axis = call.attribute("axis", 1) % max(x.rank, 1)
    kind = Softmax if call.proto.op_type == "Softmax" else LogSoftmax
    if axis == x.rank - 1:
        return call.apply(kind(-1), x)
    shape = tuple(size if isinstance(size, int) else str(size) for size in x.type.shape)
    rows = call.apply(Reshape((*shape[:axis], -1), allow_zero=True), x)
    return call.apply(Reshape(shape, allow_zero=True), call.apply(kind(-1), rows))


@operator("Hardmax", since=13)
def hardmax(call: Call) -> Value:
    """1 at the first greatest element, 0 elsewhere."""
    return _hardmax(call, call[0], call.attribute("axis", -1))


def _hardmax(call: Call, x: Value, axis: int) -> Value:
    from rlx_ir.ops.comparison import Equal

    size = x.type.shape[axis]
    if not isinstance(size, int):
        raise Unsupported(f"hardmax over an unknown size {size}")
    first = call.apply(ArgMax(axis, True), x)
    places = call.constant(
        np.arange(size, dtype=np.int64).reshape([-1 if i == axis % x.rank else 1 for i in range(x.rank)])
    )
    return call.cast(call.apply(Equal(), places, first), x.type.dtype)
