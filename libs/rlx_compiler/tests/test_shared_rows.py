"""Ops that share rows are one kernel, and give what they give one by one: any size, NaN and infinity, every level."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from libs.rlx_compiler.tests.interpreted import WIDE, check, compiled, noise
from libs.rlx_compiler.tests.native import load
from rlx_compiler.loops.ir import Allocate
from rlx_compiler.loops.rewrite import statements
from rlx_compiler.targets.spec import MemorySpace
from rlx_ir.interpreter import run
from rlx_ir.module import Module
from rlx_ir.text import parse

ATTENTION = """
@rlx.module
def m():
    q = rlx.tensor(shape=[1, {tokens}, {width}], dtype="float32")
    k = rlx.tensor(shape=[1, {tokens}, {width}], dtype="float32")
    v = rlx.tensor(shape=[1, {tokens}, {width}], dtype="float32")
    mask = rlx.tensor(shape=[{tokens}], dtype="float32")
    qs = rlx.transpose(rlx.reshape(q, shape=[1, {tokens}, {heads}, {size}]), perm=[0, 2, 1, 3])
    ks = rlx.transpose(rlx.reshape(k, shape=[1, {tokens}, {heads}, {size}]), perm=[0, 2, 3, 1])
    vs = rlx.transpose(rlx.reshape(v, shape=[1, {tokens}, {heads}, {size}]), perm=[0, 2, 1, 3])
    scores = rlx.add(rlx.div(rlx.matmul(qs, ks), 2.0), mask)
    context = rlx.transpose(rlx.matmul(rlx.softmax(scores), vs), perm=[0, 2, 1, 3])
    return rlx.reshape(context, shape=[1, {tokens}, {width}])
"""


def attention(tokens: int, heads: int, size: int) -> Module:
    return parse(ATTENTION.format(tokens=tokens, heads=heads, size=size, width=heads * size))


def kernels(module: Module, level: int = 3) -> list[str]:
    return ["+".join(launch.ops) for launch in compiled(module, level=level).program.launches]


def test_an_attention_is_one_kernel_beside_the_transposed_keys() -> None:
    assert kernels(attention(40, 3, 16)) == ["reshape+transpose", "matmul+mul+add+softmax+matmul+transpose"]


def test_what_stands_between_takes_no_workspace() -> None:
    found = compiled(attention(40, 3, 16))
    assert found.program.workspace_bytes == 40 * 48 * 4  # the transposed keys
    (kernel,) = (k for k in found.program.kernels if "softmax" in k.name)
    local = [one.buffer for one in statements(kernel.body) if isinstance(one, Allocate)]
    assert {buffer.name for buffer in local} >= {"add", "highest", "powers", "sums"}
    stages = next(k for k in found.report["kernels"] if "softmax" in k["ops"])["stages"]
    assert len(stages) >= 5
    assert all(stage["schedule"]["loops"] for stage in stages)


@settings(max_examples=6)
@given(st.integers(1, 9), st.integers(1, 3), st.integers(1, 5), st.integers(0, 3))
def test_an_attention_of_any_size_is_what_its_ops_are(tokens: int, heads: int, size: int, level: int) -> None:
    module = attention(tokens, heads, size)
    inputs = {v.name: noise(*(d for d in v.tensor.shape if isinstance(d, int))) for v in module.inputs}
    check(compiled(module, level=level), inputs, list(run(module, inputs).values()))


@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("tokens", [37, 53])  # blocks that divide, and a last one that is cut short
def test_an_attention_in_machine_code(target: str, tokens: int) -> None:
    module = attention(tokens, 3, 20)
    inputs = {v.name: noise(*(d for d in v.tensor.shape if isinstance(d, int))) for v in module.inputs}
    inputs["mask"][-5:] = -10000.0
    inputs["q"][0, 3] = np.nan
    inputs["k"][0, :, 21] *= 30
    (expected,) = run(module, inputs).values()
    (found,) = load(compiled(module).program, target).run(*inputs.values(), threads=2)
    assert np.isnan(expected[0, 3]).all()
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-5, equal_nan=True)


ROWS = """
@rlx.module
def m():
    x = rlx.tensor(shape=[{rows}, {columns}], dtype="float32")
    scale = rlx.constant(value=np.random.randn({columns}).astype(np.float32))
    return {body}
"""
BODIES = {
    "softmax": ("rlx.softmax(x)", 1),
    "log_softmax": ("rlx.log_softmax(x, axis=0)", 1),
    "layer_norm": ("rlx.layer_norm(rlx.add(x, x), scale=scale)", 1),
    "twice": ("rlx.softmax(rlx.layer_norm(x))", 1),
    "sum_of_powers": ("rlx.reduce_sum(rlx.exp(x), axes=[1])", 1),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (1, 7), (19, 33)])
def test_ops_along_rows_are_one_kernel(name: str, shape: tuple[int, int]) -> None:
    body, count = BODIES[name]
    module = parse(ROWS.format(rows=shape[0], columns=shape[1], body=body))
    x = noise(*shape)
    x[0, 0] = np.inf
    for level in (0, 2, 3):
        found = compiled(module, level=level)
        check(found, {"x": x}, list(run(module, {"x": x}).values()))
        if level == 3 and min(shape) > 1:
            assert len(found.program.launches) == count


def test_no_rows_are_no_work() -> None:
    module = parse(ROWS.format(rows=0, columns=4, body="rlx.softmax(x)"))
    x = np.zeros((0, 4), np.float32)
    check(compiled(module), {"x": x}, list(run(module, {"x": x}).values()))


def test_a_value_that_another_op_reads_is_stored() -> None:
    body = '{"n": rlx.layer_norm(x), "s": rlx.softmax(rlx.layer_norm(x))}'
    assert len(kernels(parse(ROWS.format(rows=19, columns=33, body=body)))) == 2


def test_a_value_that_two_stages_of_a_block_read_is_not_stored() -> None:
    body = "rlx.add(rlx.softmax(rlx.layer_norm(x)), rlx.layer_norm(x))"
    assert len(kernels(parse(ROWS.format(rows=19, columns=33, body=body)))) == 1


def test_large_weights_are_not_read_again_for_every_block() -> None:
    text = """
@rlx.module
def m():
    x = rlx.tensor(shape=[64, 256], dtype="float32")
    w = rlx.constant(value=np.random.randn(256, 256).astype(np.float32))
    return rlx.layer_norm(rlx.matmul(x, w))
"""
    assert kernels(parse(text)) == ["matmul", "layer_norm"]


def test_memory_without_coherence_keeps_ops_apart_and_the_report_says_why() -> None:
    """As on a device whose parts see each other's values only after they synchronise."""
    apart = replace(WIDE, spaces=(MemorySpace("global", "DDR", bandwidth=40e9, coherence="none"),))
    module = parse(ROWS.format(rows=19, columns=33, body="rlx.softmax(rlx.layer_norm(x))"))
    together, alone = compiled(module), compiled(module, apart)
    assert [len(found.program.launches) for found in (together, alone)] == [1, 2]
    (choice,) = alone.report["fusion"]
    assert not choice["fused"]
    assert "saves 5016 bytes at 40 GB/s" in choice["reason"]
    assert "coherence none costs 20.00 us" in choice["reason"]
    assert [one["fused"] for one in together.report["fusion"]] == [True]


def test_heads_are_read_where_they_lie() -> None:
    """Split off and put side by side without a copy; only what would be gathered is copied."""
    found = compiled(attention(40, 3, 16))
    through = [one["producer"] for one in found.report["fusion"] if "where they are" in one["reason"]]
    assert through == ["qs", "vs"]


def test_parts_of_a_split_are_read_where_they_lie() -> None:
    text = """
@rlx.module
def m():
    x = rlx.tensor(shape=[5, 24], dtype="float32")
    a, b, c = rlx.split(x, axis=1, num_outputs=3)
    return {"s": rlx.softmax(a), "c": c, "m": rlx.matmul(b, rlx.transpose(c, perm=[1, 0]))}
"""
    module = parse(text)
    found = compiled(module)
    x = noise(5, 24)
    check(found, {"x": x}, list(run(module, {"x": x}).values()))
    through = {one["producer"] for one in found.report["fusion"] if "where they are" in one["reason"]}
    assert through == {"a", "b"}
