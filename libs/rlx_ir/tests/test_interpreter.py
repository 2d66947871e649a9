"""The interpreter runs modules with NumPy, and says clearly what is wrong with its inputs."""

import numpy as np
import pytest

from rlx_base.errors import RequestError, VerifyError
from rlx_ir.interpreter import run
from rlx_ir.specialise import specialise
from rlx_ir.text import parse
from rlx_ir.verify import verify

DYNAMIC = parse("""
@rlx.module
def main():
    x = rlx.tensor(shape=["N", 3], dtype="float32")
    y = rlx.tensor(shape=["N", 3], dtype="float32", layout="CR")
    return {"sum": x + y, "rows": rlx.reshape(x * y, shape=[3, "N"]), "x": x}
""")
CONDITION = parse("""
@rlx.module
def double():
    x = rlx.tensor(shape=[2], dtype="float32")
    return x + x

@rlx.module
def square():
    x = rlx.tensor(shape=[2], dtype="float32")
    return x * x

@rlx.module
def main():
    c = rlx.tensor(shape=[], dtype="bool")
    x = rlx.tensor(shape=[2], dtype="float32")
    y = rlx.cond(c, double, square, args=[x])
    return double(y)
""")


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_a_symbolic_dimension_takes_any_size(rows):
    x, y = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3), ones(rows, 3) * 2
    result = run(DYNAMIC, {"x": x, "y": y})
    assert list(result) == ["sum", "rows", "x"]
    np.testing.assert_array_equal(result["sum"], x + y)
    np.testing.assert_array_equal(result["rows"], (x * y).reshape(3, rows))


@pytest.mark.parametrize(("condition", "expected"), [(True, [12.0, 20.0]), (False, [18.0, 50.0])])
def test_a_condition_runs_one_of_its_modules(condition, expected):
    result = run(CONDITION, {"c": np.array(condition), "x": np.array([3, 5], np.float32)})
    np.testing.assert_array_equal(result["output"], expected)


@pytest.mark.parametrize(
    ("inputs", "what"),
    [
        ({"x": ones(2, 3)}, "input 'y' is missing"),
        ({"x": ones(2, 3), "y": ones(2, 3), "yy": ones(1)}, "'yy' is no input; did you mean 'y'?"),
        ({"x": ones(2, 3), "y": ones(4, 3)}, "N is 2, and 4 in input 'y'"),
        ({"x": ones(2, 3), "y": ones(2, 4)}, "input 'y' is float32[2, 4], where float32[N, 3] is declared"),
        ({"x": ones(2, 3), "y": ones(3)}, "input 'y' is float32[3], where float32[N, 3] is declared"),
        (
            {"x": ones(2, 3).astype(np.float64), "y": ones(2, 3)},
            "input 'x' is float64[2, 3], where float32[N, 3] is declared",
        ),
    ],
)
def test_inputs_that_do_not_fit(inputs, what):
    with pytest.raises(RequestError) as caught:
        run(DYNAMIC, inputs)
    assert caught.value.code == "RLX-E415"
    assert what in caught.value.message
    assert caught.value.help == "its inputs are x: float32[N, 3], y: float32[N, 3]"


def test_a_specialised_module_verifies_and_keeps_its_layouts():
    known = specialise(DYNAMIC, {"N": 4})
    verify(known)
    assert [str(value.type) for value in known.inputs] == ["float32[4, 3]"] * 2
    assert str(known.inputs[1].tensor.layout) == "CR"
    assert specialise(known, {"N": 9}) == known


def test_a_dimension_that_does_not_fit_once_it_is_known():
    module = parse("""
@rlx.module
def main():
    x = rlx.tensor(shape=["H", 4], dtype="float32")
    return rlx.pad(x, pads=[3, 0, 0, 0], mode="reflect")
""")
    assert run(module, {"x": ones(4, 4)})["output"].shape == (7, 4)
    with pytest.raises(VerifyError) as caught:
        run(module, {"x": ones(2, 4)})
    assert caught.value.at is not None
    assert caught.value.at.line == 5


def test_no_warning_of_numpy_comes_through():
    module = parse('@rlx.module\ndef m():\n    x = rlx.tensor(shape=[2], dtype="float32")\n    return rlx.log(x) / x\n')
    assert np.isnan(run(module, {"x": np.array([0.0, -1.0], np.float32)})["output"]).tolist() == [False, True]
