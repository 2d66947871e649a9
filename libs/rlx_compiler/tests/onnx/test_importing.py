"""What an import keeps of a model, and how it says what it cannot do."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import rlx_ir
from rlx_base.errors import CompileError
from rlx_compiler.onnx import import_onnx
from rlx_compiler.source import load_module

F = TensorProto.FLOAT


def model(nodes, inputs, outputs, initializers=(), opset=21, functions=(), domains=()):
    def infos(pairs):
        return [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in pairs]

    graph = helper.make_graph(nodes, "net", infos(inputs), infos(outputs), list(initializers))
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions))


def imported(proto, **options):
    return import_onnx(proto.SerializeToString(), **options)


def test_names_survive_as_identifiers_and_outputs_as_they_are():
    proto = model(
        [helper.make_node("Relu", ["in/put:0"], ["layer.1/out"])], [("in/put:0", F, [2])], [("layer.1/out", F, [2])]
    )
    found = imported(proto)
    assert found.inputs == {"in/put:0": "in_put_0"}
    assert [output.name for output in found.module.outputs] == ["layer.1/out"]
    assert found.module.nodes[0].name == "layer_1_out"


def test_initializers_listed_as_inputs_are_constants():
    weight = numpy_helper.from_array(np.eye(3, dtype=np.float32), "w")
    proto = model(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        [("x", F, [1, 3]), ("w", F, [3, 3])],
        [("y", F, [1, 3])],
        [weight],
    )
    found = imported(proto)
    assert [value.name for value in found.module.inputs] == ["x"]
    (result,) = rlx_ir.run(found.module, {"x": np.array([[1, 2, 3]], np.float32)}).values()
    assert result.tolist() == [[1, 2, 3]]


def test_the_text_and_its_weights_give_the_module_again(tmp_path):
    random = np.random.RandomState(0)
    weight = numpy_helper.from_array(random.randn(8, 5).astype(np.float32), "weight")
    proto = model(
        [helper.make_node("MatMul", ["x", "weight"], ["y"])], [("x", F, [2, 8])], [("y", F, [2, 5])], [weight]
    )
    found = imported(proto)
    found.write(tmp_path / "net.rlx")
    assert (tmp_path / "net.safetensors").exists()
    assert "net.safetensors" in (tmp_path / "net.rlx").read_text()
    again = load_module(tmp_path / "net.rlx")
    x = {"x": random.randn(2, 8).astype(np.float32)}
    before, after = (list(rlx_ir.run(module, x).values()) for module in (found.module, again))
    assert np.array_equal(before[0], after[0])


def test_everything_that_is_not_supported_is_listed_at_once():
    proto = model(
        [
            helper.make_node("Fancy", ["x"], ["a"], name="first", domain="my.ops"),
            helper.make_node("Relu", ["a"], ["b"]),
            helper.make_node("Stranger", ["x"], ["c"], name="second", domain="my.ops"),
            helper.make_node("Add", ["b", "c"], ["y"]),
        ],
        [("x", F, [2])],
        [("y", F, [2])],
        domains=["my.ops"],
    )
    with pytest.raises(CompileError, match="E213") as refused:
        imported(proto)
    problems = refused.value.problems
    assert [(p.node, p.operator, p.opset, p.domain) for p in problems] == [
        ("first", "Fancy", 1, "my.ops"),
        ("second", "Stranger", 1, "my.ops"),
    ]
    assert "first: Fancy (opset 1, domain my.ops)" in refused.value.render()


def test_the_declared_result_says_along_which_axes_a_sum_can_be():
    """(3, 2, 2) → (3, 2) is a sum along axis 1 or 2: both are formed, and the input chooses, from either end."""
    proto = model(
        [helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)],
        [("x", F, [3, 2, 2]), ("axes", TensorProto.INT64, [1])],
        [("y", F, [3, 2])],
    )
    found = imported(proto)
    x = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    for axis in (1, 2, -1, -2):
        result = rlx_ir.run(found.module, {"x": x, "axes": np.array([axis])})["y"]
        assert np.array_equal(result, x.sum(axis=axis))


def test_a_shape_that_an_input_gives_is_asked_for_by_name():
    proto = model(
        [helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)],
        [("x", F, [2, 3]), ("axes", TensorProto.INT64, [1])],
        [("y", F, None)],
    )
    with pytest.raises(CompileError, match="E213") as refused:
        imported(proto)
    assert refused.value.problems[0].needs == {"axes"}
    found = imported(proto, values={"axes": np.array([1])})
    (result,) = rlx_ir.run(found.module, {"x": np.ones((2, 3), np.float32)}).values()
    assert result.tolist() == [3, 3]


def test_unknown_sizes_are_carried_through_shapes():
    """Shape → Gather → Concat → Reshape is how exporters write `x.reshape(n, -1)`."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["n"]),
        helper.make_node("Unsqueeze", ["n", "axis"], ["n1"]),
        helper.make_node("Concat", ["n1", "rest"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["y"]),
    ]
    known = {"zero": np.int64(0), "axis": np.array([0]), "rest": np.array([-1])}
    proto = model(
        nodes,
        [("x", F, ["n", 2, 3])],
        [("y", F, ["n", 6])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in known.items()],
    )
    found = imported(proto)
    assert [node.op.name for node in found.module.nodes] == ["reshape"]
    assert str(found.module.types["y"]) == "float32[n, 6]"
    for n in (1, 4):
        (result,) = rlx_ir.run(found.module, {"x": np.zeros((n, 2, 3), np.float32)}).values()
        assert result.shape == (n, 6)


def test_a_dimension_can_be_given_a_size():
    proto = model([helper.make_node("Relu", ["x"], ["y"])], [("x", F, ["n", 2])], [("y", F, ["n", 2])])
    assert str(imported(proto, dims={"n": 3}).module.inputs[0].type) == "float32[3, 2]"


def test_functions_of_the_model_are_put_in_place():
    body = [
        helper.make_node("Constant", [], ["slope"], value_float=0.5),
        helper.make_node("Mul", ["a", "slope"], ["b"]),
        helper.make_node("Elu", ["b"], ["c"]),
    ]
    reference = onnx.AttributeProto(name="alpha", ref_attr_name="strength", type=onnx.AttributeProto.FLOAT)
    body[2].attribute.append(reference)
    function = helper.make_function(
        "my.ops", "Halved", ["a"], ["c"], body, [helper.make_opsetid("", 21)], attributes=["strength"]
    )
    proto = model(
        [helper.make_node("Halved", ["x"], ["y"], domain="my.ops", strength=2.0)],
        [("x", F, [2])],
        [("y", F, [2])],
        functions=[function],
        domains=["my.ops"],
    )
    (result,) = rlx_ir.run(imported(proto).module, {"x": np.array([4, -2], np.float32)}).values()
    assert np.allclose(result, [2, 2 * (np.exp(-1) - 1)])


def test_an_if_becomes_two_modules_that_are_given_what_they_read():
    def branch(name, operator):
        info = helper.make_tensor_value_info(name, F, [2])
        return helper.make_graph([helper.make_node(operator, ["x", "x"], [name])], name, [], [info])

    node = helper.make_node("If", ["c"], ["y"], then_branch=branch("t", "Add"), else_branch=branch("e", "Mul"))
    proto = model([node], [("c", TensorProto.BOOL, []), ("x", F, [2])], [("y", F, [2])])
    module = imported(proto).module
    x = np.array([3, 4], np.float32)
    for condition, expected in ((True, [6, 8]), (False, [9, 16])):
        assert rlx_ir.run(module, {"c": np.array(condition), "x": x})["y"].tolist() == expected


def test_an_intermediate_result_and_an_input_can_be_outputs():
    proto = model(
        [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Neg", ["a"], ["b"])],
        [("x", F, [2])],
        [("a", F, [2]), ("b", F, [2]), ("x", F, [2])],
    )
    results = rlx_ir.run(imported(proto).module, {"x": np.array([-1, 2], np.float32)})
    assert {name: array.tolist() for name, array in results.items()} == {"a": [0, 2], "b": [0, -2], "x": [-1, 2]}


def test_external_data_is_read_from_beside_the_model(tmp_path):
    weight = numpy_helper.from_array(np.arange(4, dtype=np.float32), "w")
    proto = model([helper.make_node("Add", ["x", "w"], ["y"])], [("x", F, [4])], [("y", F, [4])], [weight])
    path = tmp_path / "net.onnx"
    onnx.save_model(proto, path, save_as_external_data=True, location="net.data", size_threshold=0)
    (result,) = rlx_ir.run(import_onnx(path).module, {"x": np.ones(4, np.float32)}).values()
    assert result.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("content", [b"no protobuf", b"\xff" * 40])
def test_what_is_no_model_is_refused(content):
    with pytest.raises(CompileError, match=r"E214|E213"):
        import_onnx(content)


def test_sizes_that_exporters_leave_open_are_not_taken_for_the_same():
    proto = model([helper.make_node("Relu", ["x"], ["y"])], [("x", F, ["?", "?", 3, -1, "N"])], [("y", F, None)])
    assert [str(dim) for dim in imported(proto).module.inputs[0].tensor.shape] == ["x_0", "x_1", "3", "x_3", "N"]


def test_a_constant_around_an_if_is_one_of_each_branch():
    """Its name in the module around may be another value's in the branch."""
    shape = numpy_helper.from_array(np.array([2]), "shape")
    scale = numpy_helper.from_array(np.float32(10), "scale")

    def branch(name, kind):
        nodes = [
            helper.make_node(kind, ["x", "scale"], [f"{name}_z"]),
            helper.make_node("Reshape", [f"{name}_z", "shape"], [name]),
        ]
        return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(name, F, [2])])

    nodes = [
        helper.make_node("Add", ["x", "scale"], ["before"]),
        helper.make_node("If", ["choose"], ["y"], then_branch=branch("a", "Mul"), else_branch=branch("b", "Add")),
    ]
    proto = model(
        nodes, [("x", F, [2]), ("choose", TensorProto.BOOL, [])], [("y", F, [2]), ("before", F, [2])], [shape, scale]
    )
    found = imported(proto)
    for choose, expected in ((True, [10, 20]), (False, [11, 12])):
        given = {"x": np.array([1, 2], np.float32), "choose": np.array(choose)}
        assert rlx_ir.run(found.module, given)["y"].tolist() == expected
    assert [constant.name for constant in found.module.constants] == ["scale"]
