"""The levels of optimisation, and what is refused before any code is made."""

from __future__ import annotations

import json

import numpy as np
import pytest

from libs.rlx_compiler.tests.interpreted import WIDE, check, compiled, noise
from rlx_base.dtypes import BOOL, FLOAT32
from rlx_base.errors import CompileError, VerifyError
from rlx_compiler.loops.interpret import run_program
from rlx_compiler.loops.text import show
from rlx_compiler.options import CompileOptions
from rlx_compiler.pipeline import LEVELS, lower
from rlx_ir.builder import ModuleBuilder
from rlx_ir.interpreter import run
from rlx_ir.module import Module
from rlx_ir.ops.arithmetic import Add
from rlx_ir.text import parse
from rlx_ir.types import TensorType

NET = """
@rlx.module
def net():
    x = rlx.tensor(shape=[2, 3, 12, 10], dtype="float32")
    w1 = rlx.constant(value=np.random.randn(8, 3, 3, 3).astype(np.float32))
    w2 = rlx.constant(value=np.random.randn(8, 1, 3, 3).astype(np.float32))
    w3 = rlx.constant(value=np.random.randn(20, 8, 1, 1).astype(np.float32))
    w4 = rlx.constant(value=np.random.randn(20, 5).astype(np.float32))
    a = rlx.relu(rlx.batch_norm(rlx.conv2d(x, w1, strides=[2, 2], padding=[1, 1]), eps=1e-3))
    b = rlx.clip(rlx.conv2d(a, w2, padding=[1, 1], groups=8), min=0.0, max=6.0)
    c = rlx.add(rlx.conv2d(b, w3), rlx.constant(value=np.full([1], 0.5).astype(np.float32)))
    d = rlx.reshape(rlx.global_average_pool(c), shape=[2, 20])
    logits = rlx.matmul(d, w4)
    return {"logits": logits, "probabilities": rlx.softmax(logits, axis=-1)}
"""


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_every_level_computes_the_same(level: int) -> None:
    module = parse(NET)
    inputs = {"x": noise(2, 3, 12, 10)}
    found = compiled(module, level=level)
    check(found, inputs, list(run(module, inputs).values()))
    assert found.report["opt_level"] == level
    assert found.report["passes"] == [one.name for one in LEVELS[level]]


def test_each_level_does_more() -> None:
    module = parse(NET)
    text = {level: "\n".join(map(show, compiled(module, level=level).nests.values())) for level in range(4)}
    assert "unroll" not in text[0]
    assert "f32x" not in text[2]
    assert "unroll" in text[2]
    assert "f32x8" in text[3]
    launches = {level: len(compiled(module, level=level).program.launches) for level in range(4)}
    assert launches[0] > launches[2] >= launches[3]


def test_images_are_stored_channels_last_where_the_order_is_open() -> None:
    found = compiled(parse(NET))
    first = next(kernel for kernel in found.program.kernels if kernel.name == "conv2d_relu")
    by_name = {buffer.name: buffer.shape for buffer in first.params}
    assert by_name["input"] == (2, 3, 12, 10)  # three channels, read in place
    assert by_name["output"] == (2, 6, 5, 8)
    assert by_name["weight"] == (1, 3, 3, 3, 8)  # packed


def test_the_report_is_plain_data_and_the_same_each_time() -> None:
    first, second = compiled(parse(NET)), compiled(parse(NET))
    assert json.dumps(first.report) == json.dumps(second.report)
    assert first.program.weights_blob() == second.program.weights_blob()
    assert first.program.kernels == second.program.kernels
    assert first.program.launches == second.program.launches
    assert "second" not in json.dumps(first.report)


def test_flops_and_bytes_are_those_of_the_arithmetic() -> None:
    text = """
@rlx.module
def m():
    a = rlx.tensor(shape=[7, 11], dtype="float32")
    b = rlx.tensor(shape=[11, 13], dtype="float32")
    return rlx.matmul(a, b)
"""
    (launch,) = compiled(parse(text)).program.launches
    assert launch.flops == 2 * 7 * 11 * 13
    assert launch.bytes == 4 * (7 * 11 + 11 * 13 + 7 * 13)


SYMBOLIC = """
@rlx.module
def m():
    x = rlx.tensor(shape=["N", 3], dtype="float32")
    return rlx.relu(x)
"""


def test_a_dimension_without_a_value_is_an_error_that_says_how_to_give_it() -> None:
    with pytest.raises(CompileError, match=r"m has dimensions without a value: N") as error:
        lower(parse(SYMBOLIC), WIDE, CompileOptions())
    assert error.value.code == "RLX-E210"
    assert "CompileOptions(dims={'N': 1})" in error.value.help
    assert "--dim N=1" in error.value.help
    found = lower(parse(SYMBOLIC), WIDE, CompileOptions(dims={"N": 5}))
    x = noise(5, 3)
    np.testing.assert_array_equal(run_program(found.program, {"x": x})["output"], np.maximum(x, 0))


AFFINE = """
@rlx.module
def m():
    x = rlx.tensor(shape=[4], dtype="float32", memory_affinity={"location": "HBM"})
    return rlx.relu(x)
"""


def test_a_memory_that_the_target_lacks_is_a_warning_and_with_strict_an_error() -> None:
    found = lower(parse(AFFINE), WIDE, CompileOptions())
    mismatch = "memory_affinity mismatch on tensor x"
    (warning,) = found.warnings
    assert warning.startswith(f"{mismatch}: it is declared in HBM")
    assert "DDR is used" in warning
    assert "failed" not in warning  # it went well
    assert found.report["warnings"] == list(found.warnings)
    with pytest.raises(VerifyError, match=f"IR verification failed: {mismatch}") as error:
        lower(parse(AFFINE), WIDE, CompileOptions(strict=True))
    assert error.value.code == "RLX-E122"
    assert "HBM" in error.value.help
    assert "DDR" in error.value.help
    assert error.value.at is not None
    assert error.value.at.line == 4


def test_a_branch_that_depends_on_data_is_both_branches_and_a_choice() -> None:
    text = """
@rlx.module
def main():
    p = rlx.tensor(shape=[], dtype="bool")
    x = rlx.tensor(shape=[2], dtype="float32")
    return rlx.cond(p, up, down, args=[x])

@rlx.module
def up(x: rlx.tensor(shape=[2], dtype="float32")):
    return rlx.exp(x)

@rlx.module
def down(x: rlx.tensor(shape=[2], dtype="float32")):
    return rlx.neg(x)
"""
    x = noise(2)
    for condition, expected in ((True, np.exp(x)), (False, -x)):
        check(compiled(parse(text)), {"p": np.array(condition), "x": x}, [expected])


def module_returning(*values: str) -> Module:
    """x, a constant c, s = x + c and t = reshape(s), of which some are returned."""
    from rlx_ir.ops.reshape import Reshape

    build = ModuleBuilder("m")
    x = build.input("x", TensorType((2, 3), FLOAT32))
    c = build.array("c", np.arange(6, dtype=np.float32).reshape(2, 3))
    s = build.add(Add(), x, c, names="s")
    build.add(Reshape(shape=(3, 2)), s, names="t")
    for place, value in enumerate(values):
        build.output(f"o{place}", value)
    return build.build()


def test_a_reshape_is_another_name_for_the_same_memory() -> None:
    found = compiled(module_returning("t"), level=0)
    assert found.report["views"] == {"t": "s"}
    assert [launch.ops for launch in found.program.launches] == [("add",)]


@pytest.mark.parametrize(
    "returned", [("s",), ("t",), ("s", "t"), ("t", "s", "t"), ("x",), ("c",), ("x", "x"), ("s", "s", "c", "x")]
)
@pytest.mark.parametrize("level", [0, 3])
def test_any_value_can_be_returned_any_number_of_times(returned: tuple[str, ...], level: int) -> None:
    module = module_returning(*returned)
    inputs = {"x": noise(2, 3)}
    check(compiled(module, level=level), inputs, list(run(module, inputs).values()))


def test_what_depends_on_no_input_is_computed_once_and_now() -> None:
    """An average pool's counts are constants of the program, not a kernel."""
    text = """
@rlx.module
def m():
    x = rlx.tensor(shape=[1, 2, 5, 5], dtype="float32")
    return rlx.average_pool(x, kernel=[3, 3], padding=[1, 1])
"""
    found = compiled(parse(text))
    assert [launch.ops for launch in found.program.launches] == [("average_pool",)]
    counted = [array.elements.tolist() for array in found.program.weights]
    assert counted == [[2, 3, 3, 3, 2]] * 2


def test_a_bool_is_a_byte_of_0_or_1() -> None:
    from rlx_ir.ops.comparison import Less

    build = ModuleBuilder("m")
    a, b = (build.input(name, TensorType((5,), FLOAT32)) for name in "ab")
    build.output("y", build.add(Less(), a, b))
    found = compiled(build.build())
    assert found.program.outputs[0].dtype == BOOL
    inputs = {"a": noise(5), "b": noise(5, seed=1)}
    check(found, inputs, [inputs["a"] < inputs["b"]])
