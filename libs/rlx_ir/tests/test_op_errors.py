"""What an op refuses, it refuses with the shapes in hand and a way out."""

import pytest

from rlx_base.dtypes import DTYPES
from rlx_base.errors import VerifyError
from rlx_ir.dims import Symbol
from rlx_ir.op import make, operation
from rlx_ir.types import TensorType

N, H = Symbol("N"), Symbol("H")


def t(*shape, dtype="float32"):
    return TensorType(shape, DTYPES[dtype])


IMAGE, KERNEL = t(1, 4, 8, 8), t(6, 4, 3, 3)
CASES = [
    # op, attributes, operands, what it says, what to do
    ("add", {}, [t(2, 3), t(4, 3)], "a float32[2, 3] and b float32[4, 3] do not broadcast: a has 2", "equal or 1"),
    ("add", {}, [t(N), t(H)], "a has N where b has H", "equal or 1"),
    ("add", {}, [t(2), t(2, dtype="int64")], "a is float32 and b is int64", 'rlx.cast(b, to="float32")'),
    ("add", {}, [t(2, dtype="bool")] * 2, "a is bool, where numbers are needed", 'rlx.cast(a, to="float32")'),
    ("logical_and", {}, [t(2)] * 2, "a is float32, where truth values are needed", 'to="bool"'),
    ("bitwise_and", {}, [t(2)] * 2, "a is float32, where integers are needed", 'to="int64"'),
    ("exp", {}, [t(2, dtype="int32")], "x is int32, where floats are needed", "rlx.cast"),
    ("neg", {}, [t(2, dtype="uint8")], "x is uint8, where signed numbers are needed", "rlx.cast"),
    ("max", {}, [], "no operands", "one or more"),
    ("clip", {"min": 0.5}, [t(2, dtype="int32")], "min=0.5 of int32 values", "whole number"),
    ("clip", {"max": 300.0}, [t(2, dtype="uint8")], "max=300.0 of uint8 values", "range"),
    ("where", {}, [t(2), t(2), t(2)], "condition is float32, where truth values are needed", "rlx.cast"),
    ("where", {}, [t(2, dtype="bool"), t(2), t(2, dtype="int32")], "x is float32 and y is int32", "rlx.cast"),
    ("matmul", {}, [t(2, 3), t(4, 5)], "a float32[2, 3] has 3 columns, b float32[4, 5] has 4 rows", "transpose"),
    ("matmul", {}, [t(), t(4)], "a is float32[] and b is float32[4]", "rlx.mul"),
    ("gemm", {"trans_b": True}, [t(2, 3), t(3, 5)], "B of b float32[3, 5] with trans_b=True has 5 rows", "trans_b"),
    ("gemm", {}, [t(2, 3), t(3, 5), t(7, 2, 5)], "c float32[7, 2, 5] is larger than a·b float32[2, 5]", "repeat"),
    ("gemm", {}, [t(2, 3), t(3)], "b has 1 dimensions (float32[3]), where 2 are needed (row, column)", "reshape"),
    ("conv2d", {}, [t(1, 4, 8), KERNEL], "input has 3 dimensions (float32[1, 4, 8])", "rlx.unsqueeze"),
    ("conv2d", {}, [t(1, 3, 8, 8), KERNEL], "has 3 channels, weight float32[6, 4, 3, 3] takes 4", "dimension is 3"),
    ("conv2d", {"groups": 4}, [IMAGE, KERNEL], "4 input and 6 output channels do not divide", "divides both"),
    ("conv2d", {"groups": 2}, [IMAGE, t(6, 1, 3, 3)], "takes 1 · groups=2", "or groups is 4"),
    ("conv2d", {}, [IMAGE, KERNEL, t(4)], "bias is float32[4] for 6 output channels", "shape [6]"),
    ("conv2d", {}, [t(1, N, 8, 8), KERNEL], "channels of float32[1, N, 8, 8]", "as numbers"),
    ("conv2d", {}, [IMAGE, t(6, 4, N, 3)], "the kernel's size N x 3 is not known", "as numbers"),
    ("conv2d", {}, [t(1, 4, 2, 8), KERNEL], "over 3 places, the padded input has 2", "padding larger"),
    ("conv2d", {"padding": [1]}, [IMAGE, KERNEL], "padding is [1]", "2 numbers ≥ 0 for both sides, 4"),
    ("conv2d", {"padding": [-1, 0]}, [IMAGE, KERNEL], "padding is [-1, 0]", "same_upper"),
    ("conv2d", {"strides": [0, 1]}, [IMAGE, KERNEL], "strides is [0, 1]", "2 whole numbers ≥ 1, for height and width"),
    ("conv2d", {"dilations": [1]}, [IMAGE, KERNEL], "dilations is [1]", "2 whole numbers"),
    (
        "conv2d",
        {"padding": "same_upper", "strides": [2, 2]},
        [t(1, 4, H, 8), KERNEL],
        '"same" padding of the unknown size H with stride 2',
        "as numbers",
    ),
    ("max_pool", {"kernel": [3, 3], "padding": [3, 0]}, [IMAGE], "padding 3 under a window over 3 places", "smaller"),
    ("max_pool", {"kernel": [3]}, [IMAGE], "kernel is [3]", "2 whole numbers"),
    ("average_pool", {"kernel": [2, 2], "ceil_mode": True}, [t(1, 4, H, 8)], "ceil_mode over the unknown", "leave"),
    ("global_average_pool", {}, [t(1, 4)], "input is float32[1, 4]", "(N, C, H, …)"),
    ("batch_norm", {}, [t(4)], "x is float32[4]", "(N, C, …)"),
    ("batch_norm", {}, [IMAGE, t(3)], "scale is float32[3], x float32[1, 4, 8, 8] has 4 channels", "shape [4]"),
    ("layer_norm", {}, [t(2, 3), t(2, 2, 3)], "scale float32[2, 2, 3] is larger than x float32[2, 3]", "repeat"),
    ("normalize", {"mean": [0.5, 0.5]}, [IMAGE], "mean has 2 numbers, x float32[1, 4, 8, 8] has 4", "batch_norm"),
    ("normalize", {"mean": [0.5], "std": [0.0]}, [IMAGE], "std is [0.0]", "divided by 0"),
    ("reduce_sum", {"axes": [2]}, [t(2, 3)], "axis 2 of a tensor with 2 dimensions", "from -2 to 1"),
    ("reduce_sum", {"axes": [0, -2]}, [t(2, 3)], "axes [0, -2] name a dimension twice", "once"),
    ("softmax", {"axis": 3}, [t(2, 3)], "axis 3 of a tensor with 2 dimensions", "from -2 to 1"),
    ("reshape", {"shape": [4]}, [t(2, 3)], "x has the shape [2, 3], 6 elements, which do not fit [4]", "−1"),
    ("reshape", {"shape": [4, -1]}, [t(2, 3)], "6 elements, which do not fit [4, -1]", "−1"),
    ("reshape", {"shape": [-1, -1]}, [t(2, 3)], "shape is [-1, -1]", "at most once"),
    ("reshape", {"shape": [6, 1, 0]}, [t(2, 3)], "keeps dimension 2 of a tensor with 2", "same place"),
    ("reshape", {"shape": ["M", 3]}, [t(N, 3)], "which do not fit ['M', 3]", "stays the same"),
    ("flatten", {"axis": 3}, [t(2, 3)], "axis 3 of a tensor with 2 dimensions", "from -2 to 2"),
    ("squeeze", {"axes": [1]}, [t(1, 3)], "dimension 1 of [1, 3] is 3", "only a 1"),
    ("unsqueeze", {"axes": [4]}, [t(1, 3)], "axis 4 of a tensor with 3 dimensions", "from -3 to 2"),
    ("expand", {"shape": [2, 4]}, [t(2, 3)], "x float32[2, 3] and shape float32[2, 4] do not broadcast", "equal or 1"),
    ("transpose", {"perm": [0]}, [t(2, 3)], "perm is [0] for 2 dimensions", "0 … 1 once"),
    ("concat", {"axis": 0}, [], "no operands", "one or more"),
    ("concat", {"axis": 0}, [t(2, 3), t(2, 4)], "inputs0 is float32[2, 3] and inputs1 is float32[2, 4]", "but 0"),
    ("concat", {"axis": 0}, [t(2, 3), t(2)], "joined along axis 0", "must be equal"),
    ("split", {"split": [1, 2]}, [t(4)], "split [1, 2] of a dimension of 4", "add up to 4"),
    ("split", {}, [t(4)], "split=None, num_outputs=None", "one of the two"),
    ("split", {"num_outputs": 2}, [t(N)], "dimension 0 is N", "is a number"),
    ("slice", {"starts": [0], "ends": [1, 2]}, [t(4, 4)], "1 starts, 2 ends, 1 axes and 1 steps", "equally many"),
    ("slice", {"starts": [0], "ends": [1], "steps": [0]}, [t(4)], "a step is 0", "≥ 1"),
    ("slice", {"starts": [1], "ends": [None]}, [t(N)], "1:None:1 of a dimension of unknown size N", "is a number"),
    ("pad", {"pads": [1, 1]}, [t(2, 3)], "pads are [1, 1] for 2 dimensions", "give 4 numbers ≥ 0"),
    ("pad", {"pads": [-1, 0]}, [t(2)], "pads are [-1, 0]", "rlx.slice takes away"),
    ("pad", {"pads": [1, 0], "mode": "edge"}, [t(0)], "dimension 0 is 0 and has no edge", "constant"),
    ("pad", {"pads": [3, 0], "mode": "reflect"}, [t(3)], "a mirror of 3 places at dimension 0, which is 3", "− 1 wide"),
    ("pad", {"pads": [1, 0], "value": 0.5}, [t(3, dtype="int8")], "value 0.5 of int8 elements", "whole"),
    ("arg_max", {"axis": 0}, [t(0, 3)], "dimension 0 is 0", "at least one"),
    ("top_k", {"k": 4}, [t(2, 3)], "k is 4, dimension 1 has 3 elements", "from 0 to 3"),
    ("top_k", {"k": 1}, [t(2, N)], "dimension 1 is N", "is a number"),
    ("postprocess", {}, [t()], "x is float32[]", "(…, classes)"),
    ("postprocess", {"k": 9}, [t(2, 3)], "k is 9", "from 0 to 3"),
    ("resize", {}, [IMAGE], "size=None, scales=None", "one of the two"),
    ("resize", {"size": [0, 2]}, [IMAGE], "[0, 2] for a tensor with 4 dimensions", "size=[height, width]"),
    ("resize", {"size": [2, 2]}, [t(1, 1, 0, 4)], "dimension 2 is 0 and has nothing to repeat", "elements first"),
]


@pytest.mark.parametrize(("name", "attributes", "operands", "what", "fix"), CASES, ids=lambda value: None)
def test_a_refusal_says_what_and_how(name, attributes, operands, what, fix):
    op = make(operation(name), attributes)
    with pytest.raises(VerifyError) as caught:
        op.infer(*operands)
    assert caught.value.code == "RLX-E110"
    assert caught.value.message.startswith(f"{name}: ")
    assert what in caught.value.message
    assert fix in caught.value.help
