"""What ops give where a reader may wonder: values worked out by hand, for the reference and for the expression."""

import numpy as np
import pytest

from rlx_ir.evaluate import evaluate
from rlx_ir.op import expression_of, make, operation
from rlx_ir.testing import Case

NAN, INF = float("nan"), float("inf")


def row(*values: float) -> list[list[list[list[float]]]]:
    """An image of one row."""
    return [[[list(values)]]]


RAMP = row(0, 1, 2, 3)
# 40 numbers in 8 groups of equal ones: 0 0 0 0 0 1 1 1 1 1 …
GROUPS = [i // 5 for i in range(40)]
RANKED = [*range(35, 40), *range(30, 35), *range(25, 30), 20, 21]

CORNERS = {"size": [1, 7], "mode": "linear", "coordinate_mode": "align_corners"}
ASYMMETRIC = {"size": [1, 8], "mode": "linear", "coordinate_mode": "asymmetric"}
DOUBLED = {"scales": [1.0, 2.0], "mode": "linear"}
PADDED = {"kernel": [1, 3], "padding": [0, 1], "count_include_pad": True}

CASES = [
    # op, attributes, operands, dtype, results
    ("div", {}, [[7, -7, 7, -7, 5], [2, 2, -2, -2, 0]], "int32", [[3, -3, -3, 3, 0]]),
    ("div", {}, [[-128], [-1]], "int8", [[-128]]),
    ("mod", {}, [[7, -7, 7, -7, 5], [3, 3, -3, -3, 0]], "int32", [[1, 2, -2, -1, 0]]),
    ("mod", {"fmod": True}, [[7, -7, 7, -7, 5], [3, 3, -3, -3, 0]], "int32", [[1, -1, 1, -1, 0]]),
    ("add", {}, [[127], [1]], "int8", [[-128]]),
    ("neg", {}, [[-128, 5]], "int8", [[-128, -5]]),
    ("abs", {}, [[-128, -5]], "int8", [[-128, 5]]),
    ("sign", {}, [[-2.0, 0.0, 3.0, NAN]], "float32", [[-1, 0, 1, NAN]]),
    ("sign", {}, [[0, 7]], "uint8", [[0, 1]]),
    ("max", {}, [[NAN, 1.0, 2.0], [0.0, NAN, 3.0]], "float32", [[NAN, NAN, 3]]),
    ("relu", {}, [[NAN, -1.0, INF]], "float32", [[NAN, 0, INF]]),
    ("clip", {"min": 0.0, "max": 6.0}, [[NAN, -INF, 7.0]], "float32", [[NAN, 0, 6]]),
    ("round", {}, [[0.5, 1.5, 2.5, -0.5, -1.5]], "float32", [[0, 2, 2, 0, -2]]),
    ("softplus", {}, [[0.0, 1000.0, -1000.0]], "float64", [[np.log(2), 1000, 0]]),
    ("cast", {"to": "int32"}, [[2.9, -2.9]], "float32", [[2, -2]]),
    ("cast", {"to": "bool"}, [[0.0, -0.0, 0.1, NAN]], "float32", [[False, False, True, True]]),
    ("cast", {"to": "int8"}, [[300, -129]], "int32", [[44, 127]]),
    ("less", {}, [[1.0, NAN, 2.0], [2.0, 1.0, NAN]], "float32", [[True, False, False]]),
    ("not_equal", {}, [[NAN, 1.0], [NAN, 1.0]], "float32", [[True, False]]),
    ("reduce_max", {}, [[[]]], "float32", [[[-INF]]]),
    ("reduce_min", {}, [[[]]], "int8", [[[127]]]),
    ("reduce_mean", {}, [[[]]], "float32", [[[NAN]]]),
    ("reduce_prod", {"keepdims": False}, [[]], "int32", [1]),
    ("reduce_sum", {"axes": []}, [[1, 2]], "int32", [[1, 2]]),
    ("reduce_sum", {}, [[100, 100]], "int8", [[-56]]),
    ("reduce_log_sum_exp", {}, [[1000.0, 1000.0]], "float64", [[1000 + np.log(2)]]),
    ("reduce_log_sum_exp", {}, [[-INF, -INF]], "float32", [[-INF]]),
    ("softmax", {}, [[1000.0, 1000.0, -INF]], "float32", [[0.5, 0.5, 0]]),
    ("arg_max", {}, [[3, 5, 5, 1]], "int32", [[1]]),
    ("arg_max", {}, [[3.0, NAN, 5.0, NAN]], "float32", [[1]]),
    ("arg_min", {"keepdims": False}, [[3, 1, 5, 1]], "int32", [1]),
    ("top_k", {"k": 3}, [[3, 5, 5, 1, 5]], "int32", [[5, 5, 5], [1, 2, 4]]),
    ("top_k", {"k": 3, "largest": False}, [[3, 1, 5, 1, 5]], "int32", [[1, 1, 3], [1, 3, 0]]),
    ("top_k", {"k": 3}, [[3.0, NAN, INF, NAN]], "float32", [[NAN, NAN, INF], [1, 3, 2]]),
    ("top_k", {"k": 2}, [[-INF, -INF, -INF]], "float32", [[-INF, -INF], [0, 1]]),
    ("top_k", {"k": 2}, [[0, 0, 0]], "uint8", [[0, 0], [0, 1]]),
    ("top_k", {"k": 17}, [GROUPS], "int32", [[7] * 5 + [6] * 5 + [5] * 5 + [4] * 2, RANKED]),
    ("slice", {"starts": [None], "ends": [None], "steps": [-2]}, [[0, 1, 2, 3, 4]], "int32", [[4, 2, 0]]),
    ("slice", {"starts": [-2], "ends": [0], "steps": [-2]}, [[0, 1, 2, 3, 4]], "int32", [[3, 1]]),
    ("slice", {"starts": [1], "ends": [2**63 - 1], "steps": [3]}, [[0, 1, 2, 3, 4]], "int32", [[1, 4]]),
    ("slice", {"starts": [3], "ends": [1]}, [[0, 1, 2, 3]], "int32", [[]]),
    ("pad", {"pads": [2, 1], "mode": "reflect"}, [[0, 1, 2]], "int32", [[2, 1, 0, 1, 2, 1]]),
    ("pad", {"pads": [2, 1], "mode": "edge"}, [[0, 1, 2]], "int32", [[0, 0, 0, 1, 2, 2]]),
    ("pad", {"pads": [1, 1], "value": 9.0}, [[0, 1]], "int32", [[9, 0, 1, 9]]),
    ("split", {"num_outputs": 3}, [[0, 1, 2, 3]], "int32", [[0, 1], [2, 3], []]),
    ("resize", {"size": [1, 8]}, [RAMP], "int32", [row(0, 0, 1, 1, 2, 2, 3, 3)]),
    # Places 0.5 and 2.5: a tie each.
    ("resize", {"size": [1, 2]}, [RAMP], "int32", [row(0, 2)]),
    ("resize", {"size": [1, 2], "nearest_mode": "round_prefer_ceil"}, [RAMP], "int32", [row(1, 3)]),
    ("resize", {"size": [1, 2], "nearest_mode": "ceil"}, [RAMP], "int32", [row(1, 3)]),
    ("resize", CORNERS, [RAMP], "float32", [row(0, 0.5, 1, 1.5, 2, 2.5, 3)]),
    ("resize", DOUBLED, [RAMP], "float32", [row(0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3)]),
    ("resize", ASYMMETRIC, [RAMP], "float32", [row(0, 0.5, 1, 1.5, 2, 2.5, 3, 3)]),
    ("max_pool", {"kernel": [1, 2], "strides": [1, 3], "ceil_mode": True}, [RAMP], "int32", [row(1, 3)]),
    ("average_pool", {"kernel": [1, 3], "padding": [0, 1]}, [RAMP], "float32", [row(0.5, 1, 2, 2.5)]),
    ("average_pool", PADDED, [RAMP], "float32", [row(1 / 3, 1, 2, 5 / 3)]),
    # The last window reaches one place beyond the padding, which is not counted: (3 + 0) ÷ 2.
    (
        "average_pool",
        PADDED | {"strides": [1, 2], "ceil_mode": True},
        [RAMP],
        "float32",
        [row(1 / 3, 2, 1.5)],
    ),
    ("conv2d", {"padding": "same_upper", "strides": [1, 2]}, [RAMP, row(1, 10, 100)], "float32", [row(210, 32)]),
    ("conv2d", {"padding": "same_lower", "strides": [1, 2]}, [RAMP, row(1, 10, 100)], "float32", [row(100, 321)]),
    ("normalize", {"mean": [127.0], "std": [128.0]}, [[[255, 127]]], "uint8", [[[1, 0]]]),
    ("postprocess", {"k": 2}, [[0.0, np.log(3), 0.0]], "float64", [[0.6, 0.2], [1, 0]]),
    ("global_max_pool", {}, [row()], "float32", [row(-INF)]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "attributes", "operands", "dtype", "results"), CASES)
def test_a_value_worked_out_by_hand(name, attributes, operands, dtype, results):
    case = Case(make(operation(name), attributes), tuple(np.array(operand, dtype) for operand in operands))
    expressed = evaluate(expression_of(case.op, case.types), case.inputs)
    for given in (case.expected(), expressed):
        assert len(given) == len(results)
        for actual, expected in zip(given, results, strict=True):
            np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-30)
            assert actual.shape == np.shape(expected)
