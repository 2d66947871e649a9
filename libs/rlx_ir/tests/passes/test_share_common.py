"""ShareCommon computes equal things once."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx_ir.passes import ShareCommon
from rlx_ir.testing.modules import modules
from rlx_ir.testing.translation import check_translation, inputs_for
from rlx_ir.text import parse, print_module

BEFORE = """\
@rlx.module
def m():
    x = rlx.tensor(shape=[2], dtype="float32")
    a = rlx.constant(value=[1.0, 2.0], dtype="float32")
    b = rlx.constant(value=[1.0, 2.0], dtype="float32")
    c = rlx.add(x, a)
    d = rlx.add(x, b)
    e = rlx.mul(c, d)
    return {"e": e, "d": d}
"""
AFTER = """\
@rlx.module
def m():
    x = rlx.tensor(shape=[2], dtype="float32")
    a = rlx.constant(value=[1.0, 2.0], dtype="float32")
    c = rlx.add(x, a)
    e = rlx.mul(c, c)
    return {"e": e, "d": c}
"""


def test_equal_constants_and_nodes_become_one():
    assert print_module(ShareCommon().apply(parse(BEFORE))) == AFTER


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("rlx.clip(x, min=0.0)", "rlx.clip(x, min=-0.0)"),
        ("rlx.neg(x)", 'rlx.neg(x, compute_schedule={"unroll": {"column": 2}})'),
        ("rlx.relu(x)", "rlx.abs(x)"),
    ],
)
def test_what_differs_in_any_way_stays_apart(first, second):
    module = parse(f"""
@rlx.module
def m():
    x = rlx.tensor(shape=[2], dtype="float32")
    a = {first}
    b = {second}
    return a, b
""")
    assert ShareCommon().apply(module) == module


@settings(max_examples=20)
@given(data=st.data())
def test_no_value_changes(data):
    module = data.draw(modules())
    check_translation(module, data.draw(inputs_for(module)), ShareCommon())
