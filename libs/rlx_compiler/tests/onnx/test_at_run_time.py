"""Inputs that say places, scales or axes: read by kernels as they run, they give what they give when they are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import rlx_ir
from rlx_base.dtypes import FLOAT32
from rlx_base.errors import CompileError
from rlx_base.tolerance import mismatch
from rlx_compiler.onnx import import_onnx
from rlx_ir.types import TensorType

Array = np.ndarray[Any, Any]
X = np.random.default_rng(0).standard_normal((2, 5, 6)).astype(np.float32)


def model(
    operator: str, inputs: Mapping[str, Array], result: Array, operands: Sequence[str] | None = None, **attributes: Any
) -> bytes:
    """One node whose result is declared as it is."""

    def info(name: str, array: Array) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)

    node = helper.make_node(operator, list(operands or inputs), ["y"], **attributes)
    graph = helper.make_graph([node], "g", [info(*item) for item in inputs.items()], [info("y", result)])
    made: bytes = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]).SerializeToString()
    return made


def compare(operator: str, inputs: dict[str, Array], operands: Sequence[str] | None = None, **attributes: Any) -> Array:
    """The result with all but x known, and the same with nothing known; they have to be equal."""
    told = {name: array for name, array in inputs.items() if name != "x"}
    data = {name: array for name, array in inputs.items() if name == "x"}
    unknown = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    proto = onnx.load_from_string(model(operator, inputs, np.zeros(1, np.float32), operands, **attributes))
    proto.graph.output[0].CopyFrom(unknown)
    (expected,) = rlx_ir.run(import_onnx(proto.SerializeToString(), values=told).module, data).values()
    module = import_onnx(model(operator, inputs, expected, operands, **attributes)).module
    assert {value.name for value in module.inputs} == set(inputs)
    (actual,) = rlx_ir.run(module, inputs).values()
    assert mismatch(actual, expected) is None
    return expected


def ints(*values: int) -> Array:
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    ("starts", "ends", "axes", "steps"),
    [
        ((1,), (4,), (1,), (1,)),
        ((-1, 0), (-10, 6), (1, 2), (-2, 3)),
        ((10,), (-100,), (-1,), (-1,)),
        ((-3,), (2**40,), (2,), (1,)),
        ((0, 2, 5), (1, 4, 0), (0, -2, 2), (1, 1, -2)),
    ],
)
def test_a_slice(starts: Any, ends: Any, axes: Any, steps: Any) -> None:
    inputs = {"x": X, "starts": ints(*starts), "ends": ints(*ends), "axes": ints(*axes), "steps": ints(*steps)}
    compare("Slice", inputs)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
@pytest.mark.parametrize("pads", [(0, 1, 2, 0, 3, 1), (0, 0, 4, 0, 2, 0)])
def test_a_pad(mode: str, pads: tuple[int, ...]) -> None:
    if mode == "wrap":  # known pads have no such mode: NumPy's says what is right
        expected = np.pad(X, list(zip(pads[:3], pads[3:], strict=True)), mode="wrap")
        module = import_onnx(model("Pad", {"x": X, "pads": ints(*pads)}, expected, mode=mode)).module
        np.testing.assert_array_equal(rlx_ir.run(module, {"x": X, "pads": ints(*pads)})["y"], expected)
        return
    compare("Pad", {"x": X, "pads": ints(*pads)}, mode=mode)


def test_a_pad_of_some_axes_with_a_value_of_its_own() -> None:
    y = compare("Pad", {"x": X, "pads": ints(1, -2, 0, 3), "value": np.float32(7), "axes": ints(-1, 1)})
    assert y.shape == (2, 6, 7)
    assert (y[:, :, 0] == 7).all()


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize(
    "coordinates", ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric"]
)
@pytest.mark.parametrize("scales", [(1.0, 1.5, 0.6), (1.0, 0.4, 2.0)])
def test_a_resize_by_scales(mode: str, coordinates: str, scales: tuple[float, ...]) -> None:
    inputs = {"x": X, "scales": np.array(scales, np.float32)}
    more = {"antialias": 1} if mode != "nearest" and coordinates == "half_pixel" else {}
    compare("Resize", inputs, ["x", "", "scales"], mode=mode, coordinate_transformation_mode=coordinates, **more)


@pytest.mark.parametrize("policy", ["stretch", "not_larger", "not_smaller"])
def test_a_resize_to_sizes(policy: str) -> None:
    sizes = {"x": X, "sizes": ints(8, 4)}
    compare("Resize", sizes, ["x", "", "", "sizes"], axes=[1, 2], mode="linear", keep_aspect_ratio_policy=policy)


@pytest.mark.parametrize(
    ("bounds", "dtype"), [((3, 20, 4), np.int32), ((5, -3, -2), np.int64), ((0.5, 2.5, 0.4), np.float32)]
)
def test_a_range(bounds: Any, dtype: Any) -> None:
    start, limit, step = (np.array(value, dtype) for value in bounds)
    y = compare("Range", {"start": start, "limit": limit, "step": step})
    np.testing.assert_allclose(y, np.arange(*bounds), rtol=1e-6)


@pytest.mark.parametrize("window", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("periodic", [0, 1])
def test_a_window(window: str, periodic: int) -> None:
    y = compare(window, {"size": np.int64(9)}, periodic=periodic)
    assert y.dtype == np.float32
    assert y.max() <= 1.0


def test_several_axes_that_the_declared_result_leaves_no_choice_of() -> None:
    compare("ReduceSum", {"x": X, "axes": ints(2, -2)}, keepdims=0)
    compare("ReduceMax", {"x": X, "axes": np.zeros(0, np.int64)}, keepdims=1)


def test_a_result_of_a_computed_size_that_no_one_declares_is_refused() -> None:
    proto = onnx.load_from_string(model("NonZero", {"x": X}, np.zeros((3, 1), np.int64)))
    proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", onnx.TensorProto.INT64, [3, None]))
    with pytest.raises(CompileError, match="its size is computed at run time, and the model declares none"):
        import_onnx(proto.SerializeToString())


def test_a_sequence_has_its_elements_as_inputs() -> None:
    """One more element at a place that only the data says, and one read at another."""
    of_tensors = helper.make_tensor_sequence_value_info
    graph = helper.make_graph(
        [
            helper.make_node("SequenceInsert", ["s", "x", "at"], ["longer"]),
            helper.make_node("SequenceAt", ["longer", "from"], ["y"]),
            helper.make_node("SequenceLength", ["longer"], ["n"]),
        ],
        "g",
        [
            of_tensors("s", onnx.TensorProto.FLOAT, None),
            helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2]),
            helper.make_tensor_value_info("at", onnx.TensorProto.INT64, []),
            helper.make_tensor_value_info("from", onnx.TensorProto.INT64, []),
        ],
        [
            of_tensors("longer", onnx.TensorProto.FLOAT, None),
            helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2]),
            helper.make_tensor_value_info("n", onnx.TensorProto.INT64, []),
        ],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    elements = [np.full(2, value, np.float32) for value in (1, 2, 3)]
    types = [TensorType((2,), FLOAT32)] * 3
    imported = import_onnx(proto.SerializeToString(), structures={"s": types})
    for at in (0, 1, 3, -1):
        expected = list(elements)
        expected.insert(at if at >= 0 else at + 3, np.full(2, 9, np.float32))
        for place in (0, 2, -1):
            given = {"s": elements, "x": np.full(2, 9, np.float32), "at": np.int64(at), "from": np.int64(place)}
            longer, y, n = imported.results(rlx_ir.run(imported.module, imported.given(given)))
            assert [item.tolist() for item in longer] == [item.tolist() for item in expected]
            assert y.tolist() == expected[place].tolist()
            assert n == 4
