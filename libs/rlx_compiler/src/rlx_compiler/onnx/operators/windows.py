"""Convolution, pooling and resizing."""

from __future__ import annotations

import numpy as np

from rlx_base.dtypes import FLOAT32, FLOAT64, INT32, INT64
from rlx_compiler.onnx.operators.linear import centred
from rlx_compiler.onnx.operators.movement import whole
from rlx_compiler.onnx.operators.quantization import quantized, spread
from rlx_compiler.onnx.operators.resampling import resized_at_run_time
from rlx_compiler.onnx.operators.sampling import along_axes, resized_by_weights
from rlx_compiler.onnx.registry import operator
from rlx_compiler.onnx.translation import Call, Value
from rlx_ir.op import make
from rlx_ir.ops.arithmetic import Div, Mul
from rlx_ir.ops.convolution import Conv, Conv2d
from rlx_ir.ops.grid_sample import GridSample
from rlx_ir.ops.padding import Pad
from rlx_ir.ops.pooling import AveragePool, GlobalAveragePool, GlobalMaxPool, LpPool, MaxPool, MaxPoolIndices
from rlx_ir.ops.reshape import Reshape
from rlx_ir.ops.resize import Resize
from rlx_ir.ops.scattering import ScatterElements
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
            if extra < 0:  # what is missing is put on after
                more = (*more[:i], more[i] - extra, *more[i + 1 :])
                extra = 0
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
    shape = (whole(x, 0), whole(x, 1), *sizes)
    flat = call.apply(Reshape((-1,)), x)
    zeros = call.constant(np.zeros(int(np.prod(shape)), x.type.dtype.numpy))
    spread_out = call.apply(ScatterElements(0), zeros, call.apply(Reshape((-1,)), call.cast(indices, INT64)), flat)
    y = call.apply(Reshape(shape, True), spread_out)
    if call.optional(2) is None:
        return y
    declared = call.declared_shape()
    asked = declared if call[2].known is None and declared is not None else call.known(2, "the shape")
    more = tuple(int(size) - own for size, own in zip(asked, shape, strict=True))
    return call.apply(Pad((*(0,) * x.rank, *more)), y)


@operator("Resize", since=10)
def resize(call: Call) -> Value:
    """By the op where it has the rule, else by weights."""
    x = call[0]
    at = 2 if call.opset >= 11 else 1
    sized = call.opset >= 11 and call.optional(3) is not None
    declared, asked = call.declared_shape(), call[3] if sized else call[at]
    region = call.optional(1) if call.attribute("coordinate_transformation_mode") == "tf_crop_and_resize" else None
    if declared is not None and (asked.known is None or (region is not None and region.known is None)):
        return resized_at_run_time(
            call,
            [axis % x.rank for axis in call.attribute("axes", list(range(x.rank)))],
            None if sized else asked,
            asked if sized else None,
            declared,
            call.attribute("mode", "nearest"),
            call.attribute("coordinate_transformation_mode", "half_pixel" if call.opset >= 11 else "asymmetric"),
            call.attribute("nearest_mode", "round_prefer_floor" if call.opset >= 11 else "floor"),
        )
    sizes = [int(size) for size in call.known(3, "sizes")] if sized else None
    scales = None if sized else [float(scale) for scale in call.known(at, "scales")]
    mode = call.attribute("mode", "nearest")
    coordinate = call.attribute("coordinate_transformation_mode", "half_pixel" if call.opset >= 11 else "asymmetric")
    rounding = call.attribute("nearest_mode", "round_prefer_floor" if call.opset >= 11 else "floor")
    axes = [axis % x.rank for axis in call.attribute("axes", list(range(x.rank)))]
    plain = (
        axes == list(range(x.rank))[-len(axes) :]
        and coordinate in ("half_pixel", "asymmetric", "pytorch_half_pixel")
        and not call.attribute("antialias", 0)
        and not call.attribute("exclude_outside", 0)
        and call.attribute("cubic_coeff_a", -0.75) == -0.75
        and call.attribute("keep_aspect_ratio_policy", "stretch") == "stretch"
    )
    if not plain:
        return resized_by_weights(call, mode, coordinate, along_axes(call, axes, scales, sizes))
    if sizes is not None:
        return call.apply(Resize(tuple(sizes), None, mode, coordinate, rounding), x)
    return call.apply(Resize(None, tuple(scales or ()), mode, coordinate, rounding), x)


@operator("Upsample", since=7)
def upsample(call: Call) -> Value:
    declared = call.declared_shape()
    if call.opset >= 9 and call[1].known is None and declared is not None:
        axes = list(range(call[0].rank))
        kind = call.attribute("mode", "nearest")
        return resized_at_run_time(call, axes, call[1], None, declared, kind, "asymmetric", "floor")
    scales = (
        tuple(float(scale) for scale in call.known(1, "scales")) if call.opset >= 9 else tuple(call.attribute("scales"))
    )
    mode = call.attribute("mode", "nearest")
    return call.apply(Resize(scales=scales, mode=mode, coordinate_mode="asymmetric", nearest_mode="floor"), call[0])


@operator("Col2Im")
def columns_to_image(call: Call) -> Value:
    """The transposed convolution of each channel with kernels that have a single 1."""
    image = [int(size) for size in _shape_of(call, 1)]
    block = [int(size) for size in call.known(2, "the block's shape")]
    rank = len(image)
    strides = call.attribute("strides", [1] * rank)
    dilations = call.attribute("dilations", [1] * rank)
    pads = call.attribute("pads", [0] * (2 * rank))
    places = [
        (image[i] + pads[i] + pads[rank + i] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in range(rank)
    ]
    x, count = call[0], int(np.prod(block))
    channels = whole(x, 1) // count
    columns = call.apply(Reshape((whole(x, 0), channels * count, *places), True), x)
    weight = np.tile(np.eye(count).reshape(count, 1, *block), (channels, *[1] * (rank + 1)))
    used = [
        (places[i] - 1) * strides[i] + (block[i] - 1) * dilations[i] + 1 - pads[i] - pads[rank + i] for i in range(rank)
    ]
    more = tuple(size - end for size, end in zip(image, used, strict=True))
    op = ConvTranspose(tuple(strides), tuple(pads), tuple(dilations), more, channels)
    return call.apply(op, columns, call.constant(weight.astype(x.type.dtype.numpy)))


def _shape_of(call: Call, place: int) -> list[int]:
    """A shape operand; what the model declares for the result stands in for one that is not known."""
    declared = call.declared_shape()
    if call[place].known is None and declared is not None:
        return list(declared[2:])
    return [int(size) for size in call.known(place, "the shape")]


@operator("GridSample")
def grid_sample(call: Call) -> Value:
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(
        call.attribute("mode", "linear"), call.attribute("mode", "linear")
    )
    op = make(
        GridSample,
        {
            "mode": mode,
            "padding_mode": call.attribute("padding_mode", "zeros"),
            "align_corners": bool(call.attribute("align_corners", 0)),
        },
    )
    return call.apply(op, call[0], call[1])
