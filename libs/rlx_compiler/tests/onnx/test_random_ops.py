"""Models that draw random numbers: host ops, drawn anew in each run unless a seed says otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

import rlx_ir
from rlx_compiler import CompileOptions, compile_module
from rlx_compiler.onnx import import_onnx
from rlx_ir.module import Module
from rlx_runtime import load


def module_of(*nodes: onnx.NodeProto, outputs: dict[str, tuple[int, list[int]]]) -> Module:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
    infos = [helper.make_tensor_value_info(name, *of) for name, of in outputs.items()]
    model = helper.make_model(
        helper.make_graph(list(nodes), "g", [x], infos), opset_imports=[helper.make_opsetid("", 22)]
    )
    return import_onnx(model.SerializeToString()).module


def both_ways(module: Module, folder: Path, **inputs: Any) -> list[dict[str, np.ndarray[Any, Any]]]:
    """Twice by the interpreter, twice compiled."""
    compile_module(module, CompileOptions("llvm", opt_level=1), folder / "bundle")
    with load(folder / "bundle", threads=1) as model:
        return [*(rlx_ir.run(module, inputs) for _ in range(2)), *(model.run(inputs) for _ in range(2))]


def test_numbers_differ_from_run_to_run_and_from_node_to_node(tmp_path: Path) -> None:
    module = module_of(
        helper.make_node("RandomNormal", [], ["a"], shape=[50, 40], mean=3.0, scale=0.5),
        helper.make_node("RandomNormal", [], ["b"], shape=[50, 40], mean=3.0, scale=0.5),
        helper.make_node("RandomUniformLike", ["x"], ["u"], low=2.0, high=4.0),
        helper.make_node("Add", ["x", "u"], ["c"]),
        outputs={"a": (1, [50, 40]), "b": (1, [50, 40]), "c": (1, [2, 3])},
    )
    runs = both_ways(module, tmp_path, x=np.zeros((2, 3), np.float32))
    drawn = [run[name] for run in runs for name in "ab"]
    assert len({array.tobytes() for array in drawn}) == len(drawn)
    for array in drawn:
        assert abs(array.mean() - 3.0) < 0.1
        assert abs(array.std() - 0.5) < 0.1
    assert all(((run["c"] >= 2) & (run["c"] < 4)).all() for run in runs)


def test_a_seed_gives_the_same_numbers_in_every_run(tmp_path: Path) -> None:
    module = module_of(
        helper.make_node("RandomUniform", [], ["a"], shape=[4], seed=7.0),
        helper.make_node("Multinomial", ["x"], ["m"], sample_size=200, seed=3.0, dtype=TensorProto.INT64),
        outputs={"a": (1, [4]), "m": (7, [2, 200])},
    )
    x = np.log(np.array([[0.5, 0.25, 0.25], [1e-9, 1.0, 1e-9]], np.float32))
    runs = both_ways(module, tmp_path, x=x)
    assert len({run["a"].tobytes() for run in runs}) == 1
    assert len({run["m"].tobytes() for run in runs}) == 1
    assert set(runs[0]["m"][0].tolist()) == {0, 1, 2}
    assert set(runs[0]["m"][1].tolist()) == {1}
    assert 60 < (runs[0]["m"][0] == 0).sum() < 140
