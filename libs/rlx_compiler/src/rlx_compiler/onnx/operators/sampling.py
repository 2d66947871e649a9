"""Resizing by any rule, as sums with weights that are known when the model is imported."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlx_compiler.onnx.operators.movement import whole
from rlx_compiler.onnx.translation import Call, Unsupported, Value
from rlx_ir.ops.copying import Where
from rlx_ir.ops.einsum import Einsum

__all__ = ["Along", "resized_by_weights"]


@dataclass(frozen=True)
class Along:
    """How one dimension is resized."""

    source: int
    target: int
    scale: float
    low: float  # the region of interest, as a part of the dimension
    high: float


def _position(mode: str, i: int, along: Along) -> float:
    """Where place i comes from. Source: ONNX Resize-19."""
    size = along.scale * along.source
    match mode:
        case "asymmetric":
            return i / along.scale
        case "align_corners":
            return 0.0 if size == 1 else i * (along.source - 1) / (size - 1)
        case "pytorch_half_pixel":
            return -0.5 if size <= 1 else (i + 0.5) / along.scale - 0.5
        case "half_pixel_symmetric":
            adjustment = along.target / size
            offset = along.source / 2 * (1 - adjustment)
            return offset + (i + 0.5) / along.scale - 0.5
        case "tf_crop_and_resize":
            last = along.source - 1
            if along.target > 1:
                return along.low * last + i * (along.high - along.low) * last / (along.target - 1)
            return 0.5 * (along.low + along.high) * last
        case _:
            return (i + 0.5) / along.scale - 0.5


def _kernel(mode: str, distance: float, a: float) -> float:
    d = abs(distance)
    if mode == "linear":
        return max(0.0, 1 - d)
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0.0


def _nearest(position: float, rounding: str) -> int:
    match rounding:
        case "floor":
            return math.floor(position)
        case "ceil":
            return math.ceil(position)
        case "round_prefer_ceil":
            return math.floor(position + 0.5)
        case _:
            return math.ceil(position - 0.5)


def _weights(call: Call, along: Along, mode: str, coordinates: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The weight of each source place for each target place, and which targets lie outside of the source."""
    matrix = np.zeros((along.target, along.source))
    outside = np.zeros(along.target, bool)
    a = call.attribute("cubic_coeff_a", -0.75)
    # With antialias, a smaller image is seen through a kernel that is as much wider.
    stretch = min(along.scale, 1.0) if call.attribute("antialias", 0) else 1.0
    reach = math.ceil((2 if mode == "cubic" else 1) / stretch)
    for i in range(along.target):
        at = _position(coordinates, i, along)
        outside[i] = at < 0 or at > along.source - 1
        if mode == "nearest":
            rounding = call.attribute("nearest_mode", "round_prefer_floor")
            matrix[i, min(max(_nearest(at, rounding), 0), along.source - 1)] = 1
            continue
        places = range(math.floor(at) - reach, math.floor(at) + reach + 2)
        row = np.array([_kernel(mode, (k - at) * stretch, a) for k in places])
        if call.attribute("exclude_outside", 0):
            row *= [0 <= k < along.source for k in places]
        row /= row.sum()
        for k, weight in zip(places, row, strict=True):
            matrix[i, min(max(k, 0), along.source - 1)] += weight
    return matrix, outside


def resized_by_weights(call: Call, mode: str, coordinates: str, along: dict[int, Along]) -> Value:
    """Dimension by dimension; where `tf_crop_and_resize` leaves the image, its extrapolation value stands."""
    x = y = call[0]
    if not x.type.dtype.is_float:
        raise Unsupported(f"{mode} over {x.type.dtype}")
    letters = "abcdefgh"[: x.rank]
    beyond: list[Value] = []
    for place, one in along.items():
        matrix, outside = _weights(call, one, mode, coordinates)
        letter = letters[place]
        equation = f"{letters},z{letter}->{letters.replace(letter, 'z')}"
        y = call.apply(Einsum(equation), y, call.constant(matrix.astype(x.type.dtype.numpy)))
        if outside.any():
            shape = [-1 if i == place else 1 for i in range(x.rank)]
            beyond.append(call.constant(outside.reshape(shape)))
    if coordinates == "tf_crop_and_resize":
        for mask in beyond:
            y = call.apply(Where(), mask, call.like(call.attribute("extrapolation_value", 0.0), y), y)
    return y


def along_axes(call: Call, axes: list[int], scales: list[float] | None, sizes: list[int] | None) -> dict[int, Along]:
    """The resized dimensions; `keep_aspect_ratio_policy` makes one scale of all."""
    x = call[0]
    rank = len(axes)
    source = [whole(x, axis) for axis in axes]
    region = [0.0] * rank + [1.0] * rank
    if call.attribute("coordinate_transformation_mode") == "tf_crop_and_resize":
        region = [float(value) for value in call.known(1, "the region of interest")]
    if sizes is not None:
        scales = [target / size for target, size in zip(sizes, source, strict=True)]
        policy = call.attribute("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            common = min(scales) if policy == "not_larger" else max(scales)
            scales = [common] * rank
            sizes = [math.floor(common * size + 0.5) for size in source]
    assert scales is not None
    targets = sizes if sizes is not None else [math.floor(s * n) for s, n in zip(scales, source, strict=True)]
    return {
        axis: Along(source[i], targets[i], scales[i], region[i], region[rank + i])
        for i, axis in enumerate(axes)
        if source[i] != targets[i] or scales[i] != 1.0 or region[i] != 0.0 or region[rank + i] != 1.0
    }
