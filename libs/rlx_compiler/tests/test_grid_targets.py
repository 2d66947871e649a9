"""What is generated for GPUs gives the interpreter's results on every device that there is, and what cannot run here is
accepted by the tools of its target. A schedule changes the grid of a kernel and not what it computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from libs.rlx_compiler.tests.grids import RUNNING, check, computed_by, require, run
from libs.rlx_compiler.tests.harness import drawn, merged
from rlx_base.errors import CompileError
from rlx_base.tolerance import mismatch
from rlx_compiler import CompileOptions, compile_module
from rlx_compiler.targets import find_target
from rlx_ir.module import Module
from rlx_ir.testing import covered_ops
from rlx_ir.text import parse
from rlx_wire.manifest import DeviceLaunch, DeviceSegment
from rlx_wire.targets import TARGETS

KINDS = ("conv2d", "matmul", "softmax", "max_pool", "cast", "reduce_sum", "top_k", "pad", "mod", "gelu")
ACCEPTED = ("cuda", "rocm", "metal")


def test_some_ops_on_a_cpu_behind_opencl_equal_the_interpreter() -> None:
    """With vectors, which no other GPU target has; for those there is the matrix."""
    require("opencl")
    check([case for op in KINDS for case in drawn(op, 3)], "opencl:x86-64-v3")


@pytest.mark.gpu_ops
@pytest.mark.parametrize("op", covered_ops())
def test_every_op_equals_the_interpreter_where_metal_is_emulated(op: str) -> None:
    require("metal")
    check(drawn(op, 5), "metal")


@pytest.mark.gpu_ops
@pytest.mark.parametrize("target", RUNNING)
@pytest.mark.parametrize("op", covered_ops())
def test_every_op_equals_the_interpreter(op: str, target: str) -> None:
    require(target)
    check(drawn(op, 30), target)


@pytest.mark.gpu_ops
@pytest.mark.parametrize("target", [f"{name}:{device}" for name in ACCEPTED for device in TARGETS[name].devices])
@pytest.mark.parametrize("op", covered_ops())
def test_every_op_is_accepted_by_the_target_s_tools(op: str, target: str, tmp_path: Path) -> None:
    cases = computed_by(target, drawn(op, 12))
    if not cases:
        pytest.skip(f"{target} has none of the dtypes")
    compile_module(merged(cases), CompileOptions(target), tmp_path / "bundle")


def matmul(size: int, schedule: str = "") -> Module:
    return parse(
        f"""
@rlx.module
def product():
    a = rlx.tensor(shape=[{size}, {size}], dtype="float32")
    b = rlx.tensor(shape=[{size}, {size}], dtype="float32")
    return rlx.matmul(a, b{schedule})
"""
    )


SMALL_TILE = ', tile_layout={"output": {"row": 16, "column": 16}, "a": {"row": 16, "reduce": 8}}'
LARGE_TILE = ', tile_layout={"output": {"row": 32, "column": 64}, "a": {"row": 32, "reduce": 16}}'


def launch_of(module: Module, target: str, folder: Path) -> DeviceLaunch:
    manifest = compile_module(module, CompileOptions(target), folder).manifest
    (segment,) = manifest.launch_plan
    assert isinstance(segment, DeviceSegment)
    (launch,) = segment.launches
    return launch


@pytest.mark.parametrize("target", ["opencl", "vulkan", "webgpu", "cuda", "rocm", "metal"])
def test_two_schedules_of_a_product_differ_in_blocks_and_shared_bytes(target: str, tmp_path: Path) -> None:
    small = launch_of(matmul(64, SMALL_TILE), target, tmp_path / "small")
    large = launch_of(matmul(64, LARGE_TILE), target, tmp_path / "large")
    assert (small.blocks, large.blocks) == (16, 2)
    assert small.shared_bytes == 4 * (16 * 8 + 8 * 16)
    assert large.shared_bytes == 4 * (32 * 16 + 16 * 64)


@pytest.mark.parametrize("target", RUNNING)
def test_two_schedules_of_a_product_give_one_result(target: str) -> None:
    require(target)
    rng = np.random.default_rng(0)
    inputs = {name: rng.standard_normal((64, 64)).astype(np.float32) for name in "ab"}
    results: list[Any] = [run(matmul(64, tile), target, inputs)[1][0] for tile in ("", SMALL_TILE, LARGE_TILE)]
    for result in results:
        assert mismatch(result, inputs["a"] @ inputs["b"]) is None


def test_a_tile_of_too_many_threads_is_refused_with_the_largest_legal_one(tmp_path: Path) -> None:
    tile = ', tile_layout={"output": {"row": 64, "column": 64}}, compute_schedule={"unroll": {"row": 1, "column": 1}}'
    with pytest.raises(CompileError) as refused:
        compile_module(matmul(128, tile), CompileOptions("opencl"), tmp_path / "bundle")
    assert str(refused.value).startswith(
        "error[RLX-E230]: kernel launch invalid: matmul needs 4096 threads per block, opencl allows 256"
    )
    assert "row 16 x column 16" in str(refused.value)


def test_staging_tiles_beyond_shared_memory_are_refused_with_the_largest_legal_ones(tmp_path: Path) -> None:
    tile = ', tile_layout={"output": {"row": 64, "column": 64}, "a": {"row": 64, "reduce": 128}}'
    with pytest.raises(CompileError) as refused:
        compile_module(matmul(128, tile), CompileOptions("webgpu"), tmp_path / "bundle")
    assert "needs 65536 bytes of shared memory per block, webgpu allows 16384" in str(refused.value)
    assert "row 32 x column 32 x reduce 64" in str(refused.value)


def test_a_dtype_that_a_device_lacks_is_refused_by_name(tmp_path: Path) -> None:
    module = parse(
        """
@rlx.module
def double():
    x = rlx.tensor(shape=[4], dtype="float64")
    return x + x
"""
    )
    with pytest.raises(CompileError, match="add computes float64, which webgpu does not have"):
        compile_module(module, CompileOptions("webgpu"), tmp_path / "bundle")


@pytest.mark.parametrize("result", ["rlx.sin(x)", 'rlx.cast(x, to="float8_e4m3fn")'])
def test_long_indices_of_functions_and_bits_of_small_floats_are_glsl_too(result: str, tmp_path: Path) -> None:
    try:
        find_target("vulkan").toolchain()
    except CompileError as error:
        pytest.skip(str(error).splitlines()[0])
    module = parse(
        f"""
@rlx.module
def net():
    x = rlx.tensor(shape=[4], dtype="float32")
    return {result}
"""
    )
    compile_module(module, CompileOptions("vulkan"), tmp_path / "bundle")


def test_the_report_of_cuda_tells_registers_and_spills(tmp_path: Path) -> None:
    try:
        find_target("cuda").toolchain()
    except CompileError as error:
        pytest.skip(str(error).splitlines()[0])
    result = compile_module(matmul(64), CompileOptions("cuda:sm_90"), tmp_path / "bundle")
    (used,) = result.report["build"]["kernels"].values()
    assert used["registers"] > 8
    assert used["spilled_bytes"] == 0
    assert used["shared_bytes"] == result.report["kernels"][0]["grid"]["shared_bytes"]
