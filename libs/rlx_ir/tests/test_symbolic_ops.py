"""Ops over symbolic dimensions: what they infer becomes, once the names are bound, what they infer for the numbers;
and their expression computes the same."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx_base.dtypes import FLOAT32
from rlx_base.errors import VerifyError
from rlx_base.tolerance import Tolerance, mismatch
from rlx_ir.dims import Symbol
from rlx_ir.evaluate import evaluate
from rlx_ir.op import expression_of, make, operation
from rlx_ir.testing import Case, cases, covered_ops
from rlx_ir.types import TensorType


def with_symbols(case: Case, which: list[bool]) -> tuple[list, dict[str, int]]:
    """The operands' types with some sizes as names: equal sizes get one name."""
    dims = {f"D{size}": size for array in case.arrays if array is not None for size in array.shape if size > 1}
    chosen = {name: size for keep, (name, size) in zip(which, sorted(dims.items()), strict=False) if keep}
    names = {size: Symbol(name) for name, size in chosen.items()}
    types = [
        None if type is None else replace(type, shape=tuple(names.get(size, size) for size in type.shape))
        for type in case.types
    ]
    return types, chosen


@pytest.mark.parametrize("name", covered_ops())
@settings(max_examples=15)
@given(data=st.data())
def test_names_mean_their_numbers(name, data):
    case = data.draw(cases(name))
    types, dims = with_symbols(case, data.draw(st.lists(st.booleans(), min_size=6, max_size=6)))
    try:
        inferred = case.op.infer(*types)
    except VerifyError:
        return  # this op, or these attributes, need the size itself
    assert [type.bind(dims).shape for type in inferred] == [array.shape for array in case.expected()]
    results = evaluate(expression_of(case.op, types), case.inputs, dims)
    for actual, expected in zip(results, case.expected(), strict=True):
        limit = Tolerance(1e-5, 1e-6) if expected.dtype == np.float32 else None
        wrong = mismatch(actual, expected, limit)
        assert wrong is None, f"{case.op} over {[str(type) for type in types]}: {wrong}"


N, H, W = Symbol("N"), Symbol("H"), Symbol("W")


@pytest.mark.parametrize(
    ("name", "attributes", "shapes", "result"),
    [
        ("conv2d", {"padding": [1, 1]}, [(N, 4, H, W), (8, 4, 3, 3)], "float32[N, 8, H, W]"),
        ("conv2d", {"strides": [2, 2]}, [(N, 4, H, 8), (8, 4, 3, 3)], "float32[N, 8, (((H - 3) // 2) + 1), 3]"),
        ("conv2d", {"padding": "same_upper"}, [(N, 4, H, 8), (8, 4, 3, 3)], "float32[N, 8, H, 8]"),
        ("max_pool", {"kernel": [2, 2]}, [(N, 4, H, 8)], "float32[N, 4, (H - 1), 7]"),
        ("global_average_pool", {}, [(N, 4, H, W)], "float32[N, 4, 1, 1]"),
        ("reshape", {"shape": [0, -1]}, [(N, 4, 2)], "float32[N, 8]"),
        ("reshape", {"shape": [-1, 8]}, [(N, 4, 2)], "float32[N, 8]"),
        ("flatten", {}, [(N, H, 2)], "float32[N, (H * 2)]"),
        ("matmul", {}, [(N, H), (H, 4)], "float32[N, 4]"),
        ("concat", {"axis": 1}, [(N, H), (N, 3)], "float32[N, (H + 3)]"),
        ("resize", {"scales": [2.0, 0.5]}, [(N, 4, H, 8)], "float32[N, 4, (H * 2), 4]"),
        ("resize", {"size": [5, 6]}, [(N, 4, H, W)], "float32[N, 4, 5, 6]"),
        ("softmax", {"axis": 1}, [(N, H)], "float32[N, H]"),
        ("slice", {"starts": [None], "ends": [None], "steps": [-1]}, [(N, 3)], "float32[N, 3]"),
    ],
)
def test_what_follows_from_an_unknown_size(name, attributes, shapes, result):
    op = make(operation(name), attributes)
    assert str(op.infer(*(TensorType(shape, FLOAT32) for shape in shapes))[0]) == result
