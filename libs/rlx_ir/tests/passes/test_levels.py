"""The optimisation levels: each keeps what a module computes and contains the one before it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx_base.tolerance import Tolerance
from rlx_ir.passes import LEVELS, apply_passes
from rlx_ir.testing.modules import modules
from rlx_ir.testing.translation import check_translation, convolutions, inputs_for
from rlx_ir.text import parse


def test_each_level_contains_the_one_before():
    for level in (1, 2):
        assert LEVELS[level][: len(LEVELS[level - 1])] == LEVELS[level - 1]


def test_a_pass_has_a_name_of_its_own():
    names = {one.name for passes in LEVELS.values() for one in passes}
    assert len(names) == len({type(one) for passes in LEVELS.values() for one in passes})


def test_the_observer_sees_every_pass():
    seen = []
    module = parse('@rlx.module\ndef m():\n    x = rlx.tensor(shape=[1], dtype="float32")\n    return rlx.exp(x)\n')
    apply_passes(module, LEVELS[1], lambda one, after: seen.append(one.name))
    assert seen == [one.name for one in LEVELS[1]]


@pytest.mark.parametrize("level", [0, 1])
@settings(max_examples=20)
@given(data=st.data())
def test_levels_0_and_1_change_no_bit(level, data):
    module = data.draw(modules())
    check_translation(module, data.draw(inputs_for(module)), *LEVELS[level])


@settings(max_examples=20)
@given(data=st.data())
def test_level_2_changes_no_value_beyond_rounding(data):
    module = data.draw(convolutions())
    inputs = {name: array.clip(-4, 4) for name, array in data.draw(inputs_for(module)).items()}
    check_translation(module, inputs, *LEVELS[2], tolerance=Tolerance(1e-5, 1e-5))
