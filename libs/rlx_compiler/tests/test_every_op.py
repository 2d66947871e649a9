"""Every op as generated code equals its NumPy reference: 60 generated cases an op, with sizes 0, 1 and odd ones."""

from __future__ import annotations

import pytest

from libs.rlx_compiler.tests.harness import Target, check, drawn
from rlx_ir.testing import covered_ops

COUNT = 60


@pytest.mark.parametrize("target", [Target("llvm"), Target("c")], ids=str)
@pytest.mark.parametrize("op", covered_ops())
def test_an_op_on_a_target_equals_the_interpreter(op: str, target: Target) -> None:
    batch = drawn(op, COUNT)
    assert len(batch) >= 50
    check(batch, target)
