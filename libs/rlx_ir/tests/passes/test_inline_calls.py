"""InlineCalls puts a called module's nodes in place of the call, SelectBranches those of both branches."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx_ir.passes import InlineCalls, SelectBranches
from rlx_ir.regions import RegionOp
from rlx_ir.testing.modules import modules
from rlx_ir.testing.translation import check_translation, inputs_for
from rlx_ir.text import parse, print_module

CALLS = """\
@rlx.module
def scaled():
    x = rlx.tensor(shape=[2], dtype="float32")
    two = rlx.constant(value=2.0, dtype="float32")
    y = rlx.mul(x, two)
    return y

@rlx.module
def main():
    x = rlx.tensor(shape=[2], dtype="float32")
    a = scaled(x)
    b = scaled(a)
    return b
"""
INLINED = """\
@rlx.module
def main():
    x = rlx.tensor(shape=[2], dtype="float32")
    a_two = rlx.constant(value=2.0, dtype="float32")
    a_y = rlx.mul(x, a_two)
    b_two = rlx.constant(value=2.0, dtype="float32")
    b_y = rlx.mul(a_y, b_two)
    return b_y
"""
CONDITION = """\
@rlx.module
def up():
    x = rlx.tensor(shape=[2], dtype="float32")
    y = rlx.exp(x)
    return y

@rlx.module
def down():
    x = rlx.tensor(shape=[2], dtype="float32")
    y = rlx.neg(x)
    return y

@rlx.module
def main():
    x = rlx.tensor(shape=[2], dtype="float32")
    c = rlx.tensor(shape=[1], dtype="bool")
    y = rlx.cond(c, up, down, args=[x])
    return y
"""
SELECTED = """\
@rlx.module
def main():
    x = rlx.tensor(shape=[2], dtype="float32")
    c = rlx.tensor(shape=[1], dtype="bool")
    y_condition = rlx.reshape(c, shape=[])
    y_then_y = rlx.exp(x)
    y_else_y = rlx.neg(x)
    y = rlx.where(y_condition, y_then_y, y_else_y)
    return y
"""


@pytest.mark.parametrize(
    ("one", "before", "after"), [(InlineCalls(), CALLS, INLINED), (SelectBranches(), CONDITION, SELECTED)]
)
def test_the_modules_take_the_place_of_the_node(one, before, after):
    assert print_module(one.apply(parse(before))) == after


def test_an_argument_is_stored_in_the_layout_that_the_module_declares():
    module = parse("""
@rlx.module
def f():
    x = rlx.tensor(shape=[2, 3], dtype="float32")
    return rlx.exp(x)

@rlx.module
def main():
    x = rlx.tensor(shape=[2, 3], dtype="float32", layout="CR")
    return f(x)
""")
    stored, exp = InlineCalls().apply(module).nodes
    assert (stored.op.name, stored.results[0].tensor.layout, exp.operands) == ("identity", None, (stored.name,))


@settings(max_examples=20)
@given(data=st.data())
def test_one_flat_list_gives_the_same_values(data):
    module = data.draw(modules())
    after = check_translation(module, data.draw(inputs_for(module)), InlineCalls(), SelectBranches())
    assert not any(isinstance(node.op, RegionOp) for node in after.nodes)
