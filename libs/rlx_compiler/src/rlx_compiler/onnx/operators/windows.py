"""Convolution, pooling and resizing."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlx_base.dtypes import FLOAT32, FLOAT64, INT32, INT64
from rlx_compiler.onnx.operators.linear import centred
from rlx_compiler.onnx.operators.movement import whole
from rlx_compiler.onnx.operators.quantization import quantized, spread
from rlx_compiler.onnx.registry import operator
from rlx_compiler.onnx.translation import Call, Unsupported, Value
from rlx_ir.ops.arithmetic import Div, Mul
from rlx_ir.ops.convolution import Conv, Conv2d
from rlx_ir.ops.indexing import ScatterElements
from rlx_ir.ops.pooling import AveragePool, GlobalAveragePool, GlobalMaxPool, LpPool, MaxPool, MaxPoolIndices
from rlx_ir.ops.reshape import Reshape
from rlx_ir.ops.resize import Resize
from rlx_ir.ops.transposed_convolution import ConvTranspose
from rlx_ir.ops.window import Padding

__all__: list[str] = []


def _padding(call: Call, rank: int) -> Padding:
    """Numbers, or the rule of `auto_pad`."""
    match call.attribute("auto_pad", "NOTSET"):
        case "SAME_UPPER":
            return "same_upper"
        case "SAME_LOWER":
            return "same_lower"
        case "VALID":
            return "valid"
    pads = tuple(call.attribute("pads", [0] * (2 * rank)))
    return pads[:rank] if pads[:rank] == pads[rank:] else pads


def _convolved(call: Call, x: Value, weight: Value, bias: Value | None) -> Value:
    rank = x.rank - 2
    strides = tuple(call.attribute("strides", [1] * rank))
    dilations = tuple(call.attribute("dilations", [1] * rank))
    kind = Conv2d if rank == 2 else Conv
    return call.apply(kind(strides, _padding(call, rank), dilations, call.attribute("group", 1)), x, weight, bias)


@operator("Conv")
def conv(call: Call) -> Value:
    return _convolved(call, call[0], call[1], call.optional(2))


@operator("ConvInteger")
def conv_integer(call: Call) -> Value:
    """Sums of products of 8-bit integers are exact in float64."""
    x, weight = centred(call, call[0], call.optional(2)), centred(call, call[1], call.optional(3), 0)
    return call.cast(_convolved(call, call.cast(x, FLOAT64), call.cast(weight, FLOAT64), None), INT32)


@operator("QLinearConv")
def quantized_conv(call: Call) -> Value:
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = (call[place] for place in range(8))
    left, right = centred(call, x, x_zero), centred(call, w, w_zero, 0)
    bias = call.optional(8)
    y = _convolved(
        call, call.cast(left, FLOAT64), call.cast(right, FLOAT64), None if bias is None else call.cast(bias, FLOAT64)
    )
    factor = call.apply(Mul(), call.cast(spread(call, x_scale, y, 1, 0), FLOAT32), spread(call, w_scale, y, 1, 0))
    factor = call.apply(Div(), factor, spread(call, y_scale, y, 1, 0))
    return quantized(
        call, call.apply(Mul(), call.cast(y, FLOAT32), factor), spread(call, y_zero, y, 1, 0), y_zero.type.dtype
    )


@operator("ConvTranspose")
def conv_transpose(call: Call) -> Value:
    """`output_shape` and `auto_pad` say the padding: what is too much is taken away on both sides."""
    x, weight = call[0], call[1]
    rank = x.rank - 2
    strides = tuple(call.attribute("strides", [1] * rank))
    dilations = tuple(call.attribute("dilations", [1] * rank))
    more = tuple(call.attribute("output_padding", [0] * rank))
    pads = tuple(call.attribute("pads", [0] * (2 * rank)))
    rule, asked = call.attribute("auto_pad", "NOTSET"), call.attribute("output_shape")
    if asked is not None or rule in ("SAME_UPPER", "SAME_LOWER"):
        before, after = [], []
        for i in range(rank):
            size, kernel = whole(x, 2 + i), whole(weight, 2 + i)
            target = asked[-rank:][i] if asked is not None else size * strides[i]
            extra = (size - 1) * strides[i] + more[i] + (kernel - 1) * dilations[i] + 1 - target
            small, large = extra // 2, extra - extra // 2
            before.append(small if rule == "SAME_UPPER" else large)
            after.append(large if rule == "SAME_UPPER" else small)
        pads = (*before, *after)
    elif rule == "VALID":
        pads = (0,) * (2 * rank)
    op = ConvTranspose(strides, pads, dilations, more, call.attribute("group", 1))
    return call.apply(op, x, weight, call.optional(2))


def _pool(call: Call) -> tuple[tuple[int, ...], tuple[int, ...], Padding, tuple[int, ...] | None, bool]:
    kernel = tuple(call.attribute("kernel_shape"))
    rank = len(kernel)
    dilations = call.attribute("dilations")
    return (
        kernel,
        tuple(call.attribute("strides", [1] * rank)),
        _padding(call, rank),
        None if dilations is None else tuple(dilations),
        bool(call.attribute("ceil_mode", 0)),
    )


@operator("MaxPool")
def max_pool(call: Call) -> tuple[Value, ...]:
    geometry = _pool(call)
    y = call.apply(MaxPool(*geometry), call[0])
    if not call.wants(1):
        return (y,)
    return y, call.apply(MaxPoolIndices(*geometry, column_major=bool(call.attribute("storage_order", 0))), call[0])


@operator("AveragePool")
def average_pool(call: Call) -> Value:
    return call.apply(AveragePool(*_pool(call), bool(call.attribute("count_include_pad", 0))), call[0])


@operator("LpPool")
def lp_pool(call: Call) -> Value:
    kernel, strides, padding, dilations, round_up = _pool(call)
    return call.apply(LpPool(kernel, call.attribute("p", 2), strides, padding, dilations, round_up), call[0])


@operator("GlobalAveragePool")
def global_average_pool(call: Call) -> Value:
    return call.apply(GlobalAveragePool(), call[0])


@operator("GlobalMaxPool")
def global_max_pool(call: Call) -> Value:
    return call.apply(GlobalMaxPool(), call[0])


@operator("MaxUnpool")
def max_unpool(call: Call) -> Value:
    """Zeros, with the elements of x where they stood before the pool."""
    x, indices = call[0], call[1]
    kernel = call.attribute("kernel_shape")
    rank = len(kernel)
    strides, pads = call.attribute("strides", [1] * rank), call.attribute("pads", [0] * (2 * rank))
    sizes = [(whole(x, 2 + i) - 1) * strides[i] + kernel[i] - pads[i] - pads[rank + i] for i in range(rank)]
    if call.optional(2) is not None:
        declared = call.declared_shape()
        asked = declared if call[2].known is None and declared is not None else call.known(2, "the shape")
        sizes = [int(size) for size in asked[2:]]
    shape = (whole(x, 0), whole(x, 1), *sizes)
    flat = call.apply(Reshape((-1,)), x)
    zeros = call.constant(np.zeros(int(np.prod(shape)), x.type.dtype.numpy))
    spread_out = call.apply(ScatterElements(0), zeros, call.apply(Reshape((-1,)), call.cast(indices, INT64)), flat)
    return call.apply(Reshape(shape, True), spread_out)


@operator("Resize", since=10)
def resize(call: Call) -> Value:
    place = 3 if call.opset >= 11 else 2
    sized = call.opset >= 11 and call.optional(3) is not None
    mode = call.attribute("mode", "nearest")
    coordinate = call.attribute("coordinate_transformation_mode", "half_pixel" if call.opset >= 11 else "asymmetric")
    rounding = call.attribute("nearest_mode", "round_prefer_floor" if call.opset >= 11 else "floor")
    if call.attribute("antialias", 0):
        raise Unsupported("antialias")
    if call.attribute("exclude_outside", 0):
        raise Unsupported("exclude_outside")
    if mode == "cubic" and call.attribute("cubic_coeff_a", -0.75) != -0.75:
        raise Unsupported(f"cubic_coeff_a={call.attribute('cubic_coeff_a')}")
    if coordinate in ("tf_crop_and_resize", "half_pixel_symmetric"):
        raise Unsupported(f"coordinate_transformation_mode={coordinate}")
    if call.attribute("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise Unsupported("keep_aspect_ratio_policy")
    if (
        call.attribute("axes") is not None
        and call.attribute("axes") != list(range(call[0].rank))[-len(call.attribute("axes")) :]
    ):
        raise Unsupported(f"axes={call.attribute('axes')}")
    return _resized(call, sized, place, mode, coordinate, rounding)


def _resized(call: Call, sized: bool, place: int, mode: Any, coordinate: Any, rounding: Any) -> Value:
    x = call[0]
    if sized:
        sizes = tuple(int(size) for size in call.known(place, "sizes"))
        return call.apply(Resize(size=sizes, mode=mode, coordinate_mode=coordinate, nearest_mode=rounding), x)
    at = 2 if call.opset >= 11 else 1
    scales = tuple(float(scale) for scale in call.known(at, "scales"))
    return call.apply(Resize(scales=scales, mode=mode, coordinate_mode=coordinate, nearest_mode=rounding), x)


@operator("Upsample", since=7)
def upsample(call: Call) -> Value:
    scales = (
        tuple(float(scale) for scale in call.known(1, "scales")) if call.opset >= 9 else tuple(call.attribute("scales"))
    )
    mode = call.attribute("mode", "nearest")
    return call.apply(Resize(scales=scales, mode=mode, coordinate_mode="asymmetric", nearest_mode="floor"), call[0])
