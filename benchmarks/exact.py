"""The same network in float64, by RLX's interpreter: what every peer's rounding is measured against."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from rlx_compiler.onnx import import_onnx
from rlx_ir.interpreter import run

__all__ = ["doubled", "exact_outputs"]


def doubled(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with every float32 made a float64: weights, inputs, outputs and casts."""
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    for tensor in wide.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))
    for value in (*wide.graph.input, *wide.graph.output):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    del wide.graph.value_info[:]
    for node in wide.graph.node:
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
            if node.op_type == "Constant" and attribute.t.data_type == TensorProto.FLOAT:
                attribute.t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(attribute.t).astype(np.float64)))
    return wide


def exact_outputs(model: onnx.ModelProto, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs of the doubled model, by the model's names."""
    imported = import_onnx(doubled(model).SerializeToString())
    given = {
        imported.inputs[name]: array.astype(np.float64) if array.dtype == np.float32 else array
        for name, array in inputs.items()
    }
    results = run(imported.module, given)
    return dict(zip(imported.outputs, results.values(), strict=True))
