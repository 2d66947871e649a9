"""Every function of `rlx_compiler.math` keeps the error that it states, over all magnitudes, on both targets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from libs.rlx_compiler.tests.native import elementwise, load, program_of
from rlx_base.dtypes import DTYPES
from rlx_compiler.loops.ir import Apply

Array = np.ndarray[Any, Any]
TARGETS = [("llvm", "host"), ("llvm", "x86-64-v2"), ("c", "host")]
everywhere = pytest.mark.parametrize(("target", "cpu"), TARGETS, ids=[f"{t}:{c}" for t, c in TARGETS])
both_floats = pytest.mark.parametrize("dtype", ["float32", "float64"])
COUNT = 1 << 14


def numbers(dtype: str, seed: int) -> Array:
    """All magnitudes, more of those that programs use, and every special value."""
    rng, kind = np.random.default_rng(seed), np.dtype(dtype)
    word = np.dtype(f"uint{8 * kind.itemsize}")
    anything = rng.integers(0, np.iinfo(word).max, COUNT // 2, word, endpoint=True).view(kind)
    usual = rng.standard_normal(COUNT // 2) * np.resize([0.3, 3, 60, 1e4], COUNT // 2)
    info = np.finfo(kind)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, 2, 88.8, -104, 709.9, info.tiny, info.max, info.min]
    special += [info.smallest_subnormal, -info.smallest_subnormal, math.pi, math.pi / 2, 2**20, 2**20 + 1]
    x = np.concatenate([anything, usual.astype(kind)])
    x[-len(special) :] = special
    return x


def wide(function: Any, *arguments: Array) -> Array:
    """In a wider type, so that the reference's own error does not count."""
    with np.errstate(all="ignore"):
        kind = np.float64 if arguments[0].dtype == np.float32 else np.longdouble
        return np.asarray(function(*[a.astype(kind) for a in arguments]))


def ulps(result: Array, exact: Array) -> float:
    """The largest error in units of the last place; NaN, infinities and overflow must be where they should."""
    with np.errstate(over="ignore"):
        want = exact.astype(result.dtype)
    np.testing.assert_array_equal(np.isnan(result), np.isnan(want))
    infinite = np.isinf(want) | np.isinf(result)
    np.testing.assert_array_equal(result[infinite], want[infinite])
    finite = np.isfinite(want)
    # Nothing above the largest float is left, whose spacing would overflow.
    spacing = np.spacing(np.minimum(np.abs(want[finite]), np.finfo(result.dtype).max / 2))
    return float((np.abs(result[finite].astype(exact.dtype) - exact[finite]) / spacing.astype(exact.dtype)).max())


def run(target: str, cpu: str, function: str, *arguments: Array) -> Array:
    dtype = DTYPES[arguments[0].dtype.name]
    kernel = elementwise(
        lambda *values: Apply(function, values, dtype), [dtype] * len(arguments), dtype, len(arguments[0]), 8
    )
    return load(program_of(kernel), target, cpu).run(*arguments)[0]


_erf = np.vectorize(math.erf, otypes=[np.float64])
# As stated in the modules; erf's reference is itself only good to 1 ulp of float64.
BOUNDS = {
    "exp": (np.exp, 1.1, 1.1),
    "log": (np.log, 1.0, 1.0),
    "tanh": (np.tanh, 2.0, 3.0),
    "erf": (lambda x: _erf(x).astype(x.dtype), 1.5, 2.0),
    "sin": (np.sin, 1.5, 2.5),
    "cos": (np.cos, 1.5, 2.5),
    "sqrt": (np.sqrt, 0.51, 0.51),
    "floor": (np.floor, 0, 0),
    "ceil": (np.ceil, 0, 0),
    "round": (np.rint, 0, 0),
    "tan": (np.tan, 4.0, 4.0),
    "asin": (np.arcsin, 4.0, 4.0),
    "acos": (np.arccos, 4.0, 4.0),
    "atan": (np.arctan, 4.0, 4.0),
    "sinh": (np.sinh, 6.0, 6.0),
    "cosh": (np.cosh, 4.0, 4.0),
    "asinh": (np.arcsinh, 4.0, 4.0),
    "acosh": (np.arccosh, 4.0, 4.0),
    "atanh": (np.arctanh, 4.0, 4.0),
}


@everywhere
@both_floats
@pytest.mark.parametrize("function", BOUNDS)
def test_a_function_keeps_its_stated_error(target: str, cpu: str, dtype: str, function: str) -> None:
    meaning, bound32, bound64 = BOUNDS[function]
    x = numbers(dtype, seed=1)
    error = ulps(run(target, cpu, function, x), wide(meaning, x))
    assert error <= (bound32 if dtype == "float32" else bound64)


@everywhere
@both_floats
def test_pow_keeps_its_stated_error_and_the_special_cases_of_ieee_754(target: str, cpu: str, dtype: str) -> None:
    x, y = numbers(dtype, seed=2), np.random.default_rng(3).permutation(numbers(dtype, seed=4))
    half = len(x) // 2
    x[:half] = np.exp(np.random.default_rng(8).standard_normal(half))
    y[:half] = np.resize(np.linspace(-200, 200, 997), half)
    special = np.array([0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, np.inf, -np.inf, np.nan, 3, -3, 2.5, 1e300], np.float64)
    with np.errstate(over="ignore"):
        a, b = np.meshgrid(special.astype(dtype), special.astype(dtype))
    x[-a.size :], y[-a.size :] = a.ravel(), b.ravel()
    error = ulps(run(target, cpu, "pow", x, y), wide(np.power, x, y))
    assert error <= (1.0 if dtype == "float32" else 3.0)


@everywhere
@both_floats
@pytest.mark.parametrize(
    ("function", "meaning"),
    [("rem", np.fmod), ("mod", np.mod), ("floor_div", np.floor_divide), ("max", np.maximum), ("min", np.minimum)],
)
def test_what_numpy_computes_exactly_is_equal(target: str, cpu: str, dtype: str, function: str, meaning: Any) -> None:
    x, y = numbers(dtype, seed=5), np.random.default_rng(6).permutation(numbers(dtype, seed=7))
    y[: COUNT // 4] = np.resize([3.0, -0.7, 1e-3, 2**0.5], COUNT // 4)
    with np.errstate(all="ignore"):
        want = meaning(x, y)
    np.testing.assert_array_equal(run(target, cpu, function, x, y), want)


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_numbers_that_lie_next_to_multiples_of_half_pi_keep_their_digits(target: str) -> None:
    # The float64 that comes closest to a multiple of π ÷ 2 (J.-M. Muller, Elementary Functions, table 11.1), and 10²².
    x = np.array([6381956970095103.0 * 2.0**797, 1e22, -1e22, 1e22])
    (sine, cosine) = (run(target, "host", name, np.resize(x, 8)) for name in ("sin", "cos"))
    assert cosine[0] == pytest.approx(-4.68716592425462761112e-19, rel=3e-16)
    np.testing.assert_allclose(sine[1:4], np.array([1, -1, 1]) * -0.8522008497671888018, rtol=3e-16)
    np.testing.assert_allclose(cosine[1:4], 0.5232147853951389454, rtol=3e-16)
