"""What elementwise ops share: operands of one dtype, NumPy broadcasting, one scalar formula.

A subclass gives `scalar`, its formula over expressions, and `reference`. Shapes: those of the operands, broadcast;
symbolic dimensions broadcast with themselves and 1. Errors: E110 where dtypes differ or are of another kind, or where
shapes do not broadcast. The result takes the layout of the first operand that has the result's shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from rlx_base.dtypes import BOOL
from rlx_ir.dims import Shape
from rlx_ir.expr import Expr, Tensor, define
from rlx_ir.op import Op, operand_names
from rlx_ir.ops.axes import read_broadcast, result_axes
from rlx_ir.ops.rules import Kinds, broadcast, check_dtype, check_equal_dtypes, inherit, refuse
from rlx_ir.types import TensorType

__all__ = ["Binary", "Comparison", "Elementwise", "Unary", "Variadic", "broadcast_shape", "broadcast_type"]


class Elementwise(Op):
    """result[i] = scalar(a[i], b[i], …)."""

    takes: ClassVar[Kinds] = "number"

    def scalar(self, *values: Any, **_: Any) -> Expr:
        """The formula for one element."""
        raise NotImplementedError

    def infer(self, *operands: Any, **_: Any) -> tuple[TensorType, ...]:
        names = operand_names(self, len(operands))
        for name, type in zip(names, operands, strict=True):
            check_dtype(self.name, name, type.dtype, self.takes)
        check_equal_dtypes(self.name, names, operands)
        return (broadcast_type(self.name, names, operands),)

    def expression(self, *operands: Tensor) -> tuple[Tensor, ...]:
        axes = result_axes(broadcast_shape(operands))
        return (define("output", axes, self.scalar(*(read_broadcast(operand, axes) for operand in operands))),)


class Unary(Elementwise):
    """y = f(x)."""

    operands = ("x",)


class Binary(Elementwise):
    """c = f(a, b)."""

    operands = ("a", "b")


class Variadic(Elementwise):
    """A fold of a binary function over one or more operands."""

    operands = ("inputs*",)

    def infer(self, *operands: Any, **_: Any) -> tuple[TensorType, ...]:
        if not operands:
            raise refuse(self.name, "no operands", "give one or more")
        return super().infer(*operands)


class Comparison(Binary):
    """A truth value per element; a comparison with NaN is false, except `not_equal`."""

    def infer(self, *operands: Any, **_: Any) -> tuple[TensorType, ...]:
        (type,) = super().infer(*operands)
        return (inherit(type, type.shape, BOOL),)


def broadcast_type(op: str, names: Sequence[str], types: Sequence[TensorType]) -> TensorType:
    """The broadcast type: the dtype of the first operand, the layout of the first one that has the result's shape."""
    shape = broadcast(op, names, types)
    same_rank = [type for type in types if type.rank == len(shape)]
    first = next((type for type in same_rank if type.shape == shape), same_rank[0])
    return inherit(first, shape, types[0].dtype)


def broadcast_shape(tensors: Sequence[Tensor]) -> Shape:
    """The broadcast shape of operands that `infer` has already accepted."""
    types = [TensorType(tensor.shape, tensor.dtype) for tensor in tensors]
    return broadcast("broadcast", [tensor.name for tensor in tensors], types)
