"""Cases of the ops that read between pixels or choose boxes, of determinants, and of results that are counted."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from rlx_ir.op import OPS, Array, make
from rlx_ir.testing.case import Case, Dtypes, Strategy, strategy_for
from rlx_ir.testing.tensors import array, choose, shapes

__all__: list[str] = []

_ALL = ("float", "int", "uint", "bool")


def few(draw: DrawFn, shape: tuple[int, ...], dtypes: Dtypes) -> Array:
    """An array with equal elements, and with NaN where it can."""
    dtype = choose(draw, dtypes, _ALL)
    x = array(draw, shape, dtype, 0, 3)
    if dtype.is_float:
        x = np.asarray(np.round(x.astype(np.float64)).astype(x.dtype))
        if x.size and draw(st.booleans()):
            x.reshape(-1)[:1] = np.nan
    return x


@strategy_for("compress")
def compress(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        shape = draw(shapes(1, 3, most=5))
        axis = draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
        size = int(np.prod(shape)) if axis is None else shape[axis]
        random = np.random.RandomState(draw(st.integers(0, 2**32 - 1)))
        condition = random.randint(0, 2, draw(st.integers(0, size))).astype(bool)
        count = draw(st.integers(0, condition.size))
        return Case(make(OPS[name], {"count": count, "axis": axis}), (few(draw, shape, dtypes), condition))

    return strategy


@strategy_for("non_zero")
def non_zero(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        x = few(draw, draw(shapes(1, 3, most=5)), dtypes)
        return Case(make(OPS[name], {"count": draw(st.integers(0, x.size))}), (x,))

    return strategy


@strategy_for("unique")
def unique(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        x = few(draw, draw(shapes(1, 3, most=4)), dtypes)
        axis = draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]))
        size = x.size if axis is None else x.shape[axis]
        attributes = {"axis": axis, "sorted": draw(st.booleans()), "count": draw(st.integers(0, size))}
        return Case(make(OPS[name], attributes), (x,))

    return strategy


@strategy_for("det")
def det(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        size = draw(st.sampled_from([1, 2, 3, 0, 4, 5]))
        x = array(draw, (*draw(shapes(0, 2, most=3)), size, size), choose(draw, dtypes), -2, 2)
        if size > 1 and draw(st.booleans()):  # no pivot where elimination would begin
            x[..., 0, 0] = 0
        return Case(make(OPS[name], {}), (x,))

    return strategy


@strategy_for("non_max_suppression")
def non_max_suppression(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        batches, classes, count = (draw(st.integers(1, most)) for most in (2, 2, 6))
        dtype = choose(draw, dtypes)
        # Whole numbers: what overlaps does so exactly, in any order of the arithmetic.
        boxes = np.asarray(
            np.round(array(draw, (batches, count, 4), dtype, 0, 5).astype(np.float64)).astype(dtype.numpy)
        )
        scores = np.asarray(
            (np.round(array(draw, (batches, classes, count), dtype, 0, 8).astype(np.float64)) / 8).astype(dtype.numpy)
        )
        most = draw(st.integers(0, count))
        attributes = {
            "most": most,
            "rows": draw(st.integers(0, batches * classes * most)),
            "center_point_box": draw(st.booleans()),
        }
        operands: list[Array | None] = [boxes, scores, np.array([draw(st.integers(0, 7))], np.int64)]
        operands.append(draw(st.sampled_from([None, np.array([0.45], dtype.numpy)])))
        operands.append(draw(st.sampled_from([None, np.array([0.3], dtype.numpy)])))
        return Case(make(OPS[name], attributes), tuple(operands))

    return strategy


@strategy_for("roi_align")
def roi_align(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        dtype = choose(draw, dtypes)
        batches, height, width, regions = (draw(st.integers(1, most)) for most in (2, 6, 6, 3))
        x = array(draw, (batches, draw(st.integers(1, 2)), height, width), dtype)
        # Thirds never meet a whole pixel or a whole number of points, where rounding would decide.
        first = np.round(array(draw, (regions, 2), dtype, -3, 6).astype(np.float64)) + 0.31
        sizes = np.round(array(draw, (regions, 2), dtype, 0, 9).astype(np.float64)) + 0.4
        rois = np.concatenate([first, first + sizes], axis=1).astype(dtype.numpy)
        random = np.random.RandomState(draw(st.integers(0, 2**32 - 1)))
        attributes = {
            "output_height": draw(st.integers(1, 3)),
            "output_width": draw(st.integers(1, 2)),
            "sampling_ratio": draw(st.integers(0, 2)),
            "spatial_scale": draw(st.sampled_from([1.0, 0.5])),
            "half_pixel": draw(st.booleans()),
            "mode": draw(st.sampled_from(["avg", "max"])),
        }
        return Case(make(OPS[name], attributes), (x, rois, random.randint(0, batches, regions)))

    return strategy


@strategy_for("deform_conv")
def deform_conv(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        dtype = choose(draw, dtypes)
        batches, groups, offset_groups = draw(st.integers(1, 2)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
        out = groups * draw(st.integers(1, 2))
        kernel = [draw(st.integers(1, 2)) for _ in range(2)]
        dilations = [draw(st.integers(1, 2)) for _ in range(2)]
        strides = [draw(st.integers(1, 2)) for _ in range(2)]
        pads = [draw(st.integers(0, 1)) for _ in range(4)]
        image = [d * (k - 1) + 1 + draw(st.integers(0, 3)) for d, k in zip(dilations, kernel, strict=True)]
        sizes = [
            (image[d] + pads[d] + pads[2 + d] - dilations[d] * (kernel[d] - 1) - 1) // strides[d] + 1 for d in (0, 1)
        ]
        taps = offset_groups * kernel[0] * kernel[1]
        attributes = {
            "strides": strides,
            "pads": pads,
            "dilations": dilations,
            "groups": groups,
            "offset_groups": offset_groups,
        }
        # Away from whole pixels, where rounding decides which neighbours count.
        moved = np.round(array(draw, (batches, 2 * taps, *sizes), dtype, -2, 2).astype(np.float64)) + 0.25
        operands: list[Array | None] = [
            array(draw, (batches, 2, *image), dtype),
            array(draw, (out, 2 // groups, *kernel), dtype),
            moved.astype(dtype.numpy),
            array(draw, (out,), dtype) if draw(st.booleans()) else None,
            array(draw, (batches, taps, *sizes), dtype, 0, 1) if draw(st.booleans()) else None,
        ]
        return Case(make(OPS[name], attributes), tuple(operands))

    return strategy
