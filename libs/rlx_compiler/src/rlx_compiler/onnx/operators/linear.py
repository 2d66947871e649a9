"""Matrix products."""

from __future__ import annotations

from rlx_base.dtypes import INT32
from rlx_compiler.onnx.registry import operator
from rlx_compiler.onnx.translation import Call, Value
from rlx_ir.ops.arithmetic import Add, Mul, Sub
from rlx_ir.ops.determinant import Det
from rlx_ir.ops.einsum import Einsum
from rlx_ir.ops.matmul import Gemm, MatMul
from rlx_ir.ops.permutation import Transpose
from rlx_ir.ops.reshape import Unsqueeze

__all__ = ["centred"]


@operator("MatMul")
def matmul(call: Call) -> Value:
    return call.apply(MatMul(), call[0], call[1])


@operator("Gemm")
def gemm(call: Call) -> Value:
    """Integers as products, since alpha and beta are floats."""
    alpha, beta = call.attribute("alpha", 1.0), call.attribute("beta", 1.0)
    trans_a, trans_b = bool(call.attribute("transA", 0)), bool(call.attribute("transB", 0))
    if call[0].type.dtype.is_float:
        return call.apply(Gemm(alpha, beta, trans_a, trans_b), *call.operands)
    a = call.apply(Transpose(), call[0]) if trans_a else call[0]
    b = call.apply(Transpose(), call[1]) if trans_b else call[1]
    y = call.apply(Mul(), call.apply(MatMul(), a, b), call.like(alpha, a))
    return y if call.optional(2) is None else call.apply(Add(), y, call.apply(Mul(), call[2], call.like(beta, a)))


@operator("Einsum")
def einsum(call: Call) -> Value:
    return call.apply(Einsum(call.attribute("equation").replace(" ", "")), *call.operands)


@operator("Det")
def det(call: Call) -> Value:
    return call.apply(Det(), call[0])


def centred(call: Call, x: Value, zero: Value | None, axis: int | None = None) -> Value:
    """x − zero point, in int32; a zero point per row or column stands along `axis`."""
    wide = call.cast(x, INT32)
    if zero is None:
        return wide
    zero = call.cast(zero, INT32)
    if axis is not None and zero.rank == 1 and zero.type.shape != (1,):
        after = x.rank - 1 - axis % x.rank
        zero = call.apply(Unsqueeze(tuple(range(1, after + 1))), zero) if after else zero
    return call.apply(Sub(), wide, zero)


@operator("MatMulInteger")
def matmul_integer(call: Call) -> Value:
    a, b = centred(call, call[0], call.optional(2), -2), centred(call, call[1], call.optional(3), -1)
    return call.apply(MatMul(), a, b)
