"""What is concluded about indices is true: compared with trying every value."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx_base.dtypes import FLOAT32, INDEX
from rlx_compiler.loops import build
from rlx_compiler.loops.interpret import run_kernel
from rlx_compiler.loops.ir import Buffer, Expr, For, Kernel, Store, Var
from rlx_compiler.lowering.guards import clips, conjuncts, skippable, summed
from rlx_compiler.lowering.indices import Scope, index_of, interval, truth
from rlx_compiler.lowering.segments import Segment, segments
from rlx_compiler.lowering.storage import Stage
from rlx_compiler.lowering.values import lane_stride
from rlx_ir import expr as ir
from rlx_ir.expr import Axis, Tensor, apply, greatest, literal, select, total, within

A, B = Axis("a", 7), Axis("b", 5)
SCOPE = Scope().bind(A, Var("a")).variable("a", 0, 6).bind(B, build.mul(Var("b"), 4)).variable("b", 0, 4)
ALL = list(itertools.product(range(7), range(5)))


def unread(_: ir.Expr) -> Expr:
    raise AssertionError("nothing is read here")


def indices() -> st.SearchStrategy[ir.Expr]:
    leaves = st.one_of(st.sampled_from([A, B]), st.integers(-5, 9).map(lambda n: literal(n, INDEX)))

    def extend(inner: st.SearchStrategy[ir.Expr]) -> st.SearchStrategy[ir.Expr]:
        two = st.tuples(st.sampled_from(["add", "sub", "max", "min"]), inner, inner)
        number = st.integers(1, 8)
        return st.one_of(
            two.map(lambda t: apply(t[0], t[1], t[2])),
            st.tuples(inner, st.integers(-3, 4)).map(lambda t: t[0] * t[1]),
            st.tuples(inner, number).map(lambda t: t[0] // t[1]),
            st.tuples(inner, number).map(lambda t: t[0] % t[1]),
        )

    return st.recursive(leaves, extend, max_leaves=6)


def meaning(expr: ir.Expr, a: int, b: int) -> int:
    """Python's own arithmetic."""
    match expr:
        case ir.Literal(value):
            return int(value)
        case Axis("a"):
            return a
        case Axis():
            return b * 4
        case ir.Apply(function, (x, y)):
            left, right = meaning(x, a, b), meaning(y, a, b)
            return {
                "add": left + right,
                "sub": left - right,
                "mul": left * right,
                "max": max(left, right),
                "min": min(left, right),
                "floor_div": left // (right or 1),
                "mod": left % (right or 1),
            }[function]
    raise AssertionError(expr)


def values(expr: Expr) -> list[int]:
    """The lowered index for every a and b."""
    out = Buffer("out", INDEX, (7, 5), access="write")
    import numpy as np

    array = np.zeros(35, np.int64)
    inner = For("b", build.index(0), build.index(5), (Store(out, (Var("a"), Var("b")), expr),))
    run_kernel(Kernel("k", (out,), (For("a", build.index(0), build.index(7), (inner,)),)), {"out": array})
    return [int(n) for n in array]


@given(indices())
def test_a_simplified_index_is_the_index(expr: ir.Expr) -> None:
    lowered = index_of(expr, SCOPE, unread)
    assert values(lowered) == [meaning(expr, a, b) for a, b in ALL]


@given(indices())
def test_an_interval_holds_every_value(expr: ir.Expr) -> None:
    bounds = interval(index_of(expr, SCOPE, unread), SCOPE.ranges)
    found = [meaning(expr, a, b) for a, b in ALL]
    assert bounds is not None
    assert bounds[0] <= min(found)
    assert max(found) <= bounds[1]


@given(indices(), indices(), st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"]))
def test_a_decided_condition_is_always_so(left: ir.Expr, right: ir.Expr, order: str) -> None:
    compare = {"lt": int.__lt__, "le": int.__le__, "gt": int.__gt__, "ge": int.__ge__, "eq": int.__eq__}
    found = {
        not int.__eq__(x, y) if order == "ne" else compare[order](x, y)
        for x, y in ((meaning(left, a, b), meaning(right, a, b)) for a, b in ALL)
    }
    known = truth(apply(order, left, right), SCOPE, unread)
    assert known is None or found == {known}


def test_what_is_known_of_a_variable_simplifies_blocks_away() -> None:
    inner = Axis("inner", 4)
    scope = SCOPE.bind(inner, Var("inner")).variable("inner", 0, 3)
    place = B + inner  # 4·b + inner
    assert index_of(place // 4, scope, unread) == Var("b")
    assert index_of(place % 4, scope, unread) == Var("inner")
    stepped = Scope().bind(A, Var("a")).variable("a", 0, 96, 48).bind(inner, Var("inner")).variable("inner", 0, 3)
    assert index_of((A + inner) // 48, stepped, unread) == build.floor_div(Var("a"), 48)
    assert index_of((A + inner) % 48, stepped, unread) == Var("inner")


def test_conditions_are_decided_where_they_can_be() -> None:
    inside = apply("and", A >= 0, A < 7)
    assert truth(inside, SCOPE, unread) is True
    assert truth(apply("not", inside), SCOPE, unread) is False
    assert truth(apply("and", inside, A < 3), SCOPE, unread) is None
    assert truth(apply("or", inside, A < 3), SCOPE, unread) is True
    assert truth(apply("or", apply("gt", A, 9), apply("eq", A, 8)), SCOPE, unread) is False
    assert truth(apply("ne", A, -1), SCOPE, unread) is True


def test_lane_strides() -> None:
    lane = Var("lane")
    assert lane_stride(build.add(build.mul(lane, 3), Var("a"))) == 3
    assert lane_stride(Var("a")) == 0
    assert lane_stride(build.floor_div(lane, 2)) is None


X = Tensor("x", (20,), FLOAT32)
H, K = Axis("h", 10), Axis("k", 5)
PLACE = H * 2 + K * 3 - 4
SEEN = select(apply("and", *within(PLACE, 0, 20)), X[apply("max", PLACE, 0)], 0.0)


@pytest.mark.parametrize("h", range(10))
def test_clipped_bounds_are_exactly_the_places_inside(h: int) -> None:
    reduce = total(SEEN * SEEN, over=(K,))
    assert isinstance(reduce, ir.Reduce)
    assert skippable(reduce) == within(PLACE, 0, 20)
    scope = Scope().bind(H, build.index(h)).bind(K, summed(K)).variable(summed(K).name, 0, 4)
    bounds, met = clips(reduce, scope, unread, ["pixel"])
    inside = [k for k in range(5) if 0 <= 2 * h + 3 * k - 4 < 20]
    low, high = 0, 5
    if K in bounds:
        low, high = (int(part.value) for part in (bounds[K].low, bounds[K].high))  # type: ignore[attr-defined]
    assert list(range(low, high)) == inside
    assert met == set(within(PLACE, 0, 20))


def test_bounds_never_depend_on_what_changes_inside() -> None:
    reduce = total(SEEN, over=(K,))
    assert isinstance(reduce, ir.Reduce)
    scope = Scope().bind(H, Var("pixel")).variable("pixel", 0, 9).bind(K, summed(K)).variable(summed(K).name, 0, 4)
    assert clips(reduce, scope, unread, ["pixel"]) == ({}, frozenset())


def test_a_guard_is_skippable_only_where_its_other_side_adds_nothing() -> None:
    condition = K < 3
    one = select(condition, X[K], 1.0)
    zero = select(condition, X[K], 0.0)
    lowest = select(condition, X[K], float("-inf"))

    def of(expr: ir.Expr) -> list[ir.Expr]:
        assert isinstance(expr, ir.Reduce)
        return skippable(expr)

    assert of(total(one, over=(K,))) == []
    assert of(total(zero, over=(K,))) == [condition]
    assert of(total(zero + X[K], over=(K,))) == []
    assert of(greatest(zero, over=(K,))) == []
    assert of(greatest(lowest, over=(K,))) == [condition]
    assert list(conjuncts(apply("and", condition, apply("and", K > 1, K > 2)))) == [condition, K > 1, K > 2]


def guarded(*conditions: ir.Expr, axes: tuple[Axis, ...]) -> Stage:
    """A stage whose body depends on the conditions."""
    body: ir.Expr = literal(0.0)
    for condition in conditions:
        body = select(condition, body + 1.0, body)
    shape = tuple(axis.extent for axis in axes)
    return Stage(Tensor("out", shape, FLOAT32), axes, axes, body)


N, M = Axis("n", 30), Axis("m", 6)


@given(st.integers(-4, 4).filter(bool), st.integers(-3, 3), st.integers(-60, 60), st.sampled_from(["lt", "le", "gt"]))
def test_segments_are_known_exactly_where_every_value_agrees(s: int, t: int, c: int, order: str) -> None:
    found = segments(guarded(apply(order, N * s + M * t, c), axes=(N, M)), N)
    assert [part.start for part in found] == [0, *itertools.accumulate(part.size for part in found)][:-1]
    assert sum(part.size for part in found) == 30
    compare = {"lt": int.__lt__, "le": int.__le__, "gt": int.__gt__}[order]
    for part in found:
        truths = {n: {compare(n * s + m * t, c) for m in range(6)} for n in range(part.start, part.start + part.size)}
        if part.known:
            assert len(set.union(*truths.values())) == 1
        else:
            assert all(len(either) == 2 for either in truths.values())


def test_a_long_axis_is_cut_without_walking_along_it() -> None:
    long = Axis("long", 10**12)
    inside = apply("and", long >= 7, long < 10**12 - 3)
    found = segments(guarded(inside, axes=(long,)), long)
    assert found == [Segment(0, 7, True), Segment(7, 10**12 - 10, True), Segment(10**12 - 3, 3, True)]
    odd = segments(guarded(apply("eq", long % 2, 1), axes=(long,)), long)
    assert odd == [Segment(0, 10**12, False)]
    assert segments(guarded(axes=(long,)), long) == [Segment(0, 10**12, True)]


def test_more_seams_than_are_worth_a_copy_each_are_left_in_the_loop() -> None:
    assert len(segments(guarded(N < 3, N < 9, axes=(N,)), N)) == 3
    assert segments(guarded(*(place > N for place in range(2, 28, 2)), axes=(N,)), N) == [Segment(0, 30, False)]
