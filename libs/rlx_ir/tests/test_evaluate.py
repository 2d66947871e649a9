"""The evaluator is strict: what would be read out of bounds is an error, unless a condition guards it."""

import numpy as np
import pytest

from rlx_base.dtypes import FLOAT32, INDEX, INT32
from rlx_ir.dims import Symbol, add
from rlx_ir.evaluate import evaluate
from rlx_ir.expr import Axis, Tensor, cast, define, extent, greatest, least, literal, product, select, total

X = Tensor("x", (4,), FLOAT32)
ELEMENTS = {"x": np.array([1, 2, 3, 4], np.float32)}


def test_a_read_out_of_bounds_is_an_error():
    i = Axis("i", 4)
    with pytest.raises(IndexError, match=r"x\[4\] is read out of bounds at \(3,\)"):
        evaluate([define("y", (i,), X[i + 1])], ELEMENTS)


def test_a_guarded_read_is_none():
    i = Axis("i", 6)
    y = define("y", (i,), select(i < 4, X[i], literal(-1.0)))
    (result,) = evaluate([y], ELEMENTS)
    assert result.tolist() == [1, 2, 3, 4, -1, -1]


def test_a_guard_on_the_wrong_side_guards_nothing():
    i = Axis("i", 6)
    with pytest.raises(IndexError):
        evaluate([define("y", (i,), select(i < 5, X[i], literal(-1.0)))], ELEMENTS)


def test_stages_read_each_other():
    i, j = Axis("i", 4), Axis("j", 4)
    doubled = define("doubled", (i,), X[i] * 2)
    y = define("y", (), total(doubled[j], over=(j,)))
    assert evaluate([y], ELEMENTS)[0] == 20


def test_reductions_over_nothing_give_what_changes_nothing():
    empty, j = Tensor("x", (0,), FLOAT32), Axis("j", 0)
    results = [define("y", (), kind(empty[j], over=(j,))) for kind in (total, product, greatest, least)]
    values = evaluate(results, {"x": np.zeros(0, np.float32)})
    assert [float(value) for value in values] == [0, 1, -np.inf, np.inf]


def test_a_reduction_inside_of_another_sees_the_outer_axes():
    i, j, k = Axis("i", 2), Axis("j", 3), Axis("k", 4)
    y = define("y", (i,), total(cast(greatest(i + j * k, over=(k,)), FLOAT32), over=(j,)))
    expected = [sum(max(a + b * c for c in range(4)) for b in range(3)) for a in range(2)]
    assert evaluate([y], {})[0].tolist() == expected


def test_symbolic_dimensions_are_learnt_from_the_operands():
    n = Symbol("N")
    x, i = Tensor("x", (n,), FLOAT32), Axis("i", add(n, -1))
    y = define("y", (i,), x[i + 1] - x[i] + cast(extent(n), FLOAT32))
    assert evaluate([y], ELEMENTS)[0].tolist() == [5, 5, 5]
    size = define("size", (), extent(Symbol("M")) + literal(0, INDEX))
    assert evaluate([size], {}, {"M": 7})[0] == 7


def test_an_integer_divided_by_nothing_is_0():
    y = define("y", (), literal(5, INT32) / literal(0, INT32))
    assert evaluate([y], {})[0] == 0
