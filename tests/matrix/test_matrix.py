"""A thin slice of `make matrix`: a few ops of each kind on every target, run by whatever runs its bundles here."""

from __future__ import annotations

import pytest

from rlx_compiler.targets import target_names, usable_targets
from rlx_ir.testing import covered_ops
from tests.matrix.cells import families, ops_cell, runs_here

KINDS = ("conv2d", "matmul", "softmax", "max_pool", "cast", "reduce_sum", "pad", "mod", "gelu", "gather")
# llvm and c have every op compiled in libs/rlx_compiler/tests/test_every_op.py.
OTHERS = [name for name in target_names() if name not in ("llvm", "c")]


@pytest.mark.parametrize("target", OTHERS)
def test_some_ops_of_each_kind(target: str) -> None:
    if target not in usable_targets():
        pytest.skip(f"the tools of target {target} are not installed here")
    cell = ops_cell("kinds", target, KINDS, 2)
    assert cell.result == ("passed" if runs_here(target) is None else "accepted"), cell.detail
    assert cell.cases >= len(KINDS), "a matrix of nothing says nothing"


def test_every_op_is_in_one_family() -> None:
    listed = [op for ops in families().values() for op in ops]
    assert sorted(listed) == sorted(covered_ops())
