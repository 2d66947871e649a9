"""Specialise replaces symbolic dimensions by numbers, in attributes too."""

from rlx_ir.passes import Specialise
from rlx_ir.text import parse, print_module

BEFORE = """\
@rlx.module
def m():
    x = rlx.tensor(shape=["N", 4, 6], dtype="float32", layout="NWC")
    a = rlx.reshape(x, shape=["N", 24])
    b = rlx.reduce_sum(a, axes=[1])
    return b
"""
AFTER = """\
@rlx.module
def m():
    x = rlx.tensor(shape=[3, 4, 6], dtype="float32", layout="NWC")
    a = rlx.reshape(x, shape=[3, 24])
    b = rlx.reduce_sum(a, axes=[1])
    return b
"""


def test_every_shape_becomes_known():
    after = Specialise((("N", 3),)).apply(parse(BEFORE))
    assert print_module(after) == AFTER
    assert after.tensor("b").shape == (3, 1)


def test_other_names_stay():
    assert Specialise((("M", 3),)).apply(parse(BEFORE)) == parse(BEFORE)
