"""The references against onnxruntime, which shares no line with RLX, for ops whose rules are easy to get wrong.

Where the two are known to differ by intent the case is left out: NaN (RLX propagates it as NumPy does), empty tensors,
and `same` padding of dilated pools, which onnxruntime sizes without the dilation.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from rlx_base.dtypes import FLOAT32
from rlx_base.tolerance import Tolerance, mismatch
from rlx_ir.testing import Case, cases

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
REFUSED = tuple(
    getattr(onnxruntime.capi.onnxruntime_pybind11_state, name)
    for name in ("Fail", "InvalidArgument", "RuntimeException")
)

AUTO_PAD = {"valid": "VALID", "same_upper": "SAME_UPPER", "same_lower": "SAME_LOWER"}
KINDS = {
    "conv2d": "Conv",
    "max_pool": "MaxPool",
    "average_pool": "AveragePool",
    "resize": "Resize",
    "pad": "Pad",
    "top_k": "TopK",
    "layer_norm": "LayerNormalization",
    "gemm": "Gemm",
    "softmax": "Softmax",
    "log_softmax": "LogSoftmax",
    "elu": "Elu",
    "selu": "Selu",
    "leaky_relu": "LeakyRelu",
    "hard_sigmoid": "HardSigmoid",
    "hard_swish": "HardSwish",
    "softplus": "Softplus",
    "gelu": "Gelu",
    "round": "Round",
}
RENAMED = {"trans_a": "transA", "trans_b": "transB", "groups": "group", "kernel": "kernel_shape", "eps": "epsilon"} | {
    "coordinate_mode": "coordinate_transformation_mode"
}
# These became inputs in ONNX: the op's attributes, in the order of its inputs after x ("" is an absent one).
INPUTS = {"pad": ("pads", "value", "axes"), "top_k": ("k",)}


def attributes(case: Case) -> dict[str, Any]:
    """The op's attributes as ONNX has them."""
    values = {field.name: getattr(case.op, field.name) for field in dataclasses.fields(case.op)}
    padding = values.pop("padding", None)
    if isinstance(padding, str):
        values["auto_pad"] = AUTO_PAD[padding]
    elif padding is not None:
        values["pads"] = list(padding) * (2 if len(padding) == 2 else 1)
    found = {RENAMED.get(name, name): value for name, value in values.items() if value is not None}
    return {name: int(value) if isinstance(value, bool) else value for name, value in found.items()}


def inputs(case: Case, values: dict[str, Any]) -> list[np.ndarray | None]:
    """What ONNX takes as inputs after the operands; taken out of the attributes."""
    name, x = case.op.name, case.arrays[0]
    if name == "resize":
        size, scales = values.pop("size", None), values.pop("scales", None)
        if size is not None:
            return [None, None, np.array([*x.shape[:2], *size], np.int64)]
        return [None, np.array([1, 1, *scales], np.float32)]
    found: list[np.ndarray | None] = []
    for attribute in INPUTS.get(name, ()):
        value = values.pop(attribute, None)
        if attribute == "value":
            found.append(np.array(value, np.float32))
        else:
            found.append(None if value is None else np.array([value] if attribute == "k" else value, np.int64))
    return found


def run_onnx(case: Case) -> list[np.ndarray]:
    helper = onnx.helper
    values = attributes(case)
    extra = inputs(case, values)
    arrays = [*case.arrays, *extra]
    while arrays[-1] is None:
        arrays.pop()
    names = [f"i{place}" if array is not None else "" for place, array in enumerate(arrays)]
    results = [f"o{place}" for place in range(len(case.op.results))]
    feeds = {name: array for name, array in zip(names, arrays, strict=True) if array is not None}
    typed = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in feeds.items()
    ]
    graph = helper.make_graph(
        [helper.make_node(KINDS[case.op.name], names, results, **values)],
        "case",
        typed,
        [helper.make_empty_tensor_value_info(name) for name in results],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, feeds))


def comparable(case: Case) -> bool:
    op = case.op
    if any(array is not None and (array.size == 0 or not np.isfinite(array).all()) for array in case.arrays):
        return False
    if op.name in ("max_pool", "average_pool"):
        dilated = op.dilations is not None and max(op.dilations) > 1
        return not dilated or (not isinstance(op.padding, str) and max(op.padding) < min(op.kernel))
    if op.name == "pad":
        return bool(op.axes)
    return op.name != "layer_norm" or case.arrays[1] is not None


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=15, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_onnxruntime_gives_the_same(name, data):
    case = data.draw(cases(name, [FLOAT32]).filter(comparable))
    try:
        expected = run_onnx(case)
    except REFUSED:  # it has limits of its own on padding
        assume(False)
    assume(all(np.isfinite(array).all() for array in expected))
    for ours, theirs in zip(case.expected(), expected, strict=True):
        wrong = mismatch(ours, theirs, Tolerance(2e-5, 2e-6))
        assert wrong is None, f"{case.op}: {wrong}"
