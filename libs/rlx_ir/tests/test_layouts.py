"""A result keeps the layout of its first data operand, and never its place in memory."""

import pytest

from rlx_base.dtypes import DTYPES, FLOAT32
from rlx_ir.affinity import MemoryAffinity
from rlx_ir.layout import Layout
from rlx_ir.op import make, operation
from rlx_ir.types import TensorType

NHWC = TensorType((1, 4, 8, 8), FLOAT32, Layout.parse("NHWC", 4), MemoryAffinity("HBM"))
PLAIN = TensorType((1, 4, 8, 8), FLOAT32)
GATE = TensorType((1, 4, 1, 1), FLOAT32)
VECTOR = TensorType((4, 1, 1), FLOAT32)
KERNEL = TensorType((6, 4, 3, 3), FLOAT32, Layout.parse("HWIO", 4))
MASK = TensorType((1, 4, 8, 8), DTYPES["bool"])


@pytest.mark.parametrize(
    ("name", "attributes", "operands", "layout"),
    [
        ("conv2d", {}, [NHWC, KERNEL], "NHWC"),
        ("conv2d", {}, [PLAIN, KERNEL], "None"),
        ("relu", {}, [NHWC], "NHWC"),
        ("add", {}, [NHWC, PLAIN], "NHWC"),
        ("add", {}, [VECTOR, NHWC], "NHWC"),  # a broadcast operand has no say
        ("mul", {}, [GATE, NHWC], "NHWC"),
        ("less", {}, [NHWC, PLAIN], "NHWC"),
        ("where", {}, [MASK, NHWC, PLAIN], "NHWC"),
        ("max_pool", {"kernel": [2, 2]}, [NHWC], "NHWC"),
        ("global_average_pool", {}, [NHWC], "NHWC"),
        ("reduce_mean", {"axes": [2, 3]}, [NHWC], "NHWC"),
        ("reduce_mean", {"axes": [2, 3], "keepdims": False}, [NHWC], "None"),
        ("flatten", {}, [NHWC], "None"),
        ("concat", {"axis": 1}, [NHWC, PLAIN], "NHWC"),
        ("resize", {"size": [4, 4]}, [NHWC], "NHWC"),
        ("cast", {"to": "float64"}, [NHWC], "NHWC"),
    ],
)
def test_the_layout_of_a_result(name, attributes, operands, layout):
    (result,) = make(operation(name), attributes).infer(*operands)
    assert str(result.layout) == layout
    assert result.affinity is None
