"""RemoveDead leaves out what no output needs, and keeps the interface."""

from hypothesis import given, settings
from hypothesis import strategies as st

from rlx_ir.passes import RemoveDead
from rlx_ir.testing.modules import modules
from rlx_ir.testing.translation import check_translation, inputs_for
from rlx_ir.text import parse, print_module

BEFORE = """\
@rlx.module
def m():
    x = rlx.tensor(shape=[4], dtype="float32")
    unused = rlx.tensor(shape=[2], dtype="float32")
    a = rlx.constant(value=[1.0], dtype="float32")
    b = rlx.constant(value=[2.0], dtype="float32")
    dead = rlx.exp(unused)
    deader = rlx.add(dead, b)
    first, second = rlx.split(x, num_outputs=2)
    y = rlx.add(second, a)
    return y
"""
AFTER = """\
@rlx.module
def m():
    x = rlx.tensor(shape=[4], dtype="float32")
    unused = rlx.tensor(shape=[2], dtype="float32")
    first, second = rlx.split(x, num_outputs=2)
    a = rlx.constant(value=[1.0], dtype="float32")
    y = rlx.add(second, a)
    return y
"""


def test_unneeded_nodes_and_constants_go_and_inputs_stay():
    assert print_module(RemoveDead().apply(parse(BEFORE))) == AFTER


@settings(max_examples=20)
@given(data=st.data())
def test_no_value_changes(data):
    module = data.draw(modules())
    after = check_translation(module, data.draw(inputs_for(module)), RemoveDead())
    used = {name for node in after.nodes for name in node.operands} | {output.value for output in after.outputs}
    assert all(any(result.name in used for result in node.results) for node in after.nodes)
    assert all(constant.name in used for constant in after.constants)
