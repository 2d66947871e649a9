"""Resizing by scales that are known only at run time: places and weights are computed by kernels, from the scales."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rlx_base.dtypes import INT64
from rlx_compiler.onnx.operators.arithmetic import Numbers, floats
from rlx_compiler.onnx.operators.movement import whole
from rlx_compiler.onnx.translation import Call, Unsupported, Value
from rlx_ir.ops.comparison import LogicalNot
from rlx_ir.ops.copying import Where
from rlx_ir.ops.indexing import Gather
from rlx_ir.ops.reduction import ReduceSum
from rlx_ir.ops.reshape import Reshape

__all__ = ["resized_at_run_time"]


def _scales(call: Call, axes: Sequence[int], scales: Value | None, sizes: Value | None) -> list[Value]:
    """The scale of each dimension, as the operands say it."""
    n = floats(call)
    if scales is not None:
        return [n.element(scales, place) for place in range(len(axes))]
    assert sizes is not None
    found = [n.div(n.element(sizes, place), whole(call[0], axis)) for place, axis in enumerate(axes)]
    policy = call.attribute("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        common = found[0]
        for scale in found[1:]:
            common = n.least(common, scale) if policy == "not_larger" else n.most(common, scale)
        found = [common] * len(axes)
    return found


def _positions(call: Call, mode: str, source: int, target: int, scale: Value, low: Value, high: Value) -> Value:
    """Where each place of the result comes from. Source: ONNX Resize-19."""
    n, i = floats(call), np.arange(target)
    size = n.mul(scale, source)
    plain = n.sub(n.div(i + 0.5, scale), 0.5)
    match mode:
        case "asymmetric":
            return n.div(i, scale)
        case "align_corners":
            one = n.equal(size, 1)
            return n.where(one, 0, n.div(i * (source - 1), n.where(one, 1, n.sub(size, 1))))
        case "pytorch_half_pixel":
            return n.where(n.less(1, size), plain, -0.5)
        case "half_pixel_symmetric":
            return n.add(n.mul(source / 2, n.sub(1, n.div(target, size))), plain)
        case "tf_crop_and_resize":
            last = source - 1
            if target == 1:
                return n.mul(n.add(low, high), 0.5 * last)
            return n.add(n.mul(low, last), n.mul(n.sub(high, low), i * last / (target - 1)))
    return plain


def _nearest(n: Numbers, at: Value, rounding: str) -> Value:
    match rounding:
        case "floor":
            return n.floor(at)
        case "ceil":
            return n.ceil(at)
        case "round_prefer_ceil":
            return n.floor(n.add(at, 0.5))
    return n.ceil(n.sub(at, 0.5))


def _kernel(n: Numbers, distance: Value, mode: str, a: float) -> Value:
    d = n.absolute(distance)
    if mode == "linear":
        return n.most(n.sub(1, d), 0)

    def polynomial(*factors: float) -> Value:
        y = n.of(factors[0])
        for factor in factors[1:]:
            y = n.add(n.mul(y, d), factor)
        return y

    far = n.where(n.less(d, 2), polynomial(a, -5 * a, 8 * a, -4 * a), 0)
    return n.where(n.less(1, d), far, polynomial(a + 2, -(a + 3), 0, 1))


def _weighed(call: Call, y: Value, axis: int, at: Value, scale: Value, mode: str, sizes: tuple[int, int]) -> Value:
    """Along one dimension, the sum of the elements around each place, by their weights."""
    n, (source, target) = floats(call), sizes
    support = 2 if mode == "cubic" else 1
    antialias = bool(call.attribute("antialias", 0))
    # The kernel is as much wider as the image gets smaller; what the sizes say bounds that.
    least = min(1.0, max(target - 1, 0.5) / source) if antialias else 1.0
    reach = math.ceil(support / least) + 1
    centre = call.apply(Reshape((-1, 1)), at)
    places = n.add(n.floor(centre), np.arange(-reach, reach + 2))
    distance = n.sub(places, centre)
    weights = _kernel(n, n.mul(distance, n.least(scale, 1)) if antialias else distance, mode, _steepness(call))
    if call.attribute("exclude_outside", 0):
        weights = n.where(n.inside(places, 0, source), weights, 0)
    weights = n.div(weights, call.apply(ReduceSum((1,), True), weights))
    index = call.cast(n.clamp(places, 0, source - 1), INT64)
    read = call.apply(Gather(axis), y, index)
    count = 2 * reach + 2
    shape = [1] * (y.rank + 1)
    shape[axis], shape[axis + 1] = target, count
    own = Numbers(call, y.type.dtype)
    return call.apply(ReduceSum((axis + 1,), False), own.mul(read, call.apply(Reshape(tuple(shape), True), weights)))


def _steepness(call: Call) -> float:
    return float(call.attribute("cubic_coeff_a", -0.75))


def resized_at_run_time(
    call: Call,
    axes: Sequence[int],
    scales: Value | None,
    sizes: Value | None,
    declared: tuple[int, ...],
    mode: str,
    coordinates: str,
    rounding: str,
) -> Value:
    """x in the declared size, by the scales or sizes that the operands hold."""
    x = y = call[0]
    n = floats(call)
    if mode != "nearest" and not x.type.dtype.is_float:
        raise Unsupported(f"{mode} over {x.type.dtype}", (scales or sizes or x).inputs)
    beyond: list[tuple[int, Value]] = []
    for place, (axis, scale) in enumerate(zip(axes, _scales(call, axes, scales, sizes), strict=True)):
        source, target = whole(x, axis), declared[axis]
        low, high = n.of(0), n.of(1)
        if coordinates == "tf_crop_and_resize":
            low, high = n.element(call[1], place), n.element(call[1], len(axes) + place)
        at = _positions(call, coordinates, source, target, scale, low, high)
        if coordinates == "tf_crop_and_resize":
            beyond.append((axis, call.apply(LogicalNot(), _within(n, at, source))))
        if mode == "nearest":
            index = call.cast(n.clamp(_nearest(n, at, rounding), 0, source - 1), INT64)
            y = call.apply(Gather(axis), y, index)
        else:
            y = _weighed(call, y, axis, at, scale, mode, (source, target))
    for axis, outside in beyond:
        mask = call.apply(Reshape(tuple(-1 if i == axis else 1 for i in range(x.rank))), outside)
        y = call.apply(Where(), mask, call.like(call.attribute("extrapolation_value", 0.0), y), y)
    return y


def _within(n: Numbers, at: Value, source: int) -> Value:
    """Whether a place lies between the first and the last element, both included."""
    return n.inside(at, 0, np.nextafter(source - 1, np.inf))
