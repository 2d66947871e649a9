"""Operators on boxes and regions of images, and convolutions that move their taps."""

from __future__ import annotations

from rlx_base.dtypes import INT64
from rlx_compiler.onnx.operators.movement import whole
from rlx_compiler.onnx.registry import operator
from rlx_compiler.onnx.translation import Call, Unsupported, Value
from rlx_ir.op import make
from rlx_ir.ops.deformable import DeformConv
from rlx_ir.ops.roi_align import RoiAlign
from rlx_ir.ops.suppression import NonMaxSuppression

__all__: list[str] = []


@operator("NonMaxSuppression")
def non_max_suppression(call: Call) -> Value:
    """How many rows there are is what the model declares for the result."""
    boxes, scores, limit = call[0], call[1], call.optional(2)
    declared = call.declared_shape()
    if declared is None:
        inputs = frozenset[str]().union(*(value.inputs for value in call.operands if value is not None))
        raise Unsupported("how many boxes it chooses is computed at run time, and the model declares no number", inputs)
    rows = declared[0]
    most = min(whole(boxes, 1), rows)
    if limit is not None and limit.known is not None:
        most = min(most, max(int(limit.known.item()), 0))
    center = bool(call.attribute("center_point_box", 0))
    return call.apply(NonMaxSuppression(rows, most, center), boxes, scores, *call.operands[2:])


@operator("RoiAlign")
def roi_align(call: Call) -> Value:
    """Before opset 16 no half pixel was taken away."""
    mode = call.attribute("coordinate_transformation_mode", "half_pixel" if call.opset >= 16 else "output_half_pixel")
    op = make(
        RoiAlign,
        {
            "output_height": call.attribute("output_height", 1),
            "output_width": call.attribute("output_width", 1),
            "sampling_ratio": call.attribute("sampling_ratio", 0),
            "spatial_scale": call.attribute("spatial_scale", 1.0),
            "half_pixel": mode == "half_pixel",
            "mode": call.attribute("mode", "avg"),
        },
    )
    return call.apply(op, call[0], call[1], call.cast(call[2], INT64))


@operator("DeformConv")
def deform_conv(call: Call) -> Value:
    if call[0].rank != 4:
        raise Unsupported(f"it is over {call[0].rank - 2} dimensions; images have two")
    op = DeformConv(
        tuple(call.attribute("strides", [1, 1])),
        tuple(call.attribute("pads", [0, 0, 0, 0])),
        tuple(call.attribute("dilations", [1, 1])),
        call.attribute("group", 1),
        call.attribute("offset_group", 1),
    )
    return call.apply(op, *call.operands)
