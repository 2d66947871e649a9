"""FoldBatchNorm and FoldConvBias move what follows a convolution into its weights."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx_base.tolerance import Tolerance
from rlx_ir.passes import FoldBatchNorm, FoldConvBias, RemoveDead, apply_passes
from rlx_ir.testing.translation import check_translation, convolutions, inputs_for
from rlx_ir.text import parse, print_module

BEFORE = """\
@rlx.module
def m():
    x = rlx.tensor(shape=[1, 1, 2, 2], dtype="float32")
    w = rlx.constant(value=[[[[1.0]]], [[[2.0]]]], dtype="float32", layout="HWIO")
    b = rlx.constant(value=[1.0, 2.0], dtype="float32")
    conv = rlx.conv2d(x, w, b, compute_schedule={"vectorize_dim": "width"})
    scale = rlx.constant(value=[2.0, 4.0], dtype="float32")
    mean = rlx.constant(value=[3.0, 5.0], dtype="float32")
    var = rlx.constant(value=[4.0, 1.0], dtype="float32")
    norm = rlx.batch_norm(conv, scale=scale, mean=mean, var=var, eps=0.0)
    return norm
"""
# γ/√σ² is [1, 4]: w′ = [1, 8], b′ = (b − μ) · [1, 4] = [−2, −12]
AFTER = """\
@rlx.module
def m():
    x = rlx.tensor(shape=[1, 1, 2, 2], dtype="float32")
    norm_weight = rlx.constant(value=[[[[1.0]]], [[[8.0]]]], dtype="float32", layout="HWIO")
    norm_bias = rlx.constant(value=[-2.0, -12.0], dtype="float32")
    norm = rlx.conv2d(x, norm_weight, bias=norm_bias, compute_schedule={"vectorize_dim": "width"})
    return norm
"""
BIAS = """\
@rlx.module
def m():
    x = rlx.tensor(shape=[1, 1, 2, 2], dtype="float32")
    w = rlx.constant(value=[[[[1.0]]], [[[2.0]]]], dtype="float32")
    conv = rlx.conv2d(x, w)
    addend = rlx.constant(value=[[[5.0]], [[7.0]]], dtype="float32")
    y = rlx.add(addend, conv)
    return y
"""
BIASED = """\
@rlx.module
def m():
    x = rlx.tensor(shape=[1, 1, 2, 2], dtype="float32")
    y_weight = rlx.constant(value=[[[[1.0]]], [[[2.0]]]], dtype="float32")
    y_bias = rlx.constant(value=[5.0, 7.0], dtype="float32")
    y = rlx.conv2d(x, y_weight, bias=y_bias)
    return y
"""


def test_the_statistics_become_weights_and_bias():
    assert print_module(apply_passes(parse(BEFORE), [FoldBatchNorm(), RemoveDead()])) == AFTER


def test_an_addend_per_channel_becomes_the_bias():
    assert print_module(apply_passes(parse(BIAS), [FoldConvBias(), RemoveDead()])) == BIASED


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return norm", "return norm, conv"),  # another user of the convolution
        ("rlx.constant(value=[2.0, 4.0], dtype=", "rlx.tensor(shape=[2], dtype="),  # a statistic that is not known
    ],
)
def test_nothing_is_folded_where_it_would_not_hold(old, new):
    module = parse(BEFORE.replace(old, new))
    assert FoldBatchNorm().apply(module) == module


@settings(max_examples=60)
@given(data=st.data())
def test_values_stay_within_rounding(data):
    module = data.draw(convolutions())
    inputs = data.draw(inputs_for(module))
    inputs = {name: array.clip(-4, 4) for name, array in inputs.items()}
    check_translation(module, inputs, FoldConvBias(), FoldBatchNorm(), RemoveDead(), tolerance=Tolerance(1e-5, 1e-5))
