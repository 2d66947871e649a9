"""Every op as generated code equals its NumPy reference: 60 generated cases an op, with sizes 0, 1 and odd ones."""

from __future__ import annotations

import pytest

from libs.rlx_compiler.tests.harness import Target, check, drawn
from rlx_base.dtypes import DTYPES
from rlx_ir.testing import covered_ops

COUNT = 60
# A case of these is several large nests: fewer of them, in shapes of their own, are enough.
FEWER = {"roi_align": 8, "deform_conv": 8} | dict.fromkeys(
    ("compress", "det", "non_max_suppression", "non_zero", "unique"), 18
)


@pytest.mark.parametrize("target", [Target("llvm"), Target("c")], ids=str)
@pytest.mark.parametrize("op", covered_ops())
def test_an_op_on_a_target_equals_the_interpreter(op: str, target: Target) -> None:
    count = FEWER.get(op, COUNT)
    batch = drawn(op, count)
    assert len(batch) >= count * 5 // 6
    check(batch, target)


# The other CPU levels and optimisation levels lower and emit differently: a few ops of each kind are enough.
KINDS = ("conv2d", "matmul", "softmax", "max_pool", "cast", "reduce_sum", "top_k", "pad", "mod", "gelu")
OTHERS = [
    *[Target("llvm", "x86-64-v2"), Target("llvm", "x86-64-v3"), Target("c", "x86-64-v3"), Target("c", "x86-64")],
    *[Target("llvm", level=level) for level in (0, 1, 2)],
]


@pytest.mark.parametrize("target", OTHERS, ids=str)
def test_some_ops_on_every_cpu_and_at_every_level(target: Target) -> None:
    check([case for op in KINDS for case in drawn(op, 12)], target)


@pytest.mark.parametrize("target", [Target("llvm"), Target("llvm", "x86-64-v2"), Target("c")], ids=str)
def test_some_ops_of_float16(target: Target) -> None:
    batch = [
        case
        for op in ("add", "conv2d", "matmul", "softmax", "reduce_mean", "cast")
        for case in drawn(op, 12, [DTYPES["float16"]])
    ]
    assert any(str(array.dtype) == "float16" for case in batch for array in case.inputs.values())
    check(batch, target)


@pytest.mark.parametrize("target", [Target("llvm"), Target("c")], ids=str)
def test_some_ops_by_a_team(target: Target) -> None:
    check([case for op in KINDS for case in drawn(op, 6)], target, threads=3)
