"""While one panel of weights is used, the next one is fetched: all of its lines, each by one tile, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from libs.rlx_compiler.tests.interpreted import WIDE, compiled
from libs.rlx_compiler.tests.native import load
from rlx_base.dtypes import INDEX
from rlx_compiler.loops.interpret import run_kernel
from rlx_compiler.loops.ir import Body, Buffer, For, If, Kernel, Let, Literal, Prefetch, Stmt, Store
from rlx_compiler.loops.rewrite import statements
from rlx_compiler.loops.text import show
from rlx_compiler.pipeline import Compiled
from rlx_ir.text import parse

MATMUL = """
@rlx.module
def m():
    a = rlx.tensor(shape=[{m}, {k}], dtype="float32")
    b = rlx.constant(value=np.random.randn({k}, {n}).astype(np.float32))
    return rlx.matmul(a, b)
"""


def product(m: int, k: int, n: int) -> Compiled:
    return compiled(parse(MATMUL.format(m=m, k=k, n=n)), WIDE)


def test_a_product_fetches_its_next_panel() -> None:
    found = product(96, 256, 256)
    (kernel,) = found.report["kernels"]
    assert any("fetched ahead" in reason for reason in kernel["reasons"])
    (nest,) = found.nests.values()
    assert "prefetch b[" in show(nest)


@pytest.mark.parametrize(("m", "k", "n"), [(12, 256, 256), (96, 32, 256), (96, 256, 16)])
def test_few_rows_small_panels_and_a_single_one_are_not_fetched(m: int, k: int, n: int) -> None:
    (nest,) = product(m, k, n).nests.values()
    assert not any(isinstance(one, Prefetch) for one in statements(nest.body))


@pytest.mark.parametrize("m", [96, 101])
def test_each_line_of_the_next_panel_is_asked_for(m: int) -> None:
    """By the first panel's tiles; a few more lines are those of the panel after it."""
    found = product(m, 256, 256)
    (kernel,) = found.program.kernels
    panels, *panel = kernel.params[1].shape
    size = int(np.prod(panel))
    asked = fetched(kernel)
    lines = {offset // 16 for offset in asked[: len(asked) // panels]}
    assert set(range(size // 16, 2 * size // 16)) <= lines
    assert max(lines) < 3 * size // 16


def fetched(kernel: Kernel) -> list[int]:
    """The offsets that a kernel asks for, in order: its loops are run without their arithmetic."""
    asked: list[int] = []

    def noting(body: Body) -> Body:
        kept: list[Stmt] = []
        for one in body:
            if isinstance(one, For):
                kept.append(replace(one, body=noting(one.body)))
            elif isinstance(one, If):
                kept.append(replace(one, then=noting(one.then), otherwise=noting(one.otherwise)))
            elif isinstance(one, Let) and one.value.lanes == 1 and one.value.dtype == INDEX:
                kept.append(one)
            elif isinstance(one, Prefetch):
                kept.append(Store(NOTES, (Literal(0, INDEX),), one.indices[0]))
        return tuple(kept)

    class Notes(np.ndarray):
        def __setitem__(self, place: Any, value: Any) -> None:
            asked.append(int(np.asarray(value).item()))

    run_kernel(replace(kernel, body=noting(kernel.body)), {"notes": np.zeros(1, np.int64).view(Notes)})
    return asked


NOTES = Buffer("notes", INDEX, (1,), access="write")


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_what_is_fetched_ahead_changes_no_result(target: str) -> None:
    native = load(product(101, 256, 100).program, target)
    a = np.random.default_rng(0).standard_normal((101, 256)).astype(np.float32)
    (b,) = [one.array() for one in parse(MATMUL.format(m=101, k=256, n=100)).constants]
    (found,) = native.run(a)
    assert np.allclose(found, a @ b, atol=1e-3)
