"""Operators that move whole blocks of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlx_compiler.onnx.operators.deciding import along_chosen
from rlx_compiler.onnx.operators.shapes import sizes_of
from rlx_compiler.onnx.registry import operator
from rlx_compiler.onnx.translation import Call, Unsupported, Value
from rlx_ir.ops.copying import Identity, Where
from rlx_ir.ops.padding import Pad
from rlx_ir.ops.permutation import Concat, Slice, Split, Transpose
from rlx_ir.ops.repetition import Tile
from rlx_ir.ops.reshape import Reshape

__all__ = ["block_shape", "whole"]


def block_shape(value: Value) -> tuple[int | str, ...]:
    """A value's shape as an attribute."""
    return tuple(size if isinstance(size, int) else str(size) for size in value.type.shape)


def whole(value: Value, place: int) -> int:
    """A size that has to be a number."""
    size = value.type.shape[place]
    if not isinstance(size, int):
        raise Unsupported(f"dimension {place} is the unknown size {size}")
    return size


@operator("Transpose")
def transpose(call: Call) -> Value:
    perm = call.attribute("perm")
    return call.apply(Transpose(None if perm is None else tuple(perm)), call[0])


@operator("Concat")
def concat(call: Call) -> Value:
    values = [value for value in call.operands if value is not None]
    if all(value.data is not None for value in values) and any(value.known is None for value in values):
        return sizes_of(np.concatenate([np.asarray(value.data, object) for value in values]))
    if len(values) == 1:
        return call.apply(Identity(), values[0])
    return call.apply(Concat(call.attribute("axis", 1)), *values)


@operator("Split")
def split(call: Call) -> tuple[Value, ...]:
    axis, count = call.attribute("axis", 0), len(call.proto.output)
    if call.optional(1) is not None and call[1].known is None:
        declared = [call.declared_shape(place) for place in range(count)]
        if all(shape is not None for shape in declared):
            return call.apply_all(Split(axis, tuple(shape[axis] for shape in declared if shape is not None)), call[0])
    sizes = call.integers(1, "split") if call.opset >= 13 else call.attribute("split")
    if sizes is not None:
        return call.apply_all(Split(axis, tuple(sizes)), call[0])
    return call.apply_all(Split(axis, num_outputs=call.attribute("num_outputs", count)), call[0])


@operator("Slice", since=10)
def cut(call: Call) -> Value:
    x, declared = call[0], call.declared_shape()
    if declared is not None and any(value is not None and value.data is None for value in call.operands[1:]):
        from rlx_compiler.onnx.operators.placing import cut_at_run_time

        return cut_at_run_time(call, declared)
    starts, ends = call.known(1, "starts"), call.known(2, "ends")
    axes = call.known(3, "axes") if call.optional(3) is not None else np.arange(starts.size)
    steps = call.known(4, "steps") if call.optional(4) is not None else np.ones(starts.size, np.int64)
    if x.data is not None and x.known is None:
        return sizes_of(x.data[int(starts.item()) : int(ends.item()) : int(steps.item())])
    return _sliced(call, starts.tolist(), ends.tolist(), axes.tolist(), steps.tolist())


@operator("Slice")
def cut_by_attributes(call: Call) -> Value:
    starts, ends = call.attribute("starts"), call.attribute("ends")
    axes = call.attribute("axes", list(range(len(starts))))
    return _sliced(call, starts, ends, axes, [1] * len(starts))


def _sliced(call: Call, starts: list[int], ends: list[int], axes: list[int], steps: list[int]) -> Value:
    """An end before the first element is written as None: −1 would count from the back, as in NumPy."""
    limits: list[int | None] = []
    for end, axis, step in zip(ends, axes, steps, strict=True):
        size = call[0].type.shape[axis]
        before = step < 0 and (end < -size if isinstance(size, int) else end <= -(2**31) + 1)
        limits.append(None if before else end)
    return call.apply(Slice(tuple(starts), tuple(limits), tuple(axes), tuple(steps)), call[0])


@operator("Tile", since=6)
def tile(call: Call) -> Value:
    declared = call.declared_shape()
    if call[1].known is None and declared is not None and 0 not in call[0].type.shape:
        repeats = tuple(size // whole(call[0], place) for place, size in enumerate(declared))
    else:
        repeats = tuple(int(count) for count in call.known(1, "repeats"))
    return call.apply(Tile(repeats), call[0])


@operator("Pad", since=11)
def pad(call: Call) -> Value:
    """A pad below 0 takes away."""
    x, declared = call[0], call.declared_shape()
    if declared is not None and (call[1].data is None or (call.optional(3) is not None and call[3].data is None)):
        from rlx_compiler.onnx.operators.placing import padded_at_run_time

        return padded_at_run_time(call, declared)
    pads = [int(value) for value in call.known(1, "pads")]
    axes = (
        [int(axis) % x.rank for axis in call.known(3, "axes")] if call.optional(3) is not None else list(range(x.rank))
    )
    filled = call.optional(2)
    return _padded(call, pads, axes, 0.0 if filled is None else filled, call.attribute("mode", "constant"))


@operator("Pad")
def pad_by_attributes(call: Call) -> Value:
    pads = call.attribute("pads", call.attribute("paddings"))
    return _padded(
        call, pads, list(range(call[0].rank)), call.attribute("value", 0.0), call.attribute("mode", "constant")
    )


def _padded(call: Call, pads: list[int], axes: list[int], filled: Value | float, mode: Any) -> Value:
    x, count = call[0], len(axes)
    cut = [(place, min(pads[i], 0), min(pads[count + i], 0)) for i, place in enumerate(axes)]
    if any(low or high for _, low, high in cut):
        x = call.apply(
            Slice(
                tuple(-low for _, low, _ in cut),
                tuple(high or None for _, _, high in cut),
                tuple(place for place, _, _ in cut),
            ),
            x,
        )
    grown = tuple(max(value, 0) for value in pads)
    if isinstance(filled, Value) and filled.known is not None:
        filled = float(filled.known.item())
    if not isinstance(filled, Value):
        return call.apply(Pad(grown, mode, filled, tuple(axes)), x)
    inside = call.apply(Pad(grown, "constant", 0.0, tuple(axes)), x)
    ones = call.constant(np.ones([whole(x, place) for place in range(x.rank)], bool))
    return call.apply(Where(), call.apply(Pad(grown, "constant", 0.0, tuple(axes)), ones), inside, filled)


@operator("DepthToSpace")
def depth_to_space(call: Call) -> Value:
    """DCR: (b, b, C′) of the channels; CRD: (C′, b, b)."""
    x, b = call[0], call.attribute("blocksize")
    n, _, h, w = block_shape(x)
    depth = whole(x, 1) // (b * b)
    if call.attribute("mode", "DCR") == "DCR":
        split_up: tuple[int | str, ...] = (n, b, b, depth, h, w)
        perm = (0, 3, 4, 1, 5, 2)
    else:
        split_up, perm = (n, depth, b, b, h, w), (0, 1, 4, 2, 5, 3)
    y = call.apply(Transpose(perm), call.apply(Reshape(split_up, True), x))
    return call.apply(Reshape((n, depth, whole(x, 2) * b, whole(x, 3) * b), True), y)


@operator("SpaceToDepth")
def space_to_depth(call: Call) -> Value:
    x, b = call[0], call.attribute("blocksize")
    n, c, h, w = block_shape(x)[0], whole(x, 1), whole(x, 2), whole(x, 3)
    y = call.apply(Reshape((n, c, h // b, b, w // b, b), True), x)
    perm = (0, 1, 3, 5, 2, 4) if call.attribute("mode", "DCR") == "CRD" else (0, 3, 5, 1, 2, 4)
    return call.apply(Reshape((n, c * b * b, h // b, w // b), True), call.apply(Transpose(perm), y))


@operator("Trilu")
def triangle(call: Call) -> Value:
    x = call[0]
    k = 0 if call.optional(1) is None else call[1]
    rows = call.constant(np.arange(whole(x, -2), dtype=np.int64)[:, None])
    columns = call.constant(np.arange(whole(x, -1), dtype=np.int64)[None, :])
    from rlx_ir.ops.arithmetic import Sub
    from rlx_ir.ops.comparison import GreaterOrEqual, LessOrEqual

    offset = call.apply(Sub(), columns, rows)
    bound = call.constant(np.int64(0)) if isinstance(k, int) else k
    keeps = GreaterOrEqual() if call.attribute("upper", 1) else LessOrEqual()
    return call.apply(Where(), call.apply(keeps, offset, bound), x, call.like(0, x))


@operator("EyeLike")
def eye_like(call: Call) -> Value:
    from rlx_compiler.onnx.tensors import dtype_of

    dtype = call[0].type.dtype if call.attribute("dtype") is None else dtype_of(call.attribute("dtype"))
    return call.constant(np.eye(whole(call[0], 0), whole(call[0], 1), call.attribute("k", 0)).astype(dtype.numpy))


@operator("CumSum", "CumProd")
def cumulative(call: Call) -> Value:
    from rlx_ir.ops.cumulative import CumProd, CumSum

    kind = CumSum if call.proto.op_type == "CumSum" else CumProd
    exclusive, reverse = bool(call.attribute("exclusive", 0)), bool(call.attribute("reverse", 0))
    x, axis = call[0], call[1]
    possible = list(range(x.rank)) if axis.known is None else [int(axis.known.item())]
    return along_chosen(call, axis, x.rank, possible, lambda one: call.apply(kind(one, exclusive, reverse), x))


@operator("ReverseSequence")
def reverse_sequence(call: Call) -> Value:
    from rlx_ir.ops.indexing import ReverseSequence

    return call.apply(ReverseSequence(call.attribute("batch_axis", 1), call.attribute("time_axis", 0)), *call.operands)
