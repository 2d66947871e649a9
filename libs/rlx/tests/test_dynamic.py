"""Models with open sizes: compiled for each shape that they meet, once, and right for all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from typer.testing import CliRunner

import rlx
from rlx.caching import CompileCache
from rlx.cli import app
from rlx.dynamic import DynamicModel
from rlx_base.errors import CompileError, RequestError

F, I = TensorProto.FLOAT, TensorProto.INT64


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CompileCache:
    monkeypatch.setenv("RLX_CACHE_DIR", str(tmp_path / "cache"))
    return CompileCache.default()


def saved(path: Path, nodes, inputs, outputs, initializers=()) -> Path:
    def infos(pairs):
        return [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in pairs]

    graph = helper.make_graph(nodes, "net", infos(inputs), infos(outputs), list(initializers))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), str(path))
    return path


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """y = relu(x · 2), flattened by a shape that is computed from x's own, through floats, where no symbol goes."""
    nodes = [
        helper.make_node("Mul", ["x:0", "two"], ["doubled"]),
        helper.make_node("Relu", ["doubled"], ["positive"]),
        helper.make_node("Shape", ["positive"], ["shape"]),
        helper.make_node("Cast", ["shape"], ["as_float"], to=F),
        helper.make_node("Cast", ["as_float"], ["again"], to=I),
        helper.make_node("Slice", ["again", "first", "last"], ["rows"]),
        helper.make_node("Concat", ["rows", "rest"], ["target"], axis=0),
        helper.make_node("Reshape", ["positive", "target"], ["y"]),
    ]
    constants = {"two": np.float32(2), "first": np.array([0]), "last": np.array([1]), "rest": np.array([-1])}
    initializers = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    return saved(tmp_path / "rows.onnx", nodes, [("x:0", F, ["batch", 2, "?"])], [("y", F, None)], initializers)


def test_each_shape_is_compiled_once_and_those_used_last_stay_loaded(rows: Path, cache: CompileCache) -> None:
    with rlx.load(rows, threads=1, keep=2) as model:
        assert isinstance(model, DynamicModel)
        for shape in [(1, 2, 3), (4, 2, 1), (1, 2, 3), (2, 2, 3), (4, 2, 1)]:
            x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
            expected = np.maximum(2 * x, 0).reshape(shape[0], 2 * shape[2])
            assert np.array_equal(model.run({"x:0": x})["y"], expected)
        assert model.shapes_held == 2
    assert len(cache.entries()) == 3


def test_buckets_bound_what_is_compiled_and_change_no_result(rows: Path, cache: CompileCache) -> None:
    with rlx.load(rows, threads=1, buckets={"batch": (2, 8)}) as model:
        for batch in (1, 2, 3, 5, 8, 1):
            x = np.random.default_rng(batch).standard_normal((batch, 2, 3)).astype(np.float32)
            assert np.array_equal(model.run({"x:0": x})["y"], np.maximum(2 * x, 0).reshape(batch, 6))
    assert len(cache.entries()) == 2


def test_a_module_with_open_sizes_runs_with_any() -> None:
    text = '@rlx.module\ndef net():\n    x = rlx.tensor(shape=["N", 3], dtype="float32")\n    return rlx.relu(x)\n'
    from rlx_ir.text import parse

    with rlx.load(parse(text), threads=1) as model:
        for size in (1, 5):
            assert model.run({"x": np.full((size, 3), -1, np.float32)})["output"].tolist() == [[0.0] * 3] * size


def branching(path: Path) -> Path:
    """A branch for rows of 4 and one for rows of 2, as an input says: no shape allows both."""

    def branch(width: int) -> onnx.GraphProto:
        weight = numpy_helper.from_array(np.full((width, 1), width, np.float32), f"w{width}")
        node = helper.make_node("MatMul", ["x", f"w{width}"], [f"y{width}"])
        return helper.make_graph(
            [node], f"b{width}", [], [helper.make_tensor_value_info(f"y{width}", F, None)], [weight]
        )

    four = numpy_helper.from_array(np.int64(4), "four")
    nodes = [
        helper.make_node("Equal", ["rate", "four"], ["is_four"]),
        helper.make_node("If", ["is_four"], ["y"], then_branch=branch(4), else_branch=branch(2)),
    ]
    return saved(path, nodes, [("x", F, [1, -1]), ("rate", I, [])], [("y", F, None)], [four])


def test_an_input_that_chooses_a_branch_which_other_shapes_need_is_part_of_the_key(tmp_path: Path) -> None:
    with rlx.load(branching(tmp_path / "net.onnx"), threads=1) as model:
        for width in (4, 2, 4):
            y = model.run({"x": np.ones((1, width), np.float32), "rate": np.int64(width)})["y"]
            assert y.tolist() == [[width * width]]
        assert model.shapes_held == 2
        with pytest.raises(CompileError, match="MatMul"):
            model.run({"x": np.ones((1, 4), np.float32), "rate": np.int64(2)})


@pytest.mark.parametrize(
    ("inputs", "what"),
    [
        ({}, "x:0 is missing"),
        ({"x:0": np.zeros((1, 2)), "z": 0}, "no input z"),
        ({"x:0": np.zeros(2)}, "has the shape"),
    ],
)
def test_inputs_that_no_shape_takes_are_refused(rows: Path, inputs: dict[str, object], what: str) -> None:
    with pytest.raises(RequestError, match=what):
        rlx.load(rows).run(inputs)


def test_rlx_infer_and_compile_take_an_onnx_file(rows: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((3, 2, 1), np.float32))
    run = CliRunner().invoke(app, ["infer", "-m", str(rows), "-i", f"x:0={tmp_path / 'x.npy'}", "--json"])
    assert run.exit_code == 0, run.output
    assert '"shape": [3, 2]' in " ".join(run.output.split()).replace("[ ", "[").replace(" ]", "]")
    sizes = ["--dim", "batch=1", "--dim", "x_0_2=3"]
    compiled = CliRunner().invoke(app, ["compile", "-m", str(rows), "-o", str(tmp_path / "out"), *sizes])
    assert compiled.exit_code == 0, compiled.output
    with rlx.load(tmp_path / "out" / "llvm", threads=1) as model:
        assert next(iter(model.run({"x_0": np.ones((1, 2, 3), np.float32)}).values())).tolist() == [[2.0] * 6]
