"""Normalisations."""

from __future__ import annotations

import numpy as np

from rlx_base.dtypes import FLOAT32
from rlx_compiler.onnx.operators.movement import block_shape, whole
from rlx_compiler.onnx.registry import operator
from rlx_compiler.onnx.translation import Call, Unsupported, Value
from rlx_ir.ops.arithmetic import Add, Div, Mul, Pow, Sub
from rlx_ir.ops.functions import Sqrt
from rlx_ir.ops.normalization import BatchNorm, LayerNorm
from rlx_ir.ops.pooling import AveragePool
from rlx_ir.ops.reduction import ReduceL1, ReduceL2, ReduceMean
from rlx_ir.ops.reshape import Reshape, Unsqueeze

__all__: list[str] = []


@operator("BatchNormalization")
def batch_norm(call: Call) -> Value | tuple[Value, ...]:
    x, dtype = call[0], call[0].type.dtype
    scale, bias, mean, var = (call[place] for place in (1, 2, 3, 4))
    epsilon = call.attribute("epsilon", 1e-5)
    if not call.attribute("training_mode", 0):
        statistics = [call.cast(value, dtype) for value in (scale, bias, mean, var)]
        return call.apply(BatchNorm(epsilon), x, *statistics)
    over = tuple(place for place in range(x.rank) if place != 1)
    here = call.apply(ReduceMean(over, False), x)
    distance = call.apply(Sub(), x, call.apply(ReduceMean(over, True), x))
    spread = call.apply(ReduceMean(over, False), call.apply(Mul(), distance, distance))
    y = call.apply(BatchNorm(epsilon), x, scale, bias, here, spread)
    momentum = call.attribute("momentum", 0.9)

    def moved(old: Value, new: Value) -> Value:
        kept = call.apply(Mul(), old, call.like(momentum, old))
        return call.apply(Add(), kept, call.apply(Mul(), call.cast(new, old.type.dtype), call.like(1 - momentum, old)))

    return y, moved(mean, here), moved(var, spread)


@operator("LayerNormalization")
def layer_norm(call: Call) -> tuple[Value | None, ...]:
    """The mean and 1 ÷ deviation are given too where they are used."""
    x, axis = call[0], call.attribute("axis", -1)
    epsilon = call.attribute("epsilon", 1e-5)
    y = call.apply(LayerNorm(axis, epsilon), *call.operands)
    if not call.wants(1) and not call.wants(2):
        return (y,)
    over = tuple(range(axis % x.rank, x.rank))
    wide = call.cast(x, FLOAT32)
    mean = call.apply(ReduceMean(over, True), wide)
    distance = call.apply(Sub(), wide, mean)
    variance = call.apply(ReduceMean(over, True), call.apply(Mul(), distance, distance))
    deviation = call.apply(Sqrt(), call.apply(Add(), variance, call.like(epsilon, variance)))
    return y, mean, call.apply(Div(), call.like(1, deviation), deviation)


@operator("InstanceNormalization")
def instance_norm(call: Call) -> Value:
    x = call[0]
    over = tuple(range(2, x.rank))
    distance = call.apply(Sub(), x, call.apply(ReduceMean(over, True), x))
    variance = call.apply(ReduceMean(over, True), call.apply(Mul(), distance, distance))
    deviation = call.apply(Sqrt(), call.apply(Add(), variance, call.like(call.attribute("epsilon", 1e-5), x)))
    scale, bias = (call.apply(Unsqueeze(tuple(range(1, x.rank - 1))), call[place]) for place in (1, 2))
    return call.apply(Add(), call.apply(Mul(), call.apply(Div(), distance, deviation), scale), bias)


@operator("LpNormalization")
def lp_normalization(call: Call) -> Value:
    """Where the norm is 0, the result is 0."""
    from rlx_ir.ops.comparison import Equal
    from rlx_ir.ops.copying import Where

    x, axis = call[0], (call.attribute("axis", -1),)
    norm = call.apply(ReduceL1(axis) if call.attribute("p", 2) == 1 else ReduceL2(axis), x)
    safe = call.apply(Where(), call.apply(Equal(), norm, call.like(0, norm)), call.like(1, norm), norm)
    return call.apply(Div(), x, safe)


@operator("LRN")
def local_response_norm(call: Call) -> Value:
    """y = x ÷ (bias + alpha/size · Σ x²)^beta, the sum over `size` channels around each: the mean of an average
    pool over the channels that counts its padding."""
    x, size = call[0], call.attribute("size")
    square = call.apply(Mul(), x, x)
    n, c = block_shape(x)[0], whole(x, 1)
    rest = int(np.prod([whole(x, place) for place in range(2, x.rank)]))
    if not isinstance(n, int):
        raise Unsupported(f"a batch of unknown size {n}")
    rows = call.apply(Reshape((n, 1, c, rest), True), square)
    before = (size - 1) // 2
    pool = AveragePool((size, 1), (1, 1), (before, 0, size - 1 - before, 0), count_include_pad=True)
    mean = call.apply(Reshape(block_shape(x), True), call.apply(pool, rows))
    scaled = call.apply(Mul(), mean, call.like(call.attribute("alpha", 1e-4), x))
    base = call.apply(Add(), scaled, call.like(call.attribute("bias", 1.0), x))
    return call.apply(Div(), x, call.apply(Pow(), base, call.like(call.attribute("beta", 0.75), x)))
