"""`verify` finds whatever a faulty pass could break."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from rlx_base.dtypes import FLOAT32, FLOAT64
from rlx_base.errors import VerifyError
from rlx_ir.layout import Layout
from rlx_ir.module import Computed, Module, Node, Output, Value, constant_of
from rlx_ir.op import make, operation
from rlx_ir.schedule import ComputeSchedule, Schedule, Tile
from rlx_ir.testing.modules import modules
from rlx_ir.text import parse
from rlx_ir.types import SequenceType, TensorType
from rlx_ir.verify import verify

MODULE = parse("""
@rlx.module
def block():
    x = rlx.tensor(shape=[1, 4, 8, 8], dtype="float32")
    return rlx.relu(x)

@rlx.module
def main():
    x = rlx.tensor(shape=[1, 4, 8, 8], dtype="float32")
    w = rlx.constant(value=np.ones([2, 4, 3, 3], dtype="float32"))
    y = rlx.conv2d(x, w)
    z = block(x)
    return {"y": y, "z": z}
""")
CONV, CALL = MODULE.nodes


def refused(module: Module) -> VerifyError:
    with pytest.raises(VerifyError) as caught:
        verify(module)
    return caught.value


def with_conv(**changes: object) -> Module:
    return replace(MODULE, nodes=(replace(CONV, **changes), CALL))


def test_what_the_builder_made_verifies():
    verify(MODULE)


@settings(max_examples=25)
@given(modules())
def test_every_generated_module_verifies(module):
    verify(module)


def test_a_name_defined_twice():
    error = refused(replace(MODULE, nodes=(CONV, CONV, CALL)))
    assert (error.code, "'y' is defined twice" in error.message) == ("RLX-E130", True)


def test_a_use_before_its_definition():
    relu = Node(make(operation("relu"), {}), ("y",), (Value("r", CONV.results[0].type),))
    assert "uses 'y' before it is defined" in refused(replace(MODULE, nodes=(relu, CONV, CALL))).message


def test_a_type_that_the_op_does_not_give():
    for wrong in (TensorType((1, 2, 6, 7), FLOAT32), TensorType((1, 2, 6, 6), FLOAT64)):
        error = refused(with_conv(results=(Value("y", wrong),)))
        assert "conv2d gives float32[1, 2, 6, 6]" in error.message


def test_a_missing_operand():
    error = refused(with_conv(operands=("x", None, None)))
    assert (error.code, "'weight' is missing" in error.message) == ("RLX-E111", True)


def test_a_wrong_number_of_operands():
    error = refused(with_conv(operands=("x",)))
    assert (error.code, error.message) == ("RLX-E131", "conv2d is given 1 operands")
    assert error.help == "it takes (input, weight, bias?)"


def test_a_wrong_number_of_results():
    assert refused(with_conv(results=(CONV.results[0], Value("more", FLOAT32)))).code == "RLX-E106"


def test_operands_that_the_op_refuses():
    assert refused(with_conv(operands=("w", "x", None))).code == "RLX-E110"


def test_a_region_where_none_belongs_and_none_where_one_does():
    assert "1 modules to run" in refused(with_conv(regions=CALL.regions)).message
    assert "0 modules to run" in refused(replace(MODULE, nodes=(CONV, replace(CALL, regions=())))).message


def test_a_fault_in_a_called_module():
    (block,) = CALL.regions
    broken = replace(block, outputs=(Output("output", "nowhere"),))
    error = refused(replace(MODULE, nodes=(CONV, replace(CALL, regions=(broken,)))))
    assert "module 'block': output 'output' is 'nowhere', which is not defined" in error.message


def test_outputs_of_one_name():
    assert refused(replace(MODULE, outputs=(Output("y", "y"), Output("y", "z")))).code == "RLX-E108"


def test_a_constant_that_is_not_its_type():
    wrong = replace(constant_of("w", np.ones((2, 4, 3, 3), np.float32)), data=Computed(np.ones(3, np.float32)))
    assert "constant 'w' is float32[2, 4, 3, 3] and holds [3]" in refused(replace(MODULE, constants=(wrong,))).message


def test_a_layout_of_another_rank_and_a_size_below_0():
    bad = Value("x", TensorType((1, 4, 8, 8), FLOAT32, Layout.parse("NWC", 3)))
    assert refused(replace(MODULE, inputs=(bad,))).code == "RLX-E120"
    assert "a size below 0" in refused(replace(MODULE, inputs=(Value("x", TensorType((-1,), FLOAT32)),))).message


def test_a_value_that_is_no_tensor():
    sequence = Value("x", SequenceType(TensorType((1,), FLOAT32)))
    assert refused(replace(MODULE, inputs=(sequence,))).code == "RLX-E107"


@pytest.mark.parametrize(
    ("schedule", "code"),
    [
        (Schedule((Tile("output", (("C", 3),)),)), "RLX-E113"),
        (Schedule((Tile("result", (("C", 1),)),)), "RLX-E113"),
        (Schedule(compute_schedule=ComputeSchedule(("channel",))), "RLX-E114"),
    ],
)
def test_a_schedule_that_the_op_cannot_have(schedule, code):
    assert refused(with_conv(schedule=schedule)).code == code


def test_the_text_of_a_tile_that_is_too_large():
    error = refused(with_conv(schedule=Schedule((Tile("output", (("C", 96),)),))))
    assert error.message == "conv2d: tile_layout.output has C=96, but output_channel is 2"
