"""Operators that draw numbers: host ops, each node with a stream of its own."""

from __future__ import annotations

import numpy as np

from rlx_base.dtypes import DType
from rlx_compiler.onnx.operators.movement import whole
from rlx_compiler.onnx.registry import operator
from rlx_compiler.onnx.tensors import dtype_of
from rlx_compiler.onnx.translation import Call, Value
from rlx_ir.op import make
from rlx_ir.ops.random import Multinomial, Random

__all__: list[str] = []


def _seed(call: Call) -> int | None:
    """ONNX's seed is a float: its bits are the seed of the stream."""
    seed = call.attribute("seed")
    return None if seed is None else int(np.float32(seed).view(np.uint32))


def _drawn(call: Call, kind: str, shape: tuple[int, ...], dtype: DType) -> Value:
    """Never folded, though it has no operands: it is drawn when the model runs."""
    builder = call.translation.builder
    attributes = {
        "shape": shape,
        "distribution": kind,
        "low": call.attribute("low", 0.0),
        "high": call.attribute("high", 1.0),
        "mean": call.attribute("mean", 0.0),
        "deviation": call.attribute("scale", 1.0),
        "dtype": dtype,
        "seed": _seed(call),
        "stream": len(builder.nodes),
    }
    node = builder.node(make(Random, attributes))
    return Value(node.results[0].tensor, node.name)


@operator("RandomUniform", "RandomNormal")
def random(call: Call) -> Value:
    kind = call.proto.op_type.removeprefix("Random").lower()
    return _drawn(call, kind, tuple(call.attribute("shape")), dtype_of(call.attribute("dtype", 1)))


@operator("RandomUniformLike", "RandomNormalLike")
def random_like(call: Call) -> Value:
    x = call[0]
    kind = call.proto.op_type.removeprefix("Random").removesuffix("Like").lower()
    dtype = x.type.dtype if call.attribute("dtype") is None else dtype_of(call.attribute("dtype"))
    return _drawn(call, kind, tuple(whole(x, place) for place in range(x.rank)), dtype)


@operator("Multinomial")
def multinomial(call: Call) -> Value:
    builder = call.translation.builder
    dtype = dtype_of(call.attribute("dtype", 6))
    op = Multinomial(call.attribute("sample_size", 1), dtype, _seed(call), len(builder.nodes))
    node = builder.node(op, call.translation.operand(call[0]))
    return Value(node.results[0].tensor, node.name, None, call[0].inputs)
