"""Layouts: storage orders that never change a value."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx_base.errors import VerifyError
from rlx_ir.dims import Symbol
from rlx_ir.layout import Layout


def test_nhwc_stores_channels_innermost() -> None:
    layout = Layout.parse("NHWC", 4)
    assert layout.logical == "NCHW"
    assert layout.stored_shape((1, 3, 4, 5)) == (1, 4, 5, 3)
    array = np.arange(60).reshape(1, 3, 4, 5)
    assert layout.pack(array)[0, 1, 2, 0] == array[0, 0, 1, 2]
    assert not layout.is_plain
    assert Layout.parse("NCHW", 4).is_plain


def test_a_blocked_axis_is_rounded_up_and_filled_with_zeros() -> None:
    layout = Layout.parse("NCHW16c", 4)
    assert layout.stored_shape((1, 20, 2, 2)) == (1, 2, 2, 2, 16)
    assert layout.stored_shape((Symbol("N"), 20, 2, 2))[0] == Symbol("N")
    packed = layout.pack(np.ones((1, 20, 2, 2)))
    assert packed[0, 1, 0, 0].tolist() == [1.0] * 4 + [0.0] * 12


@pytest.mark.parametrize("text", ["NHW", "NHWCC", "nhwc", "NCHW0c", "NCHW16x", "NCHW16c4c", "N HWC", "XYZW", ""])
def test_a_layout_that_fits_no_logical_order_is_refused(text: str) -> None:
    with pytest.raises(VerifyError) as caught:
        Layout.parse(text, 4)
    assert caught.value.code == "RLX-E120"


@given(
    st.sampled_from(["NCHW", "NHWC", "NWHC", "NCHW16c", "NCHW8c", "HWIO", "OIHW16i16o", "OIHW4o", "CHWN"]),
    st.tuples(*[st.integers(0, 20)] * 4),
)
def test_unpacking_gives_back_what_was_packed(text: str, shape: tuple[int, ...]) -> None:
    layout = Layout.parse(text, 4)
    array = np.arange(np.prod(shape)).reshape(shape)
    packed = layout.pack(array)
    assert packed.shape == layout.stored_shape(shape)
    assert np.array_equal(layout.unpack(packed, shape), array)
