"""Cases of reductions, the softmax family and normalisation."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from rlx_ir.op import OPS, make
from rlx_ir.testing.case import Case, Dtypes, Strategy, strategy_for
from rlx_ir.testing.tensors import array, broadcastable, choose, shapes

__all__ = ["reduction"]

_NUMBERS = ("float", "int", "uint")
_REDUCTIONS = {
    "reduce_sum": _NUMBERS,
    "reduce_mean": ("float",),
    "reduce_max": _NUMBERS,
    "reduce_min": _NUMBERS,
    "reduce_prod": _NUMBERS,
    "reduce_sum_square": _NUMBERS,
    "reduce_l1": _NUMBERS,
    "reduce_l2": ("float",),
    "reduce_log_sum_exp": ("float",),
}


def axis_of(draw: DrawFn, rank: int) -> int:
    """An axis, counted from the front or the end."""
    return draw(st.integers(-rank, rank - 1))


def axes_of(draw: DrawFn, rank: int) -> list[int]:
    """Some axes, at times none, in any order, counted from the front or the end."""
    places = draw(st.permutations(range(rank)))[: draw(st.sampled_from([1, 2, rank, 3, rank, 0]))]
    return [place - rank if draw(st.booleans()) else place for place in places]


@strategy_for(*_REDUCTIONS)
def reduction(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        dtype, shape = choose(draw, dtypes, _REDUCTIONS[name]), draw(shapes(most=8))
        axes = draw(st.none()) if draw(st.booleans()) else axes_of(draw, len(shape))
        op = make(OPS[name], {"axes": axes, "keepdims": draw(st.booleans())})
        # Products stay near 1, so that the order of the factors cannot overflow.
        low, high = (0.7, 1.3) if name == "reduce_prod" and dtype.is_float else (-4.0, 4.0)
        special = name in ("reduce_max", "reduce_min", "reduce_log_sum_exp")
        return Case(op, (array(draw, shape, dtype, low, high, special),))

    return strategy


@strategy_for("softmax", "log_softmax")
def softmax(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        shape = draw(shapes(1))
        op = make(OPS[name], {"axis": axis_of(draw, len(shape))})
        return Case(op, (array(draw, shape, choose(draw, dtypes), -30.0, 30.0),))

    return strategy


@strategy_for("batch_norm")
def batch_norm(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        dtype, shape = choose(draw, dtypes), draw(shapes(2, 5, most=8))
        ranges = ((0.5, 2.0), (-1.0, 1.0), (-1.0, 1.0), (0.1, 3.0))  # scale, bias, mean, var
        statistics = (
            array(draw, shape[1:2], dtype, low, high) if draw(st.booleans()) else None for low, high in ranges
        )
        op = make(OPS[name], {"eps": draw(st.sampled_from([1e-5, 1e-3]))})
        return Case(op, (array(draw, shape, dtype), *statistics))

    return strategy


@strategy_for("layer_norm")
def layer_norm(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        dtype, shape = choose(draw, dtypes), draw(shapes(1))
        op = make(OPS[name], {"axis": axis_of(draw, len(shape)), "eps": draw(st.sampled_from([1e-5, 1e-2]))})
        scale, bias = (
            array(draw, broadcastable(draw, shape), dtype) if draw(st.booleans()) else None for _ in range(2)
        )
        return Case(op, (array(draw, shape, dtype), scale, bias))

    return strategy


@strategy_for("normalize")
def normalize(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        dtype, shape = choose(draw, dtypes, _NUMBERS), draw(shapes(2, 4, most=8))
        counts = st.sampled_from([1, max(1, shape[1])])
        numbers = st.sampled_from([0.5, 1.0, 2.0, 0.25, 4.0])
        mean, std = (draw(st.lists(numbers, min_size=count, max_size=count)) for count in (draw(counts), draw(counts)))
        if draw(st.booleans()):
            return Case(make(OPS[name], {"mean": mean}), (array(draw, shape, dtype),))
        return Case(make(OPS[name], {"mean": mean, "std": std}), (array(draw, shape, dtype),))

    return strategy


@strategy_for("postprocess")
def postprocess(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        shape = list(draw(shapes(1, 3)))
        shape[-1] = draw(st.sampled_from([5, 1, 2, 7, 17, 33]))
        op = make(OPS[name], {"k": draw(st.integers(0, shape[-1]))})
        # A quarter apart, in any order, so that no rounding of the probabilities can change it.
        random = np.random.RandomState(draw(st.integers(0, 2**32 - 1)))
        rows = [random.permutation(shape[-1]) / 4 for _ in range(math.prod(shape[:-1]))]
        dtype = choose(draw, dtypes)
        return Case(op, (np.array(rows).reshape(shape).astype(dtype.name),))

    return strategy
