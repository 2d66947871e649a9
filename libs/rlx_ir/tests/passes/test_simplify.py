"""Simplify takes away what changes nothing, to the bit."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx_ir.passes import RemoveDead, Simplify, apply_passes
from rlx_ir.testing.translation import chains, check_translation, inputs_for
from rlx_ir.text import parse, print_module

BEFORE = """\
@rlx.module
def m():
    x = rlx.tensor(shape=[2, 3, 4], dtype="float32")
    one = rlx.constant(value=1.0, dtype="float32")
    a = rlx.mul(one, x)
    b = rlx.transpose(a, perm=[2, 0, 1])
    c = rlx.transpose(b, perm=[1, 2, 0])
    d = rlx.cast(c, to="float32")
    e = rlx.reshape(d, shape=[6, 4])
    f = rlx.reshape(e, shape=[24])
    g = rlx.unsqueeze(f, axes=[0])
    h = rlx.exp(g)
    return h
"""
AFTER = """\
@rlx.module
def m():
    x = rlx.tensor(shape=[2, 3, 4], dtype="float32")
    g = rlx.reshape(x, shape=[1, 24])
    h = rlx.exp(g)
    return h
"""


def simplified(expression: str, dtype: str = "float32") -> str:
    """The last statement of a module that gives `expression` of x, and a constant k of zeros or ones."""
    module = parse(f"""
@rlx.module
def m():
    x = rlx.tensor(shape=[2, 3], dtype="{dtype}")
    return {expression}
""")
    return print_module(apply_passes(module, [Simplify(), RemoveDead()])).splitlines()[-1].strip()


def test_a_chain_becomes_what_is_left_of_it():
    assert print_module(apply_passes(parse(BEFORE), [Simplify(), RemoveDead()])) == AFTER


@pytest.mark.parametrize(
    "expression",
    [
        "x + -0.0",
        "-0.0 + x",
        "x - 0.0",
        "x * 1.0",
        "1.0 * x",
        "x / 1.0",
        "x ** 1.0",
        "rlx.neg(rlx.neg(x))",
        "rlx.identity(x)",
        "rlx.clip(x)",
        "rlx.max(x)",
        "rlx.concat(x, axis=0)",
        "rlx.pad(x, pads=[0, 0, 0, 0])",
        "rlx.slice(x, starts=[0], ends=[2])",
        "rlx.expand(x, shape=[2, 3])",
        "rlx.transpose(rlx.transpose(x))",
        "rlx.reshape(rlx.flatten(x, axis=0), shape=[2, 3])",
    ],
)
def test_what_changes_nothing_goes(expression):
    assert simplified(expression) == "return x"


@pytest.mark.parametrize(
    "expression",
    [
        "x + 0.0",  # −0 + 0 is 0
        "x - -0.0",
        "x * 0.0",  # NaN and ±∞ stay NaN
        "0.0 - x",
        "1.0 / x",
        "x + rlx.constant(value=[[[-0.0]]], dtype='float32')",  # another shape
        "rlx.slice(x, starts=[None], ends=[None], steps=[-1])",
        "rlx.transpose(x)",
        "rlx.cast(x, to='float64')",
        "rlx.neg(rlx.abs(x))",
        "rlx.identity(x, layout='CN')",  # a layout that was asked for
    ],
)
def test_what_changes_something_stays(expression):
    assert simplified(expression) != "return x"


@pytest.mark.parametrize("expression", ["x + 0", "0 + x", "x - 0", "x * 1", "rlx.div(x, 1)"])
def test_integers_have_no_negative_zero(expression):
    assert simplified(expression, "int32") == "return x"


@settings(max_examples=100)
@given(data=st.data())
def test_no_bit_changes(data):
    module = data.draw(chains())
    check_translation(module, data.draw(inputs_for(module)), Simplify(), RemoveDead())
