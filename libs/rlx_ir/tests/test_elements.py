"""Element types that NumPy alone cannot hold: stored as they are, computed wider, rounded once."""

from __future__ import annotations

import numpy as np
import pytest

import rlx_ir
from rlx_base.dtypes import DTYPES
from rlx_ir.elements import numpy_of
from rlx_ir.op import OPS, make
from rlx_ir.types import TensorType


def run(op, attributes, *arrays, dtype):
    build = rlx_ir.ModuleBuilder("net")
    names = [build.input(f"x{i}", TensorType(array.shape, DTYPES[dtype])) for i, array in enumerate(arrays)]
    build.output("y", build.add(make(OPS[op], attributes), *names))
    return rlx_ir.run(build.build(), {f"x{i}": array for i, array in enumerate(arrays)})["y"]


def test_a_sum_of_bfloat16_is_rounded_once():
    """1 + 2⁻⁸ is no bfloat16 and rounds to 1; the mean of wide terms keeps what lies between."""
    bfloat16 = numpy_of(DTYPES["bfloat16"])
    ones = np.ones(256, bfloat16)
    total = run("reduce_sum", {"axes": [0], "keepdims": False}, ones, dtype="bfloat16")
    assert total.dtype == bfloat16
    assert float(total) == 256.0  # step by step in bfloat16, it would stop growing before


@pytest.mark.parametrize(
    ("dtype", "given", "expected"),
    [
        ("bfloat16", [1.0, 1.00390625, 3.3895314e38], [1.0, 1.0, 3.3895314e38]),
        ("float8_e4m3fn", [448.0, 0.5, -1.1], [448.0, 0.5, -1.125]),
        ("float8_e5m2", [57344.0, 0.3], [57344.0, 0.3125]),
        ("float4_e2m1fn", [6.0, 0.4, -1.4], [6.0, 0.5, -1.5]),
    ],
)
def test_a_conversion_rounds_to_the_nearest(dtype, given, expected):
    small = run("cast", {"to": dtype}, np.array(given, np.float32), dtype="float32")
    assert small.dtype.name == dtype
    assert np.allclose(small.astype(np.float32), np.array(expected, np.float32), rtol=1e-6)


def test_a_round_trip_of_small_integers_is_exact():
    every = np.arange(-8, 8, dtype=np.int8)
    small = run("cast", {"to": "int4"}, every, dtype="int8")
    assert run("cast", {"to": "int8"}, small, dtype="int4").tolist() == every.tolist()
