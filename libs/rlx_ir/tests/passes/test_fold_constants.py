"""FoldConstants computes what depends on constants alone, and nothing else."""

from hypothesis import given, settings
from hypothesis import strategies as st

from rlx_ir.passes import FoldConstants
from rlx_ir.testing.modules import modules
from rlx_ir.testing.translation import check_translation, inputs_for
from rlx_ir.text import parse, print_module

BEFORE = """\
@rlx.module
def m():
    x = rlx.tensor(shape=[2], dtype="float32")
    a = rlx.constant(value=[1.0, 2.0], dtype="float32")
    b = rlx.constant(value=[3.0, 5.0], dtype="float32")
    c = rlx.mul(a, b)
    d = rlx.neg(c)
    return rlx.add(x, d)
"""
AFTER = """\
@rlx.module
def m():
    x = rlx.tensor(shape=[2], dtype="float32")
    a = rlx.constant(value=[1.0, 2.0], dtype="float32")
    b = rlx.constant(value=[3.0, 5.0], dtype="float32")
    c = rlx.constant(value=[3.0, 10.0], dtype="float32")
    d = rlx.constant(value=[-3.0, -10.0], dtype="float32")
    add = rlx.add(x, d)
    return add
"""


def test_a_chain_of_constants_becomes_constants():
    assert print_module(FoldConstants().apply(parse(BEFORE))) == AFTER


def test_a_result_over_the_limit_is_left_to_run_time():
    module = parse(BEFORE)
    assert FoldConstants(most_bytes=7).apply(module) == module
    assert FoldConstants(most_bytes=8).apply(module) != module


def test_expand_is_not_stored_repeated():
    module = parse("""
@rlx.module
def m():
    a = rlx.constant(value=[1.0], dtype="float32")
    return rlx.expand(a, shape=[1000])
""")
    assert FoldConstants().apply(module) == module


@settings(max_examples=20)
@given(data=st.data())
def test_no_value_changes(data):
    module = data.draw(modules())
    check_translation(module, data.draw(inputs_for(module)), FoldConstants())
