"""Cases of the ops that read and write where a tensor says, of running sums, repetition and einsum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from rlx_ir.elements import numpy_of
from rlx_ir.op import OPS, Array, make
from rlx_ir.testing.case import Case, Dtypes, Strategy, strategy_for
from rlx_ir.testing.reductions import axis_of
from rlx_ir.testing.tensors import array, choose, shapes, sizes

__all__ = ["indices"]

_ALL = ("float", "int", "uint", "bool")
_NUMBERS = ("float", "int", "uint")


def indices(draw: DrawFn, shape: Sequence[int], size: int) -> Array:
    """Indices of a dimension, from either end; all zeros where it is empty."""
    random = np.random.RandomState(draw(st.integers(0, 2**32 - 1)))
    dtype = draw(st.sampled_from([np.int64, np.int32]))
    return np.asarray(random.randint(-size, size, shape).astype(dtype) if size else np.zeros(shape, dtype))


@strategy_for("gather")
def gather(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        shape = list(draw(shapes(1, 3)))
        axis = axis_of(draw, len(shape))
        shape[axis] = max(shape[axis], 1)
        chosen = indices(draw, draw(shapes(0, 2, most=5)), shape[axis])
        return Case(make(OPS[name], {"axis": axis}), (array(draw, shape, choose(draw, dtypes, _ALL)), chosen))

    return strategy


@strategy_for("gather_elements")
def gather_elements(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        shape = list(draw(shapes(1, 3)))
        axis = axis_of(draw, len(shape))
        shape[axis] = max(shape[axis], 1)
        other = [draw(st.integers(0, size)) for size in shape]
        other[axis] = draw(sizes(5))
        chosen = indices(draw, other, shape[axis])
        return Case(make(OPS[name], {"axis": axis}), (array(draw, shape, choose(draw, dtypes, _ALL)), chosen))

    return strategy


@strategy_for("gather_nd")
def gather_nd(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        shape = draw(shapes(1, 4, most=5, least=1))
        batch = draw(st.integers(0, len(shape) - 1))
        count = draw(st.integers(1, len(shape) - batch))
        lead = (*shape[:batch], *draw(shapes(0, 1, most=4)))
        each = [indices(draw, lead, shape[batch + k]).astype(np.int64) for k in range(count)]
        op = make(OPS[name], {"batch_dims": batch})
        return Case(op, (array(draw, shape, choose(draw, dtypes, _ALL)), np.stack(each, axis=-1)))

    return strategy


@strategy_for("one_hot")
def one_hot(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        depth = draw(sizes(8))
        chosen = indices(draw, draw(shapes(0, 3, most=5)), depth + 2)
        return Case(make(OPS[name], {"depth": depth, "axis": axis_of(draw, chosen.ndim + 1)}), (chosen,))

    return strategy


def _join(draw: DrawFn, dtype_kind: str) -> str:
    return draw(st.sampled_from(["none"] if dtype_kind == "bool" else ["none", "add", "mul", "max", "min"]))


@strategy_for("scatter_elements")
def scatter_elements(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        shape = list(draw(shapes(1, 3, most=5, least=1)))
        axis = axis_of(draw, len(shape))
        dtype = choose(draw, dtypes, _ALL)
        other = [draw(st.integers(0, size)) for size in shape]
        chosen = indices(draw, other, shape[axis])
        op = make(OPS[name], {"axis": axis, "reduction": _join(draw, dtype.kind)})
        return Case(op, (array(draw, shape, dtype), chosen, array(draw, other, dtype)))

    return strategy


@strategy_for("scatter_nd")
def scatter_nd(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        shape = draw(shapes(1, 3, most=5, least=1))
        count = draw(st.integers(1, len(shape)))
        dtype = choose(draw, dtypes, _ALL)
        lead = draw(shapes(0, 2, most=3))
        each = [indices(draw, lead, shape[k]).astype(np.int64) for k in range(count)]
        op = make(OPS[name], {"reduction": _join(draw, dtype.kind)})
        updates = array(draw, (*lead, *shape[count:]), dtype)
        return Case(op, (array(draw, shape, dtype), np.stack(each, axis=-1), updates))

    return strategy


@strategy_for("reverse_sequence")
def reverse_sequence(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        shape = draw(shapes(2, 4, most=8))
        batch, time = draw(st.permutations(range(len(shape))))[:2]
        random = np.random.RandomState(draw(st.integers(0, 2**32 - 1)))
        lengths = random.randint(0, shape[time] + 1, shape[batch]).astype(np.int64)
        op = make(OPS[name], {"batch_axis": batch, "time_axis": time})
        return Case(op, (array(draw, shape, choose(draw, dtypes, _ALL)), lengths))

    return strategy


@strategy_for("cum_sum", "cum_prod")
def cumulative(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        shape = draw(shapes(1, 3, most=8))
        attributes: dict[str, Any] = {"axis": axis_of(draw, len(shape))}
        attributes |= {flag: draw(st.booleans()) for flag in ("exclusive", "reverse")}
        return Case(make(OPS[name], attributes), (array(draw, shape, choose(draw, dtypes, _NUMBERS), -2, 2),))

    return strategy


@strategy_for("tile")
def tile(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        shape = draw(shapes(0, 4, most=5))
        op = make(OPS[name], {"repeats": [draw(st.integers(0, 3)) for _ in shape]})
        return Case(op, (array(draw, shape, choose(draw, dtypes, _ALL)),))

    return strategy


@strategy_for("einsum")
def einsum(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        equation, ranks = draw(
            st.sampled_from(
                [
                    ("ij->ji", ("ij",)),
                    ("ii->i", ("ii",)),
                    ("ij->", ("ij",)),
                    ("ij,jk->ik", ("ij", "jk")),
                    ("ij,jk", ("ij", "jk")),
                    ("...ij,...jk->...ik", ("bij", "jk")),
                    ("bij,bjk->bik", ("bij", "bjk")),
                    ("i,i", ("i", "i")),
                    ("i,j->ij", ("i", "j")),
                    ("bhqd,bhkd->bhqk", ("bhqd", "bhkd")),
                    ("i,ij,j->", ("i", "ij", "j")),
                ]
            )
        )
        letters = {letter: draw(sizes(5)) for letter in sorted(set("".join(ranks)))}
        dtype = choose(draw, dtypes, _NUMBERS)
        arrays = tuple(array(draw, [letters[letter] for letter in term], dtype, -2, 2) for term in ranks)
        return Case(make(OPS[name], {"equation": equation}), arrays)

    return strategy


@strategy_for("dft")
def dft(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        inverse, onesided = draw(st.booleans()), draw(st.booleans())
        size = draw(st.integers(2, 9))
        lead = draw(shapes(1, 2, most=3))
        axis = draw(st.integers(0, len(lead)))
        shape = (*lead[:axis], size, *lead[axis:], 2 if inverse and onesided else draw(st.sampled_from([1, 2])))
        attributes: dict[str, Any] = {"axis": axis, "inverse": inverse, "onesided": onesided}
        if draw(st.booleans()):
            attributes["length"] = draw(st.integers(1, 9))
        return Case(make(OPS[name], attributes), (array(draw, shape, choose(draw, dtypes)),))

    return strategy


@strategy_for("grid_sample")
def grid_sample(name: str) -> Strategy:
    """Coordinates a little outside of the image, and never where rounding decides which pixel is nearest."""

    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        mode = draw(st.sampled_from(["linear", "nearest", "cubic"]))
        rank = draw(st.integers(1, 2 if mode == "cubic" else 3))
        dtype = choose(draw, dtypes)
        image = array(draw, (draw(sizes(2)), draw(sizes(3)), *(draw(st.integers(1, 4)) for _ in range(rank))), dtype)
        places = draw(shapes(rank, rank, most=4))
        random = np.random.RandomState(draw(st.integers(0, 2**32 - 1)))
        # Odd 97ths fall on no half of a pixel of so small an image.
        numbers = (random.randint(-60, 60, (image.shape[0], *places, rank)) * 2 + 1) / 97
        attributes = {
            "mode": mode,
            "padding_mode": draw(st.sampled_from(["zeros", "border", "reflection"])),
            "align_corners": draw(st.booleans()),
        }
        return Case(make(OPS[name], attributes), (image, np.asarray(numbers.astype(numpy_of(dtype)))))

    return strategy
