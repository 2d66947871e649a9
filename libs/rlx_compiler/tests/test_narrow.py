"""bfloat16, float8, float4, int4 and int2 as machine code: every bit pattern, and roundings as by `ml_dtypes`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from libs.rlx_compiler.tests.harness import Target, check, drawn
from libs.rlx_compiler.tests.native import elementwise, load, program_of
from rlx_base.dtypes import DTYPES, FLOAT32, FLOAT64, INT32, DType
from rlx_compiler.loops.ir import Cast
from rlx_ir.elements import numpy_of

Array = np.ndarray[Any, Any]
NARROW = [dtype for dtype in DTYPES.values() if dtype.numpy is None]
FLOATS = [dtype for dtype in NARROW if dtype.is_float]
on_both = pytest.mark.parametrize("target", ["llvm", "c"])


def cast(target: str, x: Array, source: DType, result: DType) -> Array:
    count = -(-len(x) // 8) * 8
    kernel = elementwise(lambda value: Cast(value, result), [source], result, count, 8)
    padded = np.concatenate([x, x[:1].repeat(count - len(x))])
    return load(program_of(kernel), target, "host").run(padded)[0][: len(x)]


def bits(array: Array) -> Array:
    """NaNs of any payload are one."""
    found = array.view(f"u{array.dtype.itemsize}").copy()
    if array.dtype.kind != "i" and np.issubdtype(array.astype(np.float32).dtype, np.floating):
        found[np.isnan(array.astype(np.float32))] = np.iinfo(found.dtype).max
    return found


def patterns(dtype: DType) -> Array:
    count = 1 << (dtype.bits if dtype.is_float else 8)
    return np.arange(count).astype(dtype.bits_held.numpy).view(numpy_of(dtype))


@on_both
@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_every_bit_pattern_widens_to_its_number(target: str, dtype: DType) -> None:
    x, wide = patterns(dtype), FLOAT32 if dtype.is_float else INT32
    np.testing.assert_array_equal(bits(cast(target, x, dtype, wide)), bits(x.astype(wide.numpy)))


@on_both
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_a_float_is_rounded_to_the_nearest_even(target: str, dtype: DType) -> None:
    rng = np.random.default_rng(0)
    scales = np.resize([1e-41, 1e-8, 1e-3, 0.02, 1, 10, 300, 6e4, 1e37], 1 << 14)
    halves = np.arange(-4096, 4096) / 64  # many lie in the middle between two
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 448, 464, 465, 480, 57344, 61440, 61441, 240, 248, 6, 7]
    x = np.concatenate([rng.standard_normal(1 << 14) * scales, halves, special]).astype(np.float32)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(bits(cast(target, x, FLOAT32, dtype)), bits(x.astype(numpy_of(dtype))))


@on_both
def test_a_float64_is_rounded_once(target: str) -> None:
    # Just above the middle between two bfloat16s: float32 would put it into the middle, and even would win.
    x = np.array([1 + 2**-8 + 2**-40, 1 + 2**-8, 1 + 3 * 2**-8 - 2**-40] * 8)
    got = cast(target, x, FLOAT64, DTYPES["bfloat16"]).astype(np.float64)
    np.testing.assert_array_equal(got[:3], [1 + 2**-7, 1, 1 + 2**-7])


@on_both
@pytest.mark.parametrize("dtype", [dtype for dtype in NARROW if dtype.is_integer], ids=str)
def test_a_whole_number_keeps_its_lowest_bits(target: str, dtype: DType) -> None:
    x = np.arange(-300, 300, dtype=np.int32)
    got = cast(target, x, INT32, dtype).astype(np.int32)
    np.testing.assert_array_equal(got & (2**dtype.bits - 1), x & (2**dtype.bits - 1))
    assert got.min() == (-(2 ** (dtype.bits - 1)) if dtype.kind == "int" else 0)


@on_both
@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn"])
def test_ops_compute_in_float32_and_round_at_the_end(target: str, dtype: str) -> None:
    batch = [case for op in ("add", "mul", "matmul", "softmax", "concat") for case in drawn(op, 6, [DTYPES[dtype]])]
    assert any(array.dtype == numpy_of(DTYPES[dtype]) for case in batch for array in case.inputs.values())
    check(batch, Target(target))
