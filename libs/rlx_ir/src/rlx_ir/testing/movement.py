"""Cases of the ops that move, repeat, join and choose elements."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from rlx_ir.op import OPS, make
from rlx_ir.testing.case import Case, Dtypes, Strategy, strategy_for
from rlx_ir.testing.reductions import axes_of, axis_of
from rlx_ir.testing.tensors import array, broadcastable, choose, shapes, sizes

__all__ = ["reshape"]

_ALL = ("float", "int", "uint", "bool")
_NUMBERS = ("float", "int", "uint")


@strategy_for("reshape")
def reshape(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        shape = draw(shapes(most=8))
        target: list[int] = list(shape)
        for _ in range(draw(st.integers(0, 4))):  # split and merge dimensions at random
            if draw(st.booleans()) and target:
                place = draw(st.integers(0, len(target) - 1))
                divisors = [d for d in range(1, target[place] + 1) if target[place] % d == 0] or [1]
                divisor = draw(st.sampled_from(divisors))
                target[place : place + 1] = [divisor, target[place] // divisor]
            elif len(target) > 1:
                place = draw(st.integers(0, len(target) - 2))
                target[place : place + 2] = [target[place] * target[place + 1]]
        asked = list(target)
        if draw(st.booleans()) and asked:
            place = draw(st.integers(0, len(asked) - 1))
            if math.prod(asked[:place] + asked[place + 1 :]) != 0:
                asked[place] = -1
        if 0 in asked and draw(st.booleans()):  # 0 keeps the dimension at its place
            return Case(make(OPS[name], {"shape": [0] * len(shape)}), (array(draw, shape, choose(draw, dtypes, _ALL)),))
        op = make(OPS[name], {"shape": asked, "allow_zero": 0 in asked})
        return Case(op, (array(draw, shape, choose(draw, dtypes, _ALL)),))

    return strategy


@strategy_for("flatten", "squeeze", "unsqueeze", "transpose")
def rearrange(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        shape = draw(shapes())
        rank = len(shape)
        attributes: dict[str, Any] = {}
        if name == "flatten":
            attributes["axis"] = draw(st.integers(-rank, rank))
        elif name == "unsqueeze":
            count = draw(st.integers(0, 2))
            attributes["axes"] = (
                draw(st.lists(st.sampled_from(range(rank + count)), unique=True, max_size=count))
                if (rank + count)
                else []
            )
            missing = [place for place in range(rank + count) if place not in attributes["axes"]]
            attributes["axes"] += missing[: count - len(attributes["axes"])]
        elif name == "squeeze" and draw(st.booleans()):
            ones = [place for place, size in enumerate(shape) if size == 1]
            attributes["axes"] = draw(st.lists(st.sampled_from(ones), unique=True)) if ones else []
        elif name == "transpose" and draw(st.booleans()):
            attributes["perm"] = draw(st.permutations(range(rank)))
        return Case(make(OPS[name], attributes), (array(draw, shape, choose(draw, dtypes, _ALL)),))

    return strategy


@strategy_for("expand")
def expand(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        shape = draw(shapes())
        x, asked = broadcastable(draw, shape), list(broadcastable(draw, shape))
        return Case(make(OPS[name], {"shape": asked}), (array(draw, x, choose(draw, dtypes, _ALL)),))

    return strategy


@strategy_for("concat")
def concat(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        dtype, shape = choose(draw, dtypes, _ALL), list(draw(shapes(1)))
        axis = axis_of(draw, len(shape))
        arrays = []
        for _ in range(draw(st.integers(1, 4))):
            shape[axis] = draw(sizes())
            arrays.append(array(draw, shape, dtype))
        return Case(make(OPS[name], {"axis": axis}), tuple(arrays))

    return strategy


@strategy_for("split")
def split(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        shape = draw(shapes(1))
        axis = axis_of(draw, len(shape))
        attributes: dict[str, Any] = {"axis": axis}
        if draw(st.booleans()):
            attributes["num_outputs"] = draw(st.integers(1, 4))
        else:
            cuts = sorted(draw(st.lists(st.integers(0, shape[axis]), max_size=3)))
            attributes["split"] = [end - start for start, end in zip([0, *cuts], [*cuts, shape[axis]], strict=True)]
        return Case(make(OPS[name], attributes), (array(draw, shape, choose(draw, dtypes, _ALL)),))

    return strategy


@strategy_for("slice")
def slices(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        shape = draw(shapes())
        axes = axes_of(draw, len(shape))
        steps = [draw(st.sampled_from([1, -1, 2, -2, 3, 5])) for _ in axes]
        attributes: dict[str, Any] = {"starts": [], "ends": [], "axes": axes, "steps": steps}
        for axis, step in zip(axes, steps, strict=True):
            first, last = st.sampled_from([0, 1, None, -(2**63)]), st.sampled_from([None, -1, shape[axis], 2**63 - 1])
            anywhere = st.integers(-shape[axis] - 2, shape[axis] + 2)
            start, end = draw(st.one_of(first, anywhere)), draw(st.one_of(last, anywhere))
            if step < 0 and draw(st.integers(0, 3)):  # backwards from the end, so that mostly something is left
                start, end = draw(st.sampled_from([None, -1, 2**63 - 1])), draw(st.sampled_from([None, 0, -(2**63)]))
            attributes["starts"].append(start)
            attributes["ends"].append(end)
        if all(step == 1 for step in steps) and draw(st.booleans()):
            del attributes["steps"]
        return Case(make(OPS[name], attributes), (array(draw, shape, choose(draw, dtypes, _ALL)),))

    return strategy


@strategy_for("pad")
def pad(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        mode = draw(st.sampled_from(["constant", "edge", "reflect"]))
        shape = draw(shapes(most=8))
        axes = axes_of(draw, len(shape))
        most = {"constant": 4, "edge": 4, "reflect": 3}[mode]
        limits = [most if mode == "constant" or size else 0 for size in shape]
        if mode == "reflect":
            limits = [max(0, min(most, size - 1)) for size in shape]
        pads = [draw(st.integers(0, limits[axis])) for axis in (*axes, *axes)]
        attributes: dict[str, Any] = {"pads": pads, "axes": axes, "mode": mode, "value": draw(st.integers(0, 1))}
        return Case(make(OPS[name], attributes), (array(draw, shape, choose(draw, dtypes, _ALL)),))

    return strategy


@strategy_for("arg_max", "arg_min")
def arg(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        shape = list(draw(shapes(1)))
        axis = axis_of(draw, len(shape))
        shape[axis] = max(1, shape[axis])
        op = make(OPS[name], {"axis": axis, "keepdims": draw(st.booleans())})
        return Case(op, (array(draw, shape, choose(draw, dtypes, _NUMBERS), special=True),))

    return strategy


@strategy_for("top_k")
def top_k(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        shape = list(draw(shapes(1, 3)))
        axis = axis_of(draw, len(shape))
        shape[axis] = draw(st.sampled_from([5, 8, 3, 17, 33, 2, 1, 0]))
        k = min(shape[axis], draw(st.sampled_from([3, 2, 5, 1, 16, 17, 33, 0])))
        op = make(OPS[name], {"k": k, "axis": axis, "largest": draw(st.booleans())})
        return Case(op, (array(draw, shape, choose(draw, dtypes, _NUMBERS), special=True),))

    return strategy
