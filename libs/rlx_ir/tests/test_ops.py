"""Every registered op: its expression equals its NumPy reference, and `infer` says what both give."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx_base.dtypes import of_numpy
from rlx_base.tolerance import Tolerance, mismatch
from rlx_ir.evaluate import evaluate
from rlx_ir.op import OPS, HostOp, expression_of, make, operation
from rlx_ir.regions import RegionOp
from rlx_ir.testing import Case, cases, covered_ops

operation("add")  # registers all
# A float32 or float16 sum that is evaluated step by step rounds at each step, its reference once.
LOOSER = {"float32": Tolerance(1e-5, 1e-6), "float16": Tolerance(8e-3, 1e-3), "float64": Tolerance(1e-12, 1e-13)}


def check(case: Case) -> None:
    expected = case.expected()
    types = case.op.infer(*case.types)
    actual = evaluate(expression_of(case.op, case.types), case.inputs)
    assert len(expected) == len(types) == len(actual)
    for want, type, got in zip(expected, types, actual, strict=True):
        assert type.shape == want.shape
        assert type.dtype == of_numpy(want.dtype)
        wrong = mismatch(got, want, LOOSER.get(want.dtype.name))
        assert wrong is None, f"{case.op}: {wrong}"


def test_every_op_has_cases():
    assert set(covered_ops()) == {name for name, op in OPS.items() if not issubclass(op, RegionOp | HostOp)}


@pytest.mark.parametrize("name", covered_ops())
@settings(max_examples=40)
@given(data=st.data())
def test_an_expression_equals_the_reference(name, data):
    check(data.draw(cases(name)))


@pytest.mark.parametrize(("name", "attributes"), [("concat", {"axis": 0}), ("max", {}), ("min", {})])
def test_thousands_of_operands_make_no_deep_expression(name, attributes):
    check(Case(make(operation(name), attributes), tuple(np.full(1, i % 7, np.float32) for i in range(3000))))


@pytest.mark.parametrize("name", covered_ops())
def test_every_op_says_what_it_means(name):
    documentation = OPS[name].__doc__
    assert documentation is not None
    assert "Source:" in documentation
