"""Which nodes become one kernel, and on what grounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from libs.rlx_compiler.tests.interpreted import WIDE, check, compiled, noise
from rlx_base.dtypes import FLOAT32
from rlx_compiler.targets.spec import MemorySpace, TargetSpec
from rlx_ir.affinity import MemoryAffinity
from rlx_ir.builder import ModuleBuilder
from rlx_ir.interpreter import run
from rlx_ir.module import Module
from rlx_ir.ops.activation import Relu, Sigmoid
from rlx_ir.ops.arithmetic import Neg
from rlx_ir.text import parse
from rlx_ir.types import TensorType


def kernels(module: Module, spec: TargetSpec = WIDE, level: int = 3) -> list[str]:
    found = compiled(module, spec, level)
    inputs = {value.name: noise(*(d for d in value.tensor.shape if isinstance(d, int))) for value in module.inputs}
    check(found, inputs, list(run(module, inputs).values()))
    return ["+".join(launch.ops) for launch in found.program.launches]


def module(body: str) -> Module:
    lines = "\n    ".join(body.strip().splitlines())
    return parse(f"""
@rlx.module
def m():
    x = rlx.tensor(shape=[1, 4, 5, 6], dtype="float32")
    w = rlx.constant(value=np.random.randn(4, 4, 1, 1).astype(np.float32))
    {lines}
""")


def test_what_follows_a_convolution_is_computed_in_its_registers() -> None:
    body = """
c = rlx.conv2d(x, w)
n = rlx.batch_norm(c, eps=1e-3)
s = rlx.add(n, x)
r = rlx.clip(s, min=0.0, max=6.0)
return rlx.reduce_sum(r, axes=[2, 3])
"""
    assert kernels(module(body)) == ["conv2d+add+clip", "reduce_sum"]
    assert kernels(module(body), level=1) == ["conv2d", "batch_norm", "add", "clip", "reduce_sum"]


def test_a_chain_of_elementwise_ops_is_one_pass_over_memory() -> None:
    assert kernels(module("return rlx.reduce_max(rlx.relu(rlx.neg(rlx.exp(x))))")) == ["exp+neg+relu", "reduce_max"]


def test_two_sums_never_share_a_kernel() -> None:
    body = """
a = rlx.conv2d(x, w)
b = rlx.conv2d(x, rlx.neg(w))
return rlx.reduce_sum(rlx.add(a, b))
"""
    assert kernels(module(body)) == ["conv2d", "conv2d+add", "reduce_sum"]


def test_a_value_that_others_read_is_stored() -> None:
    body = """
c = rlx.conv2d(x, w)
r = rlx.relu(c)
return {"sum": rlx.reduce_sum(r), "most": rlx.reduce_max(c)}
"""
    assert kernels(module(body)) == ["conv2d", "relu", "reduce_sum", "reduce_max"]


def test_a_value_that_one_kernel_reads_twice_is_not_stored() -> None:
    body = """
c = rlx.conv2d(x, w)
r = rlx.relu(c)
return rlx.reduce_sum(rlx.mul(r, c))
"""
    assert kernels(module(body)) == ["conv2d+relu+mul", "reduce_sum"]


def test_an_output_is_stored() -> None:
    body = """
c = rlx.matmul(rlx.reshape(x, shape=[4, 30]), rlx.reshape(x, shape=[30, 4]))
return {"sum": c, "positive": rlx.relu(c)}
"""
    assert kernels(module(body))[-2:] == ["matmul", "relu"]


def test_a_broadcast_value_is_not_computed_again_for_each_reader() -> None:
    body = """
m = rlx.reduce_mean(x, axes=[1, 2, 3], keepdims=True)
return rlx.reduce_sum(rlx.sub(x, m))
"""
    assert kernels(module(body)) == ["reduce_mean", "sub", "reduce_sum"]


@pytest.mark.parametrize(("coherence", "fused"), [("MESI", True), ("none", False)])
def test_fusion_is_decided_from_the_memory_that_a_value_lives_in(coherence: str, fused: bool) -> None:
    """Small values on a device without coherence: synchronising costs more than the traffic saved."""
    built = ModuleBuilder("m")
    x = built.input("x", TensorType((1, 64), FLOAT32))
    affinity = MemoryAffinity("DDR", "10GB/s", "100ns", coherence)
    e = built.add(Neg(), x, names="e", type=TensorType((1, 64), FLOAT32, affinity=affinity))
    built.output("y", built.add(Relu(), e, names="r"))
    found = compiled(built.build())
    (choice,) = found.report["fusion"]
    assert (choice["producer"], choice["consumer"], choice["fused"]) == ("e", "r", fused)
    assert "saves 512 bytes at 10 GB/s and 100 ns: 0.15 us" in choice["reason"]
    assert f"coherence {coherence} costs {0 if fused else 20}.00 us" in choice["reason"]
    assert len(found.program.launches) == (1 if fused else 2)


def test_a_target_s_own_memory_decides_where_nothing_is_declared() -> None:
    apart = replace(WIDE, spaces=(MemorySpace("global", "DDR", bandwidth=1e9, coherence="none"),))
    text = "return rlx.reduce_max(rlx.relu(rlx.neg(x)))"
    assert kernels(module(text), apart) == ["neg", "relu", "reduce_max"]
    assert kernels(module(text)) == ["neg+relu", "reduce_max"]


def test_equal_nests_are_one_function() -> None:
    body = """
a = rlx.relu(rlx.conv2d(x, w))
b = rlx.relu(rlx.conv2d(a, rlx.neg(w)))
return rlx.reduce_sum(rlx.relu(rlx.conv2d(b, w)))
"""
    found = compiled(module(body))
    assert [launch.kernel for launch in found.program.launches].count("conv2d_relu_2") == 2  # the first reads NCHW
    assert len({launch.name for launch in found.program.launches}) == len(found.program.launches)
    assert found.report["functions"] == len(found.program.kernels) == 3
    np.testing.assert_equal(len(found.program.launches), 4)


@pytest.mark.parametrize("count", [90, 300])
def test_a_long_chain_becomes_kernels_of_bounded_size(count: int) -> None:
    built = ModuleBuilder("m")
    value = built.input("x", TensorType((8,), FLOAT32))
    for _ in range(count):
        value = built.add(Sigmoid(), value)
    built.output("y", value)
    launches = compiled(built.build()).program.launches
    assert sum(len(launch.ops) for launch in launches) == count
    assert max(len(launch.ops) for launch in launches) < 30
