"""The one policy by which results are compared."""

from __future__ import annotations

import numpy as np
import pytest

from rlx_base.dtypes import DTYPES, of_numpy
from rlx_base.tolerance import Tolerance, difference, mismatch


def test_floats_are_compared_relative_to_the_largest_magnitude() -> None:
    expected = np.array([1000.0, 1e-3], np.float32)
    assert mismatch(expected + np.float32(5e-3), expected) is None
    assert mismatch(expected + np.float32(5e-2), expected) is not None


def test_integers_and_bools_are_exact() -> None:
    assert mismatch(np.array([1, 2]), np.array([1, 2])) is None
    assert (
        mismatch(np.array([1, 3]), np.array([1, 2]))
        == "1 of 2 elements differ; at (1,): np.int64(3) instead of np.int64(2)"
    )
    assert mismatch(np.array([True]), np.array([False])) is not None


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_non_finite_values_must_be_equal(special: float) -> None:
    assert mismatch(np.array([special, 1.0]), np.array([special, 1.0])) is None
    assert mismatch(np.array([1.0, 1.0]), np.array([special, 1.0])) is not None
    assert mismatch(np.array([special, 1.0]), np.array([1.0, 1.0])) is not None


def test_shape_and_dtype_are_part_of_a_result() -> None:
    assert mismatch(np.zeros(2), np.zeros(3)) == "shape (2,) instead of (3,)"
    assert mismatch(np.zeros(2, np.float32), np.zeros(2)) == "dtype float32 instead of float64"
    assert mismatch(np.zeros((0, 2)), np.zeros((0, 2))) is None


def test_a_caller_may_ask_for_another_limit() -> None:
    assert mismatch(np.array([1.01]), np.array([1.0]), Tolerance(0.1, 0.0)) is None


def test_difference_is_relative_to_the_largest_expected_value() -> None:
    assert difference(np.array([2.0, 4.5]), np.array([2.0, 4.0])) == 0.125
    assert difference(np.array([1.0]), np.array([np.nan])) == float("inf")
    assert difference(np.zeros((2,)), np.zeros((3,))) == float("inf")
    assert difference(np.zeros(0), np.zeros(0)) == 0.0
    assert difference(np.array([0.5]), np.array([0.0])) == 0.5
    assert difference(np.array([np.inf]), np.array([np.inf])) == 0.0


def test_every_numpy_type_of_rlx_is_found_again_and_others_are_not() -> None:
    for dtype in DTYPES.values():
        if dtype.numpy is not None:
            assert of_numpy(dtype.numpy) == dtype
            assert dtype.itemsize == dtype.numpy.itemsize
    with pytest.raises(KeyError):
        of_numpy(np.dtype(np.complex64))
