"""What the cost model chooses, and the plans that primitives make."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from libs.rlx_compiler.tests.interpreted import NARROW, WIDE, compiled, noise
from rlx_base.dtypes import FLOAT32
from rlx_compiler.loops.rewrite import statements
from rlx_compiler.lowering.packing import pack_array
from rlx_compiler.schedule import primitives
from rlx_compiler.schedule.plan import Loop, Packing, Plan
from rlx_compiler.schedule.registers import Reuse, best_tile
from rlx_compiler.targets.spec import TargetSpec
from rlx_ir.expr import Tensor
from rlx_ir.text import parse

DENSE = Reuse(per_vector=1, per_pixel=1, per_place=0)
DEPTHWISE = Reuse(per_vector=1, per_pixel=0, per_place=1)


@given(st.integers(1, 100), st.integers(1, 300), st.sampled_from([DENSE, DEPTHWISE]), st.sampled_from([16, 32]))
def test_a_tile_fits_the_registers_and_the_result(vectors: int, pixels: int, reuse: Reuse, registers: int) -> None:
    tile = best_tile(vectors, pixels, reuse, registers)
    assert 1 <= tile.vectors <= vectors
    assert 1 <= tile.pixels <= pixels
    assert tile.vectors * tile.pixels + 1 <= registers
    assert 0 < tile.efficiency <= 1


def test_a_tile_is_balanced_over_a_narrow_row() -> None:
    """7 pixels are one tile of 7, not 6 and 1; 28 are equal parts."""
    assert best_tile(3, 7, DENSE, 32).pixels == 7
    assert 28 % best_tile(2, 28, DENSE, 32).pixels == 0


def test_more_registers_are_used() -> None:
    wide, narrow = best_tile(16, 196, DENSE, 32), best_tile(16, 196, DENSE, 16)
    assert wide.vectors * wide.pixels > narrow.vectors * narrow.pixels
    assert wide.efficiency > narrow.efficiency


MATMUL = """
@rlx.module
def m():
    a = rlx.tensor(shape=[{m}, {k}], dtype="{dtype}")
    b = rlx.constant(value=np.random.randn({k}, {n}).astype(np.{dtype}))
    return rlx.matmul(a, b)
"""


def schedule(spec: TargetSpec, m: int = 64, k: int = 32, n: int = 96, dtype: str = "float32") -> dict[str, object]:
    text = MATMUL.format(m=m, k=k, n=n, dtype=dtype)
    kernel = compiled(parse(text), spec).report["kernels"][0]
    return dict(kernel["schedule"])


def test_the_target_and_the_dtype_decide_the_lanes() -> None:
    assert schedule(WIDE)["lanes"] == 16
    assert schedule(WIDE, dtype="float64")["lanes"] == 8
    assert schedule(NARROW)["lanes"] == 4
    assert schedule(WIDE, n=5)["lanes"] == 4


def test_a_constant_matrix_is_packed_in_panels() -> None:
    packed = schedule(WIDE)["packed"]
    assert isinstance(packed, dict)
    (shape,) = packed.values()
    blocks, depth, width = shape
    assert (blocks * width, depth) == (96, 32)
    assert width % 16 == 0


def test_small_work_is_not_shared() -> None:
    loops = schedule(WIDE, 2, 2, 2)["loops"]
    assert isinstance(loops, list)
    assert not any("parallel" in loop for loop in loops)
    big = schedule(WIDE, 256, 64, 256)["loops"]
    assert isinstance(big, list)
    assert "parallel" in big[0]


def test_packing_moves_every_element_to_its_place() -> None:
    array = noise(5, 3, 4)
    packing = Packing(Tensor("w", (5, 3, 4), FLOAT32), (1, 2, 0), 2)
    assert packing.shape == (3, 3, 4, 2)
    packed = pack_array(array, packing).reshape(packing.shape)
    for o, i, k in np.ndindex(5, 3, 4):
        assert packed[o // 2, i, k, o % 2] == array[o, i, k]
    assert not packed[2, :, :, 1].any()
    np.testing.assert_array_equal(pack_array(array.transpose(2, 0, 1), None), array.transpose(2, 0, 1).reshape(-1))


PLAN = Plan((Loop("a", 8), Loop("b", 4), Loop("a", 1)), (Loop("r", 1), Loop("s", 1)))


def test_primitives_change_one_thing_each() -> None:
    assert primitives.split(PLAN, "b", 2).loops == (*PLAN.loops, Loop("b", 2))
    assert primitives.stage(PLAN, "r", 3).reduce_loops == (*PLAN.reduce_loops, Loop("r", 3))
    moved = primitives.reorder(PLAN, ["b", "a", "s", "r"])
    assert moved.loops == (Loop("b", 4), Loop("a", 8), Loop("a", 1))
    assert moved.reduce_loops == (Loop("s", 1), Loop("r", 1))
    shared = primitives.parallel(PLAN, ["b", "a"])
    assert shared.loops == (Loop("b", 4, "parallel"), Loop("a", 8, "parallel"), Loop("a", 1))
    unrolled = primitives.unroll(PLAN, "s", 4)
    assert unrolled.reduce_loops == (Loop("r", 1), Loop("s", 4), Loop("s", 1, "unrolled"))
    assert primitives.vectorise(PLAN, "b", 4) == Plan(PLAN.loops, PLAN.reduce_loops, "b", 4)
    assert primitives.in_registers(PLAN, "c", 6).pixel == "c"
    assert PLAN.loop_sizes("a") == [8, 1]


@pytest.mark.parametrize("unknown", ["z"])
def test_primitives_leave_alone_what_they_do_not_know(unknown: str) -> None:
    assert primitives.parallel(PLAN, [unknown]) == PLAN
    assert primitives.reorder(PLAN, [unknown]) == PLAN
    assert primitives.unroll(PLAN, unknown, 2) == PLAN


def test_a_schedule_cannot_make_code_without_bound() -> None:
    """Blocks that never divide, and turns by the thousand: honoured as far as the code may grow, and said."""
    text = """
@rlx.module
def m():
    a = rlx.tensor(shape=[97, 64], dtype="float32")
    b = rlx.tensor(shape=[64, 997], dtype="float32")
    return rlx.matmul(
        a, b, tile_layout={"output": {"row": 90, "column": 991}, "a": {"row": 83}, "b": {"column": 983}},
        compute_schedule={"unroll": {"row": 60000, "reduce": 60000}},
    )
"""
    found = compiled(parse(text))
    (kernel,) = found.program.kernels
    assert sum(1 for _ in statements(kernel.body)) < 6000
    reasons = found.report["kernels"][0]["reasons"]
    assert any(reason.startswith("row unrolled") and "the code may grow" in reason for reason in reasons)
    assert any(reason.startswith("reduce unrolled") for reason in reasons)
