"""Operators whose places the data says and whose sizes the model declares: slices, pads, ranges, windows.

A kernel reads where to begin and how far to step as it runs; only the size of the result has to be known, and that is
what the model declares for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from rlx_base.dtypes import DTYPES, FLOAT64, INT64
from rlx_compiler.onnx.operators.arithmetic import Numbers, floats
from rlx_compiler.onnx.operators.movement import whole
from rlx_compiler.onnx.registry import operator
from rlx_compiler.onnx.tensors import dtype_of
from rlx_compiler.onnx.translation import Call, Unsupported, Value
from rlx_ir.ops.copying import Where
from rlx_ir.ops.functions import Cos
from rlx_ir.ops.indexing import Gather
from rlx_ir.ops.matmul import MatMul
from rlx_ir.ops.padding import Pad
from rlx_ir.ops.permutation import Slice, Transpose
from rlx_ir.ops.reduction import ReduceMax, ReduceSum
from rlx_ir.ops.reshape import Reshape

__all__ = ["along_axis", "cut_at_run_time", "padded_at_run_time", "range_at_run_time"]


def along_axis(call: Call, values: Value, axes: Value | None, axis: int, rank: int, otherwise: int) -> Value | None:
    """What a list says for a dimension, where another list (the first ones, by default) says which dimensions it is
    about; None where it is sure to say nothing."""
    n = Numbers(call)
    count = whole(values, 0)
    if axes is None:
        return n.element(values, axis) if axis < count else None
    if axes.known is not None:
        places = [place for place, own in enumerate(axes.known.reshape(-1)) if int(own) % rank == axis]
        return n.element(values, places[0]) if places else None
    hit = n.equal(n.mod(axes, rank), axis)
    found = call.apply(ReduceSum((0,), False), n.where(hit, values, 0))
    some = call.apply(ReduceMax((0,), False), n.of(hit))
    return n.where(n.less(0, some), found, otherwise)


def cut_at_run_time(call: Call, declared: tuple[int, ...]) -> Value:
    """x[start + i·step] along each dimension, for as many i as the result has places."""
    x, starts, axes, steps = call[0], call[1], call.optional(3), call.optional(4)
    n, y = Numbers(call), call[0]
    for axis, size in enumerate(declared):
        start = along_axis(call, starts, axes, axis, x.rank, 0)
        if start is None:
            continue
        step: Value | int | None = 1 if steps is None else along_axis(call, steps, axes, axis, x.rank, 1)
        step = 1 if step is None else step
        whole_size = whole(x, axis)
        last = whole_size if isinstance(step, int) else n.where(n.less(step, 0), whole_size - 1, whole_size)
        first = n.clamp(n.where(n.less(start, 0), n.add(start, whole_size), start), 0, last)
        y = call.apply(Gather(axis), y, n.add(first, n.mul(np.arange(size), step)))
    return y


def padded_at_run_time(call: Call, declared: tuple[int, ...]) -> Value:
    """Each place of the result reads where it comes from; a pad below 0 takes away."""
    x, pads, filled, axes = call[0], call[1], call.optional(2), call.optional(3)
    mode, n, y = call.attribute("mode", "constant"), Numbers(call), call[0]
    count = whole(pads, 0) // 2
    before_all = call.apply(Slice((0,), (count,)), pads)
    fill = call.like(0, x) if filled is None else call.apply(Reshape((), True), filled)
    for axis, size in enumerate(declared):
        before = along_axis(call, before_all, axes, axis, x.rank, 0)
        if before is None:
            continue
        own = whole(x, axis)
        at = n.sub(np.arange(size), before)
        match mode:
            case "reflect":
                turn = n.mod(at, max(2 * (own - 1), 1))
                place = n.sub(own - 1, n.absolute(n.sub(own - 1, turn)))
            case "wrap":
                place = n.mod(at, max(own, 1))
            case _:
                place = n.clamp(at, 0, own - 1)
        y = call.apply(Gather(axis), y, n.clamp(place, 0, own - 1))
        if mode == "constant":
            shape = [-1 if i == axis else 1 for i in range(x.rank)]
            inside = call.apply(Reshape(tuple(shape)), n.inside(at, 0, own))
            y = call.apply(Where(), inside, y, fill)
    return y


def range_at_run_time(call: Call, declared: tuple[int, ...]) -> Value:
    """start + i·step; floats in float64, rounded once."""
    dtype = call[0].type.dtype
    n = Numbers(call, FLOAT64 if dtype.is_float else INT64)
    return call.cast(n.add(n.scalar(call[0]), n.mul(np.arange(declared[0]), n.scalar(call[2]))), dtype)


def _hann(turn: Callable[[int], Value], n: Numbers) -> Value:
    return n.sub(0.5, n.mul(0.5, turn(1)))


def _hamming(turn: Callable[[int], Value], n: Numbers) -> Value:
    return n.sub(25 / 46, n.mul(1 - 25 / 46, turn(1)))


def _blackman(turn: Callable[[int], Value], n: Numbers) -> Value:
    return n.add(n.sub(0.42, n.mul(0.5, turn(1))), n.mul(0.08, turn(2)))


_WINDOWS: Final = {"HannWindow": _hann, "HammingWindow": _hamming, "BlackmanWindow": _blackman}


@operator(*_WINDOWS)
def window(call: Call) -> Value:
    """Sums of cos(2π·k·i ÷ N), with N the size, or one less where the window is not periodic."""
    n, size = floats(call), call[0]
    declared = call.declared_shape()
    if size.known is None and declared is None:
        raise Unsupported("its size is not known, and the model declares none", size.inputs)
    count = int(size.known.item()) if size.known is not None else (declared or (0,))[0]
    length = n.sub(n.scalar(size), 0 if call.attribute("periodic", 1) else 1)

    def turn(k: int) -> Value:
        return call.apply(Cos(), n.div(np.arange(count) * (2 * math.pi * k), length))

    y = _WINDOWS[call.proto.op_type](turn, n)
    return call.cast(y, dtype_of(call.attribute("output_datatype", 1)))


@operator("CenterCropPad")
def center_crop_pad(call: Call) -> Value:
    """Cut or filled with zeros on both sides, the odd place at the end."""
    x = call[0]
    axes = [axis % x.rank for axis in call.attribute("axes", list(range(x.rank)))]
    declared = call.declared_shape()
    if call[1].known is not None:
        sizes = [int(size) for size in call[1].known]
    elif declared is not None:
        sizes = [declared[axis] for axis in axes]
    else:
        raise Unsupported("its size is not known, and the model declares none", call[1].inputs)
    starts = tuple(max(whole(x, axis) - size, 0) // 2 for axis, size in zip(axes, sizes, strict=True))
    ends = tuple(start + min(size, whole(x, axis)) for start, axis, size in zip(starts, axes, sizes, strict=True))
    y = call.apply(Slice(starts, ends, tuple(axes)), x)
    missing = [max(size - whole(x, axis), 0) for axis, size in zip(axes, sizes, strict=True)]
    pads = (*(many // 2 for many in missing), *(many - many // 2 for many in missing))
    return call.apply(Pad(pads, "constant", 0.0, tuple(axes)), y)


@operator("AffineGrid")
def affine_grid(call: Call) -> Value:
    """Every place of an image, −1 … 1 along each dimension, moved by a matrix: (N, D…, rank of D)."""
    theta, declared = call[0], call.declared_shape()
    if call[1].known is not None:
        sizes = [int(size) for size in call[1].known[2:]]
    elif declared is not None:
        sizes = list(declared[1:-1])
    else:
        raise Unsupported("its size is not known, and the model declares none", call[1].inputs)
    lines = [
        np.linspace(-1, 1, size) if call.attribute("align_corners", 0) else (2 * np.arange(size) + 1) / size - 1
        for size in sizes
    ]
    places = np.meshgrid(*lines, indexing="ij")
    homogeneous = np.stack([*(place.reshape(-1) for place in places[::-1]), np.ones(math.prod(sizes))])
    grid = call.apply(MatMul(), theta, call.constant(homogeneous.astype(theta.type.dtype.numpy)))
    rows = call.apply(Transpose((0, 2, 1)), grid)
    y = call.apply(Reshape((whole(theta, 0), *sizes, len(sizes)), True), rows)
    return call.cast(y, DTYPES["float32"]) if theta.type.dtype.name == "float16" else y
