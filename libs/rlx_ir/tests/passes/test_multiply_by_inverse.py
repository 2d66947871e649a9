"""MultiplyByInverse turns a division by a constant into a product, where rounding is all that differs."""

import numpy as np
import pytest

from rlx_ir.interpreter import run
from rlx_ir.passes import MultiplyByInverse, RemoveDead, apply_passes
from rlx_ir.text import parse

TEXT = """\
@rlx.module
def m():
    x = rlx.tensor(shape=[{count}], dtype="{dtype}")
    c = rlx.constant(value={divisor}, dtype="{dtype}")
    return rlx.div(x, c)
"""


def after(divisor: str, dtype: str = "float32", count: int = 6):
    module = parse(TEXT.format(divisor=divisor, dtype=dtype, count=count))
    return module, apply_passes(module, (MultiplyByInverse(), RemoveDead()))


@pytest.mark.parametrize("divisor", ["8.0", "1.4142135", "-3.0", "[1.0, 2.0, 3.0, 1e30, 1e-30, -7.0]"])
def test_the_quotient_differs_by_rounding_alone(divisor: str) -> None:
    before, changed = after(divisor)
    assert [node.op.name for node in changed.nodes] == ["mul"]
    for values in ([1.0, -2.5, 1e-3, 7e7, 0.0, -0.0], [np.inf, -np.inf, np.nan, 1.0, 3.0, 0.5]):
        x = {"x": np.array(values, np.float32)}
        (expected,), (found,) = run(before, x).values(), run(changed, x).values()
        np.testing.assert_allclose(found, expected, rtol=2.0**-23, equal_nan=True)
        assert np.array_equal(np.signbit(found), np.signbit(expected))


def test_a_power_of_two_is_exact() -> None:
    before, changed = after("8.0", count=3)
    x = {"x": np.array([1.1, -3.3e38, 1e-40], np.float32)}
    np.testing.assert_array_equal(*(next(iter(run(module, x).values())) for module in (before, changed)))


@pytest.mark.parametrize("divisor", ["0.0", "1e-40", "3e38", "[1.0, 0.0, 1.0, 1.0, 1.0, 1.0]"])
def test_a_divisor_without_a_normal_inverse_stays(divisor: str) -> None:
    _, changed = after(divisor)
    assert [node.op.name for node in changed.nodes] == ["div"]


def test_whole_numbers_are_divided() -> None:
    _, changed = after("3", "int32")
    assert [node.op.name for node in changed.nodes] == ["div"]
